"""A picker: a list in columns that typing filters, with a preview where there is room.

A subclass defines `rows()` and what its keys do; see `plan_list.py` for a complete one.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final, cast

import msgspec
from rich.cells import cell_len, set_cell_size
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Click, Key, Paste, Resize
from textual.widget import Widget
from textual.widgets import Static

from assent.core.errors import AssentError
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line, local_time, time_ago
from assent.render.rows import session_title
from assent.tui.fuzzy import fuzzy_matches
from assent.tui.hints import error_text
from assent.tui.line_view import LinePosition, LineView, Section
from assent.tui.panels.panel import Panel

if TYPE_CHECKING:
    from assent.app.engine import Engine

PREVIEW_MIN_WIDTH: Final = 110  # columns from which a preview is next to the list
MAX_CELL_WIDTH: Final = 44  # columns of a cell that is not the last
AGO_WIDTH: Final = 11  # columns of the longest usual time, such as `10 days ago`
GROUP: Final = "group:"
LOADING: Final = "Reading…"
NONE_FIT: Final = "No matches. Backspace widens the filter."
_STEPS: Final = {"up": -1, "down": 1, "ctrl+p": -1, "ctrl+n": 1}
_ENDS: Final = {"home": 0, "end": -1}
_PAGES: Final = {"pageup": -1, "pagedown": 1}


class PickerRow(msgspec.Struct, frozen=True):
    """One row to pick; its cells are safe to print, each on one line."""

    key: str
    cells: tuple[str, ...]
    group: str = ""
    also: str = ""  # what a person may know it by, too
    name: str = ""  # what it is called; its key, if there is nothing else


class PickerLineView(LineView, inherit_bindings=False):
    """A LineView whose keys belong to the panel around it."""

    BINDINGS: ClassVar[list[BindingType]] = []


class Picker(Panel[str]):
    """Lets the user pick a row; its result is the row's key, or None."""

    DEFAULT_CSS = """
    Picker #filter { height: 1; color: $text-muted; }
    Picker #lists { height: 1fr; margin: 1 0 0 0; }
    Picker #list { width: 1fr; height: 100%; }
    Picker #preview { width: 45%; height: 100%; border-left: solid $primary; padding: 0 1; }
    Picker.narrow #preview, Picker.alone #preview { display: none; }
    Picker.narrow.below #lists { layout: vertical; }
    Picker.narrow.below #list { height: auto; max-height: 55%; }
    Picker.narrow.below #preview {
        display: block; width: 100%; height: 1fr; border: none; border-top: solid $primary;
    }
    """
    AUTO_FOCUS = "#list"

    nothing = "Nothing to choose from."
    previews = False
    below = False  # if there is no room next to the list, previews are below it
    abbreviates = False  # a few letters of a name in order find it, whatever contains them
    follows = False  # it is reloaded when something was recorded, in another terminal too
    does: ClassVar[dict[str, str]] = {}  # keys other than Enter, and the methods that they call

    def __init__(self) -> None:
        super().__init__()
        self._all: tuple[PickerRow, ...] = ()
        self._shown: tuple[PickerRow, ...] = ()
        self._at = 0
        self._query = ""
        self._told = LOADING
        self._looked = ""  # the key of the row whose preview is wanted
        self._reads = 0  # of the list; only the last of them counts

    # What each kind of list defines.

    def rows(self) -> Sequence[PickerRow]:
        """Returns the rows to pick from; called in a thread."""
        raise NotImplementedError

    def preview(self, row: PickerRow) -> Sequence[Line]:
        """Returns the preview of a row; called in a thread."""
        return ()

    def chosen(self, row: PickerRow) -> None:
        """Handles the picked row."""
        self.dismiss(row.key)

    def pointed(self, row: PickerRow) -> None:
        """Called when the cursor moves to a row."""

    # What it does with it.

    @property
    def row(self) -> PickerRow | None:
        """The row under the cursor."""
        return self._shown[self._at] if self._shown else None

    def body(self) -> list[Widget]:
        list_ = PickerLineView(pointing=True, id="list")
        beside = LineView(id="preview")
        beside.can_focus = False
        self.set_class(not self.previews, "alone")
        self.set_class(self.below, "below")
        return [Static(id="filter", markup=False), Horizontal(list_, beside, id="lists")]

    def on_mount(self) -> None:
        self.load()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.width < PREVIEW_MIN_WIDTH, "narrow")
        self.call_after_refresh(self._draw)

    def load(self, told: str = "") -> None:
        """Reloads the list, and keeps the cursor where it is."""
        self._told = told or LOADING
        self._label()
        self._reads += 1
        read = self._reads

        def loaded(rows: object) -> None:
            if read == self._reads:
                self._loaded(rows, told)

        self.in_thread(LOADING, self.rows, loaded)

    def follow(self) -> None:
        """Reloads the list without a note, and keeps the cursor where it is."""
        if not self.follows or self.is_over or self._told == LOADING:
            return
        self._reads += 1
        read = self._reads

        def loaded(rows: object) -> None:
            if read == self._reads and tuple(cast("Sequence[PickerRow]", rows)) != self._all:
                self._looked = ""  # what is shown of a row may have changed with it
                self._loaded(rows, self._told)

        self.in_thread("", self.rows, loaded)

    def in_thread(
        self, words: str, act: Callable[[], object], then: Callable[[object], object]
    ) -> None:
        """Runs something slow; an error is shown here, and nothing else happens."""

        def done(found: object) -> None:
            if self.is_attached:
                then(found)

        def failed(error: AssentError) -> None:
            if self.is_attached:
                self.show_note(error_text(error))

        self.terminal.tasks.run(words, act, done, failed)

    def show_note(self, words: str) -> None:
        """Shows a note above the list."""
        self._told = visible_line(words)
        self._label()

    def on_paste(self, event: Paste) -> None:
        event.stop()
        self._filter(self._query + visible_line(event.text))

    def on_click(self, event: Click) -> None:
        spot = self.query_one(PickerLineView).position
        places = [at for at, row in enumerate(self._shown) if spot and row.key == spot.key]
        self._point(places[0] if places else self._at)

    def on_key(self, event: Key) -> None:
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        if event.key in self.does:
            getattr(self, self.does[event.key])()
        elif not self._moved(event.key):
            self._edited(event)

    def _moved(self, key: str) -> bool:
        """Moves the cursor; tells whether a key does that."""
        if key in _STEPS:
            self._point(self._at + _STEPS[key])
        elif key in _PAGES:
            self._point(self._at + _PAGES[key] * max(self.query_one(PickerLineView).height - 2, 1))
        elif key in _ENDS:
            self._point(_ENDS[key] % max(len(self._shown), 1))
        else:
            return False
        return True

    def _edited(self, event: Key) -> None:
        """Handles a key of the filter."""
        if event.key == "enter":
            if self.row is not None:
                self.chosen(self.row)
        elif event.key == "backspace":
            self._filter(self._query[:-1])
        elif event.key == "ctrl+u":
            self._filter("")
        elif event.is_printable and event.character:
            self._filter(self._query + event.character)

    def _filter(self, query: str) -> None:
        self._query, self._at, self._told = query, 0, ""
        self._fit()

    def _loaded(self, rows: object, told: str) -> None:
        at = self.row
        self._all = tuple(cast("Sequence[PickerRow]", rows))
        self._told = told
        self._fit()
        keys = [row.key for row in self._shown]
        if at is not None and at.key in keys:
            self._point(keys.index(at.key))

    def _fit(self) -> None:
        """Applies the filter to the rows."""
        names = [row.name or row.key for row in self._all]
        texts = [
            " ".join((*row.cells, row.group, row.also, name))
            for row, name in zip(self._all, names, strict=True)
        ]
        found = fuzzy_matches(self._query, texts, names, abbreviates=self.abbreviates)
        groups = list(dict.fromkeys(self._all[at].group for at in found))  # the best match's first
        found.sort(key=lambda at: groups.index(self._all[at].group))
        self._shown = tuple(self._all[at] for at in found)
        self._draw()

    def _draw(self) -> None:
        if not self.is_attached:
            return
        self._label()
        paper = self.query_one(PickerLineView)
        # The cursor's sign takes two columns.
        width = max(paper.scrollable_content_region.width - 2, 20)
        paper.show(list_sections(self._shown, width) or [self._empty()])
        self._point(self._at)

    def _empty(self) -> Section:
        words = NONE_FIT if self._all else self._told or self.nothing
        return Section("nothing", (Line("dim", words),))

    def _label(self) -> None:
        query = f"Filter: {self._query}▏" if self._query else "Type to filter."
        words = f"{query}   {self._told}" if self._told else query
        self.query_one("#filter", Static).update(words)

    def _point(self, at: int) -> None:
        """Moves the cursor to a row, never to the title of a group."""
        self._at = max(0, min(at, len(self._shown) - 1))
        row = self.row
        if row is None:
            self._show_preview("", ())
            return
        paper = self.query_one(PickerLineView)
        paper.point(paper.row_of(LinePosition(row.key, 0)))
        self.pointed(row)
        self._look(row)

    def _look(self, row: PickerRow) -> None:
        """Loads the preview of a row in a thread, if there is room for it."""
        hidden = not self.previews or (self.has_class("narrow") and not self.below)
        if hidden or self._looked == row.key:
            return
        self._looked = row.key

        def shown(lines: object) -> None:
            self._show_preview(row.key, cast("Sequence[Line]", lines))

        self.in_thread(LOADING, lambda: list(self.preview(row)), shown)

    def _show_preview(self, key: str, lines: Sequence[Line]) -> None:
        if key in ("", self._looked):
            self._looked = key
            self.query_one("#preview", LineView).show([Section("preview", tuple(lines))])


def list_sections(rows: Sequence[PickerRow], width: int) -> list[Section]:
    """Renders rows in columns, each on one line however narrow it is, under their groups."""
    columns = list(zip(*[row.cells for row in rows], strict=True))
    widths = [min(max(map(cell_len, column)), MAX_CELL_WIDTH) for column in columns]
    sheets: list[Section] = []
    group = ""
    for row in rows:
        if row.group and row.group != group:
            group = row.group
            sheets.append(Section(f"{GROUP}{group}", (Line("heading", _cut(group, width)),)))
        *cells, last = row.cells
        padded = [_padded(cell, size) for cell, size in zip(cells, widths, strict=False)]
        text = "  ".join([*padded, last])
        sheets.append(Section(row.key, (Line("plain", _cut(text, width)),)))
    return sheets


def ago_cell(at: str) -> str:
    """Returns how long ago a time was, as every list shows it."""
    ago = time_ago(at, datetime.now(UTC).isoformat()) or visible_line(local_time(at))
    return f"{ago:>{AGO_WIDTH}}"


def session_titles(engine: "Engine") -> dict[str, str]:
    """Returns the titles of the sessions by their short names, by which plans know them."""
    return {one.slug: session_title(one) for one in engine.sessions.all()}


def _padded(cell: str, size: int) -> str:
    return _cut(cell, size) if cell_len(cell) > size else set_cell_size(cell, size)


def _cut(text: str, width: int) -> str:
    """Returns as much of a text as fits, with a sign if it was cut."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"
