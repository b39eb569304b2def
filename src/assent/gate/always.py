"""Always: what a yes that is remembered would cover, for each kind of request."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from assent.core.command_line import CommandLine
from assent.core.grant import Pattern
from assent.core.tool import Action, Posture, Request
from assent.gate.hosts import host_of, is_near, origin_of
from assent.gate.matter import secret

Line: TypeAlias = Callable[[str], CommandLine]
Offer: TypeAlias = Callable[[Request, Line], Sequence[Pattern]]
ALL = "/*"


def always(requests: Sequence[Request], posture: Posture, line: Line) -> tuple[Pattern, ...]:
    """Returns the patterns, each once; none where one of the requests cannot be remembered."""
    if posture.mode == "plan":
        return ()
    offers = [OFFERS[request.action](request, line) for request in requests]
    if not all(offers):
        return ()
    return tuple(dict.fromkeys(pattern for offer in offers for pattern in offer))


def _exact(request: Request, line: Line) -> Sequence[Pattern]:
    return (Pattern(request.permission, request.resource, exact=True),)


def _nothing(request: Request, line: Line) -> Sequence[Pattern]:
    return ()


def _shell(request: Request, line: Line) -> Sequence[Pattern]:
    """Offers what the line itself offers, and the files that it writes; its secrets exactly."""
    found = line(request.resource)
    if found.danger or not found.always:
        return ()
    written = [Pattern("edit", path, exact=True) for path in found.writes]
    opened = [Pattern("read", path, exact=True) for path in found.reads or () if secret(path)]
    return (*found.always, *written, *opened)


def _fetch(request: Request, line: Line) -> Sequence[Pattern]:
    exact = Pattern(request.permission, request.resource, exact=True)
    if is_near(host_of(request.resource)):
        return (exact,)
    return (Pattern(request.permission, origin_of(request.resource) + ALL), exact)


def _outside(request: Request, line: Line) -> Sequence[Pattern]:
    """Offers a folder and all in it; a folder whose own name has wildcards in it only as it is."""
    folder = request.resource.removesuffix(ALL).rstrip("/") or "/"
    exact = Pattern(request.permission, request.resource, exact=True)
    if secret(folder) or {*folder} & {*"*?"} or folder == "/":
        return (exact,)
    below = Pattern(request.permission, folder + ALL)
    return (below,) if request.resource == below.pattern else (exact, below)


OFFERS: dict[Action, Offer] = {
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
}
