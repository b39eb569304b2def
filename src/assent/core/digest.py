"""Digests: the canonical bytes of operations and plans, hashed to a name (docs/plan-file.md)."""

import hashlib
import struct
from collections.abc import Iterable
from typing import assert_never

from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)

_length = struct.Struct(">Q").pack  # every field follows its length in eight bytes
_SHORT = 1024
_LENGTHS = tuple(map(_length, range(_SHORT)))  # of nearly all fields; a plan can have 100,000


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def pack(*fields: bytes) -> bytes:
    """Joins fields so that no two different lists of fields give the same bytes."""
    return b"".join(map(_packed, fields))


def _packed(field: bytes) -> bytes:
    length = len(field)
    return (_LENGTHS[length] if length < _SHORT else _length(length)) + field


_NOTHING = pack(b"")
_WRITE = pack(b"write")
_DELETE = pack(b"delete")
_MOVE = pack(b"move")
_ID = hashlib.sha256(pack(b"assent.operation.1"))
_FIRST = pack(b"0")
_MODES = {mode: pack(b"%o" % mode) for mode in (0o600, 0o644, 0o755, 0o777)}  # nearly all
_KINDS = {"file": pack(b"file"), "link": pack(b"link")}


def canonical_bytes(op: Operation) -> bytes:
    """Returns the canonical bytes of an operation."""
    match op:
        case WriteFile():
            before = _packed(_state(op.before)) if op.before else _NOTHING
            return b"".join((_WRITE, _packed(op.path), before, _packed(_state(op.after))))
        case DeleteFile():
            before, prune = _packed(_state(op.before)), _packed(b"%d" % op.prune)
            return b"".join((_DELETE, _packed(op.path), before, prune))
        case MoveFile():
            before, prune = _packed(_state(op.before)), _packed(b"%d" % op.prune)
            return b"".join((_MOVE, _packed(op.path), _packed(op.to), before, prune))
        case RunCommand(argv, script, cwd, env, timeout, network, undo, profile):
            variables = pack(*[pack(key, value) for key, value in env])
            limits = (b"%d" % timeout, b"1" if network else b"0")
            more = () if profile == "workspace" else (profile.encode(),)
            return pack(b"run", pack(*argv), script, cwd, variables, *limits, pack(*undo), *more)
        case _:
            assert_never(op)


def operation_ids(operations: Iterable[Operation]) -> tuple[str, ...]:
    """Names each operation by its content and its ordinal among equals."""
    seen: dict[bytes, int] = {}
    ids = []
    for form in map(canonical_bytes, operations):
        ordinal = seen[form] = seen.get(form, -1) + 1
        ids.append(_id(form, _packed(b"%d" % ordinal) if ordinal else _FIRST))
    return tuple(ids)


def operation_id(op: Operation, ordinal: int = 0) -> str:
    """Names one operation before which so many are equal to it."""
    return _id(canonical_bytes(op), _packed(b"%d" % ordinal) if ordinal else _FIRST)


def _id(form: bytes, ordinal: bytes) -> str:
    hashed = _ID.copy()
    hashed.update(_packed(form) + ordinal)
    return hashed.hexdigest()


def operations_hash(ids: Iterable[str]) -> str:
    return sha256(pack(b"assent.operations.1", *[name.encode() for name in ids]))


def plan_digest(
    content_hash: str,
    operations: str,
    scope: tuple[tuple[str, ...], tuple[str, ...]],
    relied_on: Iterable[tuple[bytes, str]],
    workspace: str,
) -> str:
    """Returns the digest of a plan; any changed byte of the plan gives another one."""
    files, commands = scope
    return sha256(
        pack(
            b"assent.plan.1",
            content_hash.encode(),
            operations.encode(),
            pack(*[glob.encode() for glob in files]),
            pack(*[prefix.encode() for prefix in commands]),
            pack(*[pack(path, digest.encode()) for path, digest in sorted(relied_on)]),
            workspace.encode(),
        )
    )


def export_digest(digest: str, path: bytes) -> str:
    """Returns the digest of a text plan whose only operation is its export."""
    return sha256(pack(b"assent.export.1", digest.encode(), path))


def _state(state: FileState | None) -> bytes:
    if state is None:
        return b""
    mode = _MODES.get(state.mode) or _packed(b"%o" % state.mode)
    digest, size = state.digest.encode(), b"%d" % state.size
    fields = _LENGTHS[len(digest)], digest, _LENGTHS[len(size)], size
    return b"".join((_KINDS[state.kind], *fields, mode))
