"""A panel with a text area: for a comment, or a note with an approval."""

import re
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.events import Key
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static, TextArea

from assent.core.text.hidden_chars import hidden_kind, is_combining_mark, visible_text
from assent.render.lines import Line
from assent.tui.keys import BURST_S, DEBOUNCE_S, BurstDetector
from assent.tui.line_view import LineView, Section
from assent.tui.panels.panel import Panel
from assent.tui.prompt.editor import LINE_KEYS, OrderedTextArea

NO_TAB: Final = "Tab does nothing here."
MAX_NAMED: Final = 8  # hidden characters that are named
_GLUE: Final = "\u200d\ufe0f"  # of emoji, which do nothing to what stands around them
_WRITTEN_OUT: Final = re.compile(r"<(U\+[0-9A-F]{4,6})>")


def hidden_chars_text(text: str) -> str:
    """Names the invisible characters of a text; empty if there are none."""
    found = dict.fromkeys(_WRITTEN_OUT.findall(visible_text(text)))
    codes = [code for code in found if _hides(chr(int(code[2:], 16)))]
    if not codes:
        return ""
    more = f" and {len(codes) - MAX_NAMED} more" if len(codes) > MAX_NAMED else ""
    return f"Your text contains hidden characters: {', '.join(codes[:MAX_NAMED])}{more}."


def _hides(char: str) -> bool:
    return hidden_kind(char) is not None or is_combining_mark(char)


class TextInputArea(OrderedTextArea):
    """The text area; keys act in the order they were typed, also those that send.

    Hidden characters are kept and not drawn; `hidden_chars_text` says which there are. An Enter
    sooner before or after another key than people type breaks the line: it was pasted.
    """

    detects_bursts = True

    def __init__(self, acts: Mapping[str, Callable[[], object]], words: str, id: str) -> None:
        super().__init__(words, id=id, soft_wrap=True)
        self._acts: dict[str, Callable[[], object]] = {
            **acts,
            **dict.fromkeys(LINE_KEYS, lambda: self._write("\n")),
            "ctrl+home": lambda: self.move_cursor((0, 0)),
            "ctrl+end": lambda: self.move_cursor(self.document.end),
        }
        self._burst = BurstDetector()
        self._typed_at = -inf  # when a key came last
        self.paused = False  # whether typing has paused since it is here

    def on_mount(self) -> None:
        self._typed_at = getattr(self.app, "typed_at", -inf)
        self.move_cursor(self.document.end)

    async def on_key(self, event: Key) -> None:
        """Handles the keys of this panel; Textual passes all others to TextArea."""
        char = event.character or ""
        quiet_s = getattr(self.app, "quiet_s", DEBOUNCE_S)
        self.paused = self.paused or event.time >= self._typed_at + quiet_s
        self._typed_at = event.time
        self._burst.take(event.time, getattr(self.app, "burst_s", BURST_S))
        self.release_enter(sends=not self._burst.soon)
        if event.key == "enter" and self.detects_bursts and self._burst.need:
            if self._burst.soon:
                self._write("\n")
            else:
                self.hold_enter(self._burst.need)
        elif event.key in self._acts:
            self._acts[event.key]()
        elif len(char) == 1 and not char.isascii() and not char.isprintable():
            self._write(char)  # which TextArea would drop without a word
        else:
            await self.edited(event)
            return
        event.stop()
        event.prevent_default()

    def act_on_enter(self) -> None:
        self._acts["enter"]()

    def break_line(self) -> None:
        self._write("\n")

    def _write(self, text: str) -> None:
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def render_line(self, y: int) -> Strip:
        """Draws a line without characters that would reorder it or have no width."""
        strip = super().render_line(y)
        if strip.text.isascii():
            return strip
        return Strip([Segment(_drawn(text), style, control) for text, style, control in strip])


def _drawn(text: str) -> str:
    hides = {char for char in set(text) if hidden_kind(char) and not cell_len(char)}
    return text.translate({ord(char): None for char in hides.difference(_GLUE)})


class TextInputPanel(Panel[str]):
    """Takes text; its result is the text, or None if the user cancels."""

    DEFAULT_CSS = """
    TextInputPanel LineView { height: auto; max-height: 40%; margin: 1 0 0 0; }
    TextInputPanel TextArea {
        height: 1fr; min-height: 5; margin: 1 0 0 0; padding: 0 1;
        border: none; border-left: thick $primary;
    }
    TextInputPanel TextArea:focus { border: none; border-left: thick $accent; }
    TextInputPanel #told { height: auto; display: none; }
    TextInputPanel #told.open { display: block; }
    """
    keys = "Enter save · Ctrl+J new line · Esc cancel"

    def __init__(self, heading: str, about: Sequence[Line] = (), words: str = "") -> None:
        super().__init__()
        self.heading = heading
        self._about = about
        self._words = words

    def body(self) -> list[Widget]:
        paper = LineView(id="about")
        paper.can_focus = False
        paper.display = bool(self._about)
        acts = {"enter": self.action_keep, "tab": lambda: self._tell(NO_TAB)}
        return [paper, TextInputArea(acts, self._words, "words"), Static(id="told", markup=False)]

    def on_mount(self) -> None:
        paper = self.query_one("#about", LineView)
        paper.styles.height = min(len(self._about), 8)
        paper.show([Section("about", tuple(self._about))])
        self._tell(hidden_chars_text(self._words))
        self.query_one("#words").focus()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        self._tell(hidden_chars_text(event.text_area.text))

    def action_keep(self) -> None:
        self.dismiss(self.query_one("#words", TextInputArea).text.strip("\n"))

    def _tell(self, words: str) -> None:
        told = self.query_one("#told", Static)
        told.update(words)
        told.set_class(bool(words), "open")
