"""The choices of a question, wrapped to the width they are shown at."""

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from assent.render.lines import Line
from assent.tui.line_view.line_wrap import wrapped_line
from assent.tui.theme.styles import chosen_theme, style_in_theme

MAX_WIDTH, SIDE_COLUMNS = 160, 4  # columns of a panel, and those of it beside what is shown
MAX_HEIGHT_PERCENT = 60  # percent of the height, at most
FRAME_ROWS, MIN_QUESTION_ROWS = (
    3,
    2,
)  # rows of frame and status line, and those that are left to the question


class QuestionChoices(Static):
    """Knows whether all of it is visible: a choice that is not cannot be picked."""

    DEFAULT_CSS = """
    QuestionChoices { height: auto; max-height: 70%; border-top: solid $primary; }
    """
    _drawn = (0, 0)  # the columns and rows that it was drawn for

    @property
    def columns(self) -> int:
        """How wide it is, or will be once it is laid out."""
        return self.size.width or max(min(self.screen.size.width, MAX_WIDTH) - SIDE_COLUMNS, 1)

    @property
    def room(self) -> int:
        """How many rows there are for it, so that everything else has room, too."""
        height = self.screen.size.height
        others = [self.screen.query_one(name) for name in ("#panel-title", "#panel-keys")]
        left = height - FRAME_ROWS - MIN_QUESTION_ROWS - sum(other.size.height for other in others)
        return min(height * MAX_HEIGHT_PERCENT // 100, left)

    def rows_of(self, lines: Sequence[Line]) -> int:
        """Returns how many rows lines take here."""
        return len(self._broken(lines))

    def fill(self, lines: Sequence[Line]) -> None:
        """Shows lines, and no others."""
        theme, pieces = chosen_theme(self.app.theme), self._broken(lines)
        texts = [Text(piece.text, style_in_theme(theme, piece.style)) for piece in pieces]
        self._drawn = (self.columns, len(pieces))
        self.update(Text("\n").join(texts))

    def is_in_sight(self) -> bool:
        """Tells whether all of it is on the screen as it is now."""
        place = self.screen.find_widget(self)
        columns, rows = self._drawn
        whole = place.visible_region == place.region and self.size.height >= rows
        return whole and columns == self.size.width and place.region.bottom <= self._floor

    @property
    def _floor(self) -> int:
        return self.screen.query_one("#panel-keys").region.y

    def _broken(self, lines: Sequence[Line]) -> list[Line]:
        return [piece for line in lines for piece in wrapped_line(line, self.columns)]
