"""multi_edit: replaces several pieces of text in one file, one after the other, all or none."""

import msgspec

from assent.core.errors import NoMatch, UsageError
from assent.core.paths import one_line
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools import file_edit as plan_file
from assent.tools.file_edit import (
    EditedFile,
    edit_access,
    edit_outcome,
    edit_target,
    excerpt,
    is_plan,
    load_file,
    plan_text_outcome,
    read_access,
)
from assent.tools.text_match import (
    TextEncoding,
    TextReplacement,
    apply_replacements,
    decode_text,
    encode_text,
    escape_spelling,
    find_replacements,
    line_of,
)
from assent.tools.tool import Tool, ToolContext


class TextEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    old: str
    new: str
    replace_all: bool = False


class MultiEditArgs(msgspec.Struct, frozen=True):
    path: str
    edits: list[TextEdit]


def touches(args: MultiEditArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return edit_accesses(args.path, around)


def run(args: MultiEditArgs, around: ToolContext) -> ToolOutcome:
    """Returns the file with all pieces replaced."""
    if not args.edits:
        raise UsageError("edits: must not be empty. Nothing was changed.")
    return edited_file(args.path, args.edits, around)


def edit_accesses(argument: str, around: ToolContext) -> tuple[ResourceAccess, ...]:
    """Returns what an edit accesses: it changes the file, and shows lines of it."""
    path = around.overlay.locate(argument)
    if is_plan(argument, path, around):
        return (plan_file.plan_access(around),)
    path = edit_target(argument, around)
    return (edit_access(path), read_access(path))


def edited_file(argument: str, pieces: list[TextEdit], around: ToolContext) -> ToolOutcome:
    """Returns a file with pieces replaced, one after the other."""
    path = around.overlay.locate(argument)
    if is_plan(argument, path, around):
        plan, form = decode_text(around.plan_text(), one_line(path))
        return plan_text_outcome(_edited(plan, form, pieces)[0], around)
    path = edit_target(argument, around)
    before, content = load_file(path, around)
    text, form = decode_text(content, one_line(path))
    after, count, last = _edited(text, form, pieces)
    words = f"{count} replacement{'s' if count != 1 else ''}, near line {line_of(after, last[0])}:"
    new = encode_text(after, form, one_line(path))
    return edit_outcome([EditedFile(path, before, new, words, excerpt(after, *last))])


def _edited(
    text: str, form: TextEncoding, pieces: list[TextEdit]
) -> tuple[str, int, tuple[int, int]]:
    """Returns the new text, the number of changes, and the first position of the last piece."""
    count, last = 0, (0, 0)
    for at, piece in enumerate(pieces):
        spell = escape_spelling(text, piece.old, form)
        spelled = TextEdit(spell(piece.old), spell(piece.new), piece.replace_all)
        found = _found(text, spelled, f"edits[{at}]: " if len(pieces) > 1 else "")
        text = apply_replacements(text, found)
        count += len(found)
        last = (found[0].start, len(found[0].new))
    return text, count, last


def _found(text: str, piece: TextEdit, which: str) -> list[TextReplacement]:
    if not piece.old:
        raise UsageError(f"{which}`old` is empty. Use `write` for a whole file.")
    if piece.old == piece.new:
        raise UsageError(f"{which}`old` and `new` are the same. Nothing was changed.")
    try:
        return find_replacements(text, piece.old, piece.new, every=piece.replace_all)
    except NoMatch as error:
        raise NoMatch(f"{which}{error.message}") from error


MULTI_EDIT = Tool("multi_edit", MultiEditArgs, touches, run, Action.EDIT)
