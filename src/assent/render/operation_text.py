"""Operations as text: a path, two paths, or a whole command, for lists and for the review."""

from collections.abc import Iterator
from shlex import quote
from typing import Final, assert_never

from assent.core.paths import display_path
from assent.core.plan.operation import DeleteFile, MoveFile, Operation, RunCommand, WriteFile
from assent.core.shell.process import PLAN_COMMAND_LIMITS, script_line, signal_of
from assent.core.text.hidden_chars import visible_line, visible_path, visible_word
from assent.render.lines import Line, table_lines, untrusted_lines, wrapped_lines

TIMEOUT_LABEL: Final = "limits"
COMMON_LIMITS: Final = (
    f"{PLAN_COMMAND_LIMITS.memory >> 30} GiB memory, {PLAN_COMMAND_LIMITS.processes} processes, "
    f"{PLAN_COMMAND_LIMITS.output >> 30} GiB output"
)
BRIEF_LENGTH: Final = 72  # characters of a command, where all of it stands nearby


def operation_subject(op: Operation) -> str:
    """Returns the subject of an operation on one line: path, path and new path, or command."""
    match op:
        case WriteFile(path) | DeleteFile(path):
            return visible_path(path)
        case MoveFile(path, to):
            return f"{visible_path(path)} → {visible_path(to)}"
        case RunCommand(argv, script):
            return argv_text(argv) if argv else visible_line(script_line(display_path(script)))
        case _:
            assert_never(op)


def operation_brief(op: Operation) -> str:
    """Returns the subject of an operation in short, where the full command is shown nearby."""
    line = operation_subject(op)
    if not isinstance(op, RunCommand) or len(line) <= BRIEF_LENGTH:
        return line
    return f"{line[:BRIEF_LENGTH]}…"


def argv_text(argv: tuple[bytes, ...]) -> str:
    """Returns an argument vector as a shell would read it, with hidden characters visible."""
    return " ".join([quote(visible_word(word)) for word in argv])


def command_lines(op: RunCommand, unheld: str = "") -> Iterator[Line]:
    """Renders a command in full: what runs, where, with which settings, and what undoes it.

    `unheld` says why the sandbox does not work on this machine, if it does not.
    """
    if op.argv:
        yield from wrapped_lines("plain", f"$ {argv_text(op.argv)}")
    if op.script:
        yield from untrusted_lines(display_path(op.script))
    yield from table_lines("dim", [_in_full(*row) for row in command_settings(op)])
    loud = unheld or op.profile == "unconfined"
    yield from wrapped_lines("risk" if loud else "dim", confinement_text(op, unheld))


def command_settings(op: RunCommand) -> list[tuple[str, str]]:
    """Returns how a command runs, in addition to its line: names and values as text."""
    variables = [f"{visible_word(key)}={quote(visible_word(value))}" for key, value in op.env]
    return [
        ("folder", visible_path(op.cwd) or "."),
        *(("variable", variable) for variable in variables),
        (TIMEOUT_LABEL, f"{op.timeout} s"),
        ("network", "allowed" if op.network or op.profile == "unconfined" else "none"),
        ("undo", f"$ {argv_text(op.undo)}" if op.undo else "none"),
    ]


def _in_full(name: str, value: str) -> tuple[str, str]:
    """Adds the limits that are the same for all commands, where one is shown by itself."""
    return name, f"{value}, {COMMON_LIMITS}" if name == TIMEOUT_LABEL else value


def exit_code_text(code: int) -> str:
    """Returns an exit code with the signal that it stands for, if any."""
    signal = signal_of(code)
    return f"{code}, {signal}" if signal else str(code)


def confinement_text(op: RunCommand, unheld: str = "") -> str:
    """Describes what a command can do while it runs."""
    if op.profile == "unconfined":
        return "WITHOUT THE SANDBOX: it can do anything you can."
    if unheld:
        why = visible_line(unheld).rstrip(".")
        return f"No sandbox on this machine ({why}): a build here will not run this command."
    network = "network allowed" if op.network else "no network"
    if op.profile == "commit":
        return (
            "Sandboxed: commits what this run changed. Writes only git objects, refs and the "
            f"index, not git config, hooks or workspace files, {network}."
        )
    return f"Sandboxed: writes only in the workspace, {network}."


def undo_gaps(op: RunCommand, most_mb: int) -> tuple[str, ...]:
    """Returns what an undo of a command does not cover, in any workspace."""
    if op.undo:
        return ("anything its undo command misses",)
    if op.profile == "commit":
        return ("the commit it creates",)
    large = [f"files over {most_mb} MB"] if most_mb else []
    network = ["network effects"] if op.network else []
    metadata = "owners", "extended attributes", "empty folders"
    return ("git-ignored files", *large, *metadata, *network, "anything outside the workspace")
