"""Repeats: lines of files that the conversation already shows are named, not sent again.

Nothing is remembered for this: what counts is the text that the next request contains anyway. So
what a summary replaced, what was removed as old output, and what a rewind cut off is shown again,
and a session that another process continues is treated like any other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from assent.core.llm import ChatMessage, MessagePart, TextPart, ToolCall, ToolResult
from assent.core.tool import FileBlock

SHOWN_ABOVE: Final = "shown above"
MIN_LINES: Final = 8  # of a block; a shorter one is simply shown
MIN_PART: Final = 20  # lines of a part of a block that is named while the rest is shown
MIN_RUN: Final = 3  # lines that have to follow each other in what is shown
MAX_RUNS: Final = 6  # of which a block may consist, such as what an edit left of it and wrote
MAX_SEARCHES: Final = 400  # in one result; what would take more is shown
_READ: Final = "read"
_EDITS: Final = ("edit", "write", "patch")


class VisibleText:
    """What the conversation shows of files: results, attached files, and what the model wrote."""

    def __init__(self, messages: Iterable[ChatMessage], results: Iterable[ToolResult]) -> None:
        parts: list[MessagePart] = [part for message in messages for part in message.parts]
        self._parts = [*parts, *results]
        self._calls = {part.id: part for part in parts if isinstance(part, ToolCall)}
        self._read = [part for part in parts if isinstance(part, ToolResult)]  # by the model
        self._known: dict[str, str] = {}
        self.searches = 0

    def is_repeated(self, call: ToolCall) -> bool:
        """Tells whether the same call has a result: then the model wants to see it again."""
        own = self._calls.get(call.id, call)  # as the model wrote it
        others = [self._calls[each.call] for each in self._read if each.call in self._calls]
        return any((one.tool, one.args) == (own.tool, own.args) for one in others)

    def is_told(self, line: str) -> bool:
        """Tells whether the model has read a line in a result."""
        return any(line in each.text for each in self._read)

    def has_failed_edit(self, path: str) -> bool:
        """Tells whether the last edit of a file failed: then its text may be needed again."""
        last = False
        for part in self._parts:
            call = self._calls.get(part.call) if isinstance(part, ToolResult) else None
            if call and call.tool in _EDITS and path in str(call.args):
                last = isinstance(part, ToolResult) and part.failed
        return last

    def shows(self, path: str, text: str) -> bool:
        """Tells whether whole lines are shown where a file is named."""
        self.searches += 1
        return f"\n{text}\n" in self.of(path)

    def of(self, path: str) -> str:
        if path not in self._known:
            self._known[path] = "\n\0\n".join(["", *self._texts(path), ""])
        return self._known[path]

    def add(self, path: str, text: str) -> None:
        """Takes in what the result shows that is being made."""
        self._known[path] = f"{self.of(path)}{text}\n\0\n"

    def _texts(self, path: str) -> Iterator[str]:
        for part in self._parts:
            match part:
                case TextPart(text=text) if path in text:
                    yield text
                case ToolCall(args=args) if path in str(args):
                    yield from _strings(args)
                case ToolResult(text=text):
                    call = self._calls.get(part.call)
                    if path in text or (call and path in str(call.args)):
                        yield text
                case _:
                    pass


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip("\n")
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def without_repeats(
    text: str,
    blocks: Sequence[FileBlock],
    call: ToolCall,
    visible: VisibleText,
    mask: Callable[[str], str],
) -> str:
    """Returns the text of a result in which blocks that are already shown are only named.

    What is shown has been masked, so a block is compared as it would be shown.
    """
    if visible.is_repeated(call):
        return text
    parts: list[str] = []
    reached = 0
    for block in blocks:
        at = text.find(block.shown, reached)
        if at < 0:  # it did not fit into the result
            continue
        told = _folded(block, call.tool, visible, mask)
        parts += [text[reached:at], told]
        reached = at + len(block.shown)
    return "".join([*parts, text[reached:]])


class _Run(msgspec.Struct, frozen=True):
    """Lines of a block that follow each other, by place; whether they are already shown."""

    first: int
    last: int
    is_shown: bool


def _folded(block: FileBlock, tool: str, visible: VisibleText, mask: Callable[[str], str]) -> str:
    lines, masked = block.text.split("\n"), mask(block.text)
    if len(lines) < MIN_LINES or visible.has_failed_edit(block.path):
        visible.add(block.path, masked)
        return block.shown
    told = _named(block)
    # Who was told where it is, and reads just that, needs to see it.
    asks_again = tool == _READ and visible.is_told(told)
    runs = [] if asks_again else _runs(block.path, masked.split("\n"), visible)
    visible.add(block.path, masked)
    if runs and all(run.is_shown for run in runs) and len(runs) <= MAX_RUNS:
        return told
    parts = _parts(runs, len(lines))
    if len(parts) == 1:
        return block.shown
    shown = [block.header] if block.header else []
    for at, part in enumerate(parts):
        span = f"{block.first + part.first}-{block.first + part.last}"
        if part.is_shown:
            shown.append(f"[{span}: {SHOWN_ABOVE}]")
        else:
            shown += [f"[lines {span}]"] if at else []
            shown += lines[part.first : part.last + 1]
    return "\n".join(shown)


def _named(block: FileBlock) -> str:
    if block.header:
        return f"{block.header.removesuffix(']')}: {SHOWN_ABOVE}]"
    last = block.first + block.text.count("\n")
    return f"[{block.first}-{last}, all lines: {SHOWN_ABOVE}]"


def _runs(path: str, lines: Sequence[str], visible: VisibleText) -> list[_Run]:
    """Divides lines into runs that are shown, as long as possible, and single lines that are not.

    It ends early, as if nothing were shown, where that would take too many searches.
    """
    if visible.shows(path, "\n".join(lines)):
        return [_Run(0, len(lines) - 1, is_shown=True)]
    known = {*visible.of(path).split("\n")}
    found: list[_Run] = []
    at = 0
    while at < len(lines):
        most = at
        while most < len(lines) and lines[most] in known:
            most += 1
        least = min(MIN_RUN, len(lines) - at)
        count = 0
        low, high = least, most - at
        while low <= high and visible.searches < MAX_SEARCHES:
            middle = high if not count and low == least else (low + high) // 2
            if visible.shows(path, "\n".join(lines[at : at + middle])):
                count, low = middle, middle + 1
            else:
                high = middle - 1
        last = at + max(count, 1) - 1
        found.append(_Run(at, last, is_shown=bool(count)))
        at = last + 1
    return found


def _parts(runs: Sequence[_Run], size: int) -> list[_Run]:
    """Returns what is named and what is shown of a block, in turn."""
    named = [run for run in runs if run.is_shown and run.last - run.first + 1 >= MIN_PART]
    parts: list[_Run] = []
    at = 0
    for run in named:
        if run.first > at:
            parts.append(_Run(at, run.first - 1, is_shown=False))
        parts.append(run)
        at = run.last + 1
    if at < size:
        parts.append(_Run(at, size - 1, is_shown=False))
    return parts
