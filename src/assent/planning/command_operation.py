"""Checks that a command can be staged as an operation, and finds the folder it would run in."""

from collections.abc import Callable
from typing import Final

from assent.core.errors import AssentError, NotFound, Refused, UsageError
from assent.core.paths import display_path, one_line, parent
from assent.core.plan.operation import RunCommand
from assent.core.shell.process import refuse_variables
from assent.tools.overlay import Overlay

MAX_COMMAND_S: Final = 86_400
MAX_COMMAND_BYTES: Final = 100_000  # of all words together; systems start no program with many more
_HELP: Final = "assent stage run --help"


def checked_command(command: RunCommand, draft: Overlay) -> RunCommand:
    """Returns a command that can be staged; refuses, with the reason, one that could not run."""
    if command.profile == "commit":
        raise Refused("Nobody stages a commit: `plan.commit` in your own settings adds it.", _HELP)
    _check_words(command)
    refuse_variables(command.env)
    if not 1 <= command.timeout <= MAX_COMMAND_S:
        raise UsageError(
            f"A time limit is 1 to {MAX_COMMAND_S} seconds, not {command.timeout}.", _HELP
        )
    if command.cwd and draft.state(command.cwd) != "folder":
        raise NotFound(
            f"{one_line(command.cwd)} is no folder, with what is staged so far.",
            "assent stage run --cwd DIR -- PROGRAM",
        )
    return command


def command_folder(typed: bytes, locate: Callable[[bytes], bytes]) -> bytes:
    """Returns the workspace path of a folder that a person typed; refuses one outside."""
    if not typed:
        return b""
    inside = typed.rstrip(b"/") + b"/x"
    try:
        return parent(locate(inside))
    except AssentError as error:  # it names what nobody typed
        told = error.message.replace(display_path(inside), display_path(typed))
        raise type(error)(told, error.next or _HELP) from error


def _check_words(command: RunCommand) -> None:
    if bool(command.argv) == bool(command.script.strip()):
        raise UsageError("Give a program with its arguments, or a script, and not both.", _HELP)
    if command.argv and not command.argv[0].strip():
        raise UsageError("The name of the program is empty.", _HELP)
    if command.undo and not command.undo[0].strip():
        raise UsageError("The command that takes it back is empty.", _HELP)
    values = [value for _, value in command.env]
    words = [*command.argv, command.script, *command.undo, *values]
    if any(b"\0" in word for word in words):
        raise UsageError("A command cannot hold a zero byte.", _HELP)
    if sum(map(len, words)) > MAX_COMMAND_BYTES:
        raise UsageError(
            f"A command has at most {MAX_COMMAND_BYTES} bytes; this has more. Stage a file with "
            "the script and run that.",
            _HELP,
        )
