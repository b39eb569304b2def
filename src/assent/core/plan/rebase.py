"""Rebase: adapts an operation to files that changed since it was staged, or reports a conflict."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar, assert_never

import msgspec

from assent.core.digest import sha256
from assent.core.paths import casefolded, display_path
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    WriteFile,
    footprint,
)
from assent.core.run.slot_move import PathState
from assent.core.text.merge import MergeConflict, three_way_merge

T = TypeVar("T")

MAX_MERGE_BYTES = 8 << 20  # bytes of a text that is merged; nobody reads a difference in more

LookUpState: TypeAlias = Callable[[bytes], PathState]
ReadContent: TypeAlias = Callable[
    [bytes, FileState], bytes
]  # the content of a state, or what lies there


class RebasedOperation(msgspec.Struct, frozen=True):
    """The operation that does the same now; None if the files hold it already.

    `content` is what merging made, if it made any.
    """

    op: FileOperation | None
    content: bytes | None = None


class RebaseConflict(msgspec.Struct, frozen=True):
    """Why an operation does not fit the files any more."""

    path: bytes
    why: str


def rebase_operation(
    op: FileOperation, look: LookUpState, read: ReadContent
) -> RebasedOperation | RebaseConflict:
    """Returns what an operation becomes on the files as they are now."""
    if all(look(path) == before for path, before, _ in footprint(op)):
        return RebasedOperation(op)
    match op:
        case WriteFile(path, before):
            now = look(path)
            if now == "folder":
                return RebaseConflict(path, "is a folder now.")
            return _made(op, now) if before is None else _changed(op, before, now, read)
        case DeleteFile(path, before, prune):
            return _deleted(path, before, look(path), prune)
        case MoveFile():
            return _moved(op, look)
        case _:
            assert_never(op)


def _made(op: WriteFile, now: FileState | None) -> RebasedOperation | RebaseConflict:
    """A new file whose name is taken: by the same content, or by another."""
    if now == op.after:
        return RebasedOperation(None)
    if now is not None and (now.digest, now.kind) == (op.after.digest, op.after.kind):
        return RebasedOperation(WriteFile(op.path, now, op.after))
    return RebaseConflict(op.path, "was to be new, and somebody else made it meanwhile.")


def _deleted(
    path: bytes, before: FileState, now: PathState, prune: int
) -> RebasedOperation | RebaseConflict:
    if now is None:
        return RebasedOperation(None)
    if isinstance(now, FileState) and _content(now) == _content(before):
        return RebasedOperation(DeleteFile(path, now, prune))
    return RebaseConflict(path, "was to be deleted, and somebody changed it meanwhile.")


def _moved(op: MoveFile, look: LookUpState) -> RebasedOperation | RebaseConflict:
    """A move takes a file as it is; only its new name has to be free."""
    now, there = look(op.path), look(op.to)
    only_case = casefolded(op.path) == casefolded(op.to) and there == now
    if now is None and isinstance(there, FileState) and _content(there) == _content(op.before):
        return RebasedOperation(None)
    if there is not None and not only_case:
        return RebaseConflict(op.to, "was to be a new name, and something stands there now.")
    if not isinstance(now, FileState) or now.kind != op.before.kind:
        return RebaseConflict(op.path, "was to be moved, and is no longer there.")
    return RebasedOperation(MoveFile(op.path, op.to, now, op.prune))


def _changed(
    op: WriteFile, before: FileState, now: FileState | None, read: ReadContent
) -> RebasedOperation | RebaseConflict:
    if now is None:
        return RebaseConflict(op.path, "was to be changed, and somebody deleted it.")
    mode = _chosen(before.mode, op.after.mode, now.mode)
    if mode is None:
        return RebaseConflict(op.path, "got another mode, and the plan gives it a third.")
    states = [_content(state) for state in (before, op.after, now)]
    chosen = _chosen(*states)
    if chosen is not None:
        source = op.after if chosen == states[1] else now
        kept = msgspec.structs.replace(source, mode=0o777 if source.kind == "link" else mode)
        return RebasedOperation(None if kept == now else WriteFile(op.path, now, kept))
    if {state.kind for state in (before, op.after, now)} != {"file"}:
        return RebaseConflict(op.path, "is a symlink, or was one, and both changed it.")
    return _merged(op, before, now, mode, read)


def _merged(
    op: WriteFile, before: FileState, now: FileState, mode: int, read: ReadContent
) -> RebasedOperation | RebaseConflict:
    if max(before.size, op.after.size, now.size) > MAX_MERGE_BYTES:
        return RebaseConflict(op.path, "changed, and is too large to be merged.")
    texts = [read(op.path, state) for state in (before, op.after, now)]
    if any(b"\0" in text for text in texts):
        return RebaseConflict(op.path, "changed, and is no text that could be merged.")
    found = three_way_merge(*texts)
    if isinstance(found, MergeConflict):
        where = f"line {found.first}" if found.first == found.last else _lines(found)
        return RebaseConflict(op.path, f"does not fit at {where} of what it was: {found.why}.")
    after = FileState(sha256(found), len(found), mode)
    if after == now:
        return RebasedOperation(None)
    return RebasedOperation(WriteFile(op.path, now, after), found)


def _lines(clash: MergeConflict) -> str:
    return f"lines {clash.first} to {clash.last}"


def _content(state: FileState) -> tuple[str, str]:
    return state.digest, state.kind


def _chosen(before: T, after: T, now: T) -> T | None:
    """Returns what both sides agree on, or the one that changed; None if they differ."""
    if after in (before, now):
        return now
    return after if now == before else None


def conflict_text(conflict: RebaseConflict) -> str:
    """Says a conflict in one sentence."""
    return f"{display_path(conflict.path)} {conflict.why}"
