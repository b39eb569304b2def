"""The transcript: the whole conversation in a pager, nothing folded, searchable and live."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from assent.tui.conversation.block_sections import BlockRenderer
from assent.tui.conversation.blocks import Block
from assent.tui.conversation.earlier_blocks import PORTION, EarlierBlocks, RenderedBlock
from assent.tui.conversation.timeline import Timeline
from assent.tui.line_view import LineView, Section
from assent.tui.panels.panel import Panel

FIRST: Final = 60  # blocks that are rendered before anything is shown: more than fit on a screen
HEADING: Final = "Transcript"
READING: Final = "reading earlier parts…"


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
        self._title = " · ".join(filter(None, (HEADING, title)))
        self.heading = f"{self._title} · {READING}"
        self._feed = feed
        self._earlier = EarlierBlocks(feed, unfolded=True)
        self._renderer = BlockRenderer()

    @property
    def is_complete(self) -> bool:
        """Whether everything is shown."""
        return not self._earlier.missing

    def body(self) -> list[Widget]:
        return [TranscriptView(following=True, id="transcript")]

    def on_mount(self) -> None:
        self._read_on(FIRST)

    def conversation_changed(self, feed: Timeline, blocks: Sequence[Block]) -> None:
        """Shows what was said or done meanwhile; a block that comes later is read then."""
        if feed is not self._feed or not self.is_mounted:
            return
        changed = [block for block in blocks if block.key not in self._earlier.missing]
        self._view.put(*map(self._section, changed))

    @property
    def _view(self) -> TranscriptView:
        return self.query_one("#transcript", TranscriptView)

    def _section(self, block: Block) -> Section:
        return self._renderer.section(block, self._feed.full, self._feed.patch, unfolded=True)

    def _read_on(self, most: int) -> None:
        """Renders the next of the earlier blocks in a thread."""
        shown = partial(self.call_later, self._add_before)
        if self.is_over or not self._earlier.render_in_background(shown, most):
            self.query_one("#panel-title", Static).update(self._title)

    def _add_before(self, portion: Sequence[RenderedBlock]) -> None:
        """Adds rendered blocks before those that are shown."""
        if self.is_over:
            return
        view = self._view
        view.renew([*self._earlier.take(portion, self._section), *view.sections])
        # Only once these are painted: else rendering the rest would delay what is seen first.
        self.call_after_refresh(self._read_on, PORTION)
