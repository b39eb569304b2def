"""Risk rating: how much could go wrong, low, medium or high, and why, for every face (F90).

The log and questions rate what a call asks for; the review rates operations by the same rules. It
can only find more: what the content, the files on disk or the plan's scope show.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, get_args

from assent.core.permission.command_analysis import CommandAnalysis, uncertainty_text
from assent.core.permission.sensitive_paths import executed_later
from assent.core.session.event import RiskLevel
from assent.core.text.secrets import find_secret
from assent.core.tool import Action, ResourceAccess
from assent.permissions.check import why_secret_path, why_sensitive
from assent.permissions.resource_names import host_of, is_private_host

RiskRating: TypeAlias = tuple[RiskLevel, tuple[str, ...]]
LineClassifier: TypeAlias = Callable[[str], CommandAnalysis]
RiskRule: TypeAlias = Callable[[ResourceAccess, LineClassifier], RiskRating]
LEVELS: tuple[RiskLevel, ...] = get_args(RiskLevel)
LOW: RiskRating = ("low", ())
SEEN_LATER: Final = "What a command prints or finds is known only when it runs."


def rate_risk(
    requests: Sequence[ResourceAccess], line: LineClassifier, *, planning: bool = False
) -> RiskRating:
    """Returns the highest level of all, and every reason for a level above low, once.

    `planning`: it is staged. An edit is reviewed with its diff before it happens; of a command,
    there is only its text.
    """
    rules = {**RISK_RULES, **_STAGED_RULES} if planning else RISK_RULES
    return highest_risk([rules[request.action](request, line) for request in requests])


def highest_risk(found: Sequence[RiskRating]) -> RiskRating:
    """Returns several ratings as one: the highest level, and every reason once."""
    level, _ = max((LOW, *found), key=lambda one: LEVELS.index(one[0]))
    return level, tuple(dict.fromkeys(why for _, reasons in found for why in reasons))


def _read(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return _read_rating(request.resource)


def _read_rating(path: str) -> RiskRating:
    if why := why_secret_path(path):
        return "high", (f"{path} may contain secrets: {why}",)
    return LOW


def _edit(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return edit_rating(request)


def edit_rating(request: ResourceAccess, *, staged: bool = False) -> RiskRating:
    """Rates the change of a file by its name, as the codes of a review do."""
    path, verb = request.resource, "deletes" if request.deletes else "changes"
    if why := why_sensitive(path):
        return "high", (f"It {verb} {path}: {why}.",)
    if why_secret_path(path):
        return "high", (f"It {verb} {path}, which may contain secrets.",)
    if request.deletes:
        return "high", (f"It deletes {path}.",)
    if later := executed_later(path.encode("utf-8", "surrogateescape")):
        return "medium", (f"It changes {path}: {later}.",)
    return LOW if staged else ("medium", (f"It changes {path}.",))


def _staged_edit(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return edit_rating(request, staged=True)


def _shell(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return command_rating(request.resource, line(request.resource))


def _staged_shell(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    own = command_rating(request.resource, line(request.resource))
    return staged_command_rating(own, network=request.network) if request.stage else own


def staged_command_rating(own: RiskRating, *, network: bool) -> RiskRating:
    """Rates a command as an operation of a plan; `network`: it gets one, whether it needs it."""
    more: list[RiskRating] = [("high", ("It gets access to the network.",))] if network else []
    level, reasons = highest_risk([own, *more])
    return ("medium", (SEEN_LATER,)) if level == "low" else (level, reasons)


def command_rating(text: str, found: CommandAnalysis) -> RiskRating:
    """Rates a command by its text and what the classifier found in it: the one place that does."""
    if found.danger:
        return "high", (found.danger, *found.reasons)
    twice = {f"It writes {path}." for path in found.writes}  # and that it changes is said below
    reasons = tuple(reason for reason in found.reasons if reason not in twice)
    own: RiskRating = (found.risk, reasons)
    if not found.certain:
        own = "high", (*reasons, uncertainty_text(found))
    reads = [_read_rating(path) for path in found.reads or ()]
    writes = [edit_rating(ResourceAccess(Action.EDIT, path)) for path in found.writes]
    more: list[RiskRating] = []
    if found.code and own[0] != "high":
        more.append(("high", ("It runs code from its text or a pipe.",)))
    if find_secret(text) is not None:
        more.append(("high", ("It seems to contain a key or a password.",)))
    return highest_risk([own, *reads, *writes, *more])


def _fetch(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    host = host_of(request.resource)
    if is_private_host(host):
        return "high", (f"{host} is this machine or on a private network.",)
    return "high", (f"The requested URL is sent to {host}.",)


def _tool(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return "high", (f"It is unknown what {request.resource} changes.",)


def _outside(request: ResourceAccess, line: LineClassifier) -> RiskRating:
    return "high", (f"{request.resource} is outside the workspace.",)


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
_STAGED_RULES: dict[Action, RiskRule] = {Action.EDIT: _staged_edit, Action.SHELL: _staged_shell}
