"""Repeats: lines of files that the conversation already shows are named, not sent again.

Nothing is stored for this: what counts is the text that the next request contains anyway. So what
a summary replaced, what was removed as old output, and what a rewind cut off is shown again, and a
session that another process continues is treated like any other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any, Final, NamedTuple

import msgspec

from assent.core.llm import ChatMessage, MessagePart, TextPart, ToolCall, ToolResult
from assent.core.tool import FileBlock

SHOWN_ABOVE: Final = "shown above"
MIN_LINES: Final = 8  # of a block; a shorter one is simply shown
MIN_PART: Final = 20  # lines of a part of a block that is named while the rest is shown
MIN_RUN: Final = 3  # lines that have to follow each other in what is shown
MAX_RUNS: Final = 6  # of which a block may consist, such as what an edit left of it and wrote
MAX_SEARCHES: Final = 400  # in one result; what would take more is shown
PARTS: Final = 64  # of messages whose names are searched together
JOINED: Final = 20_000  # characters of texts that are searched together
_MARK: Final = "\n\0\n"  # between texts: no line that is looked for goes across
_READ: Final = "read"
_EDITS: Final = ("edit", "write", "patch")


class ShownMessages:
    """What the messages of a conversation show of files; each message is taken in once.

    It grows with the conversation, so that a call costs the same after a thousand others. It
    follows the messages alone: where one that was taken in is gone, all are taken in again.
    """

    def __init__(self, messages: tuple[ChatMessage, ...] = ()) -> None:
        self._forget()
        self.take_in(messages)

    def _forget(self) -> None:
        self._messages: tuple[ChatMessage, ...] = ()
        self._parts: list[_Part] = []
        self._names: list[str] = []  # of as many parts each, together
        self._known: dict[str, _PathText] = {}
        self._edits: list[tuple[str, bool]] = []  # what was to be edited; whether it failed
        self._answered: set[tuple[str, str]] = set()  # calls that have a result
        self._told = ""  # results that name lines instead of showing them
        self.calls: dict[str, ToolCall] = {}

    def take_in(self, messages: tuple[ChatMessage, ...]) -> None:
        """Takes in the messages that are new, or all if one is no longer what it was."""
        known = len(self._messages)
        if messages[:known] != self._messages:  # quick, as they are the same objects
            self._forget()
            known = 0
        for message in messages[known:]:
            for part in message.parts:
                self._add(part)
        self._messages = messages

    def _add(self, part: MessagePart) -> None:
        match part:
            case TextPart(text=text):
                self._append(_Part(text, (text,)))
            case ToolCall(args=args):
                self.calls[part.id] = part
                self._append(_Part(str(args), tuple(_strings(args))))
            case ToolResult(text=text):
                call = self.calls.get(part.call)
                self._append(_Part(f"{text}\0{call.args}" if call else text, (text,)))
                if call:
                    self._answered.add(_call_key(call))
                    if call.tool in _EDITS:
                        self._edits.append((str(call.args), part.failed))
                if SHOWN_ABOVE in text:
                    self._told += f"{text}\0"
            case _:
                pass

    def _append(self, part: "_Part") -> None:
        self._parts.append(part)
        if not len(self._parts) % PARTS:
            self._names.append("\0".join(each.names for each in self._parts[-PARTS:]))

    def has_result(self, call: ToolCall) -> bool:
        """Tells whether the same call, as the model wrote it, has a result."""
        return _call_key(self.calls.get(call.id, call)) in self._answered

    def is_told(self, line: str) -> bool:
        """Tells whether the model has read in a result that a line is shown elsewhere."""
        return line in self._told

    def has_failed_edit(self, path: str) -> bool:
        """Tells whether the last edit of a file failed."""
        text = self.of(path)
        for names, failed in self._edits[text.edits :]:
            if path in names:
                text.has_failed_edit = failed
        text.edits = len(self._edits)
        return text.has_failed_edit

    def of(self, path: str) -> "_PathText":
        """Returns what is shown where a file is named."""
        text = self._known.setdefault(path, _PathText())
        at = text.parts
        while at < len(self._parts):
            group, within = divmod(at, PARTS)
            if not within and group < len(self._names) and path not in self._names[group]:
                at += PARTS
                continue
            if path in self._parts[at].names:
                text.add(*self._parts[at].texts)
            at += 1
        text.parts = at
        return text


class _Part(NamedTuple):
    """A part of a message: the text in which files may be named, and the texts that it shows."""

    names: str
    texts: tuple[str, ...]


class _PathText:
    """The texts that are shown where a file is named, each whole between two marks."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._joined: list[str] = []
        self.lines: set[str] = set()
        self.parts = 0  # of the conversation, and
        self.edits = 0  # edits of it, that are taken in
        self.has_failed_edit = False

    def add(self, *texts: str) -> None:
        for text in texts:
            if text in self._texts:
                continue
            self._texts.add(text)
            self.lines.update(text.split("\n"))
            if not self._joined or len(self._joined[-1]) > JOINED:
                self._joined.append(_MARK)
            self._joined[-1] += f"{text}{_MARK}"

    def shows(self, lines: str) -> bool:
        return any(lines in joined for joined in self._joined)


class VisibleText:
    """What the model sees of files when a call ends: messages, and results that are not sent yet.

    Messages are results, attached files, and what the model wrote.
    """

    def __init__(self, messages: ShownMessages, results: Iterable[ToolResult]) -> None:
        self._messages = messages
        self._results = tuple(results)
        self._beside: dict[str, _PathText] = {}  # the results, and the one that is being made
        self.searches = 0

    def is_repeated(self, call: ToolCall) -> bool:
        """Tells whether the same call has a result: then the model wants to see it again."""
        return self._messages.has_result(call)

    def is_told(self, line: str) -> bool:
        """Tells whether the model has read in a result that a line is shown elsewhere."""
        return self._messages.is_told(line)

    def has_failed_edit(self, path: str) -> bool:
        """Tells whether the last edit of a file failed: then its text may be needed again."""
        last = self._messages.has_failed_edit(path)
        for result in self._results:
            call = self._messages.calls.get(result.call)
            if call and call.tool in _EDITS and path in str(call.args):
                last = result.failed
        return last

    def shows(self, path: str, text: str) -> bool:
        """Tells whether whole lines are shown where a file is named."""
        self.searches += 1
        lines = f"\n{text}\n"
        return self._messages.of(path).shows(lines) or self._near(path).shows(lines)

    def lines(self, path: str) -> tuple[Set[str], Set[str]]:
        """Returns the lines that are shown where a file is named: in messages, and beside them."""
        return self._messages.of(path).lines, self._near(path).lines

    def add(self, path: str, text: str) -> None:
        """Takes in what the result shows that is being made."""
        self._near(path).add(text)

    def _near(self, path: str) -> _PathText:
        if path not in self._beside:
            self._beside[path] = near = _PathText()
            for result in self._results:
                call = self._messages.calls.get(result.call)
                if path in result.text or (call and path in str(call.args)):
                    near.add(result.text)
        return self._beside[path]


def _call_key(call: ToolCall) -> tuple[str, str]:
    """Returns what two calls have in common that ask for the same."""
    return call.tool, str(sorted(call.args.items()) if call.args else call.args)


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
    before, beside = visible.lines(path)
    found: list[_Run] = []
    at = 0
    while at < len(lines):
        most = at
        while most < len(lines) and (lines[most] in before or lines[most] in beside):
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
