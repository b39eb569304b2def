"""write: creates a file, or replaces all of its content."""

import msgspec

from assent.core.errors import Refused
from assent.core.paths import one_line
from assent.core.plan.operation import FileState
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools import file_edit as plan_file
from assent.tools.file_edit import (
    EditedFile,
    edit_access,
    edit_outcome,
    edit_target,
    expected_state,
    is_plan,
    plan_text_outcome,
    read_access,
)
from assent.tools.text_match import BOM, line_end, with_line_ends
from assent.tools.tool import Tool, ToolContext

BEGINNING = 1 << 16  # bytes that tell how a file is written


class WriteArgs(msgspec.Struct, frozen=True):
    path: str
    content: str


def touches(args: WriteArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    path = around.overlay.locate(args.path)
    if is_plan(args.path, path, around):
        return (plan_file.plan_access(around),)
    path = edit_target(args.path, around)
    # That the content is the same already is told, so whoever writes also reads.
    seen = (read_access(path),) if around.overlay.state(path) else ()
    return (edit_access(path), *seen)


def run(args: WriteArgs, around: ToolContext) -> ToolOutcome:
    """Returns the new content; an existing file keeps its mode, BOM and line ends."""
    path = around.overlay.locate(args.path)
    if is_plan(args.path, path, around):
        return plan_text_outcome(args.content, around)
    path = edit_target(args.path, around)
    before = expected_state(path, around)
    if before is not None and before.kind == "link":
        raise Refused(f"{one_line(path)} is a broken symlink. Nothing was changed.")
    content = _in_form(args.content, path, before, around)
    lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    kind = "replaced" if before else "new file"
    return edit_outcome([EditedFile(path, before, content, f"{kind}, {lines} lines.")])


def _in_form(text: str, path: bytes, before: FileState | None, around: ToolContext) -> bytes:
    content = text.encode("utf-8", "surrogateescape")
    if before is None:
        return content
    begins = next(around.overlay.chunks(path), b"")[:BEGINNING]
    if b"\0" in begins:
        return content
    if b"\r\n" in begins and "\r" not in text:
        end = line_end(begins.decode("latin-1"))
        content = with_line_ends(text, end).encode("utf-8", "surrogateescape")
    return BOM + content if begins.startswith(BOM) and not content.startswith(BOM) else content


WRITE = Tool("write", WriteArgs, touches, run, Action.EDIT)
