"""read: a file with line numbers, an image, or the names in a folder.

The instruction files of the folders around it are included.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated

import msgspec

from assent.core.errors import AssentError, NotFound, Refused, UsageError
from assent.core.llm import ImagePart
from assent.core.paths import ancestors, display_path, one_line
from assent.core.plan.operation import FileState
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.ports import OutsideFiles
from assent.tools.files import existing_state, read_accesses, readable_path, resolve_path
from assent.tools.outcome import (
    BYTES,
    LINES,
    limited_outcome,
    numbered,
    output_id,
    output_lines,
)
from assent.tools.overlay import WHOLE_FILE
from assent.tools.text_search import BINARY_PROBE_BYTES
from assent.tools.tool import HIDDEN_FIELD, Tool, ToolContext

# Pages of a file: lines with their numbers, as a stream that never holds the whole file.


MAX_LINE_CHARS = 2000  # characters of a line that are shown
SHOWN_BYTES = "bytes"  # in the metadata: of the file, without line numbers and remarks
MORE_LINES = "[More lines follow: continue with offset {offset}.]"
_HELD = 4 * MAX_LINE_CHARS  # their bytes
_MARK = b"\xef\xbb\xbf"


class LinePage(msgspec.Struct, frozen=True):
    """Some lines of a file, and whether there are more."""

    lines: tuple[str, ...]
    first: int
    more: bool = False
    total: int = 0  # lines of the whole file, if its end was reached
    foreign: bool = False  # not UTF-8
    size: int = 0  # bytes of the file that the lines show


def read_page(chunks: Iterable[bytes], offset: int, limit: int) -> LinePage:
    """Returns lines from number `offset` on, as many as the limits allow."""
    shown: list[str] = []
    size, taken, number, foreign = 0, 0, 0, False
    for number, (held, length, ended) in enumerate(_lines(chunks), 1):
        if number < offset:
            continue
        text, strange, part = _decoded_line(held, length, first=number == 1)
        size += len(text.encode()) + len(str(number)) + 3
        if len(shown) == limit or (shown and size > BYTES):
            return LinePage(tuple(shown), offset, more=True, foreign=foreign, size=taken)
        shown.append(numbered(number, text))
        taken += length + ended if part is None else part
        foreign = foreign or strange
    return LinePage(tuple(shown), offset, total=number, foreign=foreign, size=taken)


def _lines(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int, bool]]:
    """Yields the beginning of each line, its whole length, and whether a line break follows."""
    held, length = b"", 0
    for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        held, length = held + first[: max(0, _HELD - len(held))], length + len(first)
        for part in rest:
            yield held, length, True
            held, length = part[:_HELD], len(part)
    if length:
        yield held, length, False


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


MAX_IMAGE_BYTES = 3_750_000  # bytes; what the wires carry grows by a third
IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class ReadArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    offset: Annotated[int, msgspec.Meta(description="first line, from 1")] = 1
    limit: int = LINES
    end_line: Annotated[int, HIDDEN_FIELD] = 0


def touches(args: ReadArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    if output_id(args.path):
        return (ResourceAccess(Action.READ, args.path),)
    return read_accesses(context, args.path)


def run(args: ReadArgs, context: ToolContext) -> ToolOutcome:
    if output := output_id(args.path):
        return _output(output, args, context)
    path = readable_path(context, args.path)
    if not isinstance(path, bytes):
        return _outside(*path, args)
    state = existing_state(context, path)
    if not isinstance(state, FileState):
        return _names(one_line(path) or ".", context.overlay.names(path))
    chunks = context.overlay.chunks(path)
    first = next(chunks, b"")
    media = _image(first)
    if media:
        return _picture(path, state, media, context)
    if b"\0" in first[:BINARY_PROBE_BYTES]:
        raise Refused(f"{one_line(path)} is binary ({state.size} bytes); it has no lines to read.")
    found = read_page(chain((first,), chunks), max(1, args.offset), _limit(args))
    return _text(path, state, found, context)


def _limit(args: ReadArgs) -> int:
    """Returns how many lines to read; `end_line` is the last one, if given."""
    limit = min(max(1, args.limit), LINES)
    if args.end_line < 1:
        return limit
    if args.end_line < args.offset:
        raise UsageError(
            f"The last line {args.end_line} is before the first line {args.offset}. "
            "Nothing was read."
        )
    return min(limit, args.end_line - max(1, args.offset) + 1)


def _outside(outside: OutsideFiles, path: bytes, args: ReadArgs) -> ToolOutcome:
    """Reads a file outside the workspace; instructions are never read there."""
    title = one_line(path)
    if outside.is_folder(path):
        return _names(title, outside.names(path))
    content = outside.read(path, WHOLE_FILE)
    if media := _image(content):
        _check_picture(title, len(content))
        text = f"[{media}, {len(content)} bytes]"
        return ToolOutcome(text, title, images=(ImagePart(media, content),))
    if b"\0" in content[:BINARY_PROBE_BYTES]:
        raise Refused(f"{title} is binary ({len(content)} bytes); it has no lines to read.")
    found = read_page((content,), max(1, args.offset), _limit(args))
    _check_offset(title, len(content), found)
    text = "\n".join(["\n".join(found.lines), *_notes(found)])
    return ToolOutcome(text, title, metadata={SHOWN_BYTES: found.size})


def _output(output: str, args: ReadArgs, context: ToolContext) -> ToolOutcome:
    """Reads on in the output of an earlier call, which was cut."""
    content = context.output(output)
    if content is None:
        raise NotFound(
            f"{args.path} is not an output of this session, or is no longer kept. Nothing was "
            "read; repeat the call that it came from."
        )
    lines = "\n".join(output_lines(content.decode("utf-8", "replace"))).encode()
    found = read_page((lines,), max(1, args.offset), _limit(args))
    _check_offset(args.path, len(lines), found)
    return ToolOutcome("\n".join(["\n".join(found.lines), *_notes(found)]), args.path)


def _check_offset(title: str, size: int, found: LinePage) -> None:
    if not found.lines and size:
        raise NotFound(f"{title} has {found.total} lines; line {found.first} is past its end.")


def _check_picture(title: str, size: int) -> None:
    if size > MAX_IMAGE_BYTES:
        raise Refused(f"{title} is an image of {size} bytes, which is too large.")


def _text(path: bytes, state: FileState, found: LinePage, context: ToolContext) -> ToolOutcome:
    _check_offset(one_line(path), state.size, found)
    seen = {display_path(path): state.digest}
    parts = ["\n".join(found.lines), *_notes(found)]
    for each in nested_instructions(context, path):
        seen[display_path(each.path)] = each.digest
        parts.append(f"[Instructions from {one_line(each.path)}, for all files below it:]")
        parts.append(each.text)
    text = "\n".join(parts)
    return ToolOutcome(text, one_line(path), metadata={"seen": seen, SHOWN_BYTES: found.size})


def _notes(found: LinePage) -> Iterator[str]:
    if not found.lines:
        yield "[The file is empty.]"
    if found.more:
        yield MORE_LINES.format(offset=found.first + len(found.lines))
    if found.foreign:
        yield "[Not UTF-8: read as Latin-1.]"


def _picture(path: bytes, state: FileState, media: str, context: ToolContext) -> ToolOutcome:
    _check_picture(one_line(path), state.size)
    image = ImagePart(media, context.overlay.content(path, MAX_IMAGE_BYTES))
    seen = {display_path(path): state.digest}
    text = f"[{media}, {state.size} bytes]"
    return ToolOutcome(text, one_line(path), images=(image,), metadata={"seen": seen})


def _image(first: bytes) -> str:
    if first[:4] == b"RIFF" and first[8:12] == b"WEBP":
        return "image/webp"
    return next((media for mark, media in IMAGES.items() if first.startswith(mark)), "")


def _names(title: str, names: Mapping[bytes, bool]) -> ToolOutcome:
    lines = [one_line(name) + "/" * is_folder for name, is_folder in names.items()]
    return limited_outcome("\n".join(lines), title, [] if lines else ["The folder is empty."])


READ = Tool("read", ReadArgs, touches, run, action=Action.READ)
