"""Which files and commands of a plan the rules of the user and the project deny."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from assent.core.errors import Refused
from assent.core.paths import one_line
from assent.core.permission.rule import CommandLimits
from assent.core.plan.operation import (
    Operation,
    RunCommand,
    command_line_text,
    footprint,
    inverse,
)
from assent.core.text.hidden_chars import visible_line
from assent.planning.path_checks import FilenameCase
from assent.planning.ports import Ports
from assent.ports import PlanRules
from assent.render.operation_text import operation_brief

MAX_NAMED: Final = 5  # denied paths that are spelled out in one message
RULES_COMMAND: Final = "assent rules list"


def command_limits(rules: PlanRules, command: RunCommand) -> CommandLimits:
    """Returns what rules forbid a command; what they deny to its undo, they deny to both."""
    held, back = rules.command_limits(command_line_text(command)), inverse(command)
    if held.denial or not isinstance(back, RunCommand):
        return held
    denial = rules.command_limits(command_line_text(back)).denial
    return replace(
        held,
        denial=f"Its undo command, {operation_brief(back)}, is not allowed: {denial}"
        if denial
        else "",
    )


def denied_operations(
    doors: Ports, operations: Sequence[Operation], *, lenient: bool = False
) -> dict[int, str]:
    """Returns which file operations rules deny, by index, each with path and rule.

    Both ends of a move count, and so does a file's own name where case makes no difference.
    """
    spelling = FilenameCase(doors.files)
    paths = dict.fromkeys(path for op in operations for path, *_ in footprint(op))
    found = doors.rules.denials(_spelled(spelling, paths), lenient=lenient)
    if not found:
        return {}
    reasons = {
        path: f"{one_line(path)}: {visible_line(found[name])}"
        for path in paths
        for name in (path, spelling.path_on_disk(path))
        if name in found
    }
    first = [next((p for p, *_ in footprint(op) if p in reasons), b"") for op in operations]
    return {index: reasons[path] for index, path in enumerate(first) if path}


def refuse_denied(
    doors: Ports, operations: Sequence[Operation], left: str, *, lenient: bool = False
) -> None:
    """Refuses operations on files that rules deny (law 9); `left` says what was not done then."""
    found = list(dict.fromkeys(denied_operations(doors, operations, lenient=lenient).values()))
    if found:
        more = f" And {len(found) - MAX_NAMED} more." if len(found) > MAX_NAMED else ""
        told = " ".join(f"Rules deny changes to {each}" for each in found[:MAX_NAMED])
        raise Refused(f"{told}{more} {left}", RULES_COMMAND)


def _spelled(spelling: FilenameCase, paths: Iterable[bytes]) -> Iterator[bytes]:
    """Yields paths as they are given and as they are written here; lazily, as few need the disk."""
    for path in paths:
        yield path
        here = spelling.path_on_disk(path)
        if here != path:
            yield here
