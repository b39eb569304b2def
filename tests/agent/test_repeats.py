"""Text that a model already sees is named and not sent again; what it no longer sees is shown."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events
from tests.cli.harness import Answer

from assent.agent.repeats import MAX_SEARCHES, ShownMessages, VisibleText, without_repeats
from assent.core.event import Event
from assent.core.llm import StopReason, TextPart, ToolCall, ToolResult
from assent.core.session.event import (
    CallEnded,
    Compacted,
    MessageAdded,
    PartSaid,
    ResultsPruned,
    SessionRewound,
    StepEnded,
    StepStarted,
)
from assent.core.session.transcript import Transcript
from assent.core.tool import FileBlock

Call = tuple[str, dict[str, Any]]
ROWS = [f"    x{n} = {n}" for n in range(1, 40)]
FILE = "\n".join(["def first():", *ROWS[:19], "", "", "def second():", *ROWS[19:], ""])
FIRST = ("read", {"path": "a.py", "lines": "first"})


def script(turns: Sequence[Sequence[Call]]) -> list[dict[str, Any]]:
    return [{"calls": [{"tool": tool, "args": args} for tool, args in calls]} for calls in turns]


def results(answer: Answer) -> list[str]:
    """Returns what the model got for each call."""
    assert answer.code in (0, 3), answer
    ended = [event["body"] for event in events(answer) if event["kind"] == "call_ended"]
    return [each["result"]["text"] for each in ended]


def played(stage: Stage, *turns: Sequence[Call]) -> list[str]:
    return results(stage.play(*script(turns), {"text": "Done."}))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    (made.root / "a.py").write_text(FILE, encoding="utf-8")
    return made


def test_f12_a_definition_that_was_shown_is_named_by_later_lookups(stage: Stage) -> None:
    shown, found, both = played(
        stage,
        [FIRST],
        [("grep", {"pattern": "x3 =", "context": "definition"})],
        [("read", {"path": "a.py", "lines": "1-43"})],
    )
    assert shown.startswith("[a.py, lines 1-20 of 43]\ndef first():\n")
    assert found == "a.py\n[lines 1-20: first: shown above]"
    assert both.split("\n")[:4] == ["[1-20: shown above]", "[lines 21-43]", "", ""]
    assert both.endswith(ROWS[-1])


def test_f12_calls_of_one_answer_do_not_repeat_each_other(stage: Stage) -> None:
    first, second, third = played(
        stage,
        [FIRST, ("read", {"path": "a.py", "lines": "1-20"}),
         ("read", {"path": "a.py", "lines": "first", "more": ["a.py:2-15", "a.py:3-5"]})],
    )  # fmt: skip
    assert len(first.split("\n")) == 21
    assert second == "[a.py, lines 1-20 of 43: shown above]"
    assert third.split("\n")[1:6] == [
        "[a.py, lines 2-15 of 43: shown above]", "[a.py, lines 3-5 of 43]", *ROWS[1:4],
    ]  # fmt: skip


def test_f12_who_asks_again_for_the_same_lines_sees_them(stage: Stage) -> None:
    other = ("read", {"path": "a.py", "lines": "1-20"})
    first, again, named, shown = played(stage, [FIRST], [FIRST], [other], [other])
    assert shown.startswith(first)
    assert again.startswith(first)
    assert named == "[a.py, lines 1-20 of 43: shown above]"


def test_f12_text_that_changed_is_shown_and_what_the_model_wrote_is_not(stage: Stage) -> None:
    new = "\n".join(ROWS[4:6] + [f"    y{n} = {n}" for n in range(12)])
    edit = ("edit", {"path": "a.py", "old": "\n".join(ROWS[4:6]), "new": new})
    look = ("grep", {"pattern": "y3", "context": "definition"})
    _, _, own = played(stage, [FIRST], [edit, look])
    assert own == "a.py\n[lines 1-32: first: shown above]"


def test_f12_a_session_that_another_process_continues_does_not_repeat(stage: Stage) -> None:
    end = {"text": "Done."}
    named = script([[("read", {"path": "a.py", "lines": "1-20"})]])
    changed = script([[("read", {"path": "a.py", "lines": "1-19"})]])
    results(stage.play(*script([[FIRST]]), end, *named, end, *changed, end))
    (text,) = results(stage.go_on("Go on", "-c"))
    assert text == "[a.py, lines 1-20 of 43: shown above]"
    (stage.root / "a.py").write_text(FILE.replace("x3 =", "z3 ="), encoding="utf-8")
    (text,) = results(stage.go_on("Go on", "-c"))
    assert text.startswith(
        "[a.py, lines 1-19 of 43]\ndef first():\n    x1 = 1\n    x2 = 2\n    z3 = 3"
    )
    (text,) = played(stage, [("read", {"path": "a.py", "lines": "1-20"})])  # a new session
    assert text.endswith(ROWS[18])


def test_f12_after_an_edit_that_failed_its_text_is_shown_again(stage: Stage) -> None:
    edit = ("edit", {"path": "a.py", "old": "nowhere", "new": "x"})
    _, _, shown = played(stage, [FIRST], [edit], [("read", {"path": "a.py", "lines": "1-20"})])
    assert shown.endswith(ROWS[18])


# What the transcript no longer has is shown again.


BODY = "\n".join(ROWS)
BLOCK = FileBlock("a.py", 2, BODY, "[a.py, lines 2-40 of 43]")
READ = ToolCall("2", "read", {"path": "a.py", "lines": "2-40"})


BEFORE: list[Event] = [
    MessageAdded("m1", "", (TextPart("Hello"),)),
    StepStarted(1, "plan", "m", "plan"),
    PartSaid(ToolCall("0", "read", {"path": "b.py"})),
    StepEnded(StopReason.CALLS),
    CallEnded("0", "read", ToolResult("0", "Nothing.")),
    MessageAdded("m2", "", (TextPart("Look"),)),
    StepStarted(1, "plan", "m", "plan"),
    PartSaid(ToolCall("1", "read", {"path": "a.py"})),
    StepEnded(StopReason.CALLS),
    CallEnded("1", "read", ToolResult("1", f"[a.py, lines 2-40 of 43]\n{BODY}")),
]


def conversation(*more: Event) -> VisibleText:
    transcript = Transcript()
    for event in (*BEFORE, *more):
        transcript.add(event)
    return VisibleText(ShownMessages(transcript.messages), ())


def told(visible: VisibleText, block: FileBlock = BLOCK, mask: str = "") -> str:
    shown = f"[before]\n{block.shown}\n[after]"
    return without_repeats(
        shown, [block], READ, visible, lambda text: text.replace(mask, "***") if mask else text
    )


def test_f12_only_what_the_next_request_contains_counts_as_shown() -> None:
    whole = f"[before]\n{BLOCK.shown}\n[after]"
    named = "[before]\n[a.py, lines 2-40 of 43: shown above]\n[after]"
    assert told(conversation()) == named
    assert told(conversation(ResultsPruned(0, 1, 9))) == whole
    assert told(conversation(Compacted("It read a file.", 0))) == whole
    assert told(conversation(Compacted("It read a file.", 2))) == named
    assert told(conversation(SessionRewound("m2"))) == whole
    assert told(VisibleText(ShownMessages(), ())) == whole


def test_f12_a_text_is_compared_as_it_would_be_shown() -> None:
    other = FileBlock("c.py", 2, BODY, "[c.py, lines 2-40 of 43]")
    assert told(conversation(), other) == f"[before]\n{other.shown}\n[after]"
    masked = told(conversation(), mask="x7 = 7")
    assert masked.startswith(f"[before]\n{BLOCK.header}\n{ROWS[0]}\n")
    assert masked.endswith(f"{ROWS[6]}\n[9-40: shown above]\n[after]")


def test_f12_comparing_takes_a_bounded_number_of_searches() -> None:
    lines = [f"{n % 7}" for n in range(2000)]
    shown = "\n".join(["a.py", *[f"{n % 5}" for n in range(2000)], "5", "6"])
    visible = VisibleText(ShownMessages(), [ToolResult("1", shown)])
    block = FileBlock("a.py", 1, "\n".join(lines))
    assert without_repeats(block.shown, [block], READ, visible, str) == block.shown
    assert visible.searches <= MAX_SEARCHES + 1


def test_f12_a_conversation_that_grows_is_read_as_one_that_is_read_as_a_whole() -> None:
    """Whatever happens to the messages between two calls, what was taken in before is no less."""
    other = [
        StepStarted(2, "plan", "m", "plan"),
        PartSaid(ToolCall("3", "edit", {"path": "a.py", "old": ROWS[3], "new": ROWS[30]})),
        PartSaid(ToolCall("4", "read", {"path": "a.py", "lines": "2-40"})),
        StepEnded(StopReason.CALLS),
        CallEnded("3", "edit", ToolResult("3", "No such text.", failed=True)),
        CallEnded("4", "read", ToolResult("4", f"[a.py: shown above]\n{BODY}")),
    ]
    cuts = [ResultsPruned(0, 1, 9), Compacted("It read a file.", 2), SessionRewound("m2")]
    blocks = [BLOCK, FileBlock("b.py", 1, "Nothing."), FileBlock("a.py", 2, "\n".join(ROWS[:9]))]
    for cut in cuts:
        transcript, grown = Transcript(), ShownMessages()
        for event in (*BEFORE, *other, cut, *BEFORE, *other):
            transcript.add(event)
            grown.take_in(transcript.messages)
            whole = ShownMessages(transcript.messages)
            for block in blocks:
                seen = [told(VisibleText(each, ()), block) for each in (grown, whole)]
                assert seen[0] == seen[1]
                assert grown.has_failed_edit(block.path) == whole.has_failed_edit(block.path)


@pytest.mark.parametrize("path", ["a.py", "other{}.py"])
def test_f12_a_call_costs_the_same_after_many_others(path: str) -> None:
    """Counts what Python does for one call, which no load of the machine changes."""
    assert _work_of_call(800, path) <= 2 * _work_of_call(80, path)


def _work_of_call(steps: int, path: str) -> int:
    """Returns how many functions the last of many calls needs."""
    transcript, shown, work = Transcript(), ShownMessages(), 0
    for number in range(steps):
        block = FileBlock(path.format(number), 2, BODY)
        call = ToolCall(f"c{number}", "read", {"path": "a.py", "offset": number})
        transcript.add(StepStarted(number, "plan", "m", "plan"))
        transcript.add(PartSaid(call))
        transcript.add(StepEnded(StopReason.CALLS))
        work = _calls(partial(_end_call, shown, transcript, block, call))
        transcript.add(CallEnded(call.id, "read", ToolResult(call.id, f"a.py\n{number}")))
    return work


def _end_call(
    shown: ShownMessages, transcript: Transcript, block: FileBlock, call: ToolCall
) -> None:
    shown.take_in(transcript.messages)
    without_repeats(block.shown, [block], call, VisibleText(shown, ()), str)


def _calls(work: Callable[[], None]) -> int:
    """Returns how many functions are called, of Python or built in."""
    count = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
