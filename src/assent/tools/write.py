"""write: makes a file, or replaces all of one."""

import msgspec

from assent.core.errors import Refused
from assent.core.paths import one_line
from assent.core.plan.operation import FileState
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.changing import plan_file
from assent.tools.changing.editing import Change, edits, outcome, reads, standing, target
from assent.tools.changing.forms import BOM, line_end, with_ends
from assent.tools.changing.plan_file import is_plan, routed
from assent.tools.tool import Around, Tool

BEGINNING = 1 << 16  # bytes that tell how a file is written


class Args(msgspec.Struct, frozen=True):
    path: str
    content: str


def touches(args: Args, around: Around) -> tuple[ResourceAccess, ...]:
    path = around.overlay.locate(args.path)
    if is_plan(args.path, path, around):
        return (plan_file.request(around),)
    path = target(args.path, around)
    # That the content is the same already is told, so whoever writes also reads.
    seen = (reads(path),) if around.overlay.state(path) else ()
    return (edits(path), *seen)


def run(args: Args, around: Around) -> ToolOutcome:
    """Returns the new content; an existing file keeps its mode, BOM and line ends."""
    path = around.overlay.locate(args.path)
    if is_plan(args.path, path, around):
        return routed(args.content, around)
    path = target(args.path, around)
    before = standing(path, around)
    if before is not None and before.kind == "link":
        raise Refused(f"{one_line(path)} is a symlink that leads nowhere. Nothing was changed.")
    content = _in_form(args.content, path, before, around)
    lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    kind = "all of it is replaced" if before else "new file"
    return outcome([Change(path, before, content, f"{kind}, {lines} lines.")])


def _in_form(text: str, path: bytes, before: FileState | None, around: Around) -> bytes:
    content = text.encode("utf-8", "surrogateescape")
    if before is None:
        return content
    begins = next(around.overlay.chunks(path), b"")[:BEGINNING]
    if b"\0" in begins:
        return content
    if b"\r\n" in begins and "\r" not in text:
        end = line_end(begins.decode("latin-1"))
        content = with_ends(text, end).encode("utf-8", "surrogateescape")
    return BOM + content if begins.startswith(BOM) and not content.startswith(BOM) else content


WRITE = Tool("write", Args, touches, run, Action.EDIT)
