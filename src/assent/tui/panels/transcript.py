"""The transcript: the whole conversation in a pager, nothing folded, searchable and live."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import ClassVar, Final

import msgspec
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from assent.core.text.hidden_chars import visible_line
from assent.tui.conversation.block_sections import BlockRenderer, block_section
from assent.tui.conversation.blocks import Block
from assent.tui.conversation.timeline import Timeline
from assent.tui.line_view import LineView, Section
from assent.tui.panels.panel import Panel
from assent.tui.workers import run_in_background

FIRST: Final = 60  # blocks that are rendered before anything is shown: more than fit on a screen
PORTION: Final = 1000  # blocks that are added at a time before those,
PORTION_LINES: Final = 4000  # or fewer, if they have this many lines: wrapping them takes 10 ms
HEADING: Final = "Transcript"
READING: Final = "reading earlier parts…"


class RenderedBlock(msgspec.Struct, frozen=True):
    """A block with its section, as it was when a thread rendered it."""

    block: Block
    section: Section


class TranscriptView(LineView):
    """A LineView with the keys of a pager."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "page_down", "Page down", show=False),
        Binding("b", "page_up", "Page up", show=False),
    ]


class TranscriptPanel(Panel[None]):
    """Shows every block of a session unfolded, from the end; it decides nothing.

    The newest blocks are there at once. Older ones are rendered in a thread and added before them,
    some at a time, so that opening takes no longer in a long session.
    """

    DEFAULT_CSS = """
    TranscriptPanel > #frame { max-width: 100%; border: none; }
    TranscriptPanel #transcript { height: 1fr; }
    """
    AUTO_FOCUS = "#transcript"
    keys = "↑ ↓ PgUp PgDn g G scroll · / search, n N next and previous · Esc close"

    def __init__(self, feed: Timeline, title: str = "") -> None:
        super().__init__()
        self._title = " · ".join(filter(None, (HEADING, visible_line(title))))
        self.heading = f"{self._title} · {READING}"
        self._feed = feed
        self._earlier = list(feed.blocks.values())  # not rendered yet; the last ones come next
        self._missing = {block.key for block in self._earlier}  # not shown yet
        self._renderer = BlockRenderer()

    @property
    def is_complete(self) -> bool:
        """Whether everything is shown."""
        return not self._missing

    def body(self) -> list[Widget]:
        return [TranscriptView(following=True, id="transcript")]

    def on_mount(self) -> None:
        self._read_on(FIRST)

    def conversation_changed(self, feed: Timeline, blocks: Sequence[Block]) -> None:
        """Shows what was said or done meanwhile; a block that comes later is read then."""
        if feed is not self._feed or not self.is_mounted:
            return
        changed = [block for block in blocks if block.key not in self._missing]
        self._view.put(*map(self._section, changed))

    @property
    def _view(self) -> TranscriptView:
        return self.query_one("#transcript", TranscriptView)

    def _section(self, block: Block) -> Section:
        return self._renderer.section(block, self._feed.full, unfolded=True)

    def _read_on(self, most: int) -> None:
        """Renders the next of the earlier blocks in a thread."""
        if self._earlier and not self.is_over:
            run_in_background(partial(self._render_portion, most))
        else:
            self.query_one("#panel-title", Static).update(self._title)

    def _render_portion(self, most: int) -> None:
        """Renders blocks from the newest on."""
        portion: list[RenderedBlock] = []
        lines = 0
        while self._earlier and len(portion) < most and lines < PORTION_LINES:
            block = self._earlier.pop()
            section = block_section(block, self._feed.full, unfolded=True)
            portion.append(RenderedBlock(block, section))
            lines += len(section.lines)
        portion.reverse()
        with suppress(RuntimeError):  # the screen has just been closed
            self.call_later(self._add_before, portion)

    def _add_before(self, portion: Sequence[RenderedBlock]) -> None:
        """Adds rendered blocks before those that are shown; what changed meanwhile is new."""
        if self.is_over:
            return
        self._missing.difference_update(one.block.key for one in portion)
        now = self._feed.blocks
        sections = [
            one.section if now[one.block.key] is one.block else self._section(now[one.block.key])
            for one in portion
        ]
        view = self._view
        view.renew([*sections, *view.sections])
        # Only once these are painted: else rendering the rest would delay what is seen first.
        self.call_after_refresh(self._read_on, PORTION)
