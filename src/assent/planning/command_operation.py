"""Commands as operations: whether one can be staged, where it runs, and review remarks."""

from collections.abc import Callable, Iterator
from typing import Final

from assent.core.errors import AssentError, NotFound, Refused, UsageError
from assent.core.paths import display_path, one_line, parent
from assent.core.permission.command_analysis import UNPARSED, masked_names
from assent.core.permission.rule import NO_COMMAND_LIMITS, CommandLimits
from assent.core.plan.operation import RunCommand
from assent.core.shell.process import MAX_COMMAND_S, refuse_variables
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.permissions.commands.predicted_effects import PredictedEffects
from assent.tools.overlay import Overlay

MAX_COMMAND_BYTES: Final = 100_000  # of all words together; systems start no program with many more
_HELP: Final = "assent stage run --help"


def checked_command(command: RunCommand, draft: Overlay) -> RunCommand:
    """Returns a command that can be staged; refuses one that could not run, with the reason."""
    if command.profile == "commit":
        raise Refused(
            "Commits cannot be staged. Set `plan.commit` in your user config to add one.", _HELP
        )
    _check_words(command)
    refuse_variables(command.env)
    if not 1 <= command.timeout <= MAX_COMMAND_S:
        raise UsageError(
            f"The time limit must be 1 to {MAX_COMMAND_S} seconds, not {command.timeout}.", _HELP
        )
    if command.cwd and draft.state(command.cwd) != "folder":
        raise NotFound(
            f"{one_line(command.cwd)} is not a folder, even with the staged operations applied.",
            "assent stage run --cwd DIR -- PROGRAM",
        )
    return command


def command_folder(typed: bytes, locate: Callable[[bytes], bytes]) -> bytes:
    """Returns the workspace path of a folder that a user typed; refuses one outside."""
    if not typed:
        return b""
    inside = typed.rstrip(b"/") + b"/x"
    try:
        return parent(locate(inside))
    except AssentError as error:  # it names a path that the user did not type
        told = error.message.replace(display_path(inside), display_path(typed))
        raise type(error)(told, error.next or _HELP) from error


def _check_words(command: RunCommand) -> None:
    if bool(command.argv) == bool(command.script.strip()):
        raise UsageError("Give either a program with arguments or a script.", _HELP)
    if command.argv and not command.argv[0].strip():
        raise UsageError("The program name is empty.", _HELP)
    if command.undo and not command.undo[0].strip():
        raise UsageError("The undo command is empty.", _HELP)
    values = [value for _, value in command.env]
    words = [*command.argv, command.script, *command.undo, *values]
    if any(b"\0" in word for word in words):
        raise UsageError("A command cannot contain a null byte.", _HELP)
    if sum(map(len, words)) > MAX_COMMAND_BYTES:
        raise UsageError(
            f"A command can have at most {MAX_COMMAND_BYTES} bytes. Stage the script as a file "
            "and run that file.",
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
    """Describes what rules forbid it, what an undo does, and what will fail when confined.

    Without a working sandbox, nothing is said about the sandbox.
    """
    danger = (
        [f"Models may not run this, even with your approval: {told.danger}"] if told.danger else []
    )
    found = [*_of_rules(op, told, held), *danger, *_of_undo(op), *_elsewhere(op)]
    if unheld:
        return tuple(found)
    if told.network and not op.network and op.profile != "unconfined":
        found.append("It seems to need the network, which is blocked; it may fail.")
    if told.outside and op.profile != "unconfined":
        found.append(
            "It seems to write outside the workspace; in the sandbox such writes fail or are lost."
        )
    return (*found, *(_unseen(told) if op.profile != "unconfined" else ()))


def _unseen(told: PredictedEffects) -> Iterator[str]:
    """Says what it names and will not see: in the sandbox, files with secrets are masked."""
    for verb, names in zip(("will", "may"), masked_names(told.touches), strict=True):
        if names:
            listed = ", ".join(map(visible_path, names[:MAX_PATTERNS_SHOWN]))
            yield (
                f"It {verb} not see the content of {listed}: the sandbox hides files with secrets."
            )


def _of_rules(op: RunCommand, told: PredictedEffects, held: CommandLimits) -> Iterator[str]:
    if op.profile == "commit":
        return
    if held.denial:
        yield f"It will not run: {visible_line(held.denial)}"
    if op.profile != "unconfined" and (walls := _walls(held)):
        yield f"Because of your rules, some paths are {walls}."
    if told.sets_variables:
        yield "It sets a variable for the command; command rules do not see what that changes."
    elif told.doubtful:
        yield f"{UNPARSED.removesuffix('.')}, so command rules may miss parts of it."
    if told.unclear:
        yield "Its effects cannot be read from its text; there may be unlisted risks."


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
        yield "Undo runs its undo command and does not restore files itself."
        return
    yield ("Undo restores the contents, modes and links that it changed in the workspace.")


def _elsewhere(op: RunCommand) -> Iterator[str]:
    if op.profile == "commit":
        yield "Undo keeps the commit it creates."
    elif op.profile == "unconfined":
        yield "Changes outside the workspace are neither recorded nor undone."
    elif op.network:
        yield "Effects over the network cannot be undone."
