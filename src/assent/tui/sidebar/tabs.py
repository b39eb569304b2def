"""The tabs of the sidebar: one part is shown; a click chooses another."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

SHORT_NAME_CHARS: Final = 4  # letters of a name, where there is room for no more
TAB_PADDING: Final = 4  # columns around a name: its key, blanks and brackets


class SidebarTabs(Static):
    """A row such as ` 1 Plan [2 Operations (3)] 3 Todos`, with the shown part in brackets."""

    DEFAULT_CSS = """
    SidebarTabs { height: 1; width: 1fr; }
    """

    class Selected(Message):
        """A name was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._ends: list[int] = []

    def show(self, names: Sequence[tuple[str, str]], chosen: int) -> None:
        """Shows names with counts, each behind its key; less of them where it is narrow."""
        room = self.size.width
        forms = (
            [f"{name} ({told})" if told else name for name, told in names],
            [name for name, _ in names],
            [name[:SHORT_NAME_CHARS] for name, _ in names],
        )
        fitting = [form for form in forms if sum(map(len, form)) + TAB_PADDING * len(form) <= room]
        self._draw(fitting[0] if fitting else forms[-1], chosen)

    def _draw(self, names: Sequence[str], chosen: int) -> None:
        drawn = Text(no_wrap=True, overflow="ellipsis")
        self._ends = []
        for at, name in enumerate(names):
            left, right = "[]" if at == chosen else "  "
            drawn.append(f"{left}{at + 1} {name}{right}", "bold" if at == chosen else "")
            self._ends.append(drawn.cell_len)
        self.update(drawn)

    def on_click(self, event: Click) -> None:
        at = next((at for at, end in enumerate(self._ends) if event.x < end), None)
        if at is not None:
            self.post_message(self.Selected(at))
