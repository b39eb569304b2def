"""Turns: calls are settled in order, on record, and a session survives the end of a process."""

import threading
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.engine import PassedOn, World
from tests.support.session import (
    PRESENTS,
    TOOLS,
    Anything,
    Person,
    Script,
    results,
    told,
    tooling,
    turn,
    work,
)

from assent.agent.plan_updates import staged_text
from assent.agent.tool_call_runner import AFTER_THE_END, INTERRUPTED
from assent.core.errors import InvalidPlan
from assent.core.event import OutputKept, StoredEvent
from assent.core.llm import StopReason, StreamDelta, ToolCall, ToolResult
from assent.core.plan.operation import FileState, WriteFile
from assent.core.run.journal import drive_to_end
from assent.core.session.event import (
    AnswerTaken,
    CallEnded,
    CallStarted,
    PartSaid,
    PlanLinked,
    QuestionAnswered,
    QuestionAsked,
    SessionEvent,
    StepEnded,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from assent.core.session.transcript import LOST
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.ports import EventBatch
from assent.ports.session import Turn
from assent.tools.outcome import output_handle
from assent.tools.tool import Tool, ToolContext

GOAL = "Greet"


def events(world: World) -> list[SessionEvent]:
    return [one.event for one in world.engine().sessions.events(world.engine().sessions.last())]  # type: ignore[misc]


def read(path: str) -> tuple[str, dict[str, str]]:
    return ("read", {"path": path})


def write(path: str, text: str = "x") -> tuple[str, dict[str, str]]:
    return ("write", {"path": path, "text": text})


def test_f125_a_call_is_pending_then_running_then_settled(world: World) -> None:
    world.put({"a": b"content"})
    turn(world, GOAL, [read("a"), read("missing"), ("unknown", {})], "Done.")
    kinds = [(e.call, type(e)) for e in events(world) if isinstance(e, CallStarted | CallEnded)]
    assert kinds == [
        ("1.1", CallStarted),
        ("1.2", CallStarted),
        ("1.1", CallEnded),
        ("1.2", CallEnded),
        ("1.3", CallStarted),
        ("1.3", CallEnded),
    ]
    ended = {e.call: e for e in events(world) if isinstance(e, CallEnded)}
    assert ended["1.1"].result == ToolResult("1.1", "content")
    assert (ended["1.1"].verdict, ended["1.3"].verdict) == ("run", "")
    assert [e.result.failed for e in ended.values()] == [False, True, True]


def test_a_call_that_is_not_on_offer_is_not_done(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "ask")
    work(world, record, Script([("write_plan", {"text": "x"})], "Done."))
    [result] = results(world, record)
    assert result.failed
    assert "is not available" in result.text


def test_calls_that_only_read_run_side_by_side_and_answer_in_order(world: World) -> None:
    both = threading.Barrier(2, timeout=60)

    def meet(args: Anything, around: ToolContext) -> ToolOutcome:
        both.wait()
        return ToolOutcome(args.text)

    def touches(args: Anything, around: ToolContext) -> tuple[ResourceAccess, ...]:
        return (ResourceAccess(Action.READ, "meeting"),)

    tools = (*TOOLS, Tool("meet", Anything, touches, meet, Action.READ))
    record = world.engine().sessions.start(GOAL, "plan")
    script = Script([("meet", {"text": "one"}), ("meet", {"text": "two"})], "Done.")
    for _ in world.engine().sessions.work(record, script, tooling(tools=tools)):
        pass
    assert [result.text for result in results(world, record)] == ["one", "two"]


def test_a_reader_that_needs_an_answer_waits_for_the_others(world: World) -> None:
    world.put({"a": b"A", "secret": b"S"})
    person = Person((("Yes",),))
    record = turn(world, GOAL, [read("a"), read("secret"), read("a")], "Done.", person=person)
    assert [result.text for result in results(world, record)] == ["A", "S", "A"]
    kinds = [type(e) for e in events(world) if not isinstance(e, PlanLinked)]
    asked = kinds.index(QuestionAsked)
    then = [QuestionAsked, QuestionAnswered, AnswerTaken, CallEnded]
    assert kinds[asked : asked + 4] == then
    assert len(person.asked) == 1


def test_reads_see_the_draft_and_the_disk_stays_as_it_was(world: World) -> None:
    world.put({"a": b"old"})
    record = turn(world, GOAL, [write("a", "new")], [read("a")], "Done.")
    assert results(world, record)[-1].text == "new"
    assert world.files() == {"a": b"old"}


def test_after_the_plan_was_presented_nothing_more_is_done(world: World) -> None:
    record = turn(world, GOAL, [write("a"), *PRESENTS, write("b"), read("a")])
    assert [result.text for result in results(world, record)][3:] == [AFTER_THE_END] * 2
    plan = world.engine().plans.find()
    assert len(world.engine().plans.operations(plan)) == 1
    assert events(world)[-1] == TurnEnded("presented")


def test_f122_a_long_output_is_kept_in_the_store_and_named(world: World) -> None:
    record = turn(world, GOAL, [("long", {})], "Done.")
    [ended] = [e for e in events(world) if isinstance(e, CallEnded)]
    handle = ended.metadata["output"]
    assert results(world, record)[0].text == (
        f"the beginning\n\nThe rest is kept: call `read` with path `{handle}` and lines `1-` (last "
        "line: 1)."
    )
    [kept] = world.store.read(f"output/{record.workspace}/{record.session}")
    assert isinstance(kept.event, OutputKept)
    assert (output_handle(kept.event.output), kept.event.size) == (handle, len(b"all of it"))
    assert world.blobs.read(kept.event.digest) == b"all of it"
    assert world.files() == {}


def test_what_the_model_saw_is_known_in_later_turns(world: World) -> None:
    seen: list[dict[str, str]] = []

    def look(args: Anything, around: ToolContext) -> ToolOutcome:
        seen.append(dict(around.seen))
        return ToolOutcome("looked")

    def touches(args: Anything, around: ToolContext) -> tuple[ResourceAccess, ...]:
        return (ResourceAccess(Action.READ, "seen"),)

    world.put({"a": b"content"})
    record = turn(world, GOAL, [read("a")], "Done.")
    tools = (*TOOLS, Tool("look", Anything, touches, look, Action.READ))
    record = world.engine().sessions.say(record, "Go on.")
    script = Script([("look", {})], "Done.")
    for _ in world.engine().sessions.work(record, script, tooling(tools=tools)):
        pass
    assert [list(each) for each in seen] == [["a"]]


def test_f11_an_unknown_agent_may_only_plan(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "yolo", agent="nobody")
    engine = world.engine()
    agents: list[str] = []

    class Watching(Script):
        def drive(self, turn: Turn) -> Iterator[StoredEvent | StreamDelta]:
            agents.append(turn.agent.name)
            return super().drive(turn)

    for _ in engine.sessions.work(record, Watching([write("a")], "Done."), tooling()):
        pass
    assert agents == ["plan"]
    assert world.files() == {}
    assert "Agent 'nobody' not found" in "".join(engine.warnings)


def _interrupt(args: Anything, around: ToolContext) -> ToolOutcome:
    raise KeyboardInterrupt


def _edits(args: Anything, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.EDIT, "a"),)


STOP = Tool("stop", Anything, _edits, _interrupt, Action.EDIT)


def test_f113_an_interrupt_leaves_a_valid_history(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    script = Script([write("a"), ("stop", {}), write("b")])
    with pytest.raises(KeyboardInterrupt):
        for _ in world.engine().sessions.work(record, script, tooling(tools=(*TOOLS, STOP))):
            pass
    assert [r.text for r in results(world, record)][1:] == [INTERRUPTED] * 2
    again = Script("Going on.")
    work(world, world.engine().sessions.say(record, "Go on."), again)
    calls = [p for m in again.prompts[0] for p in m.parts if isinstance(p, ToolCall)]
    answers = [p for m in again.prompts[0] for p in m.parts if isinstance(p, ToolResult)]
    assert [call.id for call in calls] == [answer.call for answer in answers]


def test_f113_a_face_that_goes_away_interrupts(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    working = world.engine().sessions.work(record, Script([write("a"), write("b")]), tooling())
    for recorded in working:
        if isinstance(recorded, StoredEvent) and isinstance(recorded.event, CallStarted):
            break
    cast("Generator[object, None, None]", working).close()
    assert [r.text for r in results(world, record)] == [INTERRUPTED] * 2


class Cut(Exception):
    """The process ends."""


class Mortal(PassedOn):
    """A store whose process dies after so many transactions."""

    def __init__(self, world: World, left: int) -> None:
        super().__init__(world.store)
        self.left = left

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        if self.left == 0:
            raise Cut
        self.left -= 1
        return super().append(*batches)


STORY: Sequence[str | Sequence[tuple[str, dict[str, Any]]]] = (
    [read("a"), read("a")],
    [write("b"), ("question", {"items": ["Why?"]})],
    [("write_plan", {"text": "# A plan\n"})],
    "Done.",
)


def test_a_session_opens_again_after_its_process_died_at_any_moment(tmp_path: Path) -> None:
    survived, moment = False, 0
    while not survived:
        base = tmp_path / str(moment)
        base.mkdir()
        world = World(base)
        world.put({"a": b"content"})
        record = world.engine().sessions.start(GOAL, "plan")
        store = Mortal(world, moment)
        try:
            for _ in world.engine(store).sessions.work(record, Script(*STORY), tooling()):
                pass
            survived = True
        except Cut:
            _check_opens(world)
        moment += 1
    assert moment > 20


def _check_opens(world: World) -> None:
    record = world.engine().sessions.last()
    known = results(world, record)
    script = Script("Going on.")
    after = work(world, world.engine().sessions.say(record, "Go on."), script)
    assert (after.working, after.messages) == (False, 2)
    wanted: list[str] = []
    for message in script.prompts[0]:
        assert [p.call for p in message.parts if isinstance(p, ToolResult)] == wanted
        wanted = [p.id for p in message.parts if isinstance(p, ToolCall)]
    assert wanted == []
    told_again = [p for m in script.prompts[0] for p in m.parts if isinstance(p, ToolResult)]
    assert told_again[: len(known)] == known  # nothing that was recorded is lost
    calls = {e.call for e in events(world) if isinstance(e, CallStarted)}
    settled = [e.call for e in events(world) if isinstance(e, CallEnded)]
    assert calls <= set(settled)
    assert len(settled) == len(set(settled))
    started = [e for e in events(world) if isinstance(e, TurnStarted)]
    ended = [e for e in events(world) if isinstance(e, TurnEnded)]
    assert len(started) == len(ended)


def test_what_was_staged_before_a_crash_is_told(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    with pytest.raises(Cut):
        for _ in world.engine(Mortal(world, 8)).sessions.work(
            record, Script([write("a")]), tooling()
        ):
            pass
    assert results(world, record) == []
    record = work(world, record, Script("Going on."))
    assert [r.text for r in results(world, record)] == [LOST]
    assert told(world, record, "staged") == [
        staged_text([WriteFile(b"a", None, FileState("", 0, 0))])
    ]


@pytest.mark.parametrize("moment", range(2, 9))
def test_a_process_that_dies_while_it_makes_the_plan_leaves_one_plan(
    world: World, moment: int
) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    with pytest.raises(Cut):
        for _ in world.engine(Mortal(world, moment)).sessions.work(
            record, Script([write("a")]), tooling()
        ):
            pass
    assert len(world.engine().plans.all()) == (moment > 3)  # by its file, at least
    record = world.engine().sessions.say(record, "Go on.")
    record = work(world, record, Script([write("a")], "Done."))
    [plan] = world.engine().plans.all()
    assert (record.plan_id, plan.session, plan.state) == (plan.plan_id, record.slug, "DRAFTING")
    assert [op.path for op in world.engine().plans.operations(plan)] == [b"a"]
    assert world.engine().plans.find() == plan


def test_a_process_that_dies_before_a_plan_is_on_record_leaves_its_file(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    with pytest.raises(Cut):
        for _ in world.engine(Mortal(world, 4)).sessions.work(
            record, Script([write("a")]), tooling()
        ):
            pass
    [file] = world.root.glob(".opencode/plans/*/PLAN_*.md")
    [plan] = world.engine().plans.all()  # which takes the file in
    record = work(world, world.engine().sessions.say(record, "Go on."), Script([write("a")], "End"))
    assert (record.plan_id, world.root / plan.path.decode()) == (plan.plan_id, file)


def test_opening_a_turn_settles_an_unfinished_run(world: World) -> None:
    approved = world.approve({"a": b"new"})
    record = world.engine().sessions.start("Something else", "ask")
    dying = world.engine(Mortal(world, 2))
    with pytest.raises(Cut):
        drive_to_end(dying.runs.build(approved.plan_id))
    assert world.engine().runs.unfinished()
    work(world, record, Script("Fine."))
    assert world.engine().runs.unfinished() is None


def test_a_turn_that_cannot_go_on_says_so_and_the_next_one_can(world: World) -> None:
    record = turn(world, GOAL, [write("a")], "Well?")
    plan = world.root / ".opencode/plans/greet/PLAN_greet.md"
    good = plan.read_bytes()
    plan.write_bytes(b"x" * ((1 << 20) + 1))
    record = world.engine().sessions.say(record, "Go on.")
    with pytest.raises(InvalidPlan):
        work(world, record, Script("Never asked."))
    last = events(world)[-1]
    assert isinstance(last, TurnEnded)
    assert last.why == "failed"
    plan.write_bytes(good)
    assert not work(world, record, Script("Fine.")).working


class Stammering(Script):
    """A model whose calls all have the same id."""

    def drive(self, turn: Turn) -> Iterator[StoredEvent | StreamDelta]:
        yield from turn.read_new_messages()
        yield from turn.append_events(StepStarted(1, "plan", "m", "plan"))
        calls = [ToolCall("same", "write", {"path": path, "text": "x"}) for path in "ab"]
        yield from turn.append_events(
            *[PartSaid(call) for call in calls], StepEnded(StopReason.CALLS)
        )
        yield from turn.run_calls(calls)
        yield from turn.append_events(TurnEnded("end"))
        self.prompts.append(turn.messages)


def test_calls_that_cannot_be_told_apart_are_one(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    script = Stammering()
    work(world, record, script)
    assert len(results(world, record)) == 1
    assert [part.tool for part in script.prompts[0][-2].parts if isinstance(part, ToolCall)] == [
        "write"
    ]
    plan = world.engine().plans.find()
    assert len(world.engine().plans.operations(plan)) == 1
