"""Feedback: the parts of a no become one text, word for word."""

import pytest

from assent.core.plan.comment import Feedback

ODD = "No — “never”!\n\n\t# not a heading\n$(rm -rf /) \u202e \U0001f642  "
TEXTS = {
    "everything": (
        Feedback("Only src", "No new packages", "Tests first", "Thanks"),
        "## Scope\n\nOnly src\n\n## Constraints\n\nNo new packages\n\n"
        "## Priorities\n\nTests first\n\n## Notes\n\nThanks",
    ),
    "notes alone": (Feedback(notes=ODD), ODD),
    "one part": (Feedback(constraints=ODD), f"## Constraints\n\n{ODD}"),
    "blank parts": (Feedback(" ", "\n", "Speed", ""), "## Priorities\n\nSpeed"),
    "nothing": (Feedback(), ""),
}


@pytest.mark.parametrize(("feedback", "text"), TEXTS.values(), ids=TEXTS)
def test_f58_parts_stand_under_headings_and_empty_ones_are_left_out(
    feedback: Feedback, text: str
) -> None:
    assert feedback.text() == text
