"""The line of the record that says who decided about a call, and what a person answered."""

import pytest

from assent.core.question import NOBODY, Consent, read_consent, yes_or_no
from assent.core.tool import Decision, Outcome, Verdict
from assent.engine.session.deciding import decided_words
from assent.tools.toolbox import Settled

ASKS = Decision(Verdict.ASK, "Ask mode asks.", "user", "edit: * = ask")
QUESTION = yes_or_no("Permission", "May it?")
SAID = {
    "yes": (read_consent(QUESTION, (("Yes",),)), "the person said yes"),
    "no": (read_consent(QUESTION, (("No",),)), "the person did not say yes: they said no"),
    "enter": (
        read_consent(QUESTION, ((),)),
        "the person did not say yes: they gave no answer",
    ),
    "words": (
        read_consent(QUESTION, (("Use\nanother name",),)),
        "the person said no, in these words: Use another name",
    ),
    "nobody": (read_consent(QUESTION, None), NOBODY.removesuffix(".")),
    "later": (Consent(later=True), "nobody has answered yet"),
}


@pytest.mark.parametrize(("consent", "words"), SAID.values(), ids=SAID)
def test_f60_the_record_says_what_was_answered(consent: Consent, words: str) -> None:
    settled = Settled(Outcome("x"), ASKS, "edit", consent)
    assert decided_words(settled) == f"user (edit: * = ask): Ask mode asks.; {words}"


def test_f60_without_a_question_the_decision_stands_alone() -> None:
    assert decided_words(Settled(Outcome("x"), ASKS, "edit")) == (
        "user (edit: * = ask): Ask mode asks."
    )
    assert decided_words(Settled(Outcome("x"), Decision(Verdict.RUN), "read")) == "mode"
    assert decided_words(Settled(Outcome("x"), None, "read")) == ""
