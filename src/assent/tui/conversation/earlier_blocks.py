"""The blocks of a session that are not shown yet: a thread renders them, from the newest on.

What a long session ends with is there at once, and takes no longer to show than in a short one. So
are many blocks that are unfolded or folded at once.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import msgspec

from assent.core.plan.operation import footprint
from assent.tui.conversation.block_sections import block_section
from assent.tui.conversation.blocks import (
    Block,
    NoteBlock,
    ReasoningBlock,
    RemovedBlock,
    ToolCallBlock,
)
from assent.tui.conversation.timeline import Timeline
from assent.tui.sections import Section
from assent.tui.workers import run_in_background

PORTION: Final = 1000  # blocks that are rendered at a time,
MAX_BLOCKS_AT_ONCE: Final = 300  # blocks that can be rendered between two keys
LINE_BYTES: Final = 40  # of a line of code, about
PORTION_LINES: Final = 4000  # or fewer, if they have this many lines: wrapping them takes 10 ms


class RenderedBlock(msgspec.Struct, frozen=True):
    """A block with its section, as it was when a thread rendered it."""

    block: Block
    section: Section


class _Portions:
    """Renders blocks of a timeline, some at a time."""

    def __init__(self, feed: Timeline, blocks: Sequence[Block], *, unfolded: bool) -> None:
        self.feed, self._unfolded = feed, unfolded
        self._left = [*blocks]  # not rendered yet; the last ones come next

    def render(self, most: int = PORTION) -> list[RenderedBlock]:
        """Renders the next blocks; the result is in the order of the session."""
        portion: list[RenderedBlock] = []
        lines = 0
        while self._left and len(portion) < most and lines < PORTION_LINES:
            block = self._left.pop()
            section = block_section(block, self.feed.full, self.feed.patch, unfolded=self._unfolded)
            portion.append(RenderedBlock(block, section))
            lines += len(section.lines)
        portion.reverse()
        return portion

    def render_in_background(
        self, then: Callable[[list[RenderedBlock]], object], most: int = PORTION
    ) -> bool:
        """Renders the next blocks in a thread; tells whether there are any."""
        if self._left:
            run_in_background(partial(self._render_for, then, most))
        return bool(self._left)

    def _render_for(self, then: Callable[[list[RenderedBlock]], object], most: int) -> None:
        with suppress(RuntimeError):  # the screen has just been closed
            then(self.render(most))


class EarlierBlocks(_Portions):
    """Renders what is not shown yet; what is added to it later is not in it."""

    def __init__(self, feed: Timeline, *, unfolded: bool = False) -> None:
        blocks = [block for block in feed.blocks.values() if not isinstance(block, RemovedBlock)]
        super().__init__(feed, blocks, unfolded=unfolded)
        self.missing = {block.key for block in blocks}  # not shown yet

    def take(
        self, portion: Sequence[RenderedBlock], section: Callable[[Block], Section]
    ) -> list[Section]:
        """Returns the sections of rendered blocks as they are now; those that changed are new."""
        self.missing.difference_update(one.block.key for one in portion)
        now = self.feed.blocks
        return [
            one.section if now[one.block.key] is one.block else section(now[one.block.key])
            for one in portion
        ]


class TurningBlocks(_Portions):
    """Renders blocks that are shown already, and are unfolded or folded."""

    @property
    def is_quick(self) -> bool:
        """Whether all of them can be rendered between two keys."""
        return (
            len(self._left) <= MAX_BLOCKS_AT_ONCE and sum(map(_weight, self._left)) <= PORTION_LINES
        )


def _weight(block: Block) -> int:
    """Returns about how many lines are read to render a block: of an edit, both its contents."""
    match block:
        case ToolCallBlock(lines=lines, edits=edits):
            both = [state for op in edits for _, *states in footprint(op) for state in states]
            return lines + sum(state.size for state in both if state) // LINE_BYTES
        case ReasoningBlock(lines=lines) | NoteBlock(lines=lines):
            return lines
        case _:
            return 1
