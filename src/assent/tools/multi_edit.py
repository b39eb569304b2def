"""multi_edit: replaces several pieces of text in one file, one after the other, all or none."""

import msgspec

from assent.core.errors import NoMatch, UsageError
from assent.core.paths import one_line
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.changing import plan_file
from assent.tools.changing.editing import Change, edits, excerpt, loaded, outcome, reads, target
from assent.tools.changing.forms import Form, decoded, encoded, line_of, spelling
from assent.tools.changing.matching import Place, places, replaced
from assent.tools.changing.plan_file import is_plan, routed
from assent.tools.tool import Around, Tool


class Piece(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    old: str
    new: str
    replace_all: bool = False


class Args(msgspec.Struct, frozen=True):
    path: str
    edits: list[Piece]


def touches(args: Args, around: Around) -> tuple[ResourceAccess, ...]:
    return touched(args.path, around)


def run(args: Args, around: Around) -> ToolOutcome:
    """Returns the file with all pieces replaced."""
    if not args.edits:
        raise UsageError("edits: there are none. Nothing was changed.")
    return changed(args.path, args.edits, around)


def touched(argument: str, around: Around) -> tuple[ResourceAccess, ...]:
    """Returns what an edit touches: it changes the file, and shows lines of it."""
    path = around.overlay.locate(argument)
    if is_plan(argument, path, around):
        return (plan_file.request(around),)
    path = target(argument, around)
    return (edits(path), reads(path))


def changed(argument: str, pieces: list[Piece], around: Around) -> ToolOutcome:
    """Returns a file with pieces replaced, one after the other."""
    path = around.overlay.locate(argument)
    if is_plan(argument, path, around):
        plan, form = decoded(around.plan_text(), one_line(path))
        return routed(_edited(plan, form, pieces)[0], around)
    path = target(argument, around)
    before, content = loaded(path, around)
    text, form = decoded(content, one_line(path))
    after, count, last = _edited(text, form, pieces)
    words = f"{count} replacement{'s' if count != 1 else ''}, near line {line_of(after, last[0])}:"
    new = encoded(after, form, one_line(path))
    return outcome([Change(path, before, new, words, excerpt(after, *last))])


def _edited(text: str, form: Form, pieces: list[Piece]) -> tuple[str, int, tuple[int, int]]:
    """Returns the new text, how many places changed, and the first place of the last piece."""
    count, last = 0, (0, 0)
    for at, piece in enumerate(pieces):
        spell = spelling(text, piece.old, form)
        spelled = Piece(spell(piece.old), spell(piece.new), piece.replace_all)
        found = _found(text, spelled, f"edits[{at}]: " if len(pieces) > 1 else "")
        text = replaced(text, found)
        count += len(found)
        last = (found[0].start, len(found[0].new))
    return text, count, last


def _found(text: str, piece: Piece, which: str) -> list[Place]:
    if not piece.old:
        raise UsageError(f"{which}`old` is empty. Use `write` for a whole file.")
    if piece.old == piece.new:
        raise UsageError(f"{which}`old` and `new` are the same. Nothing was changed.")
    try:
        return places(text, piece.old, piece.new, every=piece.replace_all)
    except NoMatch as error:
        raise NoMatch(f"{which}{error.message}") from error


MULTI_EDIT = Tool("multi_edit", Args, touches, run, Action.EDIT)
