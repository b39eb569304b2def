"""The panels for a comment on a line, and for a note with an approval."""

from assent.core.plan.comment import Comment, CommentAnchor, PlacedComment, location_text
from assent.render.lines import GUTTER, Line
from assent.tui.panels.text_input import TextInputPanel

NOTE = "It travels with your yes, and becomes an item of the next plan."
EMPTY_COMMENT = "Without any words, the comment is taken back."


def comment_panel(anchor: CommentAnchor, was: PlacedComment | None) -> TextInputPanel:
    """Returns the panel for a comment to some lines; it holds what was said to them before."""
    place = was or PlacedComment(_nobody(anchor), anchor, "here")
    quote = [Line("dim", GUTTER + line) for line in anchor.quote]
    about = [*quote, Line("plain", EMPTY_COMMENT)] if was else quote
    return TextInputPanel(
        f"Comment on {location_text(place)}", about, was.comment.text if was else ""
    )


def note_panel(note: str) -> TextInputPanel:
    """Returns the panel for the note of an approval."""
    return TextInputPanel("A note to the plan", [Line("plain", NOTE)], note)


def _nobody(anchor: CommentAnchor) -> Comment:
    return Comment("", anchor, "", "", "")
