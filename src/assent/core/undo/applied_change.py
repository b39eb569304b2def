"""Applied changes: what runs and commands did to files, in order, and what an undo cannot cover."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from assent.core.errors import ImpossibleOperations
from assent.core.paths import one_line
from assent.core.plan.draft import stage
from assent.core.plan.operation import (
    FileOperation,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    footprint,
)
from assent.core.run.workspace_changes import SkippedFile, SkipReason, WorkspaceChanges
from assent.core.shell.quote import shell_line

_SKIP_REASONS: Final[dict[SkipReason, str]] = {
    "ignored": "git ignores it, so its old content was not kept",
    "large": "it is larger than undo.file_mb, so its old content was not kept",
    "too many": "more changed than undo.total_mb and undo.files let be kept",
    "odd": "it could not be read, or is neither a file nor a symlink",
    "git": "it is git's own",
    "folder": "the mode of a folder is not put back",
}

MAX_NAMED: Final = 20  # files that are told
PUT_BACK: Final = "Put back as before"  # how the note begins that names files
END_UNKNOWN: Final = "Nobody saw its end, so some of that may be your own work."
CHANGED_BETWEEN_STEPS: Final = (
    "somebody else changed it between two steps; what was done before that stays"
)


class AppliedCommand(msgspec.Struct, frozen=True):
    """A command that ran, as far as an undo has to know it."""

    words: str
    command: RunCommand | None = None  # None: a session ran a line of text
    skipped: tuple[SkippedFile, ...] = ()
    known: bool = True  # not: nobody knows what it changed
    confined: bool = True
    seen: bool = True  # not: nobody saw its end, so what changed since it began counts as its work


class AppliedChange(msgspec.Struct, frozen=True):
    """One operation that was done, or one command, with what became of files by it."""

    run: str
    index: int
    id: str
    operations: tuple[FileOperation, ...]
    ordered: AppliedCommand | None = None
    made: tuple[bytes, ...] = ()  # by a command: folders that were not there before

    @property
    def token(self) -> str:
        """The name under which the log remembers that this alone was taken back."""
        return f"{self.run}:{self.index}"

    @property
    def undo(self) -> RunCommand | None:
        """The command that takes it back, where its plan names one."""
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


def undo_gaps(deeds: Sequence[AppliedChange]) -> tuple[UndoGap, ...]:
    """Returns what cannot be taken back of what was done, each thing once."""
    found = [gap for deed in deeds if deed.ordered for gap in _of(deed.ordered)]
    found += [UndoGap("", CHANGED_BETWEEN_STEPS, path) for path in _interrupted(deeds)]
    return tuple(dict.fromkeys(found))


def attributed_text(paths: Iterable[bytes], command: str, run: str = "") -> str:
    """Names what changed since a command began, by whomever; `run` has the names of all."""
    named = _some(paths, run)
    return f"Changed since {command} began, and taken for its work: {named}." if named else ""


def changed_since_text(deed: AppliedChange, paths: Iterable[bytes]) -> str:
    """Names what is not as a command left it, and its own undo may overwrite."""
    assert deed.ordered is not None, "only a command has an undo of its own"
    assert deed.undo is not None, "only a command has an undo of its own"
    undo = shell_line(deed.undo.argv)
    return (
        f"Changed since $ {deed.ordered.words}, and its undo may overwrite that: "
        f"{_some(paths, deed.run)} ($ {undo})."
    )


def put_back_text(operations: Iterable[FileOperation], run: str) -> str:
    """Names what a roll-back put back, and where the bytes went that stood there."""
    every = tuple(operations)
    named = _some((path for op in every for path, *_ in footprint(op)), run)
    if not named:
        return ""
    told = f"{PUT_BACK}, also what you may have changed yourself: {named}."
    aside = f"What stood there may still lie in Assent's state folder, in spares/{run}.*."
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
    where = f" (assent runs show {run} names all)" if run else ""
    return f"{named}, and {len(every) - MAX_NAMED} more{where}"


def attribution_warnings(deeds: Iterable[AppliedChange]) -> tuple[str, ...]:
    """Says of each deed whether some of it may be the person's own work."""
    unseen = [(deed, deed.ordered) for deed in deeds if deed.ordered and not deed.ordered.seen]
    told = [attributed_text(deed.paths, f"$ {one.words}") for deed, one in unseen]
    return tuple(f"{words} {END_UNKNOWN}" for words in told if words)


def _interrupted(deeds: Iterable[AppliedChange]) -> Iterable[bytes]:
    """Yields the files that were found other than the step before had left them."""
    left: dict[bytes, FileState | None] = {}
    steps = [step for deed in deeds for op in deed.operations for step in footprint(op)]
    for path, before, after in steps:
        if path in left and left[path] != before:
            yield path
        left[path] = after


def _of(ordered: AppliedCommand) -> Iterable[UndoGap]:
    words, command = ordered.words, ordered.command
    if not ordered.known:
        yield UndoGap(words, "not all that it changed is known, or was kept")
    for left in (one for one in ordered.skipped if not one.kept):
        yield UndoGap(words, f"{_SKIP_REASONS[left.why]} ({left.how})", left.path)
    if command is not None and command.profile == "commit":
        yield UndoGap(words, "a commit that it made stays")
    elif not ordered.confined:
        yield UndoGap(words, "it ran without the sandbox: what it did outside the workspace stays")
    elif command is not None and command.network:
        yield UndoGap(words, "it could reach the network: what it did elsewhere stays")


def combined_operations(deeds: Sequence[AppliedChange]) -> tuple[FileOperation, ...]:
    """Makes one list of what was done to files, each path once; of one segment, as approved."""
    if len({deed.run for deed in deeds}) <= 1 and not any(deed.ordered for deed in deeds):
        return tuple(op for deed in deeds for op in deed.operations)
    return composed_operations([deed.operations for deed in deeds])


def composed_operations(steps: Sequence[tuple[FileOperation, ...]]) -> tuple[FileOperation, ...]:
    """Makes one list of what was done step by step.

    Where somebody else changed a file in between, only what came after that can be taken back.
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
    deeds: Sequence[AppliedChange],
    taken: Sequence[AppliedChange],
) -> dict[int, str]:
    """Finds operations that may not be taken back by themselves, and says why.

    `deeds` are all that was done, `taken` those that are to be taken back. What a command changed
    that has an undo of its own is left to that; and what was done later needs what it stands on.
    """
    own = {path for deed in taken if deed.undo for path in deed.paths}
    later = _later(deeds, {deed.token for deed in taken})
    found: dict[int, str] = {}
    for number, op in enumerate(operations):
        for path, *_ in footprint(op):
            if path in own:
                found[number] = f"{one_line(path)} is left to a command's own undo"
            elif after := later.get(path):
                what = "a command" if after.ordered else f"operation {after.id[:12]}"
                found[number] = f"{one_line(path)} was changed again by {what}"
    return found


def _later(deeds: Sequence[AppliedChange], taken: set[str]) -> dict[bytes, AppliedChange]:
    """Returns the first deed after all that are taken back that touches a path, by path."""
    last = max((at for at, deed in enumerate(deeds) if deed.token in taken), default=-1)
    later: dict[bytes, AppliedChange] = {}
    for deed in deeds[last + 1 :]:
        for path in deed.paths:
            later.setdefault(path, deed)
    return later


def _files(operations: Iterable[Operation]) -> tuple[FileOperation, ...]:
    return tuple(op for op in operations if isinstance(op, FileOperation))
