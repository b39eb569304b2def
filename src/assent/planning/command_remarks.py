"""Review remarks about a command: rules, its undo, and what will fail in the sandbox."""

from collections.abc import Iterator
from typing import Final

from assent.core.permission.command_analysis import masked_names
from assent.core.permission.rule import NO_COMMAND_LIMITS, CommandLimits
from assent.core.plan.operation import RunCommand
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.permissions.commands.predicted_effects import PredictedEffects

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
