"""read: the text of files, an image, or the names in a folder.

Of a long file it shows the outline and the beginning, unless lines are asked for, by number or by
the name of a definition. Lines have no numbers, so that they can be copied; a header says which
they are. The instruction files of the folders around a file come before it: what follows its header
is the file's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any

import msgspec

from assent.core.errors import AssentError, NotFound, Refused, UsageError
from assent.core.llm import MAX_IMAGE_BYTES, ImagePart, image_type
from assent.core.paths import ancestors, display_path, one_line
from assent.core.plan.operation import FileState
from assent.core.text import counted
from assent.core.tool import Action, FileBlock, ResourceAccess, ToolOutcome
from assent.ports import OutsideFiles
from assent.tools.files import existing_state, read_accesses, readable_path, resolve_path
from assent.tools.outcome import (
    FULL,
    LINES,
    SHOWN_BYTES,
    FilePages,
    LinePage,
    LineRange,
    begins_with_header,
    limited_outcome,
    output_id,
    output_lines,
    read_pages,
)
from assent.tools.outline import MAX_BYTES as MAX_OUTLINED_BYTES
from assent.tools.outline import (
    Symbol,
    file_outline,
    file_symbols,
    named_symbols,
    near_symbols,
)
from assent.tools.overlay import WHOLE_FILE
from assent.tools.text_search import BINARY_PROBE_BYTES
from assent.tools.tool import HIDDEN_FIELD, Tool, ToolContext

# Nested instructions: the instruction files in the folders around a file.


NAMES = ("AGENTS.md", "CLAUDE.md")  # the first that is there counts
MAX_FILE_BYTES = 16 << 10


class NestedInstructions(msgspec.Struct, frozen=True):
    """One file of instructions."""

    path: bytes
    digest: str
    text: str


def nested_instructions(context: ToolContext, file: bytes) -> list[NestedInstructions]:
    """Returns instructions that were not given yet, nearest last; the root's are in the prompt."""
    found = [
        next((each for name in NAMES for each in _read(context, folder, name)), None)
        for folder in reversed(ancestors(file))
    ]
    return [
        each
        for each in found
        if each and each.path != file and display_path(each.path) not in context.seen
    ]


def _read(context: ToolContext, folder: bytes, name: str) -> Iterator[NestedInstructions]:
    if not context.overlay.is_file(folder + b"/" + name.encode()):
        return
    try:
        path = resolve_path(context, f"{one_line(folder)}/{name}")
        state = context.overlay.state(path)
        if isinstance(state, FileState) and path.endswith(b".md") and context.readable(path):
            text = context.overlay.content(path, MAX_FILE_BYTES).decode("utf-8", "replace")
            yield NestedInstructions(path, state.digest, text.strip())
    except AssentError:
        return  # it leads outside, or is too long to be meant


LONG_LINES = 300  # a longer file is outlined, unless lines are asked for,
FIRST_LINES = 60  # and begins with so many of its lines,
UNOUTLINED_LINES = 150  # or with so many if nothing in it can be outlined
OUTLINE_LEAD = "[{title}, {lines} lines. The outline; use lines to read on.]"
LAST_LINE = 1 << 62  # the end of any file
MAX_PIECES = 20  # files of one call
_LINES = r"\s*L?(\d{0,15})\s*(?:(-)\s*L?(\d{0,15})\s*)?"
_NAME = r"[^\W\d][\w$]*(?:(?:\.|::)[\w$]+)*(?:\(\))?"
_PART = rf"(?:L?\d[-L\d]*|{_NAME})"
_PLACE = rf"(.+?):({_PART}(?:,\s*{_PART})*)"
MAX_NAMES = 20  # definitions that one call asks for
MAX_SAME = 5  # definitions of one name that are shown; of more, the list
MAX_LISTED = 20
PARTLY_SEARCHED = "Only the first MiB of the file was searched for it; use grep."
UNKNOWN_LINES = 40  # of a definition whose end is not known


class ReadArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(description="src/a.py")]
    lines: Annotated[str, msgspec.Meta(description="28-67,Cart.total")] = ""
    more: Annotated[list[str], msgspec.Meta(description="others: src/b.py:28-67,f")] = []
    offset: Annotated[int, HIDDEN_FIELD] = 0
    limit: Annotated[int, HIDDEN_FIELD] = 0
    end_line: Annotated[int, HIDDEN_FIELD] = 0


def piece(text: str) -> dict[str, Any]:
    """Returns the arguments for `path`, `path:28-67` or `path:Cart.total`."""
    place = None if output_id(text) else re.fullmatch(_PLACE, text, re.DOTALL)
    return {"path": place[1], "lines": place[2]} if place else {"path": text}


def pieces(args: ReadArgs) -> list[dict[str, Any]]:
    """Returns the reads of single files that a read of several stands for; none for one file.

    What follows a colon is lines if it looks like them: a file of such a name is read by `path`.
    """
    if not args.more:
        return []
    first: dict[str, Any] = {
        name: value
        for name in ("lines", "offset", "limit", "end_line")
        if (value := getattr(args, name))
    }
    found = [{"path": args.path, **first}]
    found += [piece(each) for each in args.more]
    if len(found) > MAX_PIECES:
        raise UsageError(
            f"One call reads at most {MAX_PIECES} files; these are {len(found)}. Nothing was read."
        )
    return found


def touches(args: ReadArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    _check_alone(args)
    if output_id(args.path):
        return (ResourceAccess(Action.READ, args.path),)
    return read_accesses(context, args.path)


def run(args: ReadArgs, context: ToolContext) -> ToolOutcome:
    _check_alone(args)
    asked = _asked(args)
    if output := output_id(args.path):
        return _output(output, args, asked, context)
    path = readable_path(context, args.path)
    if not isinstance(path, bytes):
        return _outside(*path, asked)
    state = existing_state(context, path)
    if not isinstance(state, FileState):
        return _names(one_line(path) or ".", context.overlay.names(path))
    chunks = context.overlay.chunks(path)
    first = next(chunks, b"")
    media = image_type(first)
    if media:
        return _picture(path, state, media, context)
    if b"\0" in first[:BINARY_PROBE_BYTES]:
        raise Refused(
            f"{one_line(path)} is binary ({counted(state.size, 'byte')}); it has no lines to read."
        )
    shown = _shown(path, chain((first,), chunks), asked, state.digest, is_brief=context.is_piece)
    return _text(path, state, shown, context)


def _check_alone(args: ReadArgs) -> None:
    """Refuses several files where one is judged: each of them has to be judged by itself."""
    if args.more:
        raise AssentError("Each file of a call is read by itself. Nothing was read.")


class AskedLines(msgspec.Struct, frozen=True):
    """What a call asks for of a file, by number and by name; nothing: the file."""

    ranges: tuple[LineRange, ...] = ()
    names: tuple[str, ...] = ()


def _asked(args: ReadArgs) -> AskedLines:
    """Returns the lines that are asked for; none if the call does not say."""
    if args.lines.strip():
        parts = [each.strip() for each in args.lines.split(",") if each.strip()]
        names = [each for each in parts if _is_name(each)]
        if len(names) > MAX_NAMES:
            raise UsageError(f"`lines` takes at most {MAX_NAMES} names. Nothing was read.")
        ranges = [_range(each) for each in parts if not _is_name(each)]
        return AskedLines(tuple(ranges), tuple(names))
    if not (args.offset or args.limit or args.end_line):
        return AskedLines()
    first = max(1, args.offset)
    last = first + min(max(1, args.limit or LINES), LINES) - 1
    if args.end_line < 1:
        return AskedLines((LineRange(first, last),))
    return AskedLines((_checked(LineRange(first, min(last, args.end_line)), args.end_line),))


def _is_name(text: str) -> bool:
    return bool(re.search(r"[^\W\d]", text)) and not re.fullmatch(_LINES, text, re.ASCII)


def _range(text: str) -> LineRange:
    found = re.fullmatch(_LINES, text, re.ASCII)
    if not found or not (found[1] or found[3]):
        raise UsageError(
            f"{text.strip()!a} is not a range of lines, such as 28-67, or 28- to the end. Nothing "
            "was read."
        )
    first = max(1, int(found[1] or 1))
    last = int(found[3]) if found[3] else LAST_LINE if found[2] else first
    return _checked(LineRange(first, last), last)


def _checked(lines: LineRange, last: int) -> LineRange:
    if last < lines.first:
        raise UsageError(
            f"The last line {last} is before the first line {lines.first}. Nothing was read."
        )
    return lines


class ShownFile(msgspec.Struct, frozen=True):
    """What is shown of a file: the text, how many of its bytes, and which of its lines."""

    text: str
    size: int
    blocks: tuple[FileBlock, ...] = ()


def _shown(
    path: bytes,
    chunks: Iterable[bytes],
    asked: AskedLines,
    digest: str = "",
    *,
    is_brief: bool = False,
) -> ShownFile:
    """Returns the lines that were asked for, or else the file; of a long one, its outline.

    With `is_brief` that is all of a long one, if there is an outline.
    """
    ranges, title = asked.ranges, one_line(path)
    notes: list[str] = []
    if asked.names:
        content, chunks = _begun(chunks)
        named, notes = _named(path, content, asked.names, digest)
        ranges = (*ranges, *named)
        if not ranges:
            raise NotFound(" ".join([*notes, "Nothing was read."]))
    if ranges:
        found = read_pages(chunks, ranges)
        _check_found(title, found, ranges)
        told = [f"[{note}]" for note in notes]
        text = "\n".join([*_lines_of(title, found, ranges), *told])
        return ShownFile(text, found.size, _blocks(title, found))
    kept: list[bytes] = []
    found = read_pages(_kept(chunks, kept), (LineRange(1, LONG_LINES),))
    if found.total <= LONG_LINES:
        return ShownFile("\n".join(_lines_of(title, found)), found.size, _blocks(title, found))
    outline = file_outline(path, b"".join(kept), digest)
    page, most = found.pages[0], UNOUTLINED_LINES
    if outline and is_brief:
        lead = OUTLINE_LEAD.format(title=title, lines=f"{found.total:,}")
        return ShownFile("\n".join([lead, *outline]), 0)
    if outline:
        most = _first_lines(page, file_symbols(path, b"".join(kept), digest).symbols)
    begun = LinePage(page.first, page.lines[:most], page.sizes[:most])
    found = msgspec.structs.replace(found, pages=(begun,), cut=0)
    outlined = "The outline, then the" if outline else "The"
    lead = f"[{title}, {counted(found.total, 'line')}. {outlined} beginning; use lines to read on.]"
    text = "\n".join([lead, *outline, *_lines_of(title, found)])
    return ShownFile(text, found.size, _blocks(title, found))


def _first_lines(page: LinePage, symbols: Sequence[Symbol]) -> int:
    """Returns how many lines to begin with: those before a definition that would be cut."""
    cut = [
        each.first - 1
        for each in symbols
        if each.is_shown and 1 < each.first <= FIRST_LINES < each.last
    ]
    most = min(cut, default=FIRST_LINES)
    while most > 1 and not page.lines[most - 1].strip():
        most -= 1
    return most


def _begun(chunks: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Returns the beginning of a file, in which definitions are looked for, and all of it."""
    rest, kept, size = iter(chunks), [], 0
    while size <= MAX_OUTLINED_BYTES and (chunk := next(rest, b"")):
        kept.append(chunk)
        size += len(chunk)
    return b"".join(kept), chain(kept, rest)


def _named(
    path: bytes, begun: bytes, names: Sequence[str], digest: str
) -> tuple[list[LineRange], list[str]]:
    """Returns the lines of definitions, and what is to be said about those that are not shown."""
    symbols = file_symbols(path, begun, digest).symbols
    ranges: list[LineRange] = []
    notes: list[str] = []
    for name in names:
        same = named_symbols(symbols, name)
        size = sum(each.last - each.first for each in same)
        if not same:
            notes.append(_unknown(path, name, near_symbols(symbols, name)))
            notes += [PARTLY_SEARCHED] if len(begun) > MAX_OUTLINED_BYTES else []
        elif len(same) > MAX_SAME or (len(same) > 1 and size > LONG_LINES):
            notes.append(f"{len(same)} definitions of {name}, choose: {_listed(same)}.")
        else:
            ranges += [_range_of(each, symbols) for each in same]
            notes += [f"Where {name} ends is not known."] * any(not each.last for each in same)
    return ranges, notes


def _unknown(path: bytes, name: str, near: Sequence[Symbol]) -> str:
    told = (
        f"{name[:100]!a} is not a range of lines, such as 28-67, nor defined in {one_line(path)}."
    )
    return f"{told} Near: {_listed(near)}." if near else told


def _listed(symbols: Sequence[Symbol]) -> str:
    shown = [f"{each.span} {each.qualified[:100]}" for each in symbols[:MAX_LISTED]]
    more = len(symbols) - len(shown)
    return ", ".join([*shown, *([f"{more} more"] if more else [])])


def _range_of(symbol: Symbol, symbols: Sequence[Symbol]) -> LineRange:
    """Returns the lines of a definition; without a known end, up to the next one beside it."""
    if symbol.last:
        return LineRange(symbol.first, symbol.last)
    after = [
        each.first for each in symbols if each.line > symbol.line and each.depth <= symbol.depth
    ]
    last = min([symbol.line + UNKNOWN_LINES - 1, *[line - 1 for line in after[:1]]])
    return LineRange(symbol.first, max(symbol.line, last))


def _kept(chunks: Iterable[bytes], kept: list[bytes]) -> Iterator[bytes]:
    """Yields chunks, and keeps the first of them."""
    size = 0
    for chunk in chunks:
        if size < MAX_OUTLINED_BYTES:
            kept.append(chunk[: MAX_OUTLINED_BYTES - size])
            size += len(chunk)
        yield chunk


def _check_found(title: str, found: FilePages, ranges: Sequence[LineRange]) -> None:
    if not found.pages and found.total:
        first = min(ranges).first
        raise NotFound(f"{title} has {counted(found.total, 'line')}; line {first} is past its end.")


def _lines_of(title: str, found: FilePages, asked: Sequence[LineRange] = ()) -> Iterator[str]:
    """Yields the lines of a file; which ones these are, unless they are all.

    That there are more is said only of those that were asked for and did not fit.
    """
    if not found.total:
        yield "[The file is empty.]"
    for page in found.pages:
        if header := _header(title, found, page):
            yield header
        yield from page.lines
    if found.cut:
        last = max([each.last for each in asked if each.first <= found.cut], default=LAST_LINE)
        rest = f"{found.cut}-{last}" if last < found.total else f"{found.cut}-"
        yield f"[{FULL}: read on with lines {rest}.]"
    if found.foreign:
        yield "[Not UTF-8: read as Latin-1.]"


def _header(title: str, found: FilePages, page: LinePage) -> str:
    """Returns what says which lines these are; nothing before a whole file."""
    if page.first > found.pages[0].first:
        return f"[{page.span}]"
    return "" if found.is_whole else f"[{title}, {page.span} of {found.total:,}]"


def _blocks(title: str, found: FilePages) -> tuple[FileBlock, ...]:
    return tuple(
        FileBlock(title, page.first, "\n".join(page.lines), _header(title, found, page))
        for page in found.pages
    )


def _outside(outside: OutsideFiles, path: bytes, asked: AskedLines) -> ToolOutcome:
    """Reads a file outside the workspace; instructions are never read there."""
    title = one_line(path)
    if outside.is_folder(path):
        return _names(title, outside.names(path))
    content = outside.read(path, WHOLE_FILE)
    if media := image_type(content):
        _check_picture(title, len(content))
        text = f"[{media}, {counted(len(content), 'byte')}]"
        return ToolOutcome(text, title, images=(ImagePart(media, content),))
    if b"\0" in content[:BINARY_PROBE_BYTES]:
        raise Refused(
            f"{title} is binary ({counted(len(content), 'byte')}); it has no lines to read."
        )
    shown = _shown(path, (content,), asked)
    metadata = {SHOWN_BYTES: shown.size}
    return ToolOutcome(shown.text, title, metadata=metadata, blocks=shown.blocks)


def _output(output: str, args: ReadArgs, asked: AskedLines, context: ToolContext) -> ToolOutcome:
    """Reads on in the output of an earlier call, which was cut."""
    content = context.output(output)
    if content is None:
        raise NotFound(
            f"{args.path} is not an output of this session, or is no longer kept. Nothing was "
            "read; repeat the call that it came from."
        )
    lines = "\n".join(output_lines(content.decode("utf-8", "replace"))).encode()
    if asked == AskedLines():
        asked = AskedLines((LineRange(1, LAST_LINE),))
    return ToolOutcome(_shown(args.path.encode(), (lines,), asked).text, args.path)


def _check_picture(title: str, size: int) -> None:
    if size > MAX_IMAGE_BYTES:
        raise Refused(f"{title} is an image of {size} bytes, which is too large.")


def _text(path: bytes, state: FileState, shown: ShownFile, context: ToolContext) -> ToolOutcome:
    seen, title = {display_path(path): state.digest}, one_line(path)
    parts: list[str] = []
    for each in nested_instructions(context, path):
        seen[display_path(each.path)] = each.digest
        parts.append(f"[Instructions from {one_line(each.path)}, for all files below it:]")
        parts.append(each.text)
    if parts and not begins_with_header(shown.text, title):
        parts.append(f"[{title}]")
    text = "\n".join([*parts, shown.text])
    metadata = {"seen": seen, SHOWN_BYTES: shown.size}
    return ToolOutcome(text, title, metadata=metadata, blocks=shown.blocks)


def _picture(path: bytes, state: FileState, media: str, context: ToolContext) -> ToolOutcome:
    _check_picture(one_line(path), state.size)
    image = ImagePart(media, context.overlay.content(path, MAX_IMAGE_BYTES))
    seen = {display_path(path): state.digest}
    text = f"[{media}, {counted(state.size, 'byte')}]"
    return ToolOutcome(text, one_line(path), images=(image,), metadata={"seen": seen})


def _names(title: str, names: Mapping[bytes, bool]) -> ToolOutcome:
    lines = [one_line(name) + "/" * is_folder for name, is_folder in names.items()]
    return limited_outcome("\n".join(lines), title, [] if lines else ["The folder is empty."])


READ = Tool("read", ReadArgs, touches, run, action=Action.READ, pieces=pieces)
