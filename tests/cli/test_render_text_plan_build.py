"""A model's build: only what was done is called done, and nothing in it steers a terminal."""

import pytest

from assent.cli.text_plan_build import RefusedCall, text_plan_build_lines, text_plan_build_result
from assent.core.event import Event
from assent.core.llm import ToolResult
from assent.core.session.event import CallEnded, Question, QuestionAnswered, QuestionAsked

ESCAPE = bytes([27]).decode()
ASKED = QuestionAsked("q1", "c1", (Question("", "May the model change x?"),))
NO = CallEnded("c1", "write", ToolResult("c1", "No.", failed=True), verdict="ask")
DENIED = CallEnded("c2", "shell", ToolResult("c2", "It writes.", failed=True), verdict="deny")
FAILED = CallEnded("c3", "edit", ToolResult("c3", "No match.", failed=True), verdict="run")
BY_ASKING, BY_GATE = RefusedCall("write", "May the model change x?", "No."), "It writes."


@pytest.mark.parametrize(
    ("events", "refused"),
    [
        ([ASKED, QuestionAnswered("q1", None), NO], (BY_ASKING,)),
        ([ASKED, QuestionAnswered("q1", (("No",),)), NO], (BY_ASKING,)),
        ([ASKED, QuestionAnswered("q1", (("Yes",),)), NO], ()),  # allowed, and failed by itself
        ([DENIED], (RefusedCall("shell", "", BY_GATE),)),
        ([FAILED], ()),
    ],
)
def test_which_calls_were_refused(events: list[Event], refused: tuple[RefusedCall, ...]) -> None:
    assert text_plan_build_result("01s", "done", (), events).refused == refused


@pytest.mark.parametrize(
    ("left", "events", "sentence"),
    [
        ((), [], "Done: the model finished."),
        (("a",), [], "The model finished, but 1 step was not marked as done."),
        ((), [DENIED, DENIED], "The model finished, but 2 calls were refused."),
    ],
)
def test_what_is_called_done(left: tuple[str, ...], events: list[Event], sentence: str) -> None:
    first, *_ = text_plan_build_lines(
        "01run", text_plan_build_result("01s", "done", left, events), []
    )
    assert first.text == sentence


def test_what_a_model_wrote_steers_no_terminal() -> None:
    hostile = f"{ESCAPE}[2J"
    call = CallEnded("c", hostile, ToolResult("c", hostile, failed=True), verdict="deny")
    work = text_plan_build_result("01s", "nothing", (hostile,), [call])
    assert not any(
        ESCAPE in line.text for line in text_plan_build_lines(hostile, work, [], [hostile])
    )
