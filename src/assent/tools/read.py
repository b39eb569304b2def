"""read: a file with line numbers, a picture, or the names in a folder."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated

import msgspec

from assent.core.errors import NotFound, Refused, UsageError
from assent.core.message import Image
from assent.core.operation import FileState
from assent.core.paths import one_line, shown
from assent.core.tool import Action, Outcome, Request
from assent.tools.calling.schema import UNOFFERED
from assent.tools.looking.instructions import instructions
from assent.tools.looking.limits import LINES, told
from assent.tools.looking.near import standing
from assent.tools.looking.paging import Page, page
from assent.tools.looking.places import located
from assent.tools.looking.searching import BINARY
from assent.tools.tool import Around, Tool

LARGEST_IMAGE = 3_750_000  # bytes; what the wires carry grows by a third
IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    offset: Annotated[int, msgspec.Meta(description="first line, from 1")] = 1
    limit: int = LINES
    end_line: Annotated[int, UNOFFERED] = 0


def touches(args: Args, around: Around) -> Sequence[Request]:
    return (Request(Action.READ, shown(located(around, args.path)) or "."),)


def run(args: Args, around: Around) -> Outcome:
    path = located(around, args.path)
    state = standing(around, path)
    if not isinstance(state, FileState):
        return _folder(path, around)
    chunks = around.overlay.chunks(path)
    first = next(chunks, b"")
    media = _image(first)
    if media:
        return _picture(path, state, media, around)
    if b"\0" in first[:BINARY]:
        raise Refused(f"{one_line(path)} is binary ({state.size} bytes); it has no lines to read.")
    found = page(chain((first,), chunks), max(1, args.offset), _limit(args))
    return _text(path, state, found, around)


def _limit(args: Args) -> int:
    """Returns how many lines are wanted; `end_line` is the last one, unless it is none."""
    limit = min(max(1, args.limit), LINES)
    if args.end_line < 1:
        return limit
    if args.end_line < args.offset:
        raise UsageError(f"Line {args.end_line} comes before line {args.offset}. Nothing was read.")
    return min(limit, args.end_line - max(1, args.offset) + 1)


def _text(path: bytes, state: FileState, found: Page, around: Around) -> Outcome:
    if not found.lines and state.size:
        raise NotFound(f"{one_line(path)} has {found.total} lines; {found.first} is past its end.")
    seen = {shown(path): state.digest}
    parts = ["\n".join(found.lines), *_notes(found)]
    for each in instructions(around, path):
        seen[shown(each.path)] = each.digest
        parts.append(f"[Instructions from {one_line(each.path)}, for all files below it:]")
        parts.append(each.text)
    return Outcome("\n".join(parts), one_line(path), metadata={"seen": seen})


def _notes(found: Page) -> Iterator[str]:
    if not found.lines:
        yield "[The file is empty.]"
    if found.more:
        yield f"[There is more: go on with offset {found.first + len(found.lines)}.]"
    if found.foreign:
        yield "[Not UTF-8: read as Latin-1.]"


def _picture(path: bytes, state: FileState, media: str, around: Around) -> Outcome:
    if state.size > LARGEST_IMAGE:
        raise Refused(f"{one_line(path)} is a picture of {state.size} bytes; that is too large.")
    image = Image(media, around.overlay.content(path, LARGEST_IMAGE))
    seen = {shown(path): state.digest}
    text = f"[{media}, {state.size} bytes]"
    return Outcome(text, one_line(path), images=(image,), metadata={"seen": seen})


def _image(first: bytes) -> str:
    if first[:4] == b"RIFF" and first[8:12] == b"WEBP":
        return "image/webp"
    return next((media for mark, media in IMAGES.items() if first.startswith(mark)), "")


def _folder(path: bytes, around: Around) -> Outcome:
    names = around.overlay.names(path)
    lines = [one_line(name) + "/" * is_folder for name, is_folder in names.items()]
    return told("\n".join(lines), one_line(path) or ".", [] if lines else ["The folder is empty."])


READ = Tool("read", Args, touches, run, action=Action.READ)
