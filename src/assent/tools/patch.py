"""patch: adds, updates, deletes and moves several files in one call, all or nothing (F131)."""

import msgspec

from assent.core.errors import ImpossibleOperations, NoMatch, NotFound
from assent.core.paths import one_line
from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.file_edit import (
    EditedFile,
    edit_access,
    edit_outcome,
    edit_target,
    entry_path,
    excerpt,
    expected_state,
    load_file,
    read_access,
)
from assent.tools.patch_hunks import apply_hunks
from assent.tools.patch_parser import PatchToolFile, parse_patch
from assent.tools.text_encoding import decode_text, encode_text, line_of
from assent.tools.tool import Tool, ToolContext


class PatchArgs(msgspec.Struct, frozen=True):
    patch: str


class LocatedFilePatch(msgspec.Struct, frozen=True):
    """A file of the patch, with its real paths."""

    file: PatchToolFile
    path: bytes
    to: bytes = b""


def touches(args: PatchArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    """Names every file; what is updated is also shown, or carried to another name."""
    found = _located(args.patch, around)
    paths = [path for each in found for path in (each.path, each.to) if path]
    shown = [each.path for each in found if each.file.kind == "update"]
    return (*[edit_access(path) for path in paths], *[read_access(path) for path in shown])


def run(args: PatchArgs, around: ToolContext) -> ToolOutcome:
    """Returns all of the patch, or raises for the first file where it does not fit."""
    changes: list[EditedFile] = []
    others: list[FileOperation] = []
    words: list[str] = []
    for each in _located(args.patch, around):
        change = _change(each, around) if each.file.kind != "delete" else None
        gone = _gone(each, change, around)
        others += gone
        words += [f"{one_line(each.path)}: {'moves' if each.to else 'goes'}." for _ in gone]
        if change and not any(isinstance(op, MoveFile) for op in gone):
            changes.append(change)
    made = edit_outcome(changes, tuple(others))
    return msgspec.structs.replace(made, text="\n".join([*words, made.text]).strip())


def _gone(
    each: LocatedFilePatch, change: EditedFile | None, around: ToolContext
) -> list[FileOperation]:
    """Returns what becomes of a file's old name: it goes, or the file moves as it is."""
    if change and not each.to:
        return []
    before = expected_state(each.path, around)
    if before is None:
        raise NotFound(f"{one_line(each.path)} does not exist. Nothing was changed.")
    if change and change.after == before:
        return [MoveFile(each.path, each.to, before)]
    return [DeleteFile(each.path, before)]


def _located(patch: str, around: ToolContext) -> list[LocatedFilePatch]:
    found = []
    for file in parse_patch(patch):
        path = (entry_path if file.kind == "delete" else edit_target)(file.path, around)
        found.append(LocatedFilePatch(file, path, edit_target(file.to, around) if file.to else b""))
    paths = [path for each in found for path in (each.path, each.to) if path]
    twice = [path for path in paths if paths.count(path) > 1]
    if twice:
        raise ImpossibleOperations(f"{one_line(twice[0])} is named twice; put its hunks together.")
    return found


def _change(each: LocatedFilePatch, around: ToolContext) -> EditedFile:
    goal = each.to or each.path
    if (each.file.kind == "add" or each.to) and expected_state(goal, around) is not None:
        raise ImpossibleOperations(f"{one_line(goal)} exists. Nothing was changed.")
    if each.file.kind == "add":
        return _added(each)
    before, content = load_file(each.path, around)
    name = one_line(each.path)
    text, form = decode_text(content, name)
    try:
        after, place = apply_hunks(text, each.file.hunks)
    except NoMatch as error:
        raise NoMatch(f"{name}: {error.message}") from error
    new = encode_text(after, form, name)
    words = f"{len(each.file.hunks)} hunks, near line {line_of(after, place[0])}:"
    if each.to:
        return EditedFile(goal, None, new, words, excerpt(after, *place), before.mode)
    return EditedFile(goal, before, new, words, excerpt(after, *place))


def _added(each: LocatedFilePatch) -> EditedFile:
    lines = [line for hunk in each.file.hunks for line in hunk.new]
    ends = [hunk.ends for hunk in each.file.hunks if hunk.ends is not None]
    text = "\n".join(lines) + ("" if ends[-1:] == [False] or not lines else "\n")
    return EditedFile(each.path, None, text.encode(), f"new file, {len(lines)} lines.")


PATCH = Tool("patch", PatchArgs, touches, run, Action.EDIT)
