"""Operations in words: a path, two paths, or a whole command, for lists and for the review."""

from collections.abc import Iterator
from shlex import quote
from typing import Final, assert_never

from assent.core.paths import display_path
from assent.core.plan.operation import DeleteFile, MoveFile, Operation, RunCommand, WriteFile
from assent.core.shell.process import PLAN_COMMAND_LIMITS, script_line, signal_of
from assent.core.text.hidden_chars import visible_line, visible_path, visible_word
from assent.render.lines import Line, table_lines, untrusted_lines, wrapped_lines

TIMEOUT_LABEL: Final = "at most"
COMMON_LIMITS: Final = (
    f"{PLAN_COMMAND_LIMITS.memory >> 30} GiB of memory, {PLAN_COMMAND_LIMITS.processes} processes, "
    f"{PLAN_COMMAND_LIMITS.output >> 30} GiB of output"
)
BRIEF_LENGTH: Final = 72  # characters of a command, where all of it stands nearby


def operation_subject(op: Operation) -> str:
    """Returns on one line what an operation is about: path, path and new path, or command."""
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
    """Returns what an operation is about, where all of a long command stands nearby."""
    line = operation_subject(op)
    if not isinstance(op, RunCommand) or len(line) <= BRIEF_LENGTH:
        return line
    return f"{line[:BRIEF_LENGTH]}…"


def argv_text(argv: tuple[bytes, ...]) -> str:
    """Returns an argument vector as a shell would read it, with what hides written out."""
    return " ".join([quote(visible_word(word)) for word in argv])


def command_lines(op: RunCommand, unheld: str = "") -> Iterator[Line]:
    """Renders a command in full: what runs, where, with what, and what takes it back.

    `unheld` says why no sandbox holds on this machine, where none does.
    """
    if op.argv:
        yield from wrapped_lines("plain", f"$ {argv_text(op.argv)}")
    if op.script:
        yield from untrusted_lines(display_path(op.script))
    yield from table_lines("dim", [_in_full(*row) for row in command_settings(op)])
    loud = unheld or op.profile == "unconfined"
    yield from wrapped_lines("risk" if loud else "dim", confinement_text(op, unheld))


def command_settings(op: RunCommand) -> list[tuple[str, str]]:
    """Returns how a command runs, besides its line: names and values in words."""
    variables = [f"{visible_word(key)}={quote(visible_word(value))}" for key, value in op.env]
    return [
        ("folder", visible_path(op.cwd) or "."),
        *(("variable", variable) for variable in variables),
        (TIMEOUT_LABEL, f"{op.timeout} s"),
        ("network", "allowed" if op.network or op.profile == "unconfined" else "none"),
        ("undo", f"$ {argv_text(op.undo)}" if op.undo else "none"),
    ]


def _in_full(name: str, value: str) -> tuple[str, str]:
    """Adds the limits that are the same for all commands, where one is shown alone."""
    return name, f"{value}, {COMMON_LIMITS}" if name == TIMEOUT_LABEL else value


def exit_code_text(code: int) -> str:
    """Returns an exit code with the signal that it stands for, if it does."""
    signal = signal_of(code)
    return f"{code}, {signal}" if signal else str(code)


def confinement_text(op: RunCommand, unheld: str = "") -> str:
    """Says in words what a command can do while it runs."""
    if op.profile == "unconfined":
        return "WITHOUT THE SANDBOX: it can do whatever you can."
    if unheld:
        why = visible_line(unheld).rstrip(".")
        return f"No sandbox on this machine ({why}): a build here refuses to run this command."
    network = "may use the network" if op.network else "has no network"
    if op.profile == "commit":
        return (
            "In the sandbox: it commits what this run changed. It may write git's objects, "
            f"references and index, but not its settings and hooks, nor any file, and {network}."
        )
    return f"In the sandbox: it may write in the workspace, nowhere else, and {network}."


def undo_gaps(op: RunCommand, most_mb: int) -> tuple[str, ...]:
    """Names what an undo does not cover of a command, in any workspace."""
    if op.undo:
        return ("what its undo command leaves",)
    if op.profile == "commit":
        return ("the commit that it makes",)
    large = [f"files over {most_mb} MB"] if most_mb else []
    network = ["what it does over the network"] if op.network else []
    metadata = "owners", "extended attributes", "empty folders"
    return ("files that git ignores", *large, *metadata, *network, "anything outside the workspace")
