"""Rebasing: what becomes of an operation whose files changed since it was staged."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar, assert_never

import msgspec

from assent.core.digest import sha256
from assent.core.merge import Clash, merged
from assent.core.motion import Seen
from assent.core.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    WriteFile,
    footprint,
)
from assent.core.paths import folded, shown

T = TypeVar("T")

LARGEST = 8 << 20  # bytes of a text that is merged; nobody reads a difference in more

Look: TypeAlias = Callable[[bytes], Seen]
Read: TypeAlias = Callable[[bytes, FileState], bytes]  # the content of a state, or what lies there


class Carried(msgspec.Struct, frozen=True):
    """The operation that does the same now; None if the files hold it already.

    `content` is what merging made, if it made any.
    """

    op: FileOperation | None
    content: bytes | None = None


class Conflict(msgspec.Struct, frozen=True):
    """Why an operation does not fit the files any more."""

    path: bytes
    why: str


def carried(op: FileOperation, look: Look, read: Read) -> Carried | Conflict:
    """Returns what an operation becomes on the files as they are now."""
    if all(look(path) == before for path, before, _ in footprint(op)):
        return Carried(op)
    match op:
        case WriteFile(path, before):
            now = look(path)
            if now == "folder":
                return Conflict(path, "is a folder now.")
            return _made(op, now) if before is None else _changed(op, before, now, read)
        case DeleteFile(path, before, prune):
            return _deleted(path, before, look(path), prune)
        case MoveFile():
            return _moved(op, look)
        case _:
            assert_never(op)


def _made(op: WriteFile, now: FileState | None) -> Carried | Conflict:
    """A new file whose name is taken: by the same content, or by another."""
    if now == op.after:
        return Carried(None)
    if now is not None and (now.digest, now.kind) == (op.after.digest, op.after.kind):
        return Carried(WriteFile(op.path, now, op.after))
    return Conflict(op.path, "was to be new, and somebody else made it meanwhile.")


def _deleted(path: bytes, before: FileState, now: Seen, prune: int) -> Carried | Conflict:
    if now is None:
        return Carried(None)
    if isinstance(now, FileState) and _content(now) == _content(before):
        return Carried(DeleteFile(path, now, prune))
    return Conflict(path, "was to be deleted, and somebody changed it meanwhile.")


def _moved(op: MoveFile, look: Look) -> Carried | Conflict:
    """A move takes a file as it is; only its new name has to be free."""
    now, there = look(op.path), look(op.to)
    only_case = folded(op.path) == folded(op.to) and there == now
    if now is None and isinstance(there, FileState) and _content(there) == _content(op.before):
        return Carried(None)
    if there is not None and not only_case:
        return Conflict(op.to, "was to be a new name, and something stands there now.")
    if not isinstance(now, FileState) or now.kind != op.before.kind:
        return Conflict(op.path, "was to be moved, and is no longer there.")
    return Carried(MoveFile(op.path, op.to, now, op.prune))


def _changed(
    op: WriteFile, before: FileState, now: FileState | None, read: Read
) -> Carried | Conflict:
    if now is None:
        return Conflict(op.path, "was to be changed, and somebody deleted it.")
    mode = _chosen(before.mode, op.after.mode, now.mode)
    if mode is None:
        return Conflict(op.path, "got another mode, and the plan gives it a third.")
    states = [_content(state) for state in (before, op.after, now)]
    chosen = _chosen(*states)
    if chosen is not None:
        source = op.after if chosen == states[1] else now
        kept = msgspec.structs.replace(source, mode=0o777 if source.kind == "link" else mode)
        return Carried(None if kept == now else WriteFile(op.path, now, kept))
    if {state.kind for state in (before, op.after, now)} != {"file"}:
        return Conflict(op.path, "is a symlink, or was one, and both changed it.")
    return _merged(op, before, now, mode, read)


def _merged(
    op: WriteFile, before: FileState, now: FileState, mode: int, read: Read
) -> Carried | Conflict:
    if max(before.size, op.after.size, now.size) > LARGEST:
        return Conflict(op.path, "changed, and is too large to be merged.")
    texts = [read(op.path, state) for state in (before, op.after, now)]
    if any(b"\0" in text for text in texts):
        return Conflict(op.path, "changed, and is no text that could be merged.")
    found = merged(*texts)
    if isinstance(found, Clash):
        where = f"line {found.first}" if found.first == found.last else _lines(found)
        return Conflict(op.path, f"does not fit at {where} of what it was: {found.why}.")
    after = FileState(sha256(found), len(found), mode)
    if after == now:
        return Carried(None)
    return Carried(WriteFile(op.path, now, after), found)


def _lines(clash: Clash) -> str:
    return f"lines {clash.first} to {clash.last}"


def _content(state: FileState) -> tuple[str, str]:
    return state.digest, state.kind


def _chosen(before: T, after: T, now: T) -> T | None:
    """Returns what both sides agree on, or the one that changed; None if they differ."""
    if after in (before, now):
        return now
    return after if now == before else None


def told(conflict: Conflict) -> str:
    """Says a conflict in one sentence."""
    return f"{shown(conflict.path)} {conflict.why}"
