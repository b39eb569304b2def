"""The tools that change single files: `write`, `edit`, `multi_edit`, `delete` and `move`."""

import msgspec

from assent.core.errors import ImpossibleOperations, NoMatch, NotFound, Refused, UsageError
from assent.core.paths import base_name, casefolded, display_path, is_inside, one_line, parent
from assent.core.plan.operation import DeleteFile, FileState, MoveFile
from assent.core.tool import Action, EditEffect, ResourceAccess, ToolOutcome
from assent.tools import file_edit as plan_file
from assent.tools.file_edit import (
    BOM,
    MAX_FILES,
    EditedFile,
    TextEncoding,
    TextReplacement,
    apply_replacements,
    check_editable,
    decode_text,
    edit_access,
    edit_diff,
    edit_outcome,
    edit_target,
    encode_text,
    entry_path,
    escape_spelling,
    expected_state,
    find_replacements,
    is_plan,
    line_end,
    load_file,
    plan_text_outcome,
    read_access,
    with_line_ends,
)
from assent.tools.tool import OptionArgs, Tool, ToolContext

# write: creates a file, or replaces all of its content.


BEGINNING = 1 << 16  # bytes that tell how a file is written


class WriteArgs(OptionArgs, frozen=True):
    path: str
    content: str


def write_touches(args: WriteArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    path = context.overlay.locate(args.path)
    if is_plan(args.path, path, context):
        return (plan_file.plan_access(context),)
    path = edit_target(args.path, context)
    # It reports that the content is the same already, so writing also means reading.
    seen = (read_access(path),) if context.overlay.state(path) else ()
    return (edit_access(path), *seen)


def run_write(args: WriteArgs, context: ToolContext) -> ToolOutcome:
    """Returns the new content; an existing file keeps its mode, BOM and line ends."""
    path = context.overlay.locate(args.path)
    if is_plan(args.path, path, context):
        return plan_text_outcome(args.content, context)
    path = edit_target(args.path, context)
    before = expected_state(path, context)
    if before is not None and before.kind == "link":
        raise Refused(f"{one_line(path)} is a broken symlink. Nothing was changed.")
    content = _in_form(args.content, path, before, context)
    lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    kind = "replaced" if before else "new file"
    noun = "line" if lines == 1 else "lines"
    return edit_outcome([EditedFile(path, before, content, f"{kind}, {lines} {noun}.")])


def _in_form(text: str, path: bytes, before: FileState | None, context: ToolContext) -> bytes:
    content = text.encode("utf-8", "surrogateescape")
    if before is None:
        return content
    begins = next(context.overlay.chunks(path), b"")[:BEGINNING]
    if b"\0" in begins:
        return content
    if b"\r\n" in begins and "\r" not in text:
        end = line_end(begins.decode("latin-1"))
        content = with_line_ends(text, end).encode("utf-8", "surrogateescape")
    return BOM + content if begins.startswith(BOM) and not content.startswith(BOM) else content


WRITE = Tool("write", WriteArgs, write_touches, run_write, Action.EDIT)


# multi_edit: replaces several pieces of text in one file, one after the other, all or none.


class TextEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    old: str
    new: str
    replace_all: bool = False


class MultiEditArgs(OptionArgs, frozen=True):
    path: str
    edits: list[TextEdit]


def multi_edit_touches(args: MultiEditArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return edit_accesses(args.path, context)


def run_multi_edit(args: MultiEditArgs, context: ToolContext) -> ToolOutcome:
    """Returns the file with all pieces replaced."""
    if not args.edits:
        raise UsageError("edits: must not be empty. Nothing was changed.")
    return edited_file(args.path, args.edits, context)


def edit_accesses(argument: str, context: ToolContext) -> tuple[ResourceAccess, ...]:
    """Returns what an edit accesses: it changes the file, and shows lines of it."""
    path = context.overlay.locate(argument)
    if is_plan(argument, path, context):
        return (plan_file.plan_access(context),)
    path = edit_target(argument, context)
    return (edit_access(path), read_access(path))


def edited_file(argument: str, pieces: list[TextEdit], context: ToolContext) -> ToolOutcome:
    """Returns a file with pieces replaced, one after the other."""
    path = context.overlay.locate(argument)
    if is_plan(argument, path, context):
        plan, form = decode_text(context.plan_text(), one_line(path))
        return plan_text_outcome(_edited(plan, form, pieces)[0], context)
    path = edit_target(argument, context)
    before, content = load_file(path, context)
    text, form = decode_text(content, one_line(path))
    after, count = _edited(text, form, pieces)
    words = f"{count} replacement{'s' if count != 1 else ''}:"
    new = encode_text(after, form, one_line(path))
    return edit_outcome([EditedFile(path, before, new, words, edit_diff(text, after))])


def _edited(text: str, form: TextEncoding, pieces: list[TextEdit]) -> tuple[str, int]:
    """Returns the new text and the number of changes."""
    count = 0
    for at, piece in enumerate(pieces):
        spell = escape_spelling(text, piece.old, form)
        spelled = TextEdit(spell(piece.old), spell(piece.new), piece.replace_all)
        found = _found(text, spelled, f"edits[{at}]: " if len(pieces) > 1 else "")
        text = apply_replacements(text, found)
        count += len(found)
    return text, count


def _found(text: str, piece: TextEdit, which: str) -> list[TextReplacement]:
    if not piece.old:
        raise UsageError(f"{which}`old` is empty. Use `write` for a whole file.")
    if piece.old == piece.new:
        raise UsageError(f"{which}`old` and `new` are the same. Nothing was changed.")
    try:
        return find_replacements(text, piece.old, piece.new, every=piece.replace_all)
    except NoMatch as error:
        raise NoMatch(f"{which}{error.message}") from error


MULTI_EDIT = Tool(
    "multi_edit",
    MultiEditArgs,
    multi_edit_touches,
    run_multi_edit,
    Action.EDIT,
    on_demand="several edits, one file",
)


# edit: replaces a piece of text in a file.


class EditArgs(OptionArgs, frozen=True):
    path: str
    old: str
    new: str
    replace_all: bool = False


def edit_touches(args: EditArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return edit_accesses(args.path, context)


def run_edit(args: EditArgs, context: ToolContext) -> ToolOutcome:
    """Returns the file with one occurrence replaced, or all of them."""
    return edited_file(args.path, [TextEdit(args.old, args.new, args.replace_all)], context)


EDIT = Tool("edit", EditArgs, edit_touches, run_edit, Action.EDIT)


# delete: removes a file, or every file of a folder.


class DeleteArgs(OptionArgs, frozen=True):
    path: str


def delete_touches(args: DeleteArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    files = files_under(entry_path(args.path, context), context)
    return tuple(edit_access(file, deletes=True) for file in files)


def run_delete(args: DeleteArgs, context: ToolContext) -> ToolOutcome:
    """Returns the removal of all files at a path."""
    path = entry_path(args.path, context)
    depth = path.count(b"/")
    operations = tuple(
        DeleteFile(file, state, file.count(b"/") - depth)
        for file, state in with_states(files_under(path, context), context)
    )
    what = "1 file" if len(operations) == 1 else f"{len(operations)} files"
    return ToolOutcome(
        f"{one_line(path)}: {what} to delete.", one_line(path), effect=EditEffect(operations)
    )


def files_under(path: bytes, context: ToolContext) -> list[bytes]:
    """Returns the files at a path: the file itself, or all files of a folder."""
    state = context.overlay.state(path)
    if isinstance(state, FileState):
        return [path]
    found = context.overlay.below(path) if state == "folder" else []
    if not found:
        what = "is an empty folder" if state == "folder" else "does not exist"
        raise NotFound(f"{one_line(path)} {what}. Nothing was changed.")
    if len(found) > MAX_FILES:
        raise Refused(f"{one_line(path)} has {len(found)} files; the limit is {MAX_FILES}.")
    for file in found:
        check_editable(file, context)
    return found


def with_states(paths: list[bytes], context: ToolContext) -> list[tuple[bytes, FileState]]:
    """Returns files with their states; raises if the model saw another content."""
    states = [(path, expected_state(path, context)) for path in paths]
    return [(path, state) for path, state in states if state is not None]


DELETE = Tool(
    "delete", DeleteArgs, delete_touches, run_delete, Action.EDIT, on_demand="a file or folder"
)


# move: renames a file or a folder.


class MoveArgs(OptionArgs, frozen=True):
    path: str
    to: str


def move_touches(args: MoveArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    """Returns both paths; the moved content could be read at its new path, so that is asked too."""
    pairs = _pairs(args, context)
    named = [request for old, new in pairs for request in (edit_access(old), edit_access(new))]
    return (*named, *[read_access(old) for old, _ in pairs])


def run_move(args: MoveArgs, context: ToolContext) -> ToolOutcome:
    """Returns the move of all files at a path."""
    goals = dict(_pairs(args, context))
    depth = entry_path(args.path, context).count(b"/")
    operations = tuple(
        MoveFile(old, goals[old], state, old.count(b"/") - depth)
        for old, state in with_states(list(goals), context)
    )
    _check_free(operations, context)
    seen = {
        display_path(op.to): op.before.digest
        for op in operations
        if display_path(op.path) in context.seen
    }
    what = "1 file" if len(operations) == 1 else f"{len(operations)} files"
    text = f"{one_line(operations[0].path)} -> {one_line(operations[0].to)}: {what} to move."
    return ToolOutcome(text, args.path, effect=EditEffect(operations), metadata={"seen": seen})


def _pairs(args: MoveArgs, context: ToolContext) -> list[tuple[bytes, bytes]]:
    path, to = entry_path(args.path, context), entry_path(args.to, context)
    if context.overlay.state(to) == "folder" and casefolded(to) != casefolded(path):
        to = to + b"/" + base_name(path)
    check_editable(to, context)
    if is_inside(to, path):
        raise ImpossibleOperations(f"{one_line(path)} cannot be moved to itself or into itself.")
    return [(file, to + file[len(path) :]) for file in files_under(path, context)]


def _check_free(operations: tuple[MoveFile, ...], context: ToolContext) -> None:
    for op in operations:
        taken = context.overlay.state(op.to) is not None
        listed = base_name(op.to) in context.overlay.names(parent(op.to))
        if taken and (listed or casefolded(op.to) != casefolded(op.path)):
            raise ImpossibleOperations(f"{one_line(op.to)} already exists. Nothing was changed.")


MOVE = Tool("move", MoveArgs, move_touches, run_move, Action.EDIT, on_demand="a file or folder")
