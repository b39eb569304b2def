"""The tools that change files: `write`, `edit`, `delete` and `move`."""

from typing import Annotated, TypeAlias

import msgspec

from assent.core.errors import (
    AssentError,
    ImpossibleOperations,
    NoMatch,
    NotFound,
    Refused,
    UsageError,
)
from assent.core.paths import (
    base_name,
    casefolded,
    display_path,
    is_inside,
    one_line,
    parent,
    typed_line,
)
from assent.core.plan.operation import DeleteFile, FileState, MoveFile
from assent.core.tool import Action, EditEffect, ResourceAccess, ToolOutcome
from assent.tools import file_edit as plan_file
from assent.tools.file_edit import (
    BOM,
    CUT,
    MAX_FILES,
    UNCHANGED,
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
    line_of,
    load_file,
    plan_text_outcome,
    read_access,
    with_line_ends,
)
from assent.tools.text_search import SearchQuery, search_text
from assent.tools.tool import SELF_EXPLAINING, OptionArgs, Tool, ToolContext

# write: creates a file, or replaces all of its content.


BEGINNING = 1 << 16  # bytes that tell how a file is written


class WriteArgs(OptionArgs, frozen=True):
    path: Annotated[str, msgspec.Meta(description="file")]
    content: Annotated[str, msgspec.Meta(description="text")]


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


# edit: replaces pieces of text in one or several files, all or none.


MAX_EDITS = 1000  # of one call
MAX_TOLD = 5  # edits that cannot be made and are explained, of one call
MAX_LINES = 8  # numbers of lines that are named where one text was replaced in many places
MAX_OLD = 40  # characters of that text
_Places: TypeAlias = list[tuple[TextReplacement, int]]  # each with the number of its edit


class TextEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str | list[str], msgspec.Meta(description="file; glob with replace_all")]
    old: Annotated[str, msgspec.Meta(description="unique text")]
    new: Annotated[str, msgspec.Meta(description="new text")]
    replace_all: Annotated[bool, msgspec.Meta(description="all")] = False
    word: Annotated[bool, msgspec.Meta(description="whole words")] = False


class EditArgs(OptionArgs, frozen=True):
    edits: Annotated[list[TextEdit], msgspec.Meta(description="all or none")]


class _FileEdits(msgspec.Struct):
    """The edits of one file, by their place in the call."""

    argument: str  # the path as the model wrote it
    pieces: dict[int, TextEdit]


class _FailedEdits:
    """The edits of a call that cannot be made, in order; one error names all of them."""

    def __init__(self, edits: list[TextEdit]) -> None:
        self._edits = edits
        self._errors: dict[int, AssentError] = {}

    def add(self, at: int, error: AssentError) -> None:
        self._errors.setdefault(at, error)

    def check(self) -> None:
        """Raises if there are any; for a call with one edit, its own error."""
        if not self._errors:
            return
        errors = dict(sorted(self._errors.items()))
        first = next(iter(errors.values()))
        if len(self._edits) == 1:
            raise first
        count, more = len(errors), len(errors) - MAX_TOLD
        told = [f"{count} of {len(self._edits)} edits cannot be made. {UNCHANGED}"]
        for at, error in [*errors.items()][:MAX_TOLD]:
            why = error.message.replace(f" {UNCHANGED}", "")
            told.append(f"edits[{at}] {typed_line(', '.join(_typed(self._edits[at])))}: {why}")
        rest = ", ".join(f"edits[{at}]" for at in [*errors][MAX_TOLD:])
        told += [f"Also: {rest}."] if more > 0 else []
        raise type(first)("\n".join(told)) from first


def edit_touches(args: EditArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    """Returns what edits access: they change files, and show lines of them."""
    found: dict[ResourceAccess, None] = {}
    for path, file in _by_file(args.edits, context).items():
        if is_plan(file.argument, path, context):
            found[plan_file.plan_access(context)] = None
            continue
        real = edit_target(file.argument, context)
        found |= {edit_access(real): None, read_access(real): None}
    return tuple(found)


def run_edit(args: EditArgs, context: ToolContext) -> ToolOutcome:
    """Returns the files with all edits made, each matched against the files as they are."""
    if not args.edits:
        raise UsageError(f"edits: must not be empty. {UNCHANGED}")
    if len(args.edits) > MAX_EDITS:
        raise UsageError(f"edits: {MAX_EDITS} at most. {UNCHANGED}")
    notes: list[str] = []
    files, failed = _by_file(args.edits, context, notes), _FailedEdits(args.edits)
    plans = [path for path, file in files.items() if is_plan(file.argument, path, context)]
    if plans and len(files) > 1:
        raise UsageError(f"The plan file is edited in a call of its own. {UNCHANGED}")
    if plans:
        plan, form = decode_text(context.plan_text(), one_line(plans[0]))
        text, _ = _edited(plan, form, files[plans[0]].pieces, failed)
        failed.check()
        return plan_text_outcome(text, context)
    changes = [_changed(path, file, context, failed) for path, file in files.items()]
    failed.check()
    outcome = edit_outcome([change for change in changes if change is not None])
    told = "\n".join([outcome.text, *[f"[{note}]" for note in dict.fromkeys(notes)]])
    return msgspec.structs.replace(outcome, text=told) if notes else outcome


def _by_file(
    edits: list[TextEdit], context: ToolContext, notes: list[str] | None = None
) -> dict[bytes, _FileEdits]:
    """Returns the edits by the file that their paths lead to; of globs, by the files that match."""
    found: dict[bytes, _FileEdits] = {}
    for at, edit in enumerate(edits):
        for argument in _arguments(edit, context, [] if notes is None else notes):
            path = context.overlay.locate(argument)
            is_plan(argument, path, context)  # every spelling of its path counts
            found.setdefault(path, _FileEdits(argument, {})).pieces[at] = edit
    return found


def _typed(edit: TextEdit) -> list[str]:
    return [edit.path] if isinstance(edit.path, str) else edit.path


def _is_spread(edit: TextEdit, context: ToolContext) -> bool:
    """Tells whether an edit is meant for several files: a list, or a glob that is not a file."""
    if isinstance(edit.path, list):
        return True
    is_glob = edit.replace_all and bool(set(edit.path) & set("*?{["))
    return is_glob and context.overlay.state(context.overlay.locate(edit.path)) is None


def _arguments(edit: TextEdit, context: ToolContext, notes: list[str]) -> list[str]:
    """Returns the paths of the files that an edit is meant for.

    A glob stands for the files that it matches, that contain the text, and that a search finds:
    neither ignored files nor those that need permission to be read.
    """
    if not _is_spread(edit, context):
        return _typed(edit)
    if not edit.replace_all:
        raise UsageError(f"Several paths need replace_all. {UNCHANGED}")
    found: dict[str, None] = {}
    for path in _typed(edit):
        single = msgspec.structs.replace(edit, path=path)
        if _is_spread(single, context):
            found |= dict.fromkeys(_matching(single, path, context, notes))
        else:
            found[path] = None
    if not found:
        what = ", ".join(_typed(edit))
        raise NotFound(f"No file that {typed_line(what)} matches contains `old`. {UNCHANGED}")
    return [*found]


def _matching(edit: TextEdit, glob: str, context: ToolContext, notes: list[str]) -> list[str]:
    longest = max(edit.old.split("\n"), key=lambda line: len(line.strip()))
    if ".." in glob.split("/") or glob.startswith(("/", "~")):
        raise Refused(f"{glob!a} is not a glob inside the workspace. {UNCHANGED}")
    if not longest.strip():
        raise UsageError(f"`old` is blank, so it has no place in several files. {UNCHANGED}")
    query = SearchQuery(longest.strip(), b"", literal=True, include=(glob,))
    result = search_text(context, query)
    if result.cut:
        raise Refused(f"{glob!a} matches too much to be searched whole; narrow it. {UNCHANGED}")
    notes += result.notes
    paths = dict.fromkeys(hit.path for hit in result.hits)
    return [display_path(path) for path in paths if _contains(path, edit, context)]


def _contains(path: bytes, edit: TextEdit, context: ToolContext) -> bool:
    try:
        text, form = decode_text(load_file(path, context)[1], one_line(path))
        return bool(_places(text, form, edit))
    except NoMatch:
        return False


def _changed(
    path: bytes, file: _FileEdits, context: ToolContext, failed: _FailedEdits
) -> EditedFile | None:
    """Returns a file with its edits made; None where that is not possible."""
    name = one_line(path)
    try:
        check_editable(path, context)
        before, content = load_file(path, context)
        text, form = decode_text(content, name)
        after, found = _edited(text, form, file.pieces, failed)
        new = encode_text(after, form, name)
    except AssentError as error:
        for at in file.pieces:
            failed.add(at, error)
        return None
    told = _told(text, after, file.pieces, found, context)
    words = f"{len(found)} replacement{'s' if len(found) != 1 else ''}{':' if told else '.'}"
    return EditedFile(path, before, new, words, told)


def _told(
    text: str, after: str, pieces: dict[int, TextEdit], found: _Places, context: ToolContext
) -> str:
    """Returns what edits did, for the model: counts where one text was replaced, else hunks."""
    rows: list[str] = []
    repeated: list[TextReplacement] = []
    for at, piece in pieces.items():
        places = [place for place, owner in found if owner == at]
        if _is_spread(piece, context):
            repeated += places  # of many files the counts suffice
        elif len(places) > 1:
            repeated += places
            lines = sorted({line_of(text, place.start) for place in places})
            shown = ", ".join(map(str, lines[:MAX_LINES])) + (CUT if lines[MAX_LINES:] else "")
            begins, more, _ = piece.old.strip().partition("\n")
            what = begins[:MAX_OLD] + (CUT if more or len(begins) > MAX_OLD else "")
            rows.append(f"`{what}` {len(places)} times, lines {shown}")
    halfway = apply_replacements(text, sorted(repeated, key=lambda place: place.start))
    return "\n".join(filter(None, [*rows, edit_diff(halfway, after)]))


def _edited(
    text: str, form: TextEncoding, pieces: dict[int, TextEdit], failed: _FailedEdits
) -> tuple[str, _Places]:
    """Returns the new text and the places; no edit sees what another one wrote."""
    found: _Places = []
    for at, piece in pieces.items():
        try:
            found += [(place, at) for place in _places(text, form, piece)]
        except AssentError as error:
            failed.add(at, error)
    found.sort(key=lambda each: (each[0].start, each[0].end))
    reach, owner = 0, 0  # where the places so far end, and whose the last of them is
    for place, at in found:
        if place.start < reach:
            line = line_of(text, place.start)
            why = f"overlaps edits[{min(at, owner)}] at line {line}."
            failed.add(max(at, owner), ImpossibleOperations(why))
        if place.end > reach:
            reach, owner = place.end, at
    return apply_replacements(text, [place for place, _ in found]), found


def _places(text: str, form: TextEncoding, piece: TextEdit) -> list[TextReplacement]:
    if not piece.old:
        raise UsageError("`old` is empty. Use `write` for a whole file.")
    if piece.old == piece.new:
        raise UsageError(f"`old` and `new` are the same. {UNCHANGED}")
    spell = escape_spelling(text, piece.old, form)
    return find_replacements(
        text, spell(piece.old), spell(piece.new), every=piece.replace_all, word=piece.word
    )


EDIT = Tool("edit", EditArgs, edit_touches, run_edit, Action.EDIT)


# delete: removes a file, or every file of a folder.


class DeleteArgs(OptionArgs, frozen=True):
    path: Annotated[str, msgspec.Meta(description="file or folder")]


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
    "delete", DeleteArgs, delete_touches, run_delete, Action.EDIT, on_demand=SELF_EXPLAINING
)


# move: renames a file or a folder.


class MoveArgs(OptionArgs, frozen=True):
    path: Annotated[str, msgspec.Meta(description="file or folder")]
    to: Annotated[str, msgspec.Meta(description="new path")]


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


MOVE = Tool("move", MoveArgs, move_touches, run_move, Action.EDIT, on_demand=SELF_EXPLAINING)
