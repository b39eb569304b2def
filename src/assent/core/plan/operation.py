"""Operations: the exact changes and commands of a plan, and the codes of their risks."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias, assert_never

import msgspec

FileKind = Literal["file", "link"]
# What a command may do: write in the workspace; or also in its repository, to commit, which only a
# command of one fixed form may; or everything that the user can.
CommandProfile = Literal["workspace", "commit", "unconfined"]

# A plan can hold many thousands of these and none refers back to another, so the collector of
# cycles need not look at them: `gc=False` here and in `motion`.


class FileState(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The state of a path: content digest, size, permission bits, file or symlink.

    A symlink's content is its target; its mode is always 0o777.
    """

    digest: str
    size: int
    mode: int
    kind: FileKind = "file"


class WriteFile(msgspec.Struct, frozen=True, gc=False, tag="write", forbid_unknown_fields=True):
    """Creates or replaces a file or symlink; `before` is None where nothing exists."""

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


def command_line_text(command: RunCommand) -> str:
    """Returns a command as one line, or lines, for a shell."""
    if not command.argv:
        return command.script.decode("utf-8", "surrogateescape")
    return shlex.join(word.decode("utf-8", "surrogateescape") for word in command.argv)


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
    """Returns the operation that reverses this one, or None if none can.

    `made` are the folders that the run created; the inverse removes them if they are left empty.
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

    File changes are recorded and reversed, including those of a confined command without network. A
    command with an undo command is compensated by it; what any other command did stays.
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


# Finds the operation that a user means, by its number in a list or the start of its id.


MAX_NUMBER_DIGITS: Final = 7  # digits; fewer are a number, and no start of an id


def matching_operations(ids: Sequence[str], reference: str) -> list[int]:
    """Returns the indexes of the operations that a reference matches; it is valid if there is one.

    Numbers count from 1, as they are shown.
    """
    if reference.isascii() and reference.isdecimal() and len(reference) < MAX_NUMBER_DIGITS:
        index = int(reference) - 1
        return [index] if 0 <= index < len(ids) else []
    return [i for i, name in enumerate(ids) if reference and name.startswith(reference)]


MIN_ID_CHARS: Final = 7  # that name an operation by themselves; fewer may be a number in a list


def found_operations(
    ids: Sequence[str], operations: Sequence[Operation], reference: str
) -> list[int]:
    """Returns the indexes of the operations that the start of an id names, or else a path.

    Numbers are not understood: they shift with every operation that leaves.
    """
    name = reference.strip()
    if len(name) >= MIN_ID_CHARS and (
        found := [at for at, one in enumerate(ids) if one.startswith(name.lower())]
    ):
        return found
    path = name.removeprefix("./").encode("utf-8", "surrogateescape")
    return [
        at
        for at, op in enumerate(operations)
        if path and any(path == touched for touched, *_ in footprint(op))
    ]


# The codes of risks and what each means, the most severe first.


# code: meaning. The order is the order of severity, in which risks are listed and shown.
REHEARSAL_FAILED: Final = "rehearsal_failed"
RISK_CODES: Final[dict[str, str]] = {
    REHEARSAL_FAILED: "A command failed when the plan was tried in a scratch copy.",
    "any_file": "The scope is the WHOLE WORKSPACE: a model may change any file in it.",
    "model_writes": "A model may change any file in its scope without asking again.",
    "deletes": "Deletes or empties a file.",
    "protected": "Changes a file that controls other programs or contains secrets.",
    "irreversible": "Cannot be undone.",
    "set_id": "Creates a file with a setuid, setgid or sticky bit: programs may run as its owner.",
    "writes_outside": "Writes or may write outside the workspace, where nothing can be restored.",
    "out_of_scope": "Is outside the scope that the plan declares.",
    "secret": "Seems to contain a key or a password.",
    "hidden_text": "Contains characters or lines that hide what they do.",
    "lookalike": "Has a name or address that can be mistaken for another.",
    "executable": "Creates an executable file.",
    "executed_later": "Writes a file that other programs, such as build or test tools, run later.",
    "hard_link": "The file has other hard links, which keep the old content.",
    "metadata_lost": "File attributes other than the content will be lost.",
    "installs": "Installs software.",
    "network": "May use the network.",
    "unshown": "Is not shown: its content is binary or too large.",
    "step_order": (
        "The steps have a cycle, an unknown step or operation, an id used twice, or a box that is "
        "checked too early."
    ),
    "no_verification": "The text does not say how to verify the result.",
    "no_steps": "The text lists no steps.",
}
STRUCTURE_RISKS: Final = ("step_order", "no_verification", "no_steps")  # hints about the text
# How severe each is on its own: what a command of low, medium or high risk does has the same level.
RISK_LEVELS: Final[dict[str, Literal["low", "medium", "high"]]] = {
    **dict.fromkeys(RISK_CODES, "high"),
    **dict.fromkeys(
        ("out_of_scope", "executable", "executed_later", "hard_link", "metadata_lost", "unshown"),
        "medium",
    ),
    **dict.fromkeys(STRUCTURE_RISKS, "low"),
}
MODEL_RISKS: Final = ("any_file", "model_writes")  # of a plan that a model carries out


def operation_level(
    codes: Iterable[str], own: Literal["low", "medium", "high"] = "low"
) -> Literal["low", "medium", "high"]:
    """Returns the risk of an operation: that of its command, raised by what a review found."""
    found = {own, *(RISK_LEVELS[code] for code in codes)}
    return "high" if "high" in found else "medium" if "medium" in found else "low"
