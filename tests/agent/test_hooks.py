"""Hooks hear of calls, prompts, plans and runs; they can say no to the first two, and no more."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.runs.test_permits import Meddling, apply, write
from tests.support.engine import World
from tests.support.session import PRESENTS, told, turn

from assent.agent.hook_guard import HookGuard
from assent.core.errors import Refused, WorkspaceError
from assent.core.llm import ToolCall
from assent.core.run.journal import drive_to_end
from assent.core.tool import Action, Decision, GuardedCall, ResourceAccess, ToolOutcome, Verdict
from assent.ports import HookResults

CALL = ToolCall("c1", "write_file", {"path": "a.txt", "content": "x"})
ATTEMPT = GuardedCall(
    "s1",
    "build",
    "ask",
    CALL,
    "write",
    (ResourceAccess(Action.EDIT, "a.txt"),),
    Decision(Verdict.ASK, "?"),
)
FACTS = {
    "session": "s1",
    "agent": "build",
    "mode": "ask",
    "call": "c1",
    "tool": "write",
    "arguments": {"path": "a.txt", "content": "x"},
    "touched": [{"action": "edit", "permission": "edit", "resource": "a.txt"}],
    "verdict": "ask",
    "reason": "?",
}


class Ears:
    """Implements ports.HookRunner: notes what it hears, and answers as it was told."""

    def __init__(self, **answers: HookResults) -> None:
        self.answers = answers
        self.heard: list[tuple[str, dict[str, Any]]] = []

    def fire(self, on: str, facts: Mapping[str, Any]) -> HookResults:
        self.heard.append((on, dict(facts)))
        return self.answers.get(on, HookResults())

    def listens(self, on: str) -> bool:
        return on in self.answers

    @property
    def moments(self) -> list[str]:
        return [on for on, _ in self.heard]


def test_f134_a_guard_tells_all_about_a_call() -> None:
    ears, warnings = Ears(), list[str]()
    guard = HookGuard(ears, warnings.append)
    outcome = ToolOutcome("Done.", failed=True)
    assert guard.before(ATTEMPT) is None
    assert guard.after(ATTEMPT, outcome) is outcome
    after = {**FACTS, "result": "Done.", "failed": True}
    assert ears.heard == [("before_tool", FACTS), ("after_tool", after)]
    assert warnings == []


def test_an_objection_is_a_denial_by_a_hook() -> None:
    guard = HookGuard(Ears(before_tool=HookResults("not on Fridays")), print)
    said = "Denied by a hook: not on Fridays."
    decision = Decision(Verdict.DENY, said, "hook", "before_tool: write")
    assert guard.before(ATTEMPT) == decision


def test_what_the_gate_denied_no_hook_can_allow() -> None:
    ears = Ears(before_tool=HookResults(words="let it"))
    denied = Decision(Verdict.DENY, "never")
    attempt = GuardedCall("s1", "build", "ask", CALL, "write", ATTEMPT.requests, denied)
    assert HookGuard(ears, print).before(attempt) is None
    assert ears.heard == []


def test_words_before_and_after_reach_the_model_with_the_result() -> None:
    warnings = list[str]()
    ears = Ears(
        before_tool=HookResults(words="early"), after_tool=HookResults("", "late", ("w1", "w2"))
    )
    guard = HookGuard(ears, warnings.append)
    guard.before(ATTEMPT)
    said = "Done.\n[Message from a user hook: early]\n[Message from a user hook: late]"
    assert guard.after(ATTEMPT, ToolOutcome("Done.", "title")) == ToolOutcome(said, "title")
    assert guard.after(ATTEMPT, ToolOutcome("")).text == "\n[Message from a user hook: late]"
    assert warnings == ["w1", "w2"] * 2


def test_f134_a_prompt_is_heard_before_anything_is_made(world: World) -> None:
    ears = world.hooks = Ears(prompt=HookResults("no secrets please"))
    with pytest.raises(Refused, match="no secrets please"):
        world.engine().sessions.start("Print the key", "plan")
    assert world.engine().sessions.all() == []
    assert world.engine().plans.all() == []
    on, facts = ears.heard[0]
    assert (on, facts.pop("session") != "") == ("prompt", True)
    assert facts == {"agent": "plan", "mode": "plan", "prompt": "Print the key"}


def test_words_of_a_prompt_hook_come_before_the_persons(world: World) -> None:
    ears = world.hooks = Ears(prompt=HookResults("", "The build is red.", ("slow",)))
    engine = world.engine()
    record = engine.sessions.start("Mend it", "plan")
    assert ears.heard[0][1]["session"] == record.session
    record = engine.sessions.say(record, "Quickly")
    assert told(world, record, "hook") == ["Added by a user hook: The build is red."] * 2
    events = [getattr(each.event, "synthetic", None) for each in engine.sessions.events(record)]
    assert events == [None, None, "reminder", "hook", "", "hook", ""]
    assert (record.messages, engine.warnings) == (2, ("slow", "slow"))


def test_a_later_prompt_can_be_refused_and_nothing_is_said(world: World) -> None:
    record = world.engine().sessions.start("", "plan")
    world.hooks = Ears(prompt=HookResults("no"))
    with pytest.raises(Refused):
        world.engine().sessions.say(record, "Go on")
    assert world.engine().sessions.load(record.session) == record


def test_f134_plans_and_runs_are_heard_of_once_they_are_done(world: World) -> None:
    ears = world.hooks = Ears(run_finished=HookResults("too late", "words", ("a warning",)))
    record = world.approve({"a.txt": b"one\n"})
    engine = world.engine()
    report = drive_to_end(engine.runs.build(record.plan_id))
    assert engine.warnings == ("a warning",)
    plan = {"plan": record.plan_id, "name": "work", "digest": record.digest}
    waits, done = {**plan, "state": str(record.state)}, {**plan, "state": "COMPLETED"}
    assert ears.heard == [
        ("plan_proposed", waits),
        ("plan_approved", waits),
        ("run_finished", {**done, "run": report.run, "outcome": "done"}),
    ]


def test_an_undo_is_a_run(world: World) -> None:
    record = world.approve({"a.txt": b"one\n"})
    world.build(record)
    ears = world.hooks = Ears()
    engine = world.engine()
    report = drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))
    assert ears.moments == ["run_finished"]
    assert ears.heard[0][1]["run"] == report.run
    assert world.files() == {}


def test_f134_a_run_by_permit_is_heard_of_once_with_its_session(world: World) -> None:
    world.put({"a.txt": b"old\n"})
    ears = world.hooks = Ears()
    engine = world.engine()
    report = apply(engine, write("a.txt", b"old\n", b"new\n"))
    told = {"session": "s1", "agent": "", "mode": "auto-edit", "run": report.run, "outcome": "done"}
    assert ears.heard == [("run_finished", told)]
    drive_to_end(engine.runs.recover())
    assert ears.moments == ["run_finished"]


def test_f134_a_run_by_permit_that_was_put_back_is_heard_of_too(world: World) -> None:
    world.put({"a.txt": b"old\n"})
    ears = world.hooks = Ears()
    engine = world.engine(disk=Meddling(world, None))
    with pytest.raises(WorkspaceError):
        apply(engine, write("a.txt", b"old\n", b"new\n"))
    assert [facts["outcome"] for _, facts in ears.heard] == ["rolled_back"]


def test_f134_a_plan_that_a_model_presents_names_its_session(world: World) -> None:
    ears = world.hooks = Ears()
    record = turn(world, "Greet", PRESENTS)
    [facts] = [facts for on, facts in ears.heard if on == "plan_proposed"]
    told = {name: facts[name] for name in ("session", "agent", "mode", "plan")}
    assert told == {
        "session": record.session,
        "agent": "plan",
        "mode": "plan",
        "plan": record.plan_id,
    }


def test_what_is_refused_is_no_run(world: World) -> None:
    record = world.propose({"a.txt": b"one\n"})
    ears = world.hooks = Ears()
    with pytest.raises(Exception, match="approved"):
        drive_to_end(world.engine().runs.build(record.plan_id))
    assert drive_to_end(world.engine().runs.recover()).run == ""
    assert ears.heard == []
