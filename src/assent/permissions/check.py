"""Permission checks: what a mode decides about a request, and what only a user may allow."""

import re
from collections.abc import Callable
from functools import lru_cache
from posixpath import join, normpath
from typing import Final, TypeAlias

import msgspec

from assent.core.permission.mode import Mode
from assent.core.permission.rule import (
    PermissionPolicy,
    before_wildcard,
    expand_home,
    matches_everything,
)
from assent.core.permission.rule_match import RuleMatch, mode_without_tool, tool_names
from assent.core.permission.sensitive_paths import (
    configures_agents,
    protecting_pattern,
    secret_reason,
)
from assent.core.plan.plan import Scope
from assent.core.session.agent import Agent
from assent.core.tool import (
    Action,
    Decision,
    PermissionContext,
    ResourceAccess,
    Verdict,
    strictest_decision,
)
from assent.permissions.resource_names import host_of, is_private_host

# Sensitive files: a change to one makes other programs do things, so even auto-edit asks.


def why_sensitive(path: str) -> str:
    """Returns why a person wants to see a change of this file; nothing if they need not.

    Nothing is said of secrets, which are asked about as such.
    """
    name = path.encode("utf-8", "surrogateescape")
    row = protecting_pattern(name)
    return row.because if row is not None and not secret_reason(name) else ""


RUN, STAGE, ASK, DENY = Verdict.RUN, Verdict.STAGE, Verdict.ASK, Verdict.DENY
RUNS = Decision(RUN)
STAGED = Decision(STAGE, "Plan mode stages edits for approval.")
NO_STAGING = Decision(
    DENY,
    "Staging is off (`plan.staging`), so while planning nothing is written but the plan's text; "
    "use `write_plan`.",
)
NO_CHILD = Decision(DENY, "A child session stages nothing; its parent can, with what it reports.")
NO_TOOL = Decision(
    DENY, "While planning it is refused: what it would change is unknown and cannot be staged."
)
NO_PLAN = Decision(DENY, "Only plan mode has a plan to present.")
NO_PRESENT = Decision(DENY, "Only the session that the person talks to presents a plan.")
NO_DEEPER = Decision(DENY, "A child at this depth starts no other; do the work here.")
LOOP_ASK = Decision(ASK, "It is the same thing once more.", "loop")
MODE_NAMES: dict[Mode, str] = {
    "plan": "Plan",
    "ask": "Ask",
    "auto-edit": "Auto-edit",
    "yolo": "Yolo",
}
_KEPT = 8192  # paths whose names were looked at


class PermissionCheck(msgspec.Struct, frozen=True):
    """One thing to decide about.

    `default` counts where no rule speaks, and `floor` whatever any rule says. Something delicate
    runs only by a rule that names it; `exact`: a remembered answer must be to this very text.
    `whole` is the command line that a command stands in. `fixed` is a path that only a person, or
    a rule of theirs that names it, lets anybody touch so; rules know it by itself, too.
    """

    request: ResourceAccess
    default: Decision = RUNS
    floor: Decision | None = None
    delicate: bool = False
    exact: bool = False
    whole: str = ""
    fixed: str = ""


CheckBuilder: TypeAlias = Callable[[ResourceAccess, PermissionContext], PermissionCheck]


def check_for(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    """Returns what the mode makes of a request that is no command line."""
    matter = CHECK_BUILDERS[request.action](request, posture)
    names = (*tool_names(request.key), request.resource) if request.key else ()
    mode = mode_without_tool(posture.custom, names) if names else ""
    return matter if not mode else denied_check(matter, f"The mode {mode} does not have this tool.")


def denied_check(matter: PermissionCheck, reason: str, layer: str = "mode") -> PermissionCheck:
    """Returns a matter that no rule lets happen."""
    return msgspec.structs.replace(matter, floor=Decision(DENY, reason, layer))


def default_ask(posture: PermissionContext, what: str) -> Decision:
    """Returns the default for what may do harm: a question, but in yolo mode and outside builds."""
    if posture.building:
        return Decision(ASK, "Nobody can tell whether it stays in the approved scope.", "scope")
    if posture.mode == "yolo":
        return RUNS
    return Decision(ASK, f"{MODE_NAMES[posture.mode]} mode asks before {what}.")


@lru_cache(_KEPT)
def why_secret_path(path: str) -> str:
    """Returns why a file may hold secrets; nothing if its name does not say so."""
    return secret_reason(path.encode("utf-8", "surrogateescape"))


def edit_floor(path: str, posture: PermissionContext) -> Decision | None:
    """Returns what holds for a change of a file whatever rules say."""
    for mode in posture.custom:
        if mode.edit is not None and not (mode.edit and Scope(mode.edit).covers(path)):
            return Decision(DENY, f"In the mode {mode.id}, {path} may not change.")
    if posture.mode == "plan":
        return NO_CHILD if posture.child else STAGED if posture.staging else NO_STAGING
    if posture.building and not _in_scope(path, posture):
        return Decision(ASK, f"{path} is outside the scope of the approved plan.", "scope")
    return None


def _in_scope(path: str, posture: PermissionContext) -> bool:
    return bool(posture.scope) and Scope(posture.scope).covers(path)


def _read(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    path = request.resource
    if why := why_secret_path(path):
        reason = f"{path} may hold secrets: {why}"
        return PermissionCheck(
            request, Decision(ASK, reason, "defaults"), delicate=True, exact=True
        )
    return PermissionCheck(request)


def _edit(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    path = request.resource
    floor = edit_floor(path, posture)
    if posture.mode == "plan":
        return PermissionCheck(request, STAGED, floor)
    if configures_agents(path.encode("utf-8", "surrogateescape")):
        reason = f"{path} configures agents or Assent: only you can allow changing it."
        return PermissionCheck(
            request, Decision(ASK, reason, "defaults"), floor, True, True, fixed=path
        )
    if posture.building:
        inside = Decision(RUN, "The approved plan's scope covers it.", "scope")
        return PermissionCheck(
            request, strictest_decision([inside, *([floor] if floor else [])]), floor
        )
    why = why_sensitive(path) or ("it may hold secrets" if why_secret_path(path) else "")
    return PermissionCheck(
        request, _edit_default(path, why, posture.mode), floor, bool(why), bool(why)
    )


def _edit_default(path: str, why: str, mode: Mode) -> Decision:
    layer = "defaults" if why_secret_path(path) else "mode"
    if mode == "ask":
        return Decision(ASK, "Ask mode asks before each edit.", layer)
    if mode == "auto-edit" and why:
        return Decision(ASK, f"Auto-edit mode asks before {path} changes: {why}.", layer)
    return RUNS


def _fetch(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    host = host_of(request.resource)
    if host in [allowed.lower() for allowed in posture.hosts]:
        return PermissionCheck(
            request, Decision(RUN, f"{host} is allowed by `fetch.hosts`.", "user")
        )
    if posture.mode == "plan":
        reason = f"While planning, {host} may not be fetched from: it is not in `fetch.hosts`."
        return denied_check(PermissionCheck(request), reason)
    if is_private_host(host):
        reason = f"{host} is this machine or a private network."
        return PermissionCheck(
            request, Decision(ASK, reason, "defaults"), delicate=True, exact=True
        )
    free = msgspec.structs.replace(posture, building=False)
    return PermissionCheck(request, default_ask(free, "anything is fetched"))


def _free(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    return PermissionCheck(request)


def _present(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    if posture.mode != "plan":
        return PermissionCheck(request, floor=NO_PLAN)
    return PermissionCheck(request, floor=NO_PRESENT if posture.child else None)


def _task(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    return PermissionCheck(request, floor=None if posture.deeper else NO_DEEPER)


def _tool(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    default = default_ask(posture, "a tool that may change anything")
    floor = NO_TOOL if posture.mode == "plan" else uncertain_edit_floor(posture)
    return PermissionCheck(request, default, floor, delicate=posture.building)


def _outside(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    folder = request.resource.removesuffix("/*") or "/"
    if why := why_secret_path(request.resource):
        reason = f"{request.resource} may hold secrets: {why}"
        ask = Decision(ASK, reason, "defaults")
        return PermissionCheck(request, ask, delicate=True, exact=True, fixed=folder)
    return PermissionCheck(request, outside_ask(posture), fixed=folder)


def outside_ask(posture: PermissionContext) -> Decision:
    """Returns the default for looking outside the workspace: a question, whatever the mode."""
    if posture.mode == "plan":
        return Decision(ASK, "Plan mode asks before looking outside the workspace.")
    return Decision(ASK, "Only you can allow looking outside the workspace.", "defaults")


def _loop(request: ResourceAccess, posture: PermissionContext) -> PermissionCheck:
    return PermissionCheck(request, LOOP_ASK)


def why_not_staged(posture: PermissionContext) -> str | None:
    """Says why no command is staged here, in no words if that is plain; None: one would be."""
    if posture.child or not posture.staging or any(map(_edits_nothing, posture.agents)):
        return ""
    if mode_without_tool(posture.custom, ("write", "edit")):
        return ""
    limits = uncertain_edit_floor(posture)
    return limits.reason if limits else None


def _edits_nothing(agent: Agent) -> bool:
    """Tells whether an agent's file takes the tools away that change files."""
    off = [name.lower() for name, on in agent.tools.items() if on is False]
    off += [name.lower() for name, rule in agent.permission.items() if rule == "deny"]
    return any(agent.denies(name) or name in off for name in ("write", "edit"))


def uncertain_edit_floor(posture: PermissionContext) -> Decision | None:
    """Returns what holds for something that may change any file, in a mode that names files."""
    modes = [mode.id for mode in posture.custom if mode.edit is not None]
    if not modes:
        return None
    reason = f"The mode {modes[0]} lets only some files change; nobody can tell which this does."
    return Decision(ASK, reason)


CHECK_BUILDERS: dict[Action, CheckBuilder] = {
    Action.READ: _read,
    Action.EDIT: _edit,
    Action.FETCH: _fetch,
    Action.PLAN: _free,
    Action.PRESENT: _present,
    Action.TASK: _task,
    Action.TOOL: _tool,
    Action.OUTSIDE: _outside,
    Action.LOOP: _loop,
    Action.SEEK: _free,
}


# Mandatory asks: what only a user's answer, or their own rule that names the path, allows.
#
# These are looking outside the workspace, and changing what configures agents or Assent. The mode,
# `--auto`, rules that name nothing, presets, rules of a project or an agent, grants for the whole
# project and the scope of a text plan do not answer them.


OWN_LAYERS: Final = ("user", "command line")  # layers in which the person themselves speaks
PRESET_SOURCE: Final = "the preset "  # how the source of a preset's rule begins
_HOME: Final = re.compile(r"(?:~|\$HOME|\$\{HOME\})(?=/|$)")
_FAR: Final = re.compile(r"[/~]|\$\{?HOME\b")
# They hold nothing, or what the program itself was given.
_NOTHING: Final = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|tty|stdin|stdout|stderr|fd(?:/\d+)?)"
)


def outside_path(path: str, policy: PermissionPolicy) -> str:
    """Returns where a path leads outside the workspace, by its text; nothing if it stays inside."""
    text = _HOME.sub(lambda _: policy.home, path, count=1) if policy.home else path
    if not text or _NOTHING.fullmatch(text):
        return ""
    root = policy.root.rstrip("/")
    if not text.startswith("/") and _FAR.match(text):
        return text  # a home that nobody knows
    whole = normpath(join(root, text))
    if not root:
        return whole if whole.startswith(("/", "../")) or whole == ".." else ""
    return "" if whole == root or whole.startswith(f"{root}/") else whole


def names_path(opinion: RuleMatch, path: str, policy: PermissionPolicy) -> bool:
    """Tells whether a rule is the person's own and names a path: by more than wildcards.

    What stands before its first wildcard has to be the path or a folder around it, other than the
    top of the disk; of agents' configuration, it has to be that configuration itself.
    """
    layer, rule = opinion.layer, opinion.rule
    own = layer.trusted and layer.name in OWN_LAYERS and not rule.source.startswith(PRESET_SOURCE)
    if not own or matches_everything(rule.permission):
        return False
    pattern = expand_home(rule.pattern, policy.home)
    path = path.removeprefix(policy.root.rstrip("/") + "/") if policy.root else path
    start = before_wildcard(pattern)
    if path.startswith("/"):
        folder = start if start == pattern else start.rpartition("/")[0]
        return bool(folder.strip("/")) and f"{path}/".startswith(f"{folder.rstrip('/')}/")
    below = start.removeprefix(policy.root.rstrip("/") + "/") if policy.root else start
    named = below.rstrip("/").encode("utf-8", "surrogateescape")
    return not below.startswith("/") and configures_agents(named)
