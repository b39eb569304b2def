"""News: what others did to a session's plan reaches its model, once, before the next step."""

import errno
import os

import pytest
from tests.support.engine import RacingStore, World
from tests.support.session import PRESENTS, Person, Script, told, tooling, turn, work

from assent.agent.plan_updates import APPROVED_WITH_NOTE
from assent.agent.run_report import still_staged
from assent.core.event import DraftEdited
from assent.core.llm import TextPart
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.core.session.record import SessionRecord
from assent.executor.disk import Disk

GOAL = "Greet"
ODD = "No — “never”!\n\n\t# not a heading\n$(rm -rf /) \u202e \U0001f642  "
PLAN = ".opencode/plans/greet/PLAN_greet.md"


class FullDisk(Disk):
    """Has no room for what the plan writes."""

    def write(self, fd: int, content: bytes | memoryview) -> int:
        if bytes(content) == b"x":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(fd, content)


def write(path: str, text: str = "x") -> tuple[str, dict[str, str]]:
    return ("write", {"path": path, "text": text})


def presented(world: World) -> tuple[SessionRecord, PlanRecord]:
    """A session whose plan waits for a person."""
    record = turn(world, GOAL, [write("a"), write("b")], PRESENTS)
    return record, world.engine().plans.find()


def next_turn(world: World, record: SessionRecord, *answers: str) -> tuple[SessionRecord, str]:
    """The session a turn later, and everything that its model was told then."""
    script = Script(*(answers or ("Fine.",)))
    record = work(world, world.engine().sessions.say(record, "Go on."), script)
    parts = [part for message in script.prompts[0] for part in message.parts]
    return record, "\n".join(part.text for part in parts if isinstance(part, TextPart))


def test_f39_a_rejection_reaches_the_model_verbatim_and_plan_mode_stays(world: World) -> None:
    record, plan = presented(world)
    world.engine().approvals.reject(plan, ODD)
    record, read = next_turn(world, record)
    [words] = told(world, record, "rejected")
    assert words.endswith("\n\n" + ODD)
    assert words in read
    assert record.mode == "plan"


def test_f54_a_rejected_plan_is_revised_and_presented_again(world: World) -> None:
    record, plan = presented(world)
    world.engine().approvals.reject(plan, "Also c.")
    record = world.engine().sessions.say(record, "Go on.")
    record = work(world, record, Script([write("c")], PRESENTS))
    again = world.engine().plans.find()
    assert (again.plan_id, again.state) == (plan.plan_id, "AWAITING_APPROVAL")
    assert again.digest != plan.digest
    kinds = [kind for kind in world.kinds() if kind.startswith("Plan")]
    assert kinds == ["PlanCreated", "PlanProposed", "PlanRejected", "PlanProposed"]


def test_news_is_told_once(world: World) -> None:
    record, plan = presented(world)
    world.engine().approvals.reject(plan, "No.")
    for _ in range(3):
        record, _ = next_turn(world, record)
    assert len(told(world, record, "rejected")) == 1


def test_what_the_turn_did_itself_is_no_news(world: World) -> None:
    record = turn(
        world,
        GOAL,
        [("write_plan", {"text": "# One\n"})],
        [write("a")],
        [("delete", {"path": "a"})],
        [("write_plan", {"text": "# Two\n"}), write("b")],
        PRESENTS,
    )
    record, _ = next_turn(world, record)
    about = [getattr(e.event, "synthetic", "") for e in world.engine().sessions.events(record)]
    assert [word for word in about if word] == ["reminder"]


def test_an_approval_and_a_run_are_reported(world: World) -> None:
    record, plan = presented(world)
    plan = world.engine().approvals.approve(plan, plan.digest, "Well done.", "test")
    world.build(plan)
    record, read = next_turn(world, record)
    [ran] = told(world, record, "run")
    assert told(world, record, "approved") == []
    assert "approved by tester (test)" in ran
    assert ran.splitlines()[1:] == [
        "1. done: write a",
        "2. done: write b",
        "",
        f"{APPROVED_WITH_NOTE} User's message:",
        "",
        "Well done.",
    ]
    assert read.index(ran) < read.index("Go on.")


def test_a_run_that_was_rolled_back_says_what_is_still_staged(world: World) -> None:
    record, plan = presented(world)
    plan = world.engine().approvals.approve(plan, plan.digest, "", "test")
    assert world.build(plan, FullDisk()).outcome == "rolled_back"
    record, read = next_turn(world, record)
    [ran] = told(world, record, "run")
    assert ran.endswith(
        " All 2 operations are still staged; change what is needed and present again."
    )
    assert ran in read
    assert len(world.engine().plans.operations(world.engine().plans.find())) == 2


@pytest.mark.parametrize(
    ("staged", "ran", "words"),
    [(0, 2, ""), (1, 1, " Its operation is still"), (1, 2, " 1 operation is still"),
     (2, 3, " 2 operations are still"), (3, 3, " All 3 operations are still")],
)  # fmt: skip
def test_how_much_is_still_staged_is_counted(staged: int, ran: int, words: str) -> None:
    rest = " staged; change what is needed and present again." if words else ""
    assert still_staged(staged, ran) == words + rest


def test_an_approval_without_a_run_is_reported(world: World) -> None:
    record, plan = presented(world)
    world.engine().approvals.approve(plan, plan.digest, "Well done.", "test")
    record, read = next_turn(world, record)
    [approved] = told(world, record, "approved")
    assert plan.digest in approved
    assert approved.endswith("Well done.")
    assert read.index(approved) < read.index("Go on.")


def test_a_new_plan_after_a_built_one_is_no_edit_of_a_person(world: World) -> None:
    record, plan = presented(world)
    engine = world.engine()
    engine.approvals.approve(plan, plan.digest, "", "test")
    drive_to_end(engine.runs.build(plan.plan_id))
    record = world.engine().sessions.say(record, "More.")
    record = work(world, record, Script([write("d")], "Done."))
    assert record.plan_id != plan.plan_id
    record, _ = next_turn(world, record)
    assert told(world, record, "edited") == []


def test_an_undo_is_reported(world: World) -> None:
    record, plan = presented(world)
    plan = world.engine().approvals.approve(plan, plan.digest, "", "test")
    world.build(plan)
    record, _ = next_turn(world, record)
    engine = world.engine()
    drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))
    record, _ = next_turn(world, record)
    [undone] = told(world, record, "undone")
    assert undone.splitlines()[1:] == ["- a", "- b"]
    assert len(told(world, record, "run")) == 1


def test_an_undo_that_left_something_alone_is_reported_with_that(world: World) -> None:
    record, plan = presented(world)
    plan = world.engine().approvals.approve(plan, plan.digest, "", "test")
    world.build(plan)
    world.put({"b": b"mine"})
    engine = world.engine()
    report = drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))
    assert report.outcome == "partial"
    record, _ = next_turn(world, record)
    last = told(world, record, "undone")[-1]
    assert "as they were before, except for what was skipped:" in last
    assert last.endswith("Skipped:\n- b changed after the run")


def test_f141_a_redo_is_reported(world: World) -> None:
    record, plan = presented(world)
    plan = world.engine().approvals.approve(plan, plan.digest, "", "test")
    run = world.build(plan).run
    engine = world.engine()
    drive_to_end(engine.undo.apply(engine.undo.preview(run, operation="1"), "test"))
    record, _ = next_turn(world, record)
    assert told(world, record, "undone")[-1].splitlines()[1:] == ["- a"]
    drive_to_end(engine.undo.apply(engine.undo.redo(), "test"))
    record, _ = next_turn(world, record)
    last = told(world, record, "undone")[-1]
    assert last.startswith("The user took their undo back; ")
    assert last.splitlines()[1:] == ["- a"]


def test_f63_what_a_person_takes_out_is_a_no_to_it(world: World) -> None:
    record = turn(world, GOAL, [write("a"), write("b")], "Well?")
    engine = world.engine()
    cleared = engine.drafts.clear(engine.plans.find())
    assert (len(cleared.removed), cleared.added) == (2, ())
    record, read = next_turn(world, record)
    [words] = told(world, record, "declined")
    assert words.splitlines()[1:] == ["- write a", "- write b"]
    assert words in read


def test_f63_one_operation_taken_out_while_the_session_works(world: World) -> None:
    def decline() -> None:
        engine = world.engine()
        engine.drafts.clear(engine.plans.find())

    record = world.engine().sessions.start(GOAL, "plan")
    script = Script([write("a")], [("read", {"path": "missing"})], "Done.")
    working = world.engine().sessions.work(record, script, tooling())
    for recorded in working:
        if getattr(getattr(recorded, "event", None), "call", "") == "2.1":
            decline()
            break
    for _ in working:
        pass
    assert len(told(world, record, "declined")) == 1
    assert "- write a" in told(world, record, "declined")[0]


@pytest.mark.parametrize("act", ["clear", "stage", "delete", "build"])
def test_what_a_person_does_before_a_call_stages_more_is_told(world: World, act: str) -> None:
    """The next call of the same turn must not swallow it, nor the plan that it then begins."""

    def interfere() -> None:
        engine = world.engine()
        plan = engine.plans.find()
        match act:
            case "clear":
                engine.drafts.clear(plan)
            case "stage":
                engine.drafts.write(plan, b"mine", [b"x"], None)
            case "delete":
                engine.plans.delete([plan])
            case _:
                plan = engine.approvals.propose(plan)
                world.build(engine.approvals.approve(plan, plan.digest, "", "test"))

    record = world.engine().sessions.start(GOAL, "plan")
    script = Script([write("a")], [write("b")], "Done.")
    working = world.engine().sessions.work(record, script, tooling())
    for recorded in working:
        if getattr(getattr(recorded, "event", None), "call", "") == "2.1":
            interfere()
            break
    for _ in working:
        pass
    about = {"clear": "declined", "stage": "staged", "delete": "deleted", "build": "run"}[act]
    assert len(told(world, record, about)) == 1


def test_what_a_person_stages_is_told(world: World) -> None:
    record = turn(world, GOAL, [write("a")], "Well?")
    engine = world.engine()
    engine.drafts.write(engine.plans.find(), b"mine", [b"x"], None)
    record, _ = next_turn(world, record)
    assert told(world, record, "staged") == [
        "These operations were staged in the plan in the meantime:\n- write mine"
    ]


def test_an_edited_plan_file_is_told_with_the_difference(world: World) -> None:
    record = turn(world, GOAL, [("write_plan", {"text": "# One\n\nOld.\n"})], "Well?")
    (world.root / PLAN).write_text("# One\n\nNew.\n", encoding="utf-8")
    record, _ = next_turn(world, record)
    [words] = told(world, record, "edited")
    assert "-Old." in words
    assert "+New." in words
    record, _ = next_turn(world, record)
    assert len(told(world, record, "edited")) == 1


def test_an_edit_of_a_presented_plan_is_told_when_the_model_revises(world: World) -> None:
    record = turn(
        world, GOAL, [("write_plan", {"text": "# One\n\nOld.\n"})], [("present_plan", {})]
    )
    (world.root / PLAN).write_text("# One\n\nNew.\n", encoding="utf-8")
    record = world.engine().sessions.say(record, "Go on.")
    record = work(world, record, Script([write("a")], "Done."))
    assert "+New." in told(world, record, "edited")[0]
    assert world.engine().plans.find().state == "DRAFTING"


def test_f30_choosing_another_plan_tells_the_model(world: World) -> None:
    record = turn(world, GOAL, [("write_plan", {"text": "# One\n"})], "Well?")
    other = world.engine().plans.new("other", "tests")
    other = world.engine().plans.write(other, b"# The other title\n")
    world.engine().plans.use("greet/greet")
    record, _ = next_turn(world, record)
    assert told(world, record, "plan_used") == []
    world.engine().plans.use("other")
    record, read = next_turn(world, record)
    [words] = told(world, record, "plan_used")
    assert "'The other title' in .opencode/plans/tests/PLAN_other.md" in words
    assert words in read
    assert record.plan_id == other.plan_id
    work(world, world.engine().sessions.say(record, "On."), Script([write("a")], "Done."))
    assert len(world.engine().plans.operations(world.engine().plans.find("other"))) == 1


def test_a_deleted_plan_is_told_and_let_go(world: World) -> None:
    record, plan = presented(world)
    world.engine().plans.delete([plan])
    record, _ = next_turn(world, record)
    assert len(told(world, record, "deleted")) == 1
    assert record.plan_id == ""


def test_f40_a_plan_that_was_given_up_is_told_and_let_go(world: World) -> None:
    record, plan = presented(world)
    world.engine().plans.discard(plan)
    record, _ = next_turn(world, record)
    [words] = told(world, record, "deleted")
    assert words.startswith("The user ended planning: the plan ")
    assert record.plan_id == ""


def test_a_deleted_file_means_a_deleted_plan(world: World) -> None:
    record = turn(world, GOAL, [write("a")], "Well?")
    (world.root / PLAN).unlink()
    record, _ = next_turn(world, record)
    assert (record.plan_id, len(told(world, record, "deleted"))) == ("", 1)


def test_a_rejection_in_the_very_moment_of_staging_is_not_lost(world: World) -> None:
    record, plan = presented(world)

    def reject() -> None:
        world.engine().approvals.reject(plan, "Stop!")

    record = world.engine().sessions.say(record, "Go on.")
    store = RacingStore(world.store, DraftEdited, reject)
    for _ in world.engine(store).sessions.work(record, Script([write("c")], "Done."), tooling()):
        pass
    assert [words[-5:] for words in told(world, record, "rejected")] == ["Stop!"]


@pytest.mark.parametrize("mode", ["ask", "yolo"])
def test_news_neither_changes_the_agent_nor_the_model(world: World, mode: str) -> None:
    record, plan = presented(world)
    sessions = world.engine().sessions
    record = sessions.set_mode(record, mode)  # type: ignore[arg-type]
    record = sessions.say(record, "Explore.", agent="explore", model="x/y")
    world.engine().approvals.reject(plan, "No.")
    record = work(world, record, Script("Fine."), Person())
    assert (record.agent, record.model) == ("explore", "x/y")
