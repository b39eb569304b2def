"""Grants: which earlier answer of the user covers a check, and what a new answer would cover."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.mode import custom_mode_name, default_agent
from assent.core.permission.rule import (
    WILDCARD_CHARS,
    Grant,
    PermissionPattern,
    expand_home,
    wildcard_matches,
)
from assent.core.tool import PERMISSIONS, Action, Decision, PermissionContext, ResourceAccess
from assent.permissions.check import PermissionCheck, agent_config_writes, why_secret_path
from assent.permissions.resource_names import host_of, is_private_host, origin_of


def matching_grant(
    matter: PermissionCheck,
    decision: Decision,
    permissions: PermissionContext,
    forms: Sequence[str],
    home: str,
) -> Grant | None:
    """Returns the remembered answer that covers a check that would be asked about."""
    if permissions.mode == "plan":
        return None
    for grant in permissions.grants:
        if matter.fixed and grant.reach != "session":
            continue
        if _counts(grant, decision, permissions) and any(
            _covers(pattern, matter, forms, home) for pattern in grant.patterns
        ):
            return grant
    return None


def _counts(grant: Grant, decision: Decision, permissions: PermissionContext) -> bool:
    """Tells whether an answer was given for such work: by agent, mode, and plan that is built."""
    who = permissions.agents[0].name if permissions.agents else default_agent(permissions.mode)
    here = (who, permissions.mode, custom_mode_name(permissions.custom))
    if (grant.agent, grant.mode, grant.custom) != here:
        return False
    if grant.plan and not permissions.building:
        return False
    return bool(grant.plan) or decision.layer != "scope"


def _covers(
    pattern: PermissionPattern, matter: PermissionCheck, forms: Sequence[str], home: str
) -> bool:
    if pattern.permission != matter.request.permission:
        return False
    if pattern.exact:
        return pattern.pattern in forms or pattern.pattern == matter.whole != ""
    if matter.exact:
        return False
    wanted = expand_home(pattern.pattern, home)
    return any(wildcard_matches(form, wanted) for form in forms)


# Grant patterns: what a remembered answer would cover, for each kind of request.


LineClassifier: TypeAlias = Callable[[str], CommandAnalysis]
PatternBuilder: TypeAlias = Callable[[ResourceAccess, LineClassifier], Sequence[PermissionPattern]]
OutsideResolver: TypeAlias = Callable[
    [str], str
]  # where a path leads outside the workspace, if it does
ALL = "/*"
OUTSIDE = PERMISSIONS[Action.OUTSIDE]


def grant_patterns(
    requests: Sequence[ResourceAccess],
    permissions: PermissionContext,
    line: LineClassifier,
    outer: OutsideResolver = lambda path: "",
) -> tuple[PermissionPattern, ...]:
    """Returns the patterns, each once; empty if one of the requests cannot be remembered."""
    if permissions.mode == "plan":
        return ()
    folders = [one.resource.removesuffix("*") for one in requests if one.action is Action.OUTSIDE]
    asked = [one for one in requests if not _is_inside(one, folders)]
    offers = [PATTERN_BUILDERS[request.action](request, line) for request in asked]
    if not all(offers):
        return ()
    lines = [line(one.resource) for one in asked if one.action is Action.SHELL]
    names = [outer(path) for found in lines for path in (*(found.reads or ()), *found.opens)]
    names += [outer(one.resource) for one in asked if one.action is Action.READ]
    away = [name for name in names if name and not _is_below(name, folders)]
    outside = [PermissionPattern(OUTSIDE, name, exact=True) for name in away]
    found = [pattern for offer in offers for pattern in offer]
    return tuple(dict.fromkeys((*found, *outside)))


def _is_inside(request: ResourceAccess, folders: Sequence[str]) -> bool:
    """Tells whether allowing a folder in the same question covers a file, too."""
    plain = request.action is Action.READ and not why_secret_path(request.resource)
    return plain and _is_below(request.resource, folders)


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(f"{path}/".startswith(folder) for folder in folders)


def _exact(request: ResourceAccess, line: LineClassifier) -> Sequence[PermissionPattern]:
    return (PermissionPattern(request.permission, request.resource, exact=True),)


def _nothing(request: ResourceAccess, line: LineClassifier) -> Sequence[PermissionPattern]:
    return ()


def _shell(request: ResourceAccess, line: LineClassifier) -> Sequence[PermissionPattern]:
    """Offers what the line itself offers, and the files that it writes; its secrets exactly."""
    found = line(request.resource)
    if found.danger or not found.always:
        return ()
    written = [
        PermissionPattern("edit", path, exact=True)
        for path in (*found.writes, *agent_config_writes(found))
    ]
    opened = [
        PermissionPattern("read", path, exact=True)
        for path in found.reads or ()
        if why_secret_path(path)
    ]
    return (*found.always, *written, *opened)


def _fetch(request: ResourceAccess, line: LineClassifier) -> Sequence[PermissionPattern]:
    exact = PermissionPattern(request.permission, request.resource, exact=True)
    if is_private_host(host_of(request.resource)):
        return (exact,)
    return (PermissionPattern(request.permission, origin_of(request.resource) + ALL), exact)


def _outside(request: ResourceAccess, line: LineClassifier) -> Sequence[PermissionPattern]:
    """Offers a folder and all in it; a folder whose own name has wildcards in it only as it is."""
    folder = request.resource.removesuffix(ALL).rstrip("/") or "/"
    exact = PermissionPattern(request.permission, request.resource, exact=True)
    if why_secret_path(folder) or {*folder} & {*WILDCARD_CHARS} or folder == "/":
        return (exact,)
    below = PermissionPattern(request.permission, folder + ALL)
    return (below,) if request.resource == below.pattern else (exact, below)


PATTERN_BUILDERS: dict[Action, PatternBuilder] = {
    Action.READ: _exact,
    Action.EDIT: _exact,
    Action.SHELL: _shell,
    Action.FETCH: _fetch,
    Action.PLAN: _nothing,
    Action.PRESENT: _nothing,
    Action.TASK: _exact,
    Action.TOOL: _exact,
    Action.OUTSIDE: _outside,
    Action.LOOP: _nothing,
    Action.SEEK: _exact,
    Action.SKILL: _exact,
}
