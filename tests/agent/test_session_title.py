"""A session gets its title from a model, on one line."""

import pytest
from tests.support.model import Spoken, says

from assent.agent.loop.loop import session_title
from assent.core.errors import ModelError
from assent.core.llm import ChatMessage, PartCompleted, RequestRetried, TextPart

SESSION = (ChatMessage("user", (TextPart("Make the parser faster"),)),)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("A faster parser", "A faster parser"),
        ('"A faster\nparser."', "A faster parser"),
        ("\x1b[2JA parser", "[2JA parser"),
        ("A " + "very " * 20 + "fast parser", "A " + "very " * 11 + "…"),
    ],
)
def test_a_title_is_one_short_line(said: str, named: str) -> None:
    model = Spoken(says(said))
    assert session_title(model, SESSION) == named.replace(" …", "…")
    assert (model.asked[0].kind, model.asked[0].tools) == ("title", ())
    assert len(named) <= 60


def test_what_a_failed_attempt_said_is_in_no_title() -> None:
    model = Spoken(
        [PartCompleted(TextPart("Wrong")), RequestRetried(1, 2.0, "Busy."), *says("Right")]
    )
    assert session_title(model, SESSION) == "Right"


def test_no_title_is_an_error() -> None:
    with pytest.raises(ModelError, match="returned no title"):
        session_title(Spoken(says("''")), SESSION)
