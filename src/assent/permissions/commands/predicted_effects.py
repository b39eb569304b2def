"""Predicted effects: what a command of a plan will do by its text, for the review.

The command classifier has read the line; here it is only held against the plan: the folder that
the command runs in, its sandbox profile, and the commands that the plan declares.
"""

from collections.abc import Iterable
from shlex import split
from typing import Final

import msgspec

from assent.core.paths import display_path
from assent.core.permission.command_analysis import (
    CommandAnalysis,
    CommandPart,
    sensitive_names,
    unread_line,
)
from assent.core.permission.sensitive_paths import executed_later
from assent.core.plan.operation import RunCommand
from assent.core.plan.plan import Scope
from assent.core.text.confusables import confusable_letters, is_confusable_program
from assent.permissions.commands.targets import is_outside, is_protected, placed_target

UNDECLARED: Final = Scope()
UNREAD: Final = unread_line("")


class PredictedEffects(msgspec.Struct, frozen=True):
    """What a command would do, as far as its text tells."""

    installs: bool = False
    network: bool = False  # it needs one, whether or not it gets it
    deletes: bool = False
    outside: bool = False  # it writes outside the workspace, or can
    covered: bool = True  # every command in it begins as the plan declares
    doubtful: bool = False  # not every command in it could be identified
    sets_variables: bool = False  # and that only because it sets variables for them
    danger: str = ""  # why no model may run this, even with approval
    touches: tuple[bytes, ...] = ()  # names in it that are protected, or secret
    protected: bool = False  # it writes what other programs obey
    lookalike: bool = False  # a name in it passes for another
    unclear: bool = False  # its text does not tell what it does
    executed: bool = False  # it writes a file that other programs run later


def predict_effects(
    op: RunCommand, line: CommandAnalysis = UNREAD, root: str = "", scope: Scope = UNDECLARED
) -> PredictedEffects:
    """Compares what the classifier found in a command's line with the plan that contains it."""
    written = write_targets(op, line, root)
    folder = display_path(op.cwd)
    places = (*line.writes, *line.perhaps, *line.places) if line.reads is None else ()
    away = any(is_outside(place, folder, root) for place in places)
    return PredictedEffects(
        installs="installs" in line.effects,
        network="network" in line.effects,
        deletes="deletes" in line.effects,
        outside=op.profile == "unconfined" or "writes_outside" in line.effects or away,
        covered=_is_covered(line, scope),
        doubtful=not line.certain,
        sets_variables=line.sets_only,
        danger=line.danger,
        touches=sensitive_names(op, line),
        protected="protected" in line.effects or any(map(is_protected, written)),
        lookalike=_has_confusable_name([each.words[0] for each in line.parts], written),
        unclear=op.profile != "commit" and (line.code or not line.certain),
        executed=any(executed_later(t.encode("utf-8", "surrogateescape")) for t in written),
    )


def write_targets(op: RunCommand, line: CommandAnalysis, root: str) -> tuple[str, ...]:
    """Returns what a command writes, or may, as seen from the workspace."""
    if line.reads is not None:
        return ()
    folder = display_path(op.cwd)
    targets = [placed_target(each, folder, root) for each in (*line.writes, *line.perhaps)]
    return tuple(dict.fromkeys(targets))


def _has_confusable_name(names: list[str], written: Iterable[str]) -> bool:
    """Tells whether a program or a file that is written has a name that looks like another."""
    paths = {name for name in names if "/" in name}
    known = {path.rpartition("/")[2] for path in paths}  # by their path, so not by name alone
    parts = [part for target in written if not target.isascii() for part in target.split("/")]
    return any(is_confusable_program(name) for name in names if name not in known) or any(
        map(confusable_letters, parts)
    )


def _is_covered(line: CommandAnalysis, scope: Scope) -> bool:
    """Tells whether each command begins with a declared prefix that says what it does."""
    if not scope.commands:
        return True
    if not line.certain or not line.parts:
        return False  # there may be more in it than can be seen
    prefixes = [_split(prefix) for prefix in scope.commands]
    return all(any(_fits(part, prefix) for prefix in prefixes) for part in line.parts)


def _fits(part: CommandPart, prefix: tuple[str, ...]) -> bool:
    if not prefix or part.words[: len(prefix)] != prefix:
        return False
    return part.words == prefix or 0 < part.least <= len(prefix)


def _split(prefix: str) -> tuple[str, ...]:
    try:
        return tuple(split(prefix))
    except ValueError:
        return tuple(prefix.split())
