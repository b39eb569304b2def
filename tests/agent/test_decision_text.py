"""The line of the record that says who decided about a call, and what a person answered."""

import pytest

from assent.agent.permission_request import decision_line
from assent.core.session.question import PermissionAnswer, read_permission_answer, yes_no_question
from assent.core.tool import Decision, ToolOutcome, Verdict
from assent.tools.dispatcher import ToolCallResult

ASKS = Decision(Verdict.ASK, "Ask mode asks.", "user", "edit: * = ask")
QUESTION = yes_no_question("Permission", "May it?")
SAID = {
    "yes": (read_permission_answer(QUESTION, (("Yes",),)), "the user allowed it"),
    "no": (
        read_permission_answer(QUESTION, (("No",),)),
        "the user did not allow it: they denied it",
    ),
    "enter": (
        read_permission_answer(QUESTION, ((),)),
        "the user did not allow it: they did not answer",
    ),
    "words": (
        read_permission_answer(QUESTION, (("Use\nanother name",),)),
        "the user denied it: Use another name",
    ),
    "nobody": (read_permission_answer(QUESTION, None), "no user was available to answer"),
    "later": (PermissionAnswer(later=True), "not answered yet"),
}


@pytest.mark.parametrize(("consent", "words"), SAID.values(), ids=SAID)
def test_f60_the_record_says_what_was_answered(consent: PermissionAnswer, words: str) -> None:
    settled = ToolCallResult(ToolOutcome("x"), ASKS, "edit", consent)
    assert decision_line(settled) == f"user (edit: * = ask): Ask mode asks; {words}"


def test_f60_without_a_question_the_decision_stands_alone() -> None:
    assert decision_line(ToolCallResult(ToolOutcome("x"), ASKS, "edit")) == (
        "user (edit: * = ask): Ask mode asks."
    )
    assert decision_line(ToolCallResult(ToolOutcome("x"), Decision(Verdict.RUN), "read")) == "mode"
    assert decision_line(ToolCallResult(ToolOutcome("x"), None, "read")) == ""
