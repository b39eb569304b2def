"""Permission checks for a command line, in plan mode and outside it."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from assent.core.errors import Refused
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.sensitive_paths import configures_agents
from assent.core.tool import (
    Action,
    Decision,
    PermissionContext,
    ResourceAccess,
    Verdict,
    strictest_decision,
)
from assent.permissions.check import (
    PermissionCheck,
    check_for,
    default_ask,
    denied_check,
    edit_floor,
    uncertain_edit_floor,
)

OUTSIDE_PREFIXES = ("/", "~", "..")
OutsideResolver: TypeAlias = Callable[
    [str], str
]  # where a path leads outside the workspace, if it does
UNCERTAIN = Decision(Verdict.ASK, "This command could not be fully parsed.", "defaults")


def planning_checks(
    request: ResourceAccess,
    posture: PermissionContext,
    commands: Sequence[str],
    files: Sequence[str],
) -> Iterator[PermissionCheck]:
    """Yields the checks for a read-only line: its commands, and the files that it opens."""
    texts = commands or (request.resource,)
    yield from (PermissionCheck(_part(request, text), whole=request.resource) for text in texts)
    yield from _files(files, posture)


def staged_checks(
    request: ResourceAccess, posture: PermissionContext, line: CommandAnalysis, why: str
) -> Iterator[PermissionCheck]:
    """Yields the checks for a line that may write in plan mode: it is staged.

    Its parts are not asked about: the user who approves the plan reads the whole line.
    """
    whole = request.resource
    if line.danger:
        yield denied_check(PermissionCheck(request), line.danger, "defaults")
        return
    staged = Decision(Verdict.STAGE, f"Plan mode stages commands that are not read-only. {why}")
    for text in dict.fromkeys((*line.commands, whole)):
        yield PermissionCheck(_part(request, text), staged, staged, whole=whole)
    for path in (*line.writes, *line.perhaps):
        edit = ResourceAccess(Action.EDIT, path)
        yield PermissionCheck(edit, staged, edit_floor(path, posture), whole=whole)


def command_line_checks(
    request: ResourceAccess,
    posture: PermissionContext,
    line: CommandAnalysis,
    outer: OutsideResolver,
) -> Iterator[PermissionCheck]:
    """Yields the checks outside plan mode: commands, and files that are read or written."""
    if line.danger:
        yield denied_check(PermissionCheck(request), line.danger, "defaults")
        return
    texts = line.commands or (request.resource,)
    if not line.certain:
        texts = (*texts, request.resource)
    matter = _line_matter(request, posture, line)
    for text in dict.fromkeys(texts):
        yield msgspec.structs.replace(matter, request=_part(request, text))
    yield from _files(line.reads or (), posture)
    yield from (_written(path, posture) for path in line.writes)
    yield from (PermissionCheck(ResourceAccess(Action.EDIT, path)) for path in line.perhaps)
    yield from (
        check_for(ResourceAccess(Action.EDIT, path), posture) for path in agent_config_writes(line)
    )
    found = dict.fromkeys(outer(path) for path in (*(line.reads or ()), *line.opens))
    yield from (outside_check(path, posture) for path in found if path)


def agent_config_writes(line: CommandAnalysis) -> tuple[str, ...]:
    """Returns the agent configuration that a line may write, without what it certainly writes."""
    paths = dict.fromkeys(path.rstrip("/") for path in line.perhaps)
    found = [path for path in paths if configures_agents(path.encode("utf-8", "surrogateescape"))]
    return tuple(
        path for path in found if not any(f"{path}/".startswith(f"{w}/") for w in line.writes)
    )


def outside_check(path: str, posture: PermissionContext) -> PermissionCheck:
    """Returns the check for a path outside the workspace, of which only the name is known."""
    folder = path.rstrip("/").rpartition("/")[0]
    matter = check_for(ResourceAccess(Action.OUTSIDE, f"{folder}/*"), posture)
    return msgspec.structs.replace(matter, fixed=path)


def require_read_only(line: CommandAnalysis) -> tuple[str, ...]:
    """Returns the files that a line opens; raises Refused, with the reason, if it may write."""
    if line.reads is not None:
        return line.reads
    why = "; ".join((line.danger, *line.reasons)).strip("; ") or "it may change something"
    raise Refused(f"Plan mode runs only read-only commands: {why}.")


def _line_matter(
    request: ResourceAccess, posture: PermissionContext, line: CommandAnalysis
) -> PermissionCheck:
    """Returns what holds for every command of a line; during a build a rule has to name it."""
    whole = request.resource
    if not line.certain:
        return PermissionCheck(
            request, UNCERTAIN, UNCERTAIN, delicate=True, exact=True, whole=whole
        )
    if line.reads is not None:
        return PermissionCheck(request, whole=whole)
    default = default_ask(posture, "running a command that may change something")
    return PermissionCheck(
        request, default, uncertain_edit_floor(posture), posture.building, whole=whole
    )


def _part(request: ResourceAccess, text: str) -> ResourceAccess:
    return ResourceAccess(request.action, text, request.key)


def _written(path: str, posture: PermissionContext) -> PermissionCheck:
    """Returns what a command writes, which is an edit; far from the workspace no everyday one."""
    matter = check_for(ResourceAccess(Action.EDIT, path), posture)
    if not path.startswith(OUTSIDE_PREFIXES):
        return matter
    default = strictest_decision((matter.default, default_ask(posture, f"writing {path}")))
    return msgspec.structs.replace(matter, default=default, delicate=True, exact=True)


def _files(files: Sequence[str], posture: PermissionContext) -> Iterator[PermissionCheck]:
    return (check_for(ResourceAccess(Action.READ, path), posture) for path in files)
