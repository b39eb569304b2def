"""Commands as operations: whether one can be staged, where it runs, and review remarks."""

from collections.abc import Callable, Iterator
from typing import Final

from assent.core.errors import AssentError, NotFound, Refused, UsageError
from assent.core.paths import display_path, one_line, parent
from assent.core.permission.command_analysis import masked_names
from assent.core.permission.rule import NO_COMMAND_LIMITS, CommandLimits
from assent.core.plan.operation import RunCommand
from assent.core.shell.process import refuse_variables
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.permissions.commands.predicted_effects import PredictedEffects
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


# Review remarks about a command: rules, its undo, and what will fail in the sandbox.


MAX_PATTERNS_SHOWN: Final = 6  # patterns of rules that are named


def command_remarks(
    op: RunCommand,
    told: PredictedEffects,
    held: CommandLimits = NO_COMMAND_LIMITS,
    unheld: str = "",
) -> tuple[str, ...]:
    """Says what rules hold it to, what an undo does, and what will not work as confined.

    Where no sandbox holds, nothing is said of what one would do.
    """
    danger = [f"No model gets to run this, whoever says yes: {told.danger}"] if told.danger else []
    found = [*_of_rules(op, told, held), *danger, *_of_undo(op), *_elsewhere(op)]
    if unheld:
        return tuple(found)
    if told.network and not op.network and op.profile != "unconfined":
        found.append("It seems to need the network, which it does not get: it may fail.")
    if told.outside and op.profile != "unconfined":
        found.append(
            "It seems to write outside the workspace: in the sandbox that fails or is lost."
        )
    return (*found, *(_unseen(told) if op.profile != "unconfined" else ()))


def _unseen(told: PredictedEffects) -> Iterator[str]:
    """Says what it names and will not see: in the sandbox, files with secrets are masked."""
    for verb, names in zip(("will", "may"), masked_names(told.touches), strict=True):
        if names:
            listed = ", ".join(map(visible_path, names[:MAX_PATTERNS_SHOWN]))
            yield f"It {verb} not see what is in {listed}: the sandbox masks files with secrets."


def _of_rules(op: RunCommand, told: PredictedEffects, held: CommandLimits) -> Iterator[str]:
    if op.profile == "commit":
        return
    if held.denial:
        yield f"It will not run: {visible_line(held.denial)}"
    if op.profile != "unconfined" and (walls := _walls(held)):
        yield f"What your rules deny stays {walls} for it."
    if told.doubtful:
        yield "It cannot be told apart: rules for commands may not see all of it."
    if told.unclear:
        yield "Its text does not tell what it changes: there may be risks that are not listed."


def _walls(held: CommandLimits) -> str:
    kinds = {"hidden": held.hidden, "read-only": held.kept}
    return " and ".join(f"{word} ({_some(each)})" for word, each in kinds.items() if each)


def _some(patterns: tuple[str, ...]) -> str:
    named = ", ".join(map(visible_line, patterns[:MAX_PATTERNS_SHOWN]))
    more = len(patterns) - MAX_PATTERNS_SHOWN
    return f"{named} and {more} more" if more > 0 else named


def _of_undo(op: RunCommand) -> Iterator[str]:
    if op.profile == "commit":
        return
    if op.undo:
        yield "Undo runs its undo command, and leaves to that whatever this one changed."
        return
    yield (
        "Undo puts back contents and modes of the files, and the links, that it changed in the "
        "workspace."
    )


def _elsewhere(op: RunCommand) -> Iterator[str]:
    if op.profile == "commit":
        yield "Undo leaves the commit that it makes."
    elif op.profile == "unconfined":
        yield "What it does outside the workspace is neither recorded nor put back."
    elif op.network:
        yield "What it does over the network cannot be taken back."
