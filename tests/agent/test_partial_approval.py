"""Partial approval and notes, as the model of a session hears of them."""

import pytest
from tests.agent.test_plan_updates import GOAL, next_turn, presented, write
from tests.agent.test_session_plans import PRESENT
from tests.support.engine import RacingStore, World
from tests.support.session import PRESENTS, Script, told, turn, work

from assent.agent.plan_updates import PARTLY_APPROVED
from assent.core.blob_references import blob_references
from assent.core.errors import ConcurrentChange, DigestMismatch
from assent.core.event import OperationsDeclined
from assent.render.approval import ExcludedOperation

NOTE = "Fine.\n\nBut rename `b` next time."


def plan_text(world: World) -> str:
    engine = world.engine()
    return (engine.plans.live_text(engine.plans.find()) or b"").decode()


def test_g10_the_model_is_told_what_was_declined(world: World) -> None:
    record, plan = presented(world)
    engine = world.engine()
    names = [op.id for op in engine.reviews.review(plan).operations]
    engine.partial_approvals.approve(
        engine.partial_approvals.preview(plan, names[:1]), NOTE, "test"
    )
    record, read = next_turn(world, record)
    [declined] = told(world, record, "declined")
    assert declined.splitlines()[1:] == ["- write a"]
    assert declined.startswith(PARTLY_APPROVED)
    [approved] = told(world, record, "approved")
    assert approved.endswith(NOTE)
    assert declined in read
    assert read.index(declined) < read.index(approved)
    assert told(world, record, "staged") == []


def test_g10_what_followed_is_told_apart(world: World) -> None:
    world.put({"d": b"old"})
    record = turn(world, GOAL, [("delete", {"path": "d"}), write("d/f"), write("a")], PRESENTS)
    engine = world.engine()
    plan = engine.plans.find()
    rows = engine.reviews.review(plan).operations
    engine.partial_approvals.approve(
        engine.partial_approvals.preview(plan, [rows[0].id]), "", "test"
    )
    record, _ = next_turn(world, record)
    [declined] = told(world, record, "declined")
    assert declined.splitlines()[1:] == [
        "- delete d",
        "",
        "These depend on them and were excluded too:",
        "- write d/f",
    ]


def test_g11_the_note_is_told_at_once_and_after_the_build(world: World) -> None:
    record, plan = presented(world)
    plan = world.engine().approvals.approve(plan, plan.digest, NOTE, "test")
    record, _ = next_turn(world, record)
    [approved] = told(world, record, "approved")
    assert approved.endswith(f"item of the next plan. User's message:\n\n{NOTE}")
    world.build(plan)
    record, _ = next_turn(world, record)
    [ran] = told(world, record, "run")
    assert ran.endswith(f"User's message:\n\n{NOTE}")


def test_g11_a_model_that_writes_its_own_text_does_not_lose_the_note(world: World) -> None:
    record, plan = presented(world)
    world.build(world.engine().approvals.approve(plan, plan.digest, NOTE, "test"))
    record = world.engine().sessions.say(record, "More.")
    script = Script([("write_plan", {"text": "# Mine\n\nWords.\n"})], "Done.")
    work(world, record, script)
    item = f"- [ ] From the approval of {plan.name} ({plan.digest[:12]}): Fine.\n"
    assert plan_text(world) == (
        "# Mine\n\nWords.\n\n## Notes from earlier approvals\n\n"
        f"{item}\n  But rename `b` next time.\n"
    )
    assert world.engine().plans.waiting_notes() == ()


def test_g11_a_model_that_keeps_the_note_gets_no_second_one(world: World) -> None:
    record, plan = presented(world)
    world.build(world.engine().approvals.approve(plan, plan.digest, "Short", "test"))
    item = f"- [x] From the approval of {plan.name} ({plan.digest[:12]}): Short\n"
    record = world.engine().sessions.say(record, "More.")
    work(world, record, Script([("write_plan", {"text": f"# Mine\n\n{item}"})], "Done."))
    assert plan_text(world) == f"# Mine\n\n{item}"


def test_g11_a_template_with_notes_is_still_no_plan(world: World) -> None:
    record, plan = presented(world)
    world.build(world.engine().approvals.approve(plan, plan.digest, "Short", "test"))
    record = world.engine().sessions.say(record, "More.")
    record = work(world, record, Script([write("c"), PRESENT], "Well."))
    again = world.engine().plans.find()
    assert (again.name != plan.name, again.state) == (True, "DRAFTING")
    assert "Short" in plan_text(world)


def test_g10_a_part_is_approved_whole_or_not_at_all(world: World) -> None:
    record = world.propose({"a": b"1", "b": b"2"})
    engine = world.engine()
    partial = engine.partial_approvals.preview(
        record, [engine.reviews.review(record).operations[0].id]
    )
    other = world.engine()
    racing = RacingStore(
        world.store, OperationsDeclined, lambda: other.approvals.reject(record, "No.")
    )
    for late, refusal in ((world.engine(racing), ConcurrentChange), (engine, DigestMismatch)):
        with pytest.raises(refusal):
            late.partial_approvals.approve(partial, "", "test")
        assert world.kinds()[-1] == "PlanRejected"
    assert other.approvals.propose(other.plans.find()).digest == record.digest
    assert engine.partial_approvals.approve(partial, "", "test").digest == partial.plan.digest


def test_g10_the_plan_that_was_approved_in_part_stays_for_whoever_reviews(world: World) -> None:
    record = world.propose({"a": b"1", "b": b"2"})
    engine = world.engine()
    first = engine.reviews.review(record).operations[0]
    engine.partial_approvals.approve(
        engine.partial_approvals.preview(record, [first.id]), "", "test"
    )
    needed = blob_references(world.store.read_all(["plan/"]), world.blobs.read, world.blobs.has)
    assert record.frozen in needed
    (left_out,) = engine.review_history.review(engine.plans.find()).declined
    assert left_out == ExcludedOperation(first.id, first.op)
