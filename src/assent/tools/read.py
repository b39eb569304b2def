"""read: a file with line numbers, a picture, or the names in a folder."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated

import msgspec

from assent.core.errors import NotFound, Refused, UsageError
from assent.core.llm import ImagePart
from assent.core.paths import display_path, one_line
from assent.core.plan.operation import FileState
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.ports import OutsideFiles
from assent.tools.line_page import LinePage, read_page
from assent.tools.nested_instructions import nested_instructions
from assent.tools.output_limits import LINES, limited_outcome
from assent.tools.overlay import WHOLE_FILE
from assent.tools.path_access import outside_path, read_accesses, resolve_path
from assent.tools.path_suggestions import existing_state
from assent.tools.schema import HIDDEN_FIELD
from assent.tools.text_search import BINARY_PROBE_BYTES
from assent.tools.tool import Tool, ToolContext

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


def touches(args: ReadArgs, around: ToolContext) -> Sequence[ResourceAccess]:
    return read_accesses(around, args.path)


def run(args: ReadArgs, around: ToolContext) -> ToolOutcome:
    if outer := outside_path(around, args.path):
        return _outside(*outer, args)
    path = resolve_path(around, args.path)
    state = existing_state(around, path)
    if not isinstance(state, FileState):
        return _folder(path, around)
    chunks = around.overlay.chunks(path)
    first = next(chunks, b"")
    media = _image(first)
    if media:
        return _picture(path, state, media, around)
    if b"\0" in first[:BINARY_PROBE_BYTES]:
        raise Refused(f"{one_line(path)} is binary ({state.size} bytes); it has no lines to read.")
    found = read_page(chain((first,), chunks), max(1, args.offset), _limit(args))
    return _text(path, state, found, around)


def _limit(args: ReadArgs) -> int:
    """Returns how many lines are wanted; `end_line` is the last one, unless it is none."""
    limit = min(max(1, args.limit), LINES)
    if args.end_line < 1:
        return limit
    if args.end_line < args.offset:
        raise UsageError(f"Line {args.end_line} comes before line {args.offset}. Nothing was read.")
    return min(limit, args.end_line - max(1, args.offset) + 1)


def _outside(outside: OutsideFiles, path: bytes, args: ReadArgs) -> ToolOutcome:
    """Reads what lies outside the workspace. No instructions come from there."""
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
    return ToolOutcome("\n".join(["\n".join(found.lines), *_notes(found)]), title)


def _check_offset(title: str, size: int, found: LinePage) -> None:
    if not found.lines and size:
        raise NotFound(f"{title} has {found.total} lines; {found.first} is past its end.")


def _check_picture(title: str, size: int) -> None:
    if size > MAX_IMAGE_BYTES:
        raise Refused(f"{title} is a picture of {size} bytes; that is too large.")


def _text(path: bytes, state: FileState, found: LinePage, around: ToolContext) -> ToolOutcome:
    _check_offset(one_line(path), state.size, found)
    seen = {display_path(path): state.digest}
    parts = ["\n".join(found.lines), *_notes(found)]
    for each in nested_instructions(around, path):
        seen[display_path(each.path)] = each.digest
        parts.append(f"[Instructions from {one_line(each.path)}, for all files below it:]")
        parts.append(each.text)
    return ToolOutcome("\n".join(parts), one_line(path), metadata={"seen": seen})


def _notes(found: LinePage) -> Iterator[str]:
    if not found.lines:
        yield "[The file is empty.]"
    if found.more:
        yield f"[There is more: go on with offset {found.first + len(found.lines)}.]"
    if found.foreign:
        yield "[Not UTF-8: read as Latin-1.]"


def _picture(path: bytes, state: FileState, media: str, around: ToolContext) -> ToolOutcome:
    _check_picture(one_line(path), state.size)
    image = ImagePart(media, around.overlay.content(path, MAX_IMAGE_BYTES))
    seen = {display_path(path): state.digest}
    text = f"[{media}, {state.size} bytes]"
    return ToolOutcome(text, one_line(path), images=(image,), metadata={"seen": seen})


def _image(first: bytes) -> str:
    if first[:4] == b"RIFF" and first[8:12] == b"WEBP":
        return "image/webp"
    return next((media for mark, media in IMAGES.items() if first.startswith(mark)), "")


def _folder(path: bytes, around: ToolContext) -> ToolOutcome:
    return _names(one_line(path) or ".", around.overlay.names(path))


def _names(title: str, names: Mapping[bytes, bool]) -> ToolOutcome:
    lines = [one_line(name) + "/" * is_folder for name, is_folder in names.items()]
    return limited_outcome("\n".join(lines), title, [] if lines else ["The folder is empty."])


READ = Tool("read", ReadArgs, touches, run, action=Action.READ)
