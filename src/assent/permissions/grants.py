"""Grants: which earlier answer of the user covers a check, and what a new answer would cover."""

import re
from collections.abc import Callable, Sequence
from posixpath import commonpath, dirname, splitext
from typing import Final, TypeAlias

from assent.core.errors import UsageError
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.mode import custom_mode_name, default_agent
from assent.core.permission.rule import (
    WILDCARD_CHARS,
    Grant,
    PermissionPattern,
    expand_home,
    wildcard_matches,
)
from assent.core.permission.sensitive_paths import configures_agents
from assent.core.text.hidden_chars import visible_line
from assent.core.tool import PERMISSIONS, Action, Decision, PermissionContext, ResourceAccess
from assent.permissions.check import (
    PermissionCheck,
    agent_config_writes,
    why_secret_path,
    why_sensitive,
)
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
    if matter.exact or matter.request.deletes:
        return False
    request = matter.request
    if request.action is Action.EDIT:  # whatever asked: a wildcard is for ordinary files alone
        path = PermissionPattern(EDIT, request.resource, exact=True)
        if not _is_ordinary_edit(path):
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
    """Offers what the line itself offers, and the files that it writes; its secrets exactly.

    Of a line that only sets variables for its commands, that is the exact line.
    """
    found = line(request.resource)
    always = found.always
    if found.sets_only:
        always = (PermissionPattern(BASH, request.resource, exact=True),)
    if found.danger or not always:
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
    return (*always, *written, *opened)


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


# Edited patterns: how far a person may widen or narrow what a remembered answer covers.


BASH: Final = PERMISSIONS[Action.SHELL]
EDIT: Final = PERMISSIONS[Action.EDIT]
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./@%+,:][A-Za-z0-9_./@%+,:-]*")
NOT_EDITABLE: Final = "This can only be remembered exactly as it is."
ONE_LINE: Final = "A pattern is one line of visible characters."


def wider_pattern(always: Sequence[PermissionPattern]) -> PermissionPattern | None:
    """Returns the pattern that a person may edit; None if only what was offered is remembered.

    Of ordinary files that is their folder, of a command the prefix that was offered.
    """
    if always and all(_is_ordinary_edit(each) for each in always):
        folder = commonpath([dirname(each.pattern) for each in always])
        ending = splitext(always[0].pattern)[1]
        alone = f"*{ending}" if ending and len(always) == 1 else "**"
        return PermissionPattern(EDIT, f"{folder}/**" if folder else alone)
    if len(always) == 1 and always[0].permission == BASH and not always[0].exact:
        return always[0]
    return None


def parse_edited_pattern(always: Sequence[PermissionPattern], text: str) -> PermissionPattern:
    """Returns the pattern that a person typed; raises UsageError if it goes too far.

    A pattern of files has to cover those that were asked about. A command's prefix can be made
    longer and not shorter: then it could start what is offered only exactly (F84).
    """
    wider, typed = wider_pattern(always), text.strip()
    if wider is None:
        raise UsageError(NOT_EDITABLE)
    if not typed or visible_line(typed) != typed:
        raise UsageError(ONE_LINE)
    if wider.permission == EDIT:
        return _edited_paths(always, typed)
    return _edited_command(wider, typed)


def is_edited_pattern(
    always: Sequence[PermissionPattern], patterns: Sequence[PermissionPattern]
) -> bool:
    """Tells whether these are not the patterns that were offered, but what one may make of them."""
    if len(patterns) != 1 or set(patterns) == set(always):
        return False
    try:
        return parse_edited_pattern(always, patterns[0].pattern) == patterns[0]
    except UsageError:
        return False


def _edited_paths(always: Sequence[PermissionPattern], typed: str) -> PermissionPattern:
    missed = [each.pattern for each in always if not wildcard_matches(each.pattern, typed)]
    if missed:
        raise UsageError(f"The pattern has to cover {visible_line(missed[0])}.")
    return PermissionPattern(EDIT, typed, exact=not {*typed} & {*WILDCARD_CHARS})


def _edited_command(offered: PermissionPattern, typed: str) -> PermissionPattern:
    head = offered.pattern.removesuffix("*").split()
    words = typed.removesuffix(" *").split(" ")
    if words[: len(head)] != head or not typed.endswith(" *"):
        raise UsageError(f"The pattern has to begin with `{' '.join(head)}` and end with ` *`.")
    if not all(map(_PLAIN_WORD.fullmatch, words)):
        raise UsageError("Before ` *`, only plain words without options are possible.")
    return PermissionPattern(BASH, typed)


def _is_ordinary_edit(pattern: PermissionPattern) -> bool:
    """Tells whether it is a file whose change means nothing to other programs."""
    path = pattern.pattern
    name = path.encode("utf-8", "surrogateescape")
    special = why_sensitive(path) or why_secret_path(path) or configures_agents(name)
    inside = not path.startswith(("/", "~", "$")) and not {"..", ".git"} & {*path.split("/")}
    odd = {*path} & {*WILDCARD_CHARS}
    return pattern.permission == EDIT and pattern.exact and inside and not (special or odd)
