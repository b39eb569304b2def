"""Risk rating: how much could go wrong with some requests, low, medium or high, and why (F90)."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, get_args

from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.session.event import RiskLevel
from assent.core.tool import Action, ResourceAccess
from assent.permissions.check import why_secret_path, why_sensitive
from assent.permissions.resource_names import host_of, is_private_host

RiskRating: TypeAlias = tuple[RiskLevel, tuple[str, ...]]
LineClassifier: TypeAlias = Callable[[str], CommandAnalysis]
RiskRule: TypeAlias = Callable[[ResourceAccess, LineClassifier], RiskRating]
LEVELS: tuple[RiskLevel, ...] = get_args(RiskLevel)
LOW: RiskRating = ("low", ())


def rate_risk(requests: Sequence[ResourceAccess], line: LineClassifier) -> RiskRating:
    """Returns the highest level of all, and every reason for a level above low, once."""
    return highest_risk([RISK_RULES[request.action](request, line) for request in requests])


def highest_risk(found: Sequence[RiskRating]) -> RiskRating:
    """Returns several ratings as one: the highest level, and every reason once."""
    level, _ = max((LOW, *found), key=lambda one: LEVELS.index(one[0]))
    return level, tuple(dict.fromkeys(why for _, reasons in found for why in reasons))


def _read(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    if why := why_secret_path(request.resource):
        return "high", (f"{request.resource} may contain secrets: {why}",)
    return LOW


def _edit(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    path = request.resource
    if why := why_sensitive(path):
        return "high", (f"It changes {path}: {why}.",)
    if why_secret_path(path):
        return "high", (f"It changes {path}, which may contain secrets.",)
    return "medium", (f"It changes {path}.",)


def _shell(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    found = line(request.resource)
    if found.danger:
        return "high", (found.danger, *found.reasons)
    twice = {f"It writes {path}." for path in found.writes}  # and that it changes is said below
    reasons = tuple(reason for reason in found.reasons if reason not in twice)
    own: RiskRating = (found.risk, reasons)
    if not found.certain:
        own = "high", (*reasons, "This command could not be fully parsed.")
    reads = [_read(ResourceAccess(Action.READ, path), line) for path in found.reads or ()]
    writes = [_edit(ResourceAccess(Action.EDIT, path), line) for path in found.writes]
    return highest_risk([own, *reads, *writes])


def _fetch(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    host = host_of(request.resource)
    if is_private_host(host):
        return "high", (f"{host} is this machine or on a private network.",)
    return "medium", (f"The requested URL is sent to {host}.",)


def _tool(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return "high", (f"It is unknown what {request.resource} changes.",)


def _outside(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return "medium", (f"{request.resource} is outside the workspace.",)


def _loop(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return "medium", ("The model may be stuck.",)


def _none(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return LOW


RISK_RULES: dict[Action, RiskRule] = {
    Action.READ: _read,
    Action.EDIT: _edit,
    Action.SHELL: _shell,
    Action.FETCH: _fetch,
    Action.PLAN: _none,
    Action.PRESENT: _none,
    Action.TASK: _none,
    Action.TOOL: _tool,
    Action.OUTSIDE: _outside,
    Action.LOOP: _loop,
    Action.SEEK: _none,
    Action.SKILL: _none,
}
