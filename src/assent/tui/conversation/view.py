"""The conversation view: shows the timeline of a session.

It also shows notes of the screen itself, and the output of commands that the user typed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.events import Click
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import fold_long, visible
from assent.core.text.secrets import redact
from assent.render.lines import Line
from assent.render.rendered_markdown import INDENT
from assent.tui.conversation.block_sections import BlockRenderer, is_foldable
from assent.tui.conversation.blocks import (
    Block,
    RemovedBlock,
    ScreenNoteBlock,
    TurnEndBlock,
)
from assent.tui.conversation.earlier_blocks import (
    MAX_BLOCKS_AT_ONCE,
    EarlierBlocks,
    RenderedBlock,
    TurningBlocks,
)
from assent.tui.conversation.past_runs import add_with_notes
from assent.tui.conversation.timeline import ReadPatch, Timeline, no_patch
from assent.tui.line_view import LineView, Section

if TYPE_CHECKING:
    from assent.app.engine import Engine

# The last lines of output of the user's own shell command.


SHOWN: Final = 2000  # lines
# Before those that are shown as many are kept: a secret of several lines is known by its first.
MAX_KEPT_LINES: Final = 2 * SHOWN
MAX_CHARS: Final = 1 << 18  # characters, where lines are very long


class OutputTail:
    """Keeps the newest lines of streaming output; old lines are dropped."""

    def __init__(self) -> None:
        self._text = ""
        self._gone = 0  # lines that were let go

    def add(self, text: str) -> None:
        """Adds more output."""
        self._text += text
        if len(self._text) > 2 * MAX_CHARS:
            self._gone += self._text.count("\n", 0, -MAX_CHARS)
            self._text = self._text[-MAX_CHARS:]
        lines = self._text.count("\n")
        if lines > MAX_KEPT_LINES + SHOWN:
            self._gone += lines - MAX_KEPT_LINES
            self._text = self._text.split("\n", lines - MAX_KEPT_LINES)[-1]

    def lines(self) -> list[Line]:
        """Returns the newest lines; none if they have no text."""
        if not self._text.strip("\n"):
            return []
        lines = redact(self._text).strip("\n").split("\n")
        before = self._gone + len(lines) - SHOWN
        left = [f"({before} earlier lines)"] if before > 0 else []
        shown = visible("\n".join(lines[-SHOWN:])).split("\n")
        pieces = [piece for line in (*left, *shown) for piece in fold_long(line)]
        return [Line("dim", f"│ {piece}") for piece in pieces]


REVIEW_HINT: Final = f"{INDENT}Ctrl+T or /review opens it."


@dataclass
class SessionLoaded(Message):
    """Message: a session with all its events, ready to be shown."""

    feed: Timeline
    earlier: EarlierBlocks
    newest: list[RenderedBlock]


def load_session(
    session: str,
    events: Iterable[StoredEvent],
    notes: Iterable[tuple[int, ScreenNoteBlock]] = (),
    read_patch: ReadPatch = no_patch,
) -> SessionLoaded:
    """Folds a whole session, and renders its end; it may be long: this belongs in a thread."""
    feed = Timeline(session, read_patch)
    add_with_notes(feed, events, notes)
    earlier = EarlierBlocks(feed)
    return SessionLoaded(feed, earlier, earlier.render(MAX_BLOCKS_AT_ONCE))


def session_events(engine: "Engine", record: SessionRecord) -> list[StoredEvent]:
    """Returns everything that happened in a session and its children, in order."""
    events = engine.sessions.events(record)
    if not record.children:
        return events
    known = {record.session}
    for each in reversed(engine.sessions.all()):  # the oldest first: parents before children
        if each.parent in known:
            known.add(each.session)
            events = [*events, *engine.sessions.events(each)]
    return sorted(events, key=lambda recorded: recorded.position)


class ConversationView(LineView):
    """A LineView that follows a session. A click unfolds or folds a block.

    A long session is there with its newest blocks; older ones are added before them soon.
    """

    DEFAULT_CSS = """
    ConversationView { height: 1fr; padding: 0 1; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__(following=True, id=id)
        self.can_focus = False
        self.read_patch: ReadPatch = no_patch
        self.feed = Timeline()
        self._earlier = EarlierBlocks(self.feed)
        self._to_start = False  # the user wants to see the beginning, once it is there
        self._unfolded = False  # everything
        self._turned: set[str] = set()  # blocks that are otherwise
        self._turning: TurningBlocks | None = None  # what is unfolded or folded in a thread
        self._told = 0
        self._printed = OutputTail()  # by the user's own command
        self._renderer = BlockRenderer()
        self._presented = ""  # the key of the block that presented a plan last
        self._review_waits = False
        self._drawn_as: tuple[object, ...] = ()
        self._in_sight: dict[Line | None, Strip] = {}  # as they were drawn last

    def begin(self, session: str) -> None:
        """Shows a session without events yet, below the notes."""
        if self.feed.session != session:
            notes = [one for one in self.feed.blocks.values() if isinstance(one, ScreenNoteBlock)]
            self.feed = Timeline(session, self.read_patch)
            self._earlier = EarlierBlocks(self.feed)
            self.feed.blocks |= {one.key: one for one in notes}

    def open(self, message: SessionLoaded) -> None:
        """Shows a session, scrolled to its end."""
        self.feed, self._earlier = message.feed, message.earlier
        self._to_start = False
        self._turned.clear()
        self.show(self._earlier.take(message.newest, self._sheet))
        if self._unfolded:
            self._turn_soon([b for b in self.feed.blocks.values() if self._is_turned_soon(b)])
        blocks = reversed(list(self.feed.blocks.values()))
        self._present(next(filter(_is_presented, blocks), None))
        self.scroll_end(animate=False, immediate=True)
        self._read_on(self._earlier)

    def empty(self) -> None:
        """Shows nothing, for a session that is about to begin."""
        self.feed = Timeline()
        self._earlier = EarlierBlocks(self.feed)
        self.show(())

    @property
    def is_complete(self) -> bool:
        """Whether all of the session is shown."""
        return not self._earlier.missing

    def to_start(self) -> None:
        """Scrolls to the beginning of the session, also if that is not there yet."""
        self._scroll(0)
        self._to_start = not self.is_complete

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._to_start = self._to_start and not new_value

    def _read_on(self, earlier: EarlierBlocks) -> None:
        """Renders the next of the earlier blocks in a thread."""
        if earlier is self._earlier:
            earlier.render_in_background(partial(self.call_later, self._add_before, earlier))

    def _add_before(self, earlier: EarlierBlocks, portion: Sequence[RenderedBlock]) -> None:
        """Adds rendered blocks before those that are shown, unless another session is shown."""
        if earlier is not self._earlier:
            return
        to_start = self._to_start
        sections = earlier.take(portion, self._sheet)
        self.renew([*sections, *self.sections])
        turned = [one.block for one in portion if self._looks_otherwise(one.block)]
        self._again([self.feed.blocks[block.key] for block in turned])
        if to_start:
            self.to_start()
        self.call_after_refresh(self._read_on, earlier)  # once these are painted

    def _looks_otherwise(self, block: Block) -> bool:
        """Tells whether a block that was rendered folded is to be shown in another way."""
        return block.key == self._presented or self._unfolded != (block.key in self._turned)

    def add_events(self, heard: Sequence[StoredEvent | StreamDelta]) -> list[Block]:
        """Adds events, shows the changed blocks once, and returns them."""
        changed = self.feed.add_events(heard)
        self._again(changed)
        if presented := [block for block in changed if _is_presented(block)]:
            self._present(presented[-1])
        return changed

    def hint_at_review(self, waits: bool) -> None:
        """Shows the key that reviews the plan below what presented it, while the plan waits."""
        if waits is not self._review_waits:
            self._review_waits = waits
            self._draw_again(self._presented)

    def drop_note_lines(self, is_gone: Callable[[str], bool]) -> None:
        """Removes lines of notes, which are hints at what is no longer there."""
        known = {section.key for section in self.sections}
        for block in list(self.feed.blocks.values()):
            if isinstance(block, ScreenNoteBlock):
                lines = tuple([line for line in block.lines if not is_gone(line.text.strip())])
                if len(lines) < len(block.lines):
                    self.feed.blocks[block.key] = ScreenNoteBlock(block.key, lines)
                    if block.key in known:
                        self._again([self.feed.blocks[block.key]])

    def _present(self, block: Block | None) -> None:
        """Moves the hint at the review to the plan that was presented last."""
        before, self._presented = self._presented, block.key if block else ""
        for key in {before, self._presented}:
            self._draw_again(key)

    def _draw_again(self, key: str) -> None:
        block = self.feed.blocks.get(key)
        if block is not None and any(each.key == key for each in self.sections):
            self._again([block])

    def add_note(self, lines: Iterable[Line]) -> Block:
        """Adds a note of the screen itself, and returns it."""
        self._told += 1
        self._printed = OutputTail()
        return self._note("told", lines)

    def print(self, text: str) -> list[Block]:
        """Adds output of the user's command to the last note, and returns what changed."""
        self._printed.add(text)
        lines = self._printed.lines()
        return [self._note("printed", lines)] if lines else []

    def _note(self, kind: str, lines: Iterable[Line]) -> Block:
        block = ScreenNoteBlock(f"{kind}:{self._told}", tuple(lines))
        self.feed.blocks[block.key] = block
        self._again([block])
        return block

    def turn_all(self) -> bool:
        """Unfolds everything, or folds it again; tells which."""
        self._unfolded = not self._unfolded
        self._turned.clear()
        known = {sheet.key for sheet in self.sections}  # a screen that was emptied stays so
        blocks = [b for b in self.feed.blocks.values() if b.key in known and is_foldable(b)]
        self._turn_soon(blocks)
        return self._unfolded

    def _turn_soon(self, blocks: Sequence[Block]) -> None:
        """Renders blocks as they are to be now: at once if that is quick, else in a thread."""
        self._turning = TurningBlocks(self.feed, blocks, unfolded=self._unfolded)
        if self._turning.is_quick:
            self._again(blocks)
        else:
            self._turn_on(self._turning)

    def _is_turned_soon(self, block: Block) -> bool:
        return is_foldable(block) and block.key not in self._earlier.missing

    def _turn_on(self, turning: TurningBlocks) -> None:
        """Renders the next of many blocks in a thread; keys come in between."""
        if turning is self._turning:
            turning.render_in_background(partial(self.call_later, self._turned_some, turning))

    def _turned_some(self, turning: TurningBlocks, portion: Sequence[RenderedBlock]) -> None:
        if turning is not self._turning or turning.feed is not self.feed:
            return
        # What changed or was clicked on meanwhile was rendered already.
        now = self.feed.blocks
        self.put(
            *[
                one.section
                for one in portion
                if now[one.block.key] is one.block and one.block.key not in self._turned
            ]
        )
        self.call_after_refresh(self._turn_on, turning)  # once these are painted

    def turn(self, key: str) -> None:
        """Unfolds one block, or folds it again."""
        block = self.feed.blocks.get(key)
        if block is not None and is_foldable(block):
            self._turned ^= {key}
            self._again([block])

    def on_click(self, event: Click) -> None:
        spot = self.at(event.y + self.scroll_offset.y)
        if spot is not None:
            self.turn(spot.key)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draws what is new and visible; a row that only moved reuses its strip."""
        themes = (self.theme_name, self.app.theme)
        looks = (crop.column_span, *themes, self.rich_style, self.background_colors)
        if looks != self._drawn_as:
            self._drawn_as, self._in_sight = looks, {}
        top = self.scroll_offset.y
        lines = [self._line_at(y + top) for y in crop.line_range]
        missing = [at for at, line in enumerate(lines) if line not in self._in_sight]
        if missing:
            first, last = missing[0], missing[-1]
            part = Region(crop.x, crop.y + first, crop.width, last - first + 1)
            drawn = super().render_lines(part)
            self._in_sight |= zip(lines[first : last + 1], drawn, strict=True)
        self._in_sight = {line: self._in_sight[line] for line in lines}
        return [self._in_sight[line] for line in lines]

    def _line_at(self, row: int) -> Line | None:
        return self._paged.painted(row)

    def _again(self, blocks: Sequence[Block]) -> None:
        blocks = [block for block in blocks if block.key not in self._earlier.missing]
        known = {sheet.key for sheet in self.sections} if any(map(_gone, blocks)) else set()
        self.put(
            *[self._sheet(block) for block in blocks if not _gone(block) or block.key in known]
        )

    def _sheet(self, block: Block) -> Section:
        unfolded = self._unfolded != (block.key in self._turned)
        section = self._renderer.section(block, self.feed.full, self.feed.patch, unfolded=unfolded)
        if block.key != self._presented or not self._review_waits:
            return section
        return Section(section.key, (*section.lines, Line("dim", REVIEW_HINT)))


def _gone(block: Block) -> bool:
    return isinstance(block, RemovedBlock)


def _is_presented(block: Block) -> bool:
    return isinstance(block, TurnEndBlock) and block.why == "presented"
