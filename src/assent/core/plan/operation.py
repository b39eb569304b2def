"""Operations: the exact changes that a plan makes to files, and the commands that it runs."""

from typing import Literal, TypeAlias, assert_never

import msgspec

FileKind = Literal["file", "link"]
# What a command may do: write in the workspace; or also in its repository, to commit, which only a
# command of one fixed form may; or everything that the person can.
CommandProfile = Literal["workspace", "commit", "unconfined"]

# A plan can hold many thousands of these and none refers back to another, so the collector of
# cycles need not look at them: `gc=False` here and in `motion`.


class FileState(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What stands under a name: content digest, size, permission bits, file or symlink.

    A symlink's content is its target; its mode is always 0o777.
    """

    digest: str
    size: int
    mode: int
    kind: FileKind = "file"


class WriteFile(msgspec.Struct, frozen=True, gc=False, tag="write", forbid_unknown_fields=True):
    """Makes or replaces a file or symlink. `before` is None where nothing stood."""

    path: bytes
    before: FileState | None
    after: FileState


class DeleteFile(msgspec.Struct, frozen=True, gc=False, tag="delete", forbid_unknown_fields=True):
    """Removes a file or symlink, and up to `prune` folders above it if they are left empty."""

    path: bytes
    before: FileState
    prune: int = 0


class MoveFile(msgspec.Struct, frozen=True, gc=False, tag="move", forbid_unknown_fields=True):
    """Renames a file or symlink to a free name; `prune` as for a deletion."""

    path: bytes
    to: bytes
    before: FileState
    prune: int = 0


class RunCommand(msgspec.Struct, frozen=True, tag="run", forbid_unknown_fields=True):
    """Runs a program: an argument vector, or a script where `argv` is empty."""

    argv: tuple[bytes, ...] = ()
    script: bytes = b""
    cwd: bytes = b""
    env: tuple[tuple[bytes, bytes], ...] = ()
    timeout: int = 120
    network: bool = False
    undo: tuple[bytes, ...] = ()
    profile: CommandProfile = "workspace"


FileOperation: TypeAlias = WriteFile | DeleteFile | MoveFile
Operation: TypeAlias = WriteFile | DeleteFile | MoveFile | RunCommand

Footprint: TypeAlias = tuple[tuple[bytes, FileState | None, FileState | None], ...]
Reversibility = Literal["reversible", "compensated", "irreversible"]


def footprint(op: Operation) -> Footprint:
    """Returns each path that the operation touches, with its state before and after."""
    match op:  # asked for every file of a plan, and a pattern without fields costs a third
        case WriteFile():
            return ((op.path, op.before, op.after),)
        case DeleteFile():
            return ((op.path, op.before, None),)
        case MoveFile(path, to, before):
            return ((path, before, None), (to, None, before))
        case RunCommand():
            return ()
        case _:
            assert_never(op)


def inverse(op: Operation, made: frozenset[bytes] = frozenset()) -> Operation | None:
    """Returns the operation that takes this one back, or None if none can.

    `made` are the folders that the run had to make; the inverse removes them if left empty.
    """
    match op:
        case WriteFile(path, before, after):
            if before is None:
                return DeleteFile(path, after, _depth(path, made))
            return WriteFile(path, after, before)
        case DeleteFile(path, before):
            return WriteFile(path, None, before)
        case MoveFile(path, to, before):
            return MoveFile(to, path, before, _depth(to, made))
        case RunCommand(undo=undo):
            back = RunCommand(undo, b"", op.cwd, op.env, op.timeout, op.network, (), op.profile)
            return back if undo else None
        case _:
            assert_never(op)


def reversibility(op: Operation) -> Reversibility:
    """Says before approval how far the operation can be undone.

    Changes of files are recorded and put back, those of a confined command without network too; a
    command with an undo command is compensated by that; what any other command did stays.
    """
    if not isinstance(op, RunCommand):
        return "reversible"
    if op.undo:
        return "compensated"
    # A commit is confined, too, but what it adds to the repository is not recorded.
    recorded = op.profile == "workspace" and not op.network
    return "reversible" if recorded else "irreversible"


def _depth(path: bytes, made: frozenset[bytes]) -> int:
    """Counts the folders directly above a path that the run made."""
    depth = 0
    while (path := path.rpartition(b"/")[0]) and path in made:
        depth += 1
    return depth
