"""Undo: what runs and commands changed, and the operations that reverse it (law 7)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from assent.core.errors import ImpossibleOperations
from assent.core.paths import ancestors, casefolded, one_line
from assent.core.plan.draft import stage
from assent.core.plan.operation import (
    FileOperation,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    footprint,
    inverse,
)
from assent.core.run.journal import OperationResult
from assent.core.run.slot_move import PathState
from assent.core.run.workspace_changes import SkippedFile, SkipReason, WorkspaceChanges
from assent.core.shell.process import shell_line

# Applied changes: what runs and commands did to files, in order, and what an undo cannot cover.


_SKIP_REASONS: Final[dict[SkipReason, str]] = {
    "ignored": "git ignores it, so its old content was not kept",
    "large": "it is larger than undo.file_mb, so its old content was not kept",
    "too many": "more changed than undo.total_mb and undo.files allow to keep",
    "odd": "it could not be read or is neither a file nor a symlink",
    "git": "it belongs to Git",
    "folder": "folder modes are not restored",
}

MAX_NAMED: Final = 20  # files that are listed by name
PUT_BACK: Final = "Restored to the state before"  # how the note begins that names files
END_UNKNOWN: Final = "Its end was not recorded, so some of these changes may be your own."
NO_LONGER_READABLE: Final = "is no longer a file or cannot be read"
OWN_UNDO: Final = "is handled by a command's own undo"
CHANGES_UNKNOWN: Final = "some of its changes are unknown or were not kept"
RAN_UNCONFINED: Final = "it ran without the sandbox: changes outside the workspace remain"
CHANGED_BETWEEN_STEPS: Final = "something else changed it between two steps; earlier changes remain"


class AppliedCommand(msgspec.Struct, frozen=True):
    """A command that ran, as far as an undo needs to know it."""

    words: str
    command: RunCommand | None = None  # None: a session ran a line of text
    skipped: tuple[SkippedFile, ...] = ()
    known: bool = True  # False: what it changed is unknown
    confined: bool = True
    seen: bool = True  # False: its end was not seen; what changed since it began counts as its work


class AppliedChange(msgspec.Struct, frozen=True):
    """One finished operation or one command, with the files that it changed."""

    run: str
    index: int
    id: str
    operations: tuple[FileOperation, ...]
    ordered: AppliedCommand | None = None
    made: tuple[bytes, ...] = ()  # by a command: folders that were not there before

    @property
    def token(self) -> str:
        """The id under which the log records that only this change was undone."""
        return f"{self.run}:{self.index}"

    @property
    def undo(self) -> RunCommand | None:
        """The command that undoes it, if its plan names one."""
        command = self.ordered.command if self.ordered else None
        if command is None or not command.undo:
            return None
        return msgspec.structs.replace(command, argv=command.undo, script=b"", undo=())

    @property
    def paths(self) -> frozenset[bytes]:
        return frozenset(path for op in self.operations for path, *_ in footprint(op))


class UndoGap(msgspec.Struct, frozen=True):
    """Something that an undo does not cover: of which command if one, at which path, and why."""

    command: str
    why: str
    path: bytes | None = None

    @property
    def line(self) -> str:
        """The gap in one line of text."""
        what = f"{one_line(self.path)}: {self.why}" if self.path is not None else self.why
        return f"{what} ($ {self.command})" if self.command else what


def merged_changes(parts: Sequence[WorkspaceChanges]) -> WorkspaceChanges:
    """Returns what several attempts at one command changed, as one."""
    return WorkspaceChanges(
        tuple(op for part in parts for op in part.operations),
        tuple(dict.fromkeys(left for part in parts for left in part.skipped)),
        all(part.known for part in parts),
        tuple(dict.fromkeys(folder for part in parts for folder in part.made)),
    )


def undo_gaps(changes: Sequence[AppliedChange]) -> tuple[UndoGap, ...]:
    """Returns what cannot be undone, each thing once."""
    found = [gap for change in changes if change.ordered for gap in _of(change.ordered)]
    found += [UndoGap("", CHANGED_BETWEEN_STEPS, path) for path in _interrupted(changes)]
    return tuple(dict.fromkeys(found))


def attributed_text(paths: Iterable[bytes], command: str, run: str = "") -> str:
    """Lists what changed since a command started, by anyone; `run` lists all paths."""
    named = _some(paths, run)
    return f"Changed since {command} started, assumed to be its work: {named}." if named else ""


def changed_since_text(change: AppliedChange, paths: Iterable[bytes]) -> str:
    """Lists what changed after a command and what its own undo may overwrite."""
    assert change.ordered is not None, "only a command has an undo of its own"
    assert change.undo is not None, "only a command has an undo of its own"
    undo = shell_line(change.undo.argv)
    return (
        f"Changed since $ {change.ordered.words}; its undo command may overwrite this: "
        f"{_some(paths, change.run)} ($ {undo})."
    )


def put_back_text(operations: Iterable[FileOperation], run: str) -> str:
    """Lists what a rollback restored, and where the replaced content is."""
    every = tuple(operations)
    named = _some((path for op in every for path, *_ in footprint(op)), run)
    if not named:
        return ""
    told = f"{PUT_BACK}, including changes that may be your own: {named}."
    aside = f"The replaced files may still be in Assent's state folder, in spares/{run}.*."
    return f"{told} {aside}" if any(map(_displaces, every)) else told


def _displaces(op: FileOperation) -> bool:
    """Tells whether a file gives way to what comes; one that is moved is still there."""
    return not isinstance(op, MoveFile) and any(before for _, before, _ in footprint(op))


def _some(paths: Iterable[bytes], run: str) -> str:
    """Returns the first names, and how many more there are."""
    every = sorted(set(paths))
    named = ", ".join(one_line(path) for path in every[:MAX_NAMED])
    if len(every) <= MAX_NAMED:
        return named
    where = f" (`assent runs show {run}` lists all)" if run else ""
    return f"{named}, and {len(every) - MAX_NAMED} more{where}"


def attribution_warnings(changes: Iterable[AppliedChange]) -> tuple[str, ...]:
    """Warns where a change may include the user's own work."""
    unseen = [
        (change, change.ordered) for change in changes if change.ordered and not change.ordered.seen
    ]
    told = [attributed_text(change.paths, f"$ {one.words}") for change, one in unseen]
    return tuple(f"{words} {END_UNKNOWN}" for words in told if words)


def _interrupted(changes: Iterable[AppliedChange]) -> Iterable[bytes]:
    """Yields the files that were found other than the step before had left them."""
    left: dict[bytes, FileState | None] = {}
    steps = [step for change in changes for op in change.operations for step in footprint(op)]
    for path, before, after in steps:
        if path in left and left[path] != before:
            yield path
        left[path] = after


def _of(ordered: AppliedCommand) -> Iterable[UndoGap]:
    words, command = ordered.words, ordered.command
    if not ordered.known:
        yield UndoGap(words, CHANGES_UNKNOWN)
    for left in (one for one in ordered.skipped if not one.kept):
        yield UndoGap(words, f"{_SKIP_REASONS[left.why]} ({left.how})", left.path)
    if command is not None and command.profile == "commit":
        yield UndoGap(words, "its commit remains")
    elif not ordered.confined:
        yield UndoGap(words, RAN_UNCONFINED)
    elif command is not None and command.network:
        yield UndoGap(words, "it had network access: its effects elsewhere remain")


def combined_operations(changes: Sequence[AppliedChange]) -> tuple[FileOperation, ...]:
    """Combines file changes into one list, each path once; changes of one segment as approved."""
    if len({change.run for change in changes}) <= 1 and not any(
        change.ordered for change in changes
    ):
        return tuple(op for change in changes for op in change.operations)
    return composed_operations([change.operations for change in changes])


def composed_operations(steps: Sequence[tuple[FileOperation, ...]]) -> tuple[FileOperation, ...]:
    """Combines changes that were made step by step into one list.

    Where another writer changed a file in between, only what came after that can be undone.
    """
    every = [op for operations in steps for op in operations]
    try:
        return _files(stage((), every))
    except ImpossibleOperations:
        pass
    chain: tuple[FileOperation, ...] = ()
    for op in reversed(every):
        try:
            chain = _files(stage((op,), chain))
        except ImpossibleOperations:
            continue
    return chain


def undo_blockers(
    operations: Sequence[FileOperation],
    changes: Sequence[AppliedChange],
    taken: Sequence[AppliedChange],
) -> dict[int, str]:
    """Finds operations that cannot be undone by themselves, and says why.

    `deeds` are all changes, `taken` those to undo. Changes of a command that has its own undo are
    left to that; and later changes may depend on earlier ones.
    """
    own = {path for change in taken if change.undo for path in change.paths}
    later = _later(changes, {change.token for change in taken})
    found: dict[int, str] = {}
    for number, op in enumerate(operations):
        for path, *_ in footprint(op):
            if path in own:
                found[number] = f"{one_line(path)} {OWN_UNDO}"
            elif after := later.get(path):
                what = "a command" if after.ordered else f"operation {after.id[:12]}"
                found[number] = f"{one_line(path)} was changed again by {what}"
    return found


def _later(changes: Sequence[AppliedChange], taken: set[str]) -> dict[bytes, AppliedChange]:
    """Returns, by path, the first change that touches it after all that are undone."""
    last = max((at for at, change in enumerate(changes) if change.token in taken), default=-1)
    later: dict[bytes, AppliedChange] = {}
    for change in changes[last + 1 :]:
        for path in change.paths:
            later.setdefault(path, change)
    return later


def _files(operations: Iterable[Operation]) -> tuple[FileOperation, ...]:
    return tuple(op for op in operations if isinstance(op, FileOperation))


# Inversion: which operations of a run can be undone on the current disk, as a plan (law 7).


PathChange: TypeAlias = tuple[bytes, FileState | None, FileState | None]  # path, before, after


class Inversion(msgspec.Struct, frozen=True):
    """The inverse operations, each with the index of its original, and what is skipped, and why.

    A conflict is what changed since, or cannot be reverted without that; the rest is denied by
    rules.
    """

    operations: tuple[tuple[int, FileOperation], ...]
    conflicts: tuple[tuple[int, str], ...] = ()
    denied: tuple[tuple[int, str], ...] = ()

    @property
    def skipped(self) -> tuple[tuple[int, str], ...]:
        """Everything that is not undone, by its index, with the reason."""
        return tuple(sorted((*self.conflicts, *self.denied)))

    @property
    def results(self) -> dict[int, OperationResult]:
        """The reported result of each skipped operation, by its index."""
        denied = {index for index, _ in self.denied}
        return {at: "denied" if at in denied else "conflict" for at, _ in self.skipped}


class UndoExtent(msgspec.Struct, frozen=True):
    """How far an undo goes beyond files: the commands it runs, and what it does not cover."""

    commands: tuple[RunCommand, ...] = ()
    gaps: tuple[UndoGap, ...] = ()
    again: bool = False  # it undoes an undo, so that what was done is done again
    only: str = ""  # the start of the id of the one operation that it undoes
    guessed: tuple[str, ...] = ()  # what it undoes that may be the user's own work
    overwrites: tuple[str, ...] = ()  # what changed since, and its commands may overwrite
    recorded: bool = False  # commands did some of it: only what was recorded of that goes back
    rewind: str = ""  # the command that it is a part of: a session goes back to a message, too


FILES_ONLY = UndoExtent()
# What an undo did not get to that was accepted as it stood.
NOT_APPLIED: Final[frozenset[OperationResult]] = frozenset({"failed", "unknown", "not_started"})
NOT_COVERED = "Not covered"  # how notes begin that say so
NOT_A_FILE = FileState("", 0, 0)  # what no run leaves: a pipe, say, or what may not be read
STILL_DIFFERENT = "Still different from before the command"


def undo_command(run: str, extent: UndoExtent) -> str:
    """Returns the command that undoes just that."""
    if extent.rewind:
        return extent.rewind
    only = f" --operation {extent.only}" if extent.only else ""
    return f"assent {'redo' if extent.again else 'undo'} {run}{only}"


class UndoContext(msgspec.Struct, frozen=True):
    """What an undo finds: the disk, which contents are still stored, and what it may not touch.

    `seen` includes the folders above the paths: a file there is in the way.
    """

    seen: Mapping[bytes, PathState]
    files_below: Callable[[bytes], Iterable[bytes]]
    kept: Callable[[str], bool] = lambda digest: True
    barred: Mapping[int, str] = {}
    homeless: Mapping[str, bytes] = {}  # contents that cannot go back to their paths anyway
    denied: Mapping[int, str] = {}  # operations whose paths rules deny, with the path and the rule


def invert(
    operations: Sequence[FileOperation], made: Iterable[bytes], context: UndoContext
) -> Inversion:
    """Inverts a run against the disk; what changed since, or rules deny, is skipped."""
    seen, files_below = context.seen, context.files_below
    conflicts = dict(context.denied) | {
        index: reason
        for index, op in enumerate(operations)
        if index not in context.denied
        if (reason := context.barred.get(index) or _changed(op, seen) or _lost(op, context.kept))
    }
    while more := {
        **_blocked(operations, conflicts, seen, files_below),
        **_last_copies(operations, conflicts, context),
    }:
        conflicts.update(more)
    folders = frozenset(made)
    inverses = [
        (index, back)
        for index, op in reversed(list(enumerate(operations)))
        if index not in conflicts and isinstance(back := inverse(op, folders), FileOperation)
    ]
    alone = sorted(conflicts.items())
    denied = tuple(pair for pair in alone if pair[0] in context.denied)
    return Inversion(tuple(inverses), tuple(p for p in alone if p not in denied), denied)


def undo_text(
    name: str,
    inversion: Inversion,
    names: Sequence[str],
    extent: UndoExtent = FILES_ONLY,
    *,
    runs: int = 1,
) -> bytes:
    """Writes the Markdown of an undo plan; the same run and disk always give the same bytes.

    `names` are the numbers of the originals; empty for what several came to.
    """
    all_of_it = "this run" if runs == 1 else "these runs"
    title = "Redo" if extent.again else "Undo"
    goal = f"Undo {f'one operation of {all_of_it}' if extent.only else all_of_it}."
    if extent.again:
        goal = "Redo what was undone."
    lines = [f"# {title} {name}", "", "## Goal", "", goal, "", "## Changes", ""]
    for command in extent.commands:
        lines.append(f"- $ {shell_line(command.argv)} (undo command)")
    for index, op in inversion.operations:
        paths = " and ".join(one_line(path) for path, *_ in footprint(op))
        before = f"operation {names[index]}" if names[index] else all_of_it
        lines.append(f"- {paths}: restore to before {before}")
    if alone := inversion.skipped:
        lines += ["", "## Skipped", ""]
        for index, reason in alone:
            about = f": operation {names[index]}" if names[index] else ""
            lines.append(f"- {reason.removesuffix('.')}{about}")
    if extent.overwrites:
        lines += ["", "## May be overwritten", "", *[f"- {told}" for told in extent.overwrites]]
    if extent.guessed:
        lines += ["", "## Possibly your own changes", "", *[f"- {told}" for told in extent.guessed]]
    if extent.gaps:
        lines += ["", "## Not covered", ""]
        lines += [f"- {gap.line}" for gap in extent.gaps]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def overwrite_warnings(
    ran: Iterable[AppliedChange], every: Iterable[AppliedChange], seen: Mapping[bytes, PathState]
) -> tuple[str, ...]:
    """Lists what changed since and what the undo of a command may overwrite.

    `ran` are commands with their own undo, `every` is everything that was done there and not
    undone: a file should be as the last change left it.
    """
    steps = [step for change in every for op in change.operations for step in footprint(op)]
    last = {path: after for path, _, after in steps}
    found = [
        (change, [p for p in change.paths if not has_state(seen[p], last[p])]) for change in ran
    ]
    return tuple(changed_since_text(change, paths) for change, paths in found if paths)


def has_state(seen: PathState, state: FileState | None) -> bool:
    """Tells whether a path has a state; a folder counts as nothing."""
    return seen == state or (state is None and seen == "folder")


def is_behind_link(path: bytes, seen: Mapping[bytes, PathState]) -> bool:
    """Tells whether a folder above a path is a symlink, so that it is not in the workspace."""
    return any(_is_link(seen.get(folder)) for folder in ancestors(path))


def behind_foreign_links(
    seen: Mapping[bytes, PathState], steps: Iterable[PathChange]
) -> set[bytes]:
    """Returns the paths of steps with a symlink above them that none of these steps created.

    Such a path cannot be seen but is not gone: the creator of the symlink may have moved it.
    """
    links = {path: state for path, state in seen.items() if _is_link(state)}
    if not links:
        return set()
    every = list(steps)
    for path, *states in every:
        if links.get(path) in states:
            links.pop(path, None)
    return {path for path, *_ in every if not links.keys().isdisjoint(ancestors(path))}


def _is_link(state: PathState) -> bool:
    return isinstance(state, FileState) and state.kind == "link"


def _changed(op: FileOperation, seen: Mapping[bytes, PathState]) -> str:
    """Says which path of an operation is not as the run left it.

    A folder where a file was removed is looked at later: it may be the run's own and go away.
    """
    for path, _, after in footprint(op):
        gone = after is None and (seen[path] == "folder" or _is_itself(op, seen[path]))
        if seen[path] != after and not gone:
            why = NO_LONGER_READABLE if seen[path] == NOT_A_FILE else "changed after the run"
            return f"{one_line(path)} {why}"
    return ""


def _is_itself(op: FileOperation, seen: PathState) -> bool:
    """Tells whether an old name leads to the moved file, as it does if case makes no difference.

    Elsewhere another writer put the same content there again; a rename that replaces nothing stops.
    """
    return (
        isinstance(op, MoveFile) and casefolded(op.path) == casefolded(op.to) and seen == op.before
    )


def _lost(op: FileOperation, kept: Callable[[str], bool]) -> str:
    """Says what cannot be restored because no copy of it remains; a rename needs no copy."""
    if isinstance(op, MoveFile):
        return ""
    for path, before, _ in footprint(op):
        if before is not None and not kept(before.digest):
            return f"the old content of {one_line(path)} was not kept"
    return ""


def _blocked(
    operations: Sequence[FileOperation],
    conflicts: Mapping[int, str],
    seen: Mapping[bytes, PathState],
    files_below: Callable[[bytes], Iterable[bytes]],
) -> dict[int, str]:
    """Finds operations whose old place is taken by files that stay, or by an empty folder."""
    staying = _brought([op for index, op in enumerate(operations) if index in conflicts])
    going = _brought(operations) - staying
    files = {path for path, state in seen.items() if isinstance(state, FileState)} - going
    blocked = {}
    for index, path in _removed(operations):
        if index in conflicts:
            continue
        below = list(files_below(path)) if seen[path] == "folder" else []
        left = [file for file in below if file not in going]
        above = [folder for folder in ancestors(path) if folder in staying or folder in files]
        empty = [path] if seen[path] == "folder" and not below else []
        in_the_way = [*left, *above, *empty]
        if in_the_way:
            blocked[index] = f"{one_line(in_the_way[0])} is in the way"
    return blocked


def only_copy_text(path: bytes, home: bytes) -> str:
    """Returns why a file stays: it has what cannot go back to its place."""
    return f"{one_line(path)} has the only copy of the old content of {one_line(home)}"


def _last_copies(
    operations: Sequence[FileOperation], conflicts: Mapping[int, str], context: UndoContext
) -> dict[int, str]:
    """Finds files that would go, and are the last to hold what cannot go back to its place.

    So the halves of a move stay together: one that stays keeps the other.
    """
    steps = [(i, step) for i, op in enumerate(operations) for step in footprint(op)]
    stuck = {before.digest: path for i, (path, before, _) in steps if i in conflicts and before}
    homeless = {**context.homeless, **stuck}
    staying = [context.seen[path] for i, (path, *_) in steps if i in conflicts]
    restored = [before for i, (_, before, _) in steps if i not in conflicts]
    safe = {state.digest for state in (*staying, *restored) if isinstance(state, FileState)}
    return {
        i: only_copy_text(path, homeless[after.digest])
        for i, (path, before, after) in steps
        if i not in conflicts and after != before and after and after.size
        if after.digest in homeless and after.digest not in safe
    }


def _brought(operations: Iterable[FileOperation]) -> set[bytes]:
    steps = [step for op in operations for step in footprint(op)]
    return {path for path, before, after in steps if before is None and after is not None}


def _removed(operations: Iterable[FileOperation]) -> list[tuple[int, bytes]]:
    return [
        (index, path)
        for index, op in enumerate(operations)
        for path, before, after in footprint(op)
        if before is not None and after is None
    ]
