"""F113: a turn is interrupted from another thread of the same process, wherever it is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest
from tests.runs.test_session_commands import recorded
from tests.sandbox.profiles import left_over, long_time
from tests.support.session import Answers, Person
from tests.support.subagents import Actor, Answer, Cast, Family, task
from tests.support.threads import PATIENCE_S, Worker, plain_process, until

from assent.agent.cancellation import ABANDONED_CALL, run_cancellable
from assent.agent.tool_call_runner import STOPPED_BY_PERSON
from assent.app.engine import Engine
from assent.core.errors import Interrupted
from assent.core.event import CommandEnded, StoredEvent
from assent.core.llm import StreamDelta
from assent.core.session.event import (
    INTERRUPTED_PLANNING,
    INTERRUPTED_WORK,
    CallEnded,
    Question,
    QuestionAnswered,
    TurnEnded,
    TurnStarted,
)
from assent.core.session.record import SessionRecord
from assent.core.tool import ToolOutcome
from assent.ports.session import Turn
from assent.sandbox.read_only_shell import LocalReadOnlyShell


@pytest.fixture
def family(tmp_path: Path) -> Family:
    return Family(tmp_path)


def at_work(
    family: Family, engine: Engine, record: SessionRecord, cast: Cast
) -> tuple[Worker, Actor]:
    """Drives a turn in a thread; its commands run for real, without a sandbox."""
    actor = Actor(cast)
    process = plain_process(family.world.root)
    tooling = msgspec.structs.replace(
        family.tooling(actor),
        open_process=lambda: process,
        open_shell=lambda: LocalReadOnlyShell(process),
        unconfined=True,
    )
    return Worker(engine.sessions.work(record, actor, tooling)), actor


def sleeping(line: str = "echo begun > begun.txt; echo begun; sleep MARK") -> tuple[Answer, str]:
    mark = long_time()
    return [("shell", {"command": line.replace("MARK", mark)})], mark


def says(words: str) -> Callable[[Any], bool]:
    return lambda one: isinstance(one, StreamDelta) and words in one.text


def tells(kind: type) -> Callable[[Any], bool]:
    return lambda one: isinstance(one, StoredEvent) and isinstance(one.event, kind)


def is_over(engine: Engine, record: SessionRecord) -> bool:
    return engine.sessions.interrupt(record) is False


def test_f113_a_turn_that_waits_for_the_model_ends_as_interrupted(family: Family) -> None:
    engine = family.engine
    root = engine.sessions.start("Do it", "plan")
    waits, cast = Event(), Cast({"main": ["Never said."]})

    def wait(turn: Turn, actor: Actor) -> None:
        waits.set()
        assert actor.stopped.wait(PATIENCE_S)

    cast.before = wait
    worker, _ = at_work(family, engine, root, cast)
    assert waits.wait(PATIENCE_S)
    assert engine.sessions.interrupt(root)
    worker.ended()
    assert family.ends(root) == [("interrupted", INTERRUPTED_PLANNING)]
    assert is_over(engine, root)


def test_f113_a_turn_after_one_whose_process_died_can_be_interrupted(family: Family) -> None:
    engine = family.engine
    root = engine.sessions.start("Do it", "plan")
    engine.sessions._append(root, TurnStarted(1))  # and then the process died
    waits, cast = Event(), Cast({"main": ["Never said."]})

    def wait(turn: Turn, actor: Actor) -> None:
        waits.set()
        assert actor.stopped.wait(PATIENCE_S)

    cast.before = wait
    worker, _ = at_work(family, engine, root, cast)
    assert waits.wait(PATIENCE_S)
    assert engine.sessions.interrupt(root)
    worker.ended()
    assert [why for why, _ in family.ends(root)] == ["interrupted", "interrupted"]
    assert family.ends(root)[1] == ("interrupted", INTERRUPTED_PLANNING)


def test_f113_a_running_command_is_ended_and_the_next_turn_works(family: Family) -> None:
    engine = family.engine
    root = engine.sessions.start("Do it", "yolo")
    calls, mark = sleeping()
    cast = Cast({"main": [[*calls, ("write", {"path": "b.txt", "content": "b\n"})], "I see."]})
    worker, _ = at_work(family, engine, root, cast)
    worker.until(says("begun"))
    until(lambda: left_over(mark))  # `bash` becomes `sleep`, and is nothing for a moment
    assert engine.sessions.interrupt(root)
    worker.ended()
    assert left_over(mark) == []
    assert family.ends(root) == [("interrupted", INTERRUPTED_WORK)]
    ended = recorded(engine)[-1]
    assert isinstance(ended, CommandEnded)
    assert (ended.code, ended.cut, ended.changed) == (130, "interrupted", ("begun.txt",))
    first, second = family.results(root)
    assert "It was stopped early: interrupted." in first.text
    assert second.text == STOPPED_BY_PERSON.format(why="interrupted")
    assert family.world.files() == {"begun.txt": b"begun\n"}
    root = family.work(engine.sessions.say(root, "Go on."), cast)
    assert (root.ended, root.turns) == ("end", 2)


def test_f113_a_line_that_only_reads_is_ended_too(family: Family) -> None:
    engine, mark = family.engine, long_time()
    with open(family.world.root / f"{mark}.txt", "wb") as file:
        file.truncate(1 << 40)  # it takes hours to read, and no place
    root = engine.sessions.start("Do it", "plan")
    cast = Cast({"main": [[("shell", {"command": f"wc -l {mark}.txt"})], "Never said."]})
    worker, _ = at_work(family, engine, root, cast)
    until(lambda: left_over(mark))
    assert engine.sessions.interrupt(root)
    worker.ended()
    assert left_over(mark) == []
    assert family.ends(root) == [("interrupted", INTERRUPTED_PLANNING)]
    [result] = family.results(root)
    assert result.text.startswith("[It was stopped early: interrupted.]")


class Patient(Person):
    """Implements ports.Asker: shows a question until somebody says that it is over."""

    def __init__(self) -> None:
        super().__init__()
        self.asks = Event()
        self.over = ""

    def ask(self, questions: Sequence[Question], answered: Callable[[], str]) -> Answers:
        self.asks.set()
        self.over = until(answered)
        return None


@pytest.mark.parametrize(
    "call",
    [
        ("write", {"path": "a.txt", "content": "new\n"}),
        ("question", {"questions": [{"header": "Which", "question": "Which one?"}]}),
    ],
)
def test_f113_a_question_is_taken_back_and_is_a_no(
    family: Family, call: tuple[str, dict[str, Any]]
) -> None:
    engine, person = family.engine, Patient()
    family.person = person
    root = engine.sessions.start("Do it", "ask")
    worker, _ = at_work(family, engine, root, Cast({"main": [[call], "Never said."]}))
    assert person.asks.wait(PATIENCE_S)
    assert engine.sessions.interrupt(root)
    worker.ended()
    assert person.over == "The turn was interrupted; no answer is needed."
    answers = [e for one in engine.sessions.events(root)
               if isinstance(e := one.event, QuestionAnswered)]  # fmt: skip
    assert [(each.answers, each.by) for each in answers] == [(None, "interrupted")]
    [result] = family.results(root)
    assert (result.failed, "interrupted the turn" in result.text) == (True, True)
    assert family.ends(root) == [("interrupted", INTERRUPTED_WORK)]
    assert (family.world.files(), engine.pending_questions.pending()) == ({}, [])


def test_f113_children_and_their_commands_end_with_it(family: Family) -> None:
    engine = family.engine
    root = engine.sessions.start("Do it", "yolo")
    calls, mark = sleeping("touch begun.txt; sleep MARK")
    cast = Cast({"main": [[task("Wait", "general")], "Never said."], "general": [calls, "No."]})
    worker, _ = at_work(family, engine, root, cast)
    until((family.world.root / "begun.txt").exists)
    assert engine.sessions.interrupt(root)
    worker.ended()
    [child] = family.children(root)
    ends = [family.ends(each) for each in (root, child)]
    assert ends == [[("interrupted", INTERRUPTED_WORK)]] * 2
    assert left_over(mark) == []


def test_f113_what_is_wanted_before_the_turn_began_counts(family: Family) -> None:
    engine = family.engine
    root = engine.sessions.start("Do it", "plan")
    actor = Actor(Cast({"main": ["Never said."]}))
    work = engine.sessions.work(root, actor, family.tooling(actor))
    assert not engine.sessions.interrupt(root)
    seen = []
    for one in work:
        seen.append(one)
        if len(seen) == 1:
            assert engine.sessions.interrupt(root)
    assert family.ends(root) == [("interrupted", INTERRUPTED_PLANNING)]
    kinds = [type(one.event) for one in seen if isinstance(one, StoredEvent)]
    assert kinds[:2] == [TurnStarted, TurnEnded]


@pytest.mark.parametrize("how", ["paused", "cancelled"])
def test_f111_a_halt_from_another_process_ends_a_running_command(family: Family, how: Any) -> None:
    engine = family.engine
    root = engine.sessions.start("Do it", "yolo")
    calls, mark = sleeping()
    worker, _ = at_work(family, engine, root, Cast({"main": [calls, "Never said."]}))
    worker.until(says("begun"))
    family.engine.sessions.halt(root, how)
    worker.ended()
    assert left_over(mark) == []
    assert family.ends(root) == [(how, f"{how.capitalize()} from another process.")]
    [result] = family.results(root)
    assert "interrupted" in result.text


def test_f113_what_only_somebody_else_can_end_is_left_to_itself() -> None:
    begins, never, ending = Event(), Event(), [""]

    def work() -> ToolOutcome:
        begins.set()
        never.wait()
        return ToolOutcome("too late")

    def stop() -> str:
        if begins.is_set():
            ending[0] = "interrupted"
        return ending[0]

    with pytest.raises(Interrupted, match=ABANDONED_CALL[:20]):
        run_cancellable(stop, work)
    never.set()


def test_what_is_attended_comes_to_what_it_comes_to() -> None:
    def fail() -> ToolOutcome:
        raise ValueError("broken")

    assert run_cancellable(lambda: "", lambda: ToolOutcome("fine")) == ToolOutcome("fine")
    with pytest.raises(ValueError, match="broken"):
        run_cancellable(lambda: "", fail)


def test_f113_a_call_of_an_interrupted_turn_has_an_end(family: Family) -> None:
    engine = family.engine
    root = engine.sessions.start("Do it", "yolo")
    calls, _ = sleeping()
    worker, _ = at_work(family, engine, root, Cast({"main": [calls, "Never said."]}))
    worker.until(says("begun"))
    engine.sessions.interrupt(root)
    kinds = [type(one.event) for one in worker.ended() if isinstance(one, StoredEvent)]
    assert kinds[-2:] == [CallEnded, TurnEnded]


CALLS: Answer = [
    ("read", {"path": "a.txt"}),
    ("list", {"path": ""}),
    ("write", {"path": "b.txt", "content": "b\n"}),
    task("Look", "general"),
]
CHILD: list[Answer] = [[("write", {"path": "c.txt", "content": "c\n"})], "Done."]


def events_of_a_turn(base: Path, moment: int) -> tuple[Family, SessionRecord, int]:
    """Drives a turn that is interrupted when so many things have come out of it."""
    base.mkdir()
    family = Family(base)
    family.world.put({"a.txt": b"a\n"})
    engine = family.engine
    root, actor = (
        engine.sessions.start("Do it", "yolo"),
        Actor(Cast({"main": [CALLS, "Done."], "general": CHILD})),
    )
    count = 0
    for count, _ in enumerate(engine.sessions.work(root, actor, family.tooling(actor)), 1):
        if count == moment:
            engine.sessions.interrupt(root)
    return family, root, count


def test_f113_wherever_a_turn_is_interrupted_the_history_is_valid(tmp_path: Path) -> None:
    _, _, most = events_of_a_turn(tmp_path / "whole", 0)
    assert most > 10
    for moment in range(1, most):
        family, root, _ = events_of_a_turn(tmp_path / str(moment), moment)
        for one in (root, *family.children(root)):
            events = [each.event for each in family.engine.sessions.events(one)]
            assert len(family.ends(one)) == sum(isinstance(e, TurnStarted) for e in events) == 1
            assert family.engine.sessions.transcript(one).pending_calls == ()
        assert family.ends(root)[0][0] in ("interrupted", "end")
        again = family.engine.sessions.say(root, "Go on")
        assert family.work(again, Cast({"main": ["Fine."]})).ended == "end"
