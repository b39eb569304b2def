"""What a critic suggests: once for a digest, for nobody until it is kept, gone with the plan."""

import pytest
from tests.support.engine import RacingStore, World

from assent.app.engine import Engine
from assent.core.errors import IllegalState, NotFound
from assent.core.event import CommentAdded, CritiqueRecorded, CritiqueRequested
from assent.core.plan.comment import Comment, CommentAnchor, Critique, Feedback, Finding
from assent.core.plan.record import PlanRecord

MODEL = "openai/critic"
TEXT = b"# Work\n\nFirst do this.\nThen do that.\n"


def proposed(world: World, text: bytes = TEXT) -> PlanRecord:
    record = world.propose({"a.py": b"one\ntwo\n"})
    return world.engine().approvals.propose(world.engine().plans.write(record, text))


def suggested(engine: Engine, record: PlanRecord, *texts: str) -> tuple[Comment, ...]:
    part = engine.comments.targets(record, lambda path: True)[0]
    anchor = CommentAnchor("", 3, 3, part.lines[2:3], "", part.seen)
    ended = CritiqueRecorded(record.plan_id, record.digest, MODEL, len(texts))
    engine.comments.record_critique(ended, [Finding(anchor, text, "low") for text in texts])
    return engine.comments.listed(record)


def texts(engine: Engine, record: PlanRecord) -> list[str]:
    return [one.text for one in engine.comments.listed(record)]


def test_g22_a_digest_is_asked_about_once_whoever_asks(world: World) -> None:
    record, engine = proposed(world), world.engine()
    assert engine.comments.critique(record) is None
    assert engine.comments.request_critique(record, MODEL) == 1
    assert not world.engine().comments.is_critique_due(record, "01s")
    with pytest.raises(IllegalState):
        world.engine().comments.request_critique(record, "other/model")
    changed = engine.approvals.propose(engine.plans.write(record, TEXT + b"More.\n"))
    assert engine.comments.is_critique_due(changed, "01s")
    assert engine.comments.request_critique(changed, MODEL) == 2


def test_g22_one_that_did_not_finish_is_repeated_by_its_session_alone(world: World) -> None:
    record, engine = proposed(world), world.engine()
    engine.comments.request_critique(record, MODEL, "01s")
    assert engine.comments.critique(record) == Critique(MODEL, "unfinished", "01s")
    for other in ("", "02s"):
        assert not engine.comments.is_critique_due(record, other)
        assert not engine.comments.is_critique_owed(record, other)
        with pytest.raises(IllegalState):
            world.engine().comments.request_critique(record, MODEL, other)
    assert engine.comments.is_critique_owed(record, "01s")
    assert engine.comments.request_critique(record, MODEL, "01s") == 2
    ended = CritiqueRecorded(record.plan_id, record.digest, MODEL, dropped=2, unread=3, words="No.")
    engine.comments.record_critique(ended, ())
    assert engine.comments.critique(record) == Critique(
        MODEL, "finished", "01s", dropped=2, unread=3, words="No."
    )
    assert not engine.comments.is_critique_due(record, "01s")


def test_g22_a_critique_of_an_older_log_counts_as_finished(world: World) -> None:
    record, engine = proposed(world), world.engine()
    engine.comments.request_critique(record, MODEL)  # without a session, as it was recorded once
    assert engine.comments.critique(record) == Critique(MODEL, "finished")


def test_g22_two_who_ask_at_once_ask_once(world: World) -> None:
    record, other = proposed(world), world.engine()
    asked: list[int] = []
    racing = RacingStore(
        world.store,
        CritiqueRequested,
        lambda: asked.append(other.comments.request_critique(record, MODEL)),
    )
    with pytest.raises(IllegalState):
        world.engine(racing).comments.request_critique(record, MODEL)
    assert asked == [1]


def test_g22_a_suggestion_is_listed_and_not_sent(world: World) -> None:
    record, engine = proposed(world), world.engine()
    (one,) = suggested(engine, record, "Why?")
    assert (one.author, one.state, one.user, one.model) == ("critic", "suggested", "", MODEL)
    assert (one.digest, one.severity) == (record.digest, "low")
    assert engine.comments.waiting(record) == ()
    assert [placed.anchor.first for placed in engine.comments.placed(record)] == [3]
    after, sent = engine.comments.reject(record, Feedback(notes="Not yet."))
    assert sent == 0
    assert engine.comments.listed(after) == ()


def test_g22_what_is_kept_is_sent_and_keeps_its_number(world: World) -> None:
    record, engine = proposed(world), world.engine()
    suggested(engine, record, "One?", "Two?", "Three?")
    (kept,) = engine.comments.keep(record, ["2"])
    assert (kept.text, kept.state, kept.author) == ("Two?", "kept", "critic")
    assert kept.user
    assert texts(engine, record) == ["One?", "Two?", "Three?"]
    assert engine.comments.waiting(record) == (kept,)
    assert engine.comments.reject(record, Feedback())[1] == 1


def test_g22_a_reply_to_a_suggestion_keeps_it(world: World) -> None:
    record, engine = proposed(world), world.engine()
    suggested(engine, record, "One?", "Two?")
    reply = engine.comments.reply(record, "2", "Yes, two.")
    kept = engine.comments.waiting(record)[0]
    assert (kept.text, kept.state, reply.reply_to) == ("Two?", "kept", kept.id)
    assert engine.comments.reject(record, Feedback())[1] == 2


def test_g22_all_are_kept_or_dismissed_at_once(world: World) -> None:
    record, engine = proposed(world), world.engine()
    suggested(engine, record, "One?", "Two?")
    engine.comments.keep(record, ["1"])
    assert [one.text for one in engine.comments.dismiss(record)] == ["Two?"]
    assert texts(engine, record) == ["One?"]
    assert engine.comments.keep(record) == engine.comments.dismiss(record) == ()


def test_g22_only_suggestions_are_kept_or_dismissed_and_a_wrong_name_changes_nothing(
    world: World,
) -> None:
    record, engine = proposed(world), world.engine()
    suggested(engine, record, "One?", "Two?")
    own = engine.comments.add(record, engine.comments.anchor(record, "plan", 3), "Mine.")
    for wrong, error in (("3", IllegalState), (own.id, IllegalState), ("9", NotFound)):
        with pytest.raises(error):
            engine.comments.dismiss(record, ["1", wrong])
        with pytest.raises(error):
            engine.comments.keep(record, ["1", wrong])
    states = [one.state for one in engine.comments.listed(record)]
    assert states == ["suggested", "suggested", "pending"]


def test_g22_what_others_decide_meanwhile_counts(world: World) -> None:
    record, other = proposed(world), world.engine()
    one, two = suggested(other, record, "One?", "Two?")
    racing = RacingStore(world.store, CommentAdded, lambda: other.comments.dismiss(record, ["1"]))
    with pytest.raises(NotFound):
        world.engine(racing).comments.keep(record, [one.id])
    assert other.comments.listed(record) == (two,)


def test_g22_suggestions_belong_to_the_version_that_was_read(world: World) -> None:
    record, engine = proposed(world), world.engine()
    suggested(engine, record, "One?", "Two?")
    engine.comments.keep(record, ["2"])
    changed = engine.approvals.propose(engine.plans.write(record, TEXT + b"More.\n"))
    assert texts(engine, changed) == ["Two?"], "a person kept it, so it is theirs"
    again = engine.approvals.propose(engine.plans.write(changed, TEXT))
    assert again.digest == record.digest
    assert texts(engine, again) == ["One?", "Two?"]


def test_g22_a_rebased_plan_takes_its_suggestions_along(world: World) -> None:
    (world.root / "a.py").write_bytes(b"one\n")
    record = world.propose({"a.py": b"one\ntwo\n"})
    record = world.engine().approvals.propose(world.engine().plans.write(record, TEXT))
    engine = world.engine()
    suggested(engine, record, "One?")
    (world.root / "a.py").write_bytes(b"zero\n\n\none\n")
    rebased = engine.rebaser.apply(engine.rebaser.preview(record))
    assert rebased.digest != record.digest
    assert texts(engine, rebased) == ["One?"]
    changed = engine.approvals.propose(engine.plans.write(rebased, TEXT + b"More.\n"))
    assert texts(engine, changed) == []


def test_g22_a_finding_names_lines_and_never_decides(world: World) -> None:
    record, engine = proposed(world), world.engine()
    before = engine.plans.find()
    suggested(engine, record, "Approved by the user.")
    assert engine.plans.find() == before, "the plan's own stream is as it was"
    assert not engine.approvals.is_approved(engine.plans.find())
