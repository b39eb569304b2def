"""Comments: tied to lines, kept beside the plan, found again, and sent with a no, all at once."""

import msgspec
import pytest
from tests.support.engine import RacingStore, World

from assent.app.engine import Engine
from assent.core.errors import ConcurrentChange, IllegalState, NotFound, UsageError
from assent.core.event import CommentAdded, CommentsSent, Event, PlanRejected
from assent.core.plan.comment import Comment, CommentAnchor, Feedback, in_threads
from assent.core.plan.record import PlanRecord, PlanState
from assent.planning.comments import MAX_COMMENT_BYTES
from assent.render.comments import comment_lines, pending_text
from assent.render.lines import Line
from assent.render.review import review_lines, review_texts

TEXT = b"# Work\n\nFirst do this.\nThen do that.\n"
KEY = "-----BEGIN PRIVATE KEY-----\n" + ("q" * 64 + "\n") * 3 + "-----END PRIVATE KEY-----\n"


def proposed(world: World, text: bytes = TEXT) -> PlanRecord:
    record = world.propose({"a.py": b"one\ntwo\n", "b.py": b"three\n"})
    return world.engine().approvals.propose(world.engine().plans.write(record, text))


def commented(engine: Engine, record: PlanRecord, where: str, *lines: int) -> Comment:
    anchor = engine.comments.anchor(record, where, *lines)
    return engine.comments.add(record, anchor, f"On {where}, please change this.")


def rejections(world: World) -> list[PlanRejected]:
    events = [one.event for one in world.store.read_all(["plan/"])]
    return [event for event in events if isinstance(event, PlanRejected)]


def kinds(world: World) -> list[type[Event]]:
    return [type(one.event) for one in world.store.read_all(["comment/"])]


def test_g18_an_anchor_quotes_the_lines_as_the_review_shows_them(world: World) -> None:
    record, engine = proposed(world), world.engine()
    anchor = engine.comments.anchor(record, "plan", 3, 4)
    assert (anchor.operation, anchor.first, anchor.last) == ("", 3, 4)
    assert anchor.quote == ("First do this.", "Then do that.")
    ids = [one.id for one in engine.reviews.review(record).operations]
    of_diff = engine.comments.anchor(record, "1", 5, 6)
    assert of_diff == engine.comments.anchor(record, ids[0][:12], 5, 6)
    assert (of_diff.operation, of_diff.about) == (ids[0], "write a.py")
    assert of_diff.quote == ("@@ -0,0 +1,2 @@", "+one")
    assert engine.comments.anchor(record, "2") == CommentAnchor(
        ids[1], 0, 0, (), "write b.py", engine.comments.part(record, "2").seen
    )


REFUSED = {
    "a line after the last": (NotFound, ("plan", 5, 5)),
    "a range that ends after the last": (NotFound, ("plan", 3, 5)),
    "a line before the first": (NotFound, ("plan", -1, 2)),
    "no such operation": (NotFound, ("3", 1, 1)),
    "an id of nothing": (NotFound, ("zz", 1, 1)),
    "more lines than anybody reads as one": (UsageError, ("plan", 1, 500)),
}


@pytest.mark.parametrize(("error", "where"), REFUSED.values(), ids=REFUSED)
def test_g18_lines_that_are_not_there_are_refused(
    world: World, error: type[Exception], where: tuple[str, int, int]
) -> None:
    record = proposed(world)
    with pytest.raises(error):
        world.engine().comments.anchor(record, *where)


def test_g18_secrets_do_not_get_into_a_quote(world: World) -> None:
    record = proposed(world, TEXT + KEY.encode() + b"password ghp_" + b"a1" * 18 + b"\n")
    quote = world.engine().comments.anchor(record, "plan", 4, 10).quote
    hidden = "[masked: private key]"
    assert quote == ("Then do that.", *[hidden] * 5, "password [masked: GitHub token]")


def test_g18_comments_wait_beside_the_plan_and_change_nothing_of_it(world: World) -> None:
    record, engine = proposed(world), world.engine()
    first = commented(engine, record, "plan", 3)
    second = commented(engine, record, "1", 6)
    assert first == Comment(
        first.id, first.anchor, "On plan, please change this.", world.clock.now(), "tester",
        record.digest,
    )  # fmt: skip
    again = world.engine()
    assert again.comments.waiting(record) == again.comments.all(record) == (first, second)
    assert again.plans.find(record.plan_id) == record
    assert [one.stream for one in again.log()][-2:] == [
        f"comment/{record.workspace}/{record.plan_id}"
    ] * 2


def test_g18_a_waiting_comment_is_changed_or_taken_back(world: World) -> None:
    record, engine = proposed(world), world.engine()
    first, second = commented(engine, record, "plan", 3), commented(engine, record, "plan", 4)
    changed = engine.comments.change(record, "2", "Never do that.")
    assert changed == msgspec.structs.replace(second, text="Never do that.")
    assert engine.comments.remove(record, first.id) == first
    assert engine.comments.waiting(record) == engine.comments.all(record) == (changed,)
    with pytest.raises(NotFound):
        engine.comments.remove(record, first.id)


def test_f57_replies_make_a_thread_that_is_sent_as_one(world: World) -> None:
    record, engine = proposed(world), world.engine()
    first = commented(engine, record, "plan", 3)
    other = commented(engine, record, "1", 6)
    reply = engine.comments.reply(record, "1", "Or drop it.")
    again = engine.comments.reply(record, reply.id, "Drop it.")
    assert (reply.anchor, reply.reply_to, again.reply_to) == (first.anchor, first.id, first.id)
    assert engine.comments.waiting(record) == (first, other, reply, again)
    shown = [one.number for one in in_threads(engine.comments.placed(record))]
    assert shown == [1, 3, 4, 2], "numbers stay, and replies stand below their comment"
    _, sent = engine.comments.reject(record, Feedback(notes="Twice"))
    (event,) = rejections(world)
    assert (sent, [one.reply_to for one in event.comments]) == (4, ["", "", first.id, first.id])
    place = event.note.index
    assert place("First do this.") < place("Or drop it.") < place("Drop it.", place("Or drop it."))
    assert place("Or drop it.") < place("On 1, please change this.")
    assert event.note.count("### ") == 2, "a thread has its lines once"
    with pytest.raises(IllegalState):
        engine.comments.reply(record, first.id, "Too late.")


def test_f57_a_reply_outlives_the_comment_that_it_was_to(world: World) -> None:
    record, engine = proposed(world), world.engine()
    first = commented(engine, record, "plan", 3)
    reply = engine.comments.reply(record, "1", "Or drop it.")
    engine.comments.remove(record, first.id)
    more = engine.comments.reply(record, "1", "Really.")
    assert more.reply_to == reply.id
    assert [one.head for one in in_threads(engine.comments.placed(record))] == [0, 1]
    assert any("Or drop it." in line.text for line in comment_lines(engine.comments.placed(record)))


@pytest.mark.parametrize("words", ["", " \n", "x" * (MAX_COMMENT_BYTES + 1)], ids=len)
def test_g18_a_comment_needs_words_and_not_too_many(world: World, words: str) -> None:
    record, engine = proposed(world), world.engine()
    with pytest.raises(UsageError):
        engine.comments.add(record, engine.comments.anchor(record, "plan", 1), words)
    assert kinds(world) == []


def test_g18_a_plan_that_is_over_takes_no_comments(world: World) -> None:
    record = world.approve({"a": b"1"})
    engine = world.engine()
    anchor = engine.comments.anchor(record, "plan", 1)
    world.build(record)
    with pytest.raises(IllegalState, match="This plan is done"):
        engine.comments.add(engine.plans.find(record.plan_id), anchor, "Late.")


def test_f57_two_comments_and_feedback_become_one_request(world: World) -> None:
    record, engine = proposed(world), world.engine()
    first, second = commented(engine, record, "plan", 3), commented(engine, record, "1", 6)
    rejected, sent = engine.comments.reject(record, Feedback(scope="Only a.py"))
    assert (rejected.state, sent) == (PlanState.DRAFTING, 2)
    (event,) = rejections(world)
    assert (event.digest, event.user, event.comments) == (record.digest, "tester", (first, second))
    assert event.note.startswith("## Scope\n\nOnly a.py\n\n## Comments\n\n")
    assert event.note.endswith(
        "### line 3 of the plan text\n\n```\n3 | First do this.\n```\n\nOn plan, please change "
        "this.\n\n### line 6 of operation 1, write a.py\n\n```\n6 | +one\n```\n\nOn 1, please "
        "change this."
    )
    assert engine.comments.waiting(rejected) == ()
    assert engine.comments.all(rejected) == (first, second)
    with pytest.raises(IllegalState, match="was already sent"):
        engine.comments.remove(rejected, first.id)


def test_f57_what_was_sent_is_not_sent_again(world: World) -> None:
    record, engine = proposed(world), world.engine()
    commented(engine, record, "plan", 3)
    rejected, _ = engine.comments.reject(record, Feedback())
    later = engine.approvals.propose(rejected)
    assert engine.comments.reject(later, Feedback(notes="No."))[1] == 0
    assert [(event.note, event.comments) for event in rejections(world)[1:]] == [("No.", ())]


def test_f58_an_empty_no_is_refused_and_rejects_nothing(world: World) -> None:
    record = proposed(world)
    with pytest.raises(UsageError, match="Say what to change"):
        world.engine().comments.reject(record, Feedback(scope=" "))
    assert rejections(world) == []


def test_g18_after_a_revision_comments_follow_their_lines_and_none_is_lost(world: World) -> None:
    record, engine = proposed(world), world.engine()
    for line in (2, 3, 4):
        commented(engine, record, "plan", line)
    commented(engine, record, "1", 6)
    commented(engine, record, "2")
    changed = engine.plans.write(record, b"# Work\n\n\nNew.\nThen do that.\nFirst do this!\n")
    changed = engine.drafts.write(changed, b"a.py", [b"zero\none\n"], None).record
    second = engine.reviews.review(record).operations[1].id
    changed = engine.drafts.remove(changed, second).record
    later = engine.approvals.propose(changed)
    found = [(p.standing, p.anchor.first, p.number) for p in engine.comments.placed(later)]
    assert found == [
        ("gone", 2, 0),
        ("gone", 3, 0),
        ("moved", 5, 0),
        ("moved", 7, 1),
        ("gone", 0, 0),
    ]
    engine.comments.reject(later, Feedback())
    (event,) = rejections(world)
    assert [comment.anchor.first for comment in event.comments] == [2, 3, 5, 7, 0]
    assert event.note.count("On plan, please change this.") == 3
    assert "was at line 3 of the plan text\n\n```\n3 | First do this.\n```" in event.note


def test_g18_a_draft_can_be_commented_in_its_live_text(world: World) -> None:
    engine = world.engine()
    record = engine.plans.new("work", "tests", "A goal")
    (world.root / record.path.decode()).write_bytes(TEXT)
    comment = commented(engine, record, "plan", 3)
    assert (comment.digest, comment.anchor.quote) == ("", ("First do this.",))
    with pytest.raises(IllegalState):
        engine.comments.reject(record, Feedback(notes="No."))
    later = engine.approvals.propose(record)
    assert engine.comments.reject(later, Feedback())[1] == 1


def test_g18_a_review_has_comments_below_their_lines(world: World) -> None:
    record, engine = proposed(world), world.engine()
    plain = [*review_lines(engine.review_history.review(record))]
    commented(engine, record, "plan", 3, 4)
    engine.comments.add(record, engine.comments.anchor(record, "1", 6), "Why?\nAnd how?")
    review = engine.review_history.review(record)
    lines = [*review_lines(review)]
    assert lines[lines.index(Line("plain", "│ Then do that.")) + 1] == Line(
        "said", "▸ comment 1 (lines 3-4): On plan, please change this."
    )
    at = lines.index(Line("added", "+one")) + 1
    assert lines[at : at + 2] == [Line("said", "▸ comment 2: Why?"), Line("said", "▸ And how?")]
    assert Line("said", pending_text(2)) in lines
    assert [line for line in lines if line.style != "said"] == plain
    assert "\n".join(review_texts(review)) == "\n".join(line.text for line in lines)


def test_g18_a_comment_of_somebody_else_is_not_ours_to_send(world: World) -> None:
    record, engine = proposed(world), world.engine()
    own = commented(engine, record, "plan", 3)
    theirs = msgspec.structs.replace(own, id="other", user="somebody")
    racing = RacingStore(world.store, CommentsSent, lambda: _put(world, record, theirs))
    sent = world.engine(racing).comments.reject(record, Feedback())
    assert sent[1] == 1
    assert engine.comments.all(record) == (own, theirs)
    assert engine.comments.waiting(record) == ()


def _put(world: World, record: PlanRecord, comment: Comment) -> None:
    engine = world.engine()
    seq, _ = engine.comments._read(record)
    engine.comments._append(record, seq, CommentAdded(record.plan_id, comment))


def test_g18_two_who_comment_at_once_are_both_on_record(world: World) -> None:
    record, other = proposed(world), world.engine()
    racing = RacingStore(world.store, CommentAdded, lambda: commented(other, record, "plan", 1))
    second = commented(world.engine(racing), record, "plan", 3)
    assert [one.anchor.first for one in other.comments.waiting(record)] == [1, 3]
    assert other.comments.waiting(record)[1] == second


def test_f57_a_plan_that_changed_meanwhile_is_not_rejected_and_the_comments_wait(
    world: World,
) -> None:
    record, other = proposed(world), world.engine()
    comment = commented(other, record, "plan", 3)
    racing = RacingStore(world.store, PlanRejected, lambda: other.plans.write(record, b"# New\n"))
    with pytest.raises(ConcurrentChange):
        world.engine(racing).comments.reject(record, Feedback())
    assert (rejections(world), other.comments.waiting(record)) == ([], (comment,))
