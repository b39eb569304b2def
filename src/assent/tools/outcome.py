"""Outcomes: what a model reads about a call, with size limits.

The text comes from a command's output, a refusal or an error.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from posixpath import commonprefix
from typing import Any

import msgspec

from assent.core.errors import AssentError, Refused
from assent.core.llm import ImagePart
from assent.core.paths import typed_line
from assent.core.shell.process import OutputChunk, ProcessResult, is_expected_exit, signal_of
from assent.core.text.terminal_codes import without_terminal_codes
from assent.core.tool import (
    MISSING_CAPABILITY,
    MISSING_HELP,
    Action,
    FileBlock,
    ResourceAccess,
    ToolOutcome,
    without_missing_tools,
)
from assent.tools.tool import ToolContext

# Texts of refused and failed calls for the model, and of requests for people.
MAX_TITLE_CHARS = 200  # of what a refused call wanted
FULL = "The limit of one result is reached"


def refused_outcome(tool: str, reason: str, lacks: str = "", help: str = "") -> ToolOutcome:
    """Returns the outcome of a call that was refused, maybe because something is missing here."""
    metadata = missing_metadata(lacks, help)
    return ToolOutcome(f"{reason} Nothing was done.", title=tool, failed=True, metadata=metadata)


def failed_outcome(tool: str, error: Exception) -> ToolOutcome:
    """Returns the outcome of a call that ended with an error."""
    if not isinstance(error, AssentError):
        return refused_outcome(tool, f"`{tool}` failed: {type(error).__name__}: {error}.")
    text = f"{error.message}{_next(error.next)}"
    return ToolOutcome(text, title=tool, failed=True, metadata=missing_capability(error))


def missing_capability(error: AssentError) -> dict[str, str]:
    """Returns what is missing on this machine for a call, as metadata."""
    lacks = error.lacks if isinstance(error, Refused) else ""
    return missing_metadata(lacks, error.next)


def missing_metadata(lacks: str, help: str) -> dict[str, str]:
    """Returns what is missing, if anything is, and the command that helps the user, as metadata."""
    return {MISSING_CAPABILITY: lacks, **({MISSING_HELP: help} if help else {})} if lacks else {}


def access_line(request: ResourceAccess) -> str:
    """Returns a request on one line, such as `edit src/a.py`."""
    return f"{request.permission} {typed_line(request.resource)}"


def titled(outcome: ToolOutcome, requests: Iterable[ResourceAccess]) -> ToolOutcome:
    """Returns the outcome of a refused call with what it requested as its title, as it is recorded.

    A command for which something is missing here is its own title, as it was written.
    """
    requests = tuple(requests)
    commands = [one.resource for one in requests if one.action is Action.SHELL]
    if commands and MISSING_CAPABILITY in outcome.metadata:
        return msgspec.structs.replace(outcome, title=commands[0])
    wants = ", ".join(dict.fromkeys(map(access_line, requests)))
    return msgspec.structs.replace(outcome, title=wants[:MAX_TITLE_CHARS])


def _next(step: str) -> str:
    """Returns the next step; a command of Assent itself is for the user to run, not the model."""
    if step.startswith("assent "):
        return f" The user can run `{step}`."
    return f" Next: {step}" if step else ""


# Output limits: how much of a result a model gets to read, and what is kept of the rest.


LINES, BYTES = 2000, 50 << 10  # of a result that a model reads
KEPT_BYTES = 1 << 20  # bytes of the whole result that are kept in the store
CUT_MARK = "\n[Truncated: "
_ENDING = r"\[Truncated: the last \d+ of \d+ lines, (\d+) of \d+ bytes shown\.\]\n"
SHOWN_BYTES = "bytes"  # in the metadata: of a file, without headers and remarks


def limited_outcome(
    text: str,
    title: str = "",
    notes: Iterable[str] = (),
    *,
    failed: bool = False,
    is_end: bool = False,
    **metadata: Any,
) -> ToolOutcome:
    """Returns an outcome whose text is within the limits and says what is missing.

    That is the beginning of the text, or with `is_end` its end. Notes are always added after it.
    """
    begun = truncated(text)
    if begun != text and is_end:
        rest = text.encode("utf-8", "backslashreplace")[-KEPT_BYTES:]
        whole = "\n".join([_ending(text), *[f"[{note}]" for note in notes]])
        return ToolOutcome(whole, title, failed, metadata=metadata, rest=rest)
    if begun == text:
        whole = "\n".join(([text] if text else []) + [f"[{note}]" for note in notes])
        return ToolOutcome(whole, title, failed, metadata=metadata)
    lines, size = _counted(text)
    shown = begun.count("\n") + 1
    cut = f"{CUT_MARK}{shown} of {lines} lines, {len(begun.encode())} of {size} bytes shown.]"
    rest = text.encode("utf-8", "backslashreplace")[:KEPT_BYTES]
    whole = "\n".join([f"{begun}{cut}", *[f"[{note}]" for note in notes]])
    return ToolOutcome(whole, title, failed, metadata=metadata, rest=rest)


class JoinedOutcome:
    """The outcome of a call that stands for several, within the limits of one result.

    A piece that failed hides no other one.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._titles: list[str] = []
        self._images: list[ImagePart] = []
        self._blocks: list[FileBlock] = []
        self._seen: dict[str, str] = {}
        self._omitted: list[str] = []  # what has to be asked for again
        self._size = self._lines = 0
        self._failed = True

    @property
    def is_full(self) -> bool:
        """Whether the last piece did not fit, so that none is run after it."""
        return bool(self._omitted)

    def add(self, name: str, outcome: ToolOutcome) -> None:
        """Adds the outcome of a piece under its name; as much of it as fits."""
        title = name if outcome.failed else outcome.title or name
        text = truncated(outcome.text, LINES - self._lines - 1, BYTES - self._size)
        if text != outcome.text:
            line = _line_after(text, title) if SHOWN_BYTES in outcome.metadata else 0
            self.omit(f"{title}:{line}-" if line else title)
        if not text and outcome.text:
            return
        self._parts.append(text if begins_with_header(text, title) else f"[{title}]\n{text}")
        self._titles.append(title)
        self._size += len(self._parts[-1].encode("utf-8", "backslashreplace")) + 1
        self._lines += self._parts[-1].count("\n") + 1
        self._failed = self._failed and outcome.failed
        if not outcome.failed:
            self._images += outcome.images
            self._blocks += outcome.blocks
            self._seen |= outcome.metadata.get("seen", {})

    def omit(self, name: str) -> None:
        """Notes a piece that there is no room for."""
        self._omitted.append(name)

    def outcome(self) -> ToolOutcome:
        """Returns the outcome of the whole call; it failed if all its pieces did."""
        parts = self._parts
        if self._omitted:
            rest = ", ".join(self._omitted)
            parts = [*parts, f"[{FULL}; not shown: {rest}]"]
        metadata = {"seen": self._seen} if self._seen else {}
        title, images = ", ".join(self._titles), tuple(self._images)
        return ToolOutcome(
            "\n".join(parts),
            title,
            self._failed,
            images=images,
            metadata=metadata,
            blocks=tuple(self._blocks),
        )


def begins_with_header(text: str, title: str) -> bool:
    """Tells whether what was read of a file begins by naming it."""
    return text.startswith(f"[{title}, ")


def _line_after(text: str, title: str) -> int:
    """Returns the line of a file that follows what is shown of it; 0 if that is not known."""
    header = rf"^\[(?:{re.escape(title)}(?:, |(?=\])))?(?:lines? (\d+)[^\]\n]*)?\]$"
    found = [*re.finditer(header, text, re.MULTILINE)]
    if found:
        return int(found[-1][1] or 1) + text[found[-1].end() :].count("\n")
    return 0 if not text or text.startswith("[") else text.count("\n") + 2


# Kept outputs: the whole of an output that was cut, for a model that reads on.


OUTPUT_LINE_CHARS = 2000  # of a kept output; a longer line continues on the next
LAST_CHARS = 1000  # dropped of one endless word that was cut: more than any secret has
_HANDLE = r"output:([0-9a-z]{26})"
_KEY_LINE = r"[A-Za-z0-9+/=]{30,}|-----END "  # of a private key whose beginning is cut


class CutOutput(msgspec.Struct, frozen=True):
    """An output without secrets: what the model gets, the whole, and the first line to read on.

    With `is_end` the model gets the end, and `line` is the last one before it.
    """

    text: str
    whole: str
    line: int
    is_end: bool = False


def output_handle(output: str) -> str:
    """Returns the name by which `read` finds a kept output."""
    return f"output:{output}"


def output_id(path: str) -> str:
    """Returns the id of a kept output, if a path is the name of one; else nothing."""
    found = re.fullmatch(_HANDLE, path)
    return found[1] if found else ""


def output_lines(text: str) -> list[str]:
    """Returns the lines of a kept output as `read` counts them."""
    return [
        line[at : at + OUTPUT_LINE_CHARS]
        for line in text.split("\n")
        for at in range(0, len(line) or 1, OUTPUT_LINE_CHARS)
    ]


def cut_output(text: str, rest: bytes, mask: Callable[[str], str]) -> CutOutput:
    """Masks the secrets of an output that was cut: in what the model gets, and in the whole.

    Both agree: where a secret lies across the cut, its beginning is no longer shown, and where the
    whole itself was cut, its last line is dropped. Of an end, what is shown is taken from what was
    masked: no half of a secret is left at the cut.
    """
    kept = rest[:KEPT_BYTES].decode("utf-8", "ignore")
    ending = re.match(_ENDING, text)
    if ending and kept.encode()[-int(ending[1]) :] == _bytes_after(text, ending):
        whole = mask(_without_start(kept) if len(rest) >= KEPT_BYTES else kept)
        shown = _last_lines(whole)
        notes = mask(text[ending.end() + len(_bytes_after(text, ending).decode()) :])
        before = whole[: len(whole) - len(shown)]
        line = len(output_lines(before.removesuffix("\n"))) if before else 0
        return CutOutput(f"{_ending(whole)}{notes}", whole, line, is_end=True)
    whole, shown = mask(_without_end(kept) if len(rest) >= KEPT_BYTES else kept), mask(text)
    same = len(commonprefix([shown, whole]))
    mark = shown.rfind(CUT_MARK)
    if mark >= 0:  # where it is not, a plugin cut its output itself
        same = min(same, mark)
        shown = shown[:same] + shown[mark:]
    line = len(output_lines(whole[:same])) + (whole[same : same + 1] in ("", "\n") and same > 0)
    return CutOutput(shown, whole, line)


def _bytes_after(text: str, ending: re.Match[str]) -> bytes:
    """Returns what follows the line that says how much of an end is shown."""
    return text[ending.end() :].encode("utf-8", "backslashreplace")[: int(ending[1])]


def _without_start(text: str) -> str:
    """Returns a text whose beginning is cut without what may be the end of a secret.

    That is its first line, or of one endless line the last characters that a secret has, and the
    lines of a private key.
    """
    _, found, after = text.partition("\n")
    if not found:
        return text[LAST_CHARS:]
    lines = after.split("\n")
    first = next((at for at, line in enumerate(lines) if not re.search(_KEY_LINE, line)), 0)
    return "\n".join(lines[first:])


def _ending(text: str) -> str:
    """Returns the last lines of a text, after a line that says how many these are."""
    shown = _last_lines(text)
    lines, size = _counted(text)
    part = f"{shown.count(chr(10)) + 1} of {lines} lines, {len(shown.encode())} of {size} bytes"
    return f"[Truncated: the last {part} shown.]\n{shown}"


def _last_lines(text: str, lines: int = LINES, size: int = BYTES) -> str:
    """Returns as many whole lines of the end as the limits allow; of a very long one, its end."""
    start = len(text)
    for _ in range(lines):
        start = text.rfind("\n", 0, start)
        if start < 0:
            break
    ended = text[start + 1 :].encode("utf-8", "backslashreplace")
    if len(ended) <= size:
        return ended.decode()
    part = ended[-size:].decode("utf-8", "ignore")
    return part.partition("\n")[2] if "\n" in part else part


def _without_end(text: str) -> str:
    """Returns a text that was cut without what may be the beginning of a secret."""
    end = text.rfind("\n", -8 * LAST_CHARS)
    if end < 0:
        end = max(text.rfind(blank, -8 * LAST_CHARS) for blank in " \t")
    return text[: end if end >= 0 else -LAST_CHARS]


def truncated(text: str, lines: int = LINES, size: int = BYTES) -> str:
    """Returns as many whole lines as the limits allow; of one very long line, its beginning."""
    end = -1
    for _ in range(lines):
        end = text.find("\n", end + 1)
        if end < 0:
            break
    begun = text if end < 0 else text[:end]
    encoded = begun.encode("utf-8", "backslashreplace")
    if len(encoded) <= size:
        return text if text[len(begun) :].strip("\n") == "" else begun
    begun = encoded[:size].decode("utf-8", "ignore")
    return begun[: begun.rfind("\n")] if "\n" in begun else begun


def _counted(text: str) -> tuple[int, int]:
    lines = text.count("\n") + (not text.endswith("\n"))
    return lines, len(text.encode("utf-8", "backslashreplace"))


# Pages of a file: ranges of its lines, from a stream that is never held whole.


MAX_LINE_CHARS = 2000  # characters of a line that are shown
_HELD = 4 * MAX_LINE_CHARS  # their bytes
_MARK = b"\xef\xbb\xbf"


class LineRange(msgspec.Struct, frozen=True, order=True):
    """Lines to read, from 1; both ends are included."""

    first: int
    last: int


class LinePage(msgspec.Struct, frozen=True):
    """Lines of a file that follow each other."""

    first: int
    lines: tuple[str, ...]
    sizes: tuple[int, ...]  # bytes of the file that each line shows

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def span(self) -> str:
        return f"lines {self.first}-{self.last}" if self.lines[1:] else f"line {self.first}"


class FilePages(msgspec.Struct, frozen=True):
    """Some lines of a file, and how many it has."""

    pages: tuple[LinePage, ...]
    total: int
    foreign: bool = False  # not UTF-8
    cut: int = 0  # the first line that was asked for and did not fit; 0: there is none

    @property
    def size(self) -> int:
        """The bytes of the file that the lines show."""
        return sum(sum(page.sizes) for page in self.pages)

    @property
    def is_whole(self) -> bool:
        shown = [(page.first, page.last) for page in self.pages]
        return not self.total or shown == [(1, self.total)]


def read_pages(
    chunks: Iterable[bytes], ranges: Sequence[LineRange], limit: int = LINES
) -> FilePages:
    """Returns the lines of some ranges, as many as the limits allow; it never holds the file."""
    wanted = joined_ranges(ranges)
    shown: dict[LineRange, list[tuple[str, int]]] = {}
    size, room, cut, foreign = 0, limit, 0, False
    counted = _LineCount()
    for place, number, held, length, ended in _lines(chunks, wanted, counted):
        if cut:
            continue
        text, strange, part = _decoded_line(held, length, first=number == 1)
        size += len(text.encode()) + 1
        if not room or (shown and size > BYTES):
            cut = number
            continue
        taken = length + ended if part is None else part
        shown.setdefault(place, []).append((text, taken))
        room -= 1
        foreign = foreign or strange
    pages = [
        LinePage(place.first, tuple([line for line, _ in lines]), tuple([n for _, n in lines]))
        for place, lines in shown.items()
    ]
    return FilePages(tuple(pages), counted.total, foreign, cut)


def joined_ranges(ranges: Iterable[LineRange]) -> list[LineRange]:
    """Returns the ranges in order; those that touch or overlap become one."""
    found: list[LineRange] = []
    for each in sorted(ranges):
        if found and each.first <= found[-1].last + 1:
            found[-1] = LineRange(found[-1].first, max(found[-1].last, each.last))
        else:
            found.append(each)
    return found


class _LineCount:
    """How many lines a file has; complete once all of it was read."""

    total = 0


def _lines(
    chunks: Iterable[bytes], wanted: Sequence[LineRange], counted: _LineCount
) -> Iterator[tuple[LineRange, int, bytes, int, bool]]:
    """Yields each wanted line: its range, its number, its beginning, its whole length.

    And whether a line break follows. All others are only counted.
    """
    number, held, length = 1, b"", 0  # of the line that the next chunk continues
    for chunk in chunks:
        end = number + chunk.count(b"\n")  # of the line that this chunk does not end
        near = [each for each in wanted if each.first < end and number <= each.last]
        near = near if number < end else []
        parts = chunk.split(b"\n") if near else []
        for place in near:
            if place.first <= number:
                yield place, number, (held + parts[0])[:_HELD], length + len(parts[0]), True
            for at in range(max(place.first, number + 1), min(place.last, end - 1) + 1):
                part = parts[at - number]
                yield place, at, part[:_HELD], len(part), True
        start = chunk.rfind(b"\n") + 1
        if start:
            number, held, length = end, b"", 0
        held += chunk[start : start + max(0, _HELD - len(held))]
        length += len(chunk) - start
    if length:
        for place in wanted:
            if place.first <= number <= place.last:
                yield place, number, held, length, False
    counted.total = number if length else number - 1


def shown_line(line: bytes, *, first: bool = False) -> str:
    """Returns a whole line as it is shown; `first` if a file begins with it."""
    return _decoded_line(line[:_HELD], len(line), first=first)[0]


def _decoded_line(held: bytes, length: int, *, first: bool) -> tuple[str, bool, int | None]:
    """Returns a line as text, whether it had to be read as Latin-1, and its bytes if it is cut."""
    line = held.removeprefix(_MARK) if first else held
    line = line.removesuffix(b"\r")
    try:
        text, strange = line.decode(), False
    except UnicodeDecodeError as error:
        broken_off = length > len(held) and error.start >= len(line) - 3
        strange = not broken_off
        text = line.decode("utf-8", "ignore") if broken_off else line.decode("latin-1")
    if length > len(held) or len(text) > MAX_LINE_CHARS:
        part = text[:MAX_LINE_CHARS]
        taken = len(part.encode("latin-1" if strange else "utf-8"))
        return f"{part} [… {length} bytes in this line]", strange, taken
    return text, strange, None


# Line numbers in front of the lines of a result: adds, detects and removes them.


_PREFIX = r"[ \t]*\d+(?:[:-](?: |$)|[\t→])"
HINT = "Line numbers are not content: omit them from `old` and `new`."


def numbered(number: int, line: str, sign: str = ":") -> str:
    """Renders a line with its number, as every tool shows it."""
    return f"{number}{sign} {line}"


def has_line_numbers(text: str) -> bool:
    """Tells whether a line of a text looks as if it was copied with its number."""
    return any(re.match(_PREFIX, line) for line in text.splitlines())


def without_line_numbers(text: str) -> str:
    """Returns a text without line numbers; unchanged unless every line has one."""
    lines = text.split("\n")
    body = lines[:-1] if len(lines) > 1 and not lines[-1] else lines
    if not all(re.match(_PREFIX, line) for line in body):
        return text
    return "\n".join([re.sub(rf"^{_PREFIX}", "", line, count=1) for line in lines])


# Turns the output of a read-only command line into a tool outcome.


DRAFT_NOTE = "This is the disk without staged changes. `read`, `grep` and `glob` include them."


def collect_output(
    parts: Iterator[OutputChunk | ProcessResult],
    title: str,
    line: str = "",
    *,
    is_end: bool = False,
    dropped: int = 0,
) -> ToolOutcome:
    """Collects the output of a command, up to a limit, and how it ended.

    `line` is the command, which determines whether its exit code is an answer, as for `grep`. Of
    what is too long, the beginning is kept, or with `is_end` the end, where most programs say how
    it went; `dropped` bytes before it were not kept by the caller.
    """
    output, complained = bytearray(), False
    ended = ProcessResult(0)
    for part in parts:
        if isinstance(part, ProcessResult):
            ended = part
            continue
        complained = complained or part.error
        if is_end:
            output += part.content
            over = len(output) - KEPT_BYTES if len(output) > 2 * KEPT_BYTES else 0
            del output[:over]  # rarely, so that it takes little time
            dropped += over
            continue
        room = max(0, KEPT_BYTES - len(output))
        output += part.content[:room]
        dropped += max(0, len(part.content) - room)
    if is_end and len(output) > KEPT_BYTES:
        dropped += len(output) - KEPT_BYTES
        del output[:-KEPT_BYTES]
    text = without_terminal_codes(output.decode("utf-8", "backslashreplace")).rstrip("\n")
    if dropped and len(text.encode()) < KEPT_BYTES:
        # What is left without codes no longer looks cut, but a secret may lie across the cut.
        text = _without_start(text) if is_end else _without_end(text)
    unit, was = ("byte", "was") if dropped == 1 else ("bytes", "were")
    which = f"The first {dropped} {unit}" if is_end else f"{dropped} more {unit}"
    notes = [f"{which} {was} dropped."] if dropped else []
    notes += [f"It was stopped early: {ended.cut}."] if ended.cut else []
    signal = "" if ended.cut else signal_of(ended.code)
    by = f" ({signal})" if signal else ""
    notes += [f"Exit code {ended.code}{by}."] if ended.code else []
    notes += [] if text or notes else ["No output."]
    answer = not ended.cut and is_expected_exit(line, ended.code, complained=complained)
    failed = bool(ended.cut or (ended.code and not answer))
    lacks = {MISSING_CAPABILITY: ended.lacks} if ended.lacks else {}
    return limited_outcome(
        text, title, notes, failed=failed, is_end=is_end, exit=ended.code, **lacks
    )


def with_draft_note(outcome: ToolOutcome, context: ToolContext) -> ToolOutcome:
    """Adds a note that a program did not see the draft, if there is one."""
    if not context.overlay.drafted():
        return outcome
    return msgspec.structs.replace(
        outcome, text=f"{outcome.text}\n[{without_missing_tools(DRAFT_NOTE, context.absent)}]"
    )


def quote_argument(word: str) -> str:
    """Returns a word quoted so that the read-only shell parses it back, whatever it contains."""
    return "'" + word.replace("'", "'\"'\"'") + "'"
