"""Permission checks: what a mode decides about requests and commands, and what only users allow."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from posixpath import join, normpath
from typing import Final, TypeAlias

import msgspec

from assent.core.errors import SCRATCH_COPY, Refused
from assent.core.permission.command_analysis import CommandAnalysis, uncertainty_text
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
    """Returns why changes of this file need attention; empty if they do not.

    Secrets are not included; they are asked about as such.
    """
    name = path.encode("utf-8", "surrogateescape")
    row = protecting_pattern(name)
    return row.because if row is not None and not secret_reason(name) else ""


RUN, STAGE, ASK, DENY = Verdict.RUN, Verdict.STAGE, Verdict.ASK, Verdict.DENY
RUNS = Decision(RUN)
STAGED = Decision(STAGE, "Plan mode stages edits for approval.")
ASKS_BEFORE_EDITS = "Ask mode asks before each edit."
NO_STAGING = Decision(
    DENY,
    "Staging is off (`plan.staging`), so plan mode can change only the plan text; use "
    "`write_plan`.",
)
NO_CHILD = Decision(
    DENY, "A sub-agent cannot stage changes; report them to the parent session instead."
)
NO_TOOL = Decision(
    DENY, "Its effects are unknown, so it cannot be staged; it works only outside plan mode."
)
NO_PLAN = Decision(DENY, "A plan can only be presented in plan mode.")
NO_PRESENT = Decision(DENY, "Only the main session can present a plan.")
NO_DEEPER = Decision(DENY, "A sub-agent at this depth cannot start sub-agents; do the work here.")
LOOP_ASK = Decision(ASK, "It repeats the same call.", "loop")
MODE_NAMES: dict[Mode, str] = {
    "plan": "Plan",
    "ask": "Ask",
    "auto-edit": "Auto-edit",
    "yolo": "Yolo",
}
_KEPT = 8192  # paths whose names were checked


class PermissionCheck(msgspec.Struct, frozen=True):
    """One thing to decide about.

    `default` applies if no rule matches, `floor` whatever any rule says. If `delicate`, it runs
    only by a rule that names it; if `exact`, a remembered answer must be for exactly this text.
    `whole` is the command line that a command is part of. `fixed` is a path that only a user's
    answer, or a rule of theirs that names it, opens; rules also match the path itself. If
    `unreal`, it happens to a copy: of rules, only those that deny it count.
    """

    request: ResourceAccess
    default: Decision = RUNS
    floor: Decision | None = None
    delicate: bool = False
    exact: bool = False
    whole: str = ""
    fixed: str = ""
    unreal: bool = False


CheckBuilder: TypeAlias = Callable[[ResourceAccess, PermissionContext], PermissionCheck]


def check_for(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    """Returns the check that the mode implies for a request that is not a command line."""
    matter = CHECK_BUILDERS[request.action](request, permissions)
    names = (*tool_names(request.key), request.resource) if request.key else ()
    mode = mode_without_tool(permissions.custom, names) if names else ""
    return (
        matter if not mode else denied_check(matter, f"This tool is not available in mode {mode}.")
    )


def denied_check(matter: PermissionCheck, reason: str, layer: str = "mode") -> PermissionCheck:
    """Returns a check that no rule can allow."""
    return msgspec.structs.replace(matter, floor=Decision(DENY, reason, layer))


def default_ask(permissions: PermissionContext, what: str) -> Decision:
    """Returns the default for what may do harm: ask, except in yolo mode outside builds."""
    if permissions.building:
        return Decision(ASK, "It may go beyond the approved scope.", "scope")
    if permissions.mode == "yolo":
        return RUNS
    return Decision(ASK, f"{MODE_NAMES[permissions.mode]} mode asks before {what}.")


@lru_cache(_KEPT)
def why_secret_path(path: str) -> str:
    """Returns why a file may contain secrets; empty if its name does not suggest it."""
    return secret_reason(path.encode("utf-8", "surrogateescape"))


def edit_floor(path: str, permissions: PermissionContext) -> Decision | None:
    """Returns the decision about a change of a file that holds whatever rules say, if any."""
    for mode in permissions.custom:
        if mode.edit is not None and not (mode.edit and Scope(mode.edit).covers(path)):
            return Decision(DENY, f"Mode {mode.id} does not allow changes to {path}.")
    if permissions.mode == "plan":
        return NO_CHILD if permissions.child else STAGED if permissions.staging else NO_STAGING
    if permissions.building and not _in_scope(path, permissions):
        return Decision(ASK, f"{path} is outside the scope of the approved plan.", "scope")
    return None


def _in_scope(path: str, permissions: PermissionContext) -> bool:
    return bool(permissions.scope) and Scope(permissions.scope).covers(path)


def _read(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    path = request.resource
    if why := why_secret_path(path):
        reason = f"{path} may contain secrets: {why}"
        return PermissionCheck(
            request, Decision(ASK, reason, "defaults"), delicate=True, exact=True
        )
    return PermissionCheck(request)


def _edit(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    path = request.resource
    floor = edit_floor(path, permissions)
    if permissions.mode == "plan":
        return PermissionCheck(request, STAGED, floor)
    if configures_agents(path.encode("utf-8", "surrogateescape")):
        reason = f"{path} configures agents or Assent; changing it needs explicit permission."
        return PermissionCheck(
            request, Decision(ASK, reason, "defaults"), floor, True, True, fixed=path
        )
    if permissions.building:
        inside = Decision(RUN, "It is within the scope of the approved plan.", "scope")
        return PermissionCheck(
            request, strictest_decision([inside, *([floor] if floor else [])]), floor
        )
    why = why_sensitive(path) or ("it may contain secrets" if why_secret_path(path) else "")
    return PermissionCheck(
        request, _edit_default(path, why, permissions.mode), floor, bool(why), bool(why)
    )


def _edit_default(path: str, why: str, mode: Mode) -> Decision:
    layer = "defaults" if why_secret_path(path) else "mode"
    if mode == "ask":
        return Decision(ASK, ASKS_BEFORE_EDITS, layer)
    if mode == "auto-edit" and why:
        return Decision(ASK, f"Auto-edit mode asks before changing {path}: {why}.", layer)
    return RUNS


def _fetch(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    host = host_of(request.resource)
    if host in [allowed.lower() for allowed in permissions.hosts]:
        return PermissionCheck(
            request, Decision(RUN, f"{host} is allowed by `fetch.hosts`.", "user")
        )
    if permissions.mode == "plan":
        reason = f"In plan mode, {host} cannot be fetched: it is not in `fetch.hosts`."
        return denied_check(PermissionCheck(request), reason)
    if is_private_host(host):
        reason = f"{host} is this machine or on a private network."
        return PermissionCheck(
            request, Decision(ASK, reason, "defaults"), delicate=True, exact=True
        )
    free = msgspec.structs.replace(permissions, building=False)
    return PermissionCheck(request, default_ask(free, "fetching a URL"))


def _free(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    return PermissionCheck(request)


def _present(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    if permissions.mode != "plan":
        return PermissionCheck(request, floor=NO_PLAN)
    return PermissionCheck(request, floor=NO_PRESENT if permissions.child else None)


def _task(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    return PermissionCheck(request, floor=None if permissions.deeper else NO_DEEPER)


def _tool(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    default = default_ask(permissions, "using a tool that may change anything")
    floor = NO_TOOL if permissions.mode == "plan" else uncertain_edit_floor(permissions)
    return PermissionCheck(request, default, floor, delicate=permissions.building)


def _outside(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    folder = request.resource.removesuffix("/*") or "/"
    if why := why_secret_path(request.resource):
        reason = f"{request.resource} may contain secrets: {why}"
        ask = Decision(ASK, reason, "defaults")
        return PermissionCheck(request, ask, delicate=True, exact=True, fixed=folder)
    return PermissionCheck(request, outside_ask(permissions), fixed=folder)


def outside_ask(permissions: PermissionContext) -> Decision:
    """Returns the default for access outside the workspace: ask, whatever the mode."""
    if permissions.mode == "plan":
        return Decision(ASK, "Plan mode asks before accessing files outside the workspace.")
    return Decision(ASK, "Access outside the workspace needs explicit permission.", "defaults")


def _loop(request: ResourceAccess, permissions: PermissionContext) -> PermissionCheck:
    return PermissionCheck(request, LOOP_ASK)


def why_not_staged(permissions: PermissionContext) -> str | None:
    """Says why a command is not staged here, empty if no reason is needed; None if it is staged."""
    if permissions.shell == "read-only":
        return READ_ONLY_SHELL
    if stages_nothing(permissions):
        return ""
    limits = uncertain_edit_floor(permissions)
    return limits.reason if limits else None


def stages_nothing(permissions: PermissionContext) -> bool:
    """Tells whether no change of a file can be staged, whichever it is."""
    if permissions.child or not permissions.staging or any(map(_edits_nothing, permissions.agents)):
        return True
    return bool(mode_without_tool(permissions.custom, ("write", "edit")))


def _edits_nothing(agent: Agent) -> bool:
    """Tells whether an agent's file takes the tools away that change files."""
    off = [name.lower() for name, on in agent.tools.items() if on is False]
    off += [name.lower() for name, rule in agent.permission.items() if rule == "deny"]
    return any(agent.denies(name) or name in off for name in ("write", "edit"))


def uncertain_edit_floor(permissions: PermissionContext) -> Decision | None:
    """Returns the decision about a possible change of any file, in a mode that limits files."""
    modes = [mode.id for mode in permissions.custom if mode.edit is not None]
    if not modes:
        return None
    reason = (
        f"Mode {modes[0]} allows changes to some files only, and it is unknown which files "
        "this changes."
    )
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
    Action.SKILL: _free,
}


# Mandatory asks: what only a user's answer, or their own rule that names the path, allows.
#
# These are looking outside the workspace, and changing what configures agents or Assent. The mode,
# `--auto`, rules that name nothing, presets, rules of a project or an agent, grants for the whole
# project and the scope of a text plan do not answer them.


OWN_LAYERS: Final = ("user", "command line")  # layers that the user sets directly
PRESET_SOURCE: Final = "the preset "  # how the source of a preset's rule begins
_HOME = r"(?:~|\$HOME|\$\{HOME\})(?=/|$)"
_FAR = r"[/~]|\$\{?HOME\b"
# They hold nothing, or what the program itself was given.
_NOTHING = r"/dev/(?:null|zero|full|random|urandom|tty|stdin|stdout|stderr|fd(?:/\d+)?)"


def outside_path(path: str, policy: PermissionPolicy) -> str:
    """Returns the path outside the workspace that a text names; empty if it stays inside."""
    text = re.sub(_HOME, lambda _: policy.home, path, count=1) if policy.home else path
    if not text or re.fullmatch(_NOTHING, text):
        return ""
    root = policy.root.rstrip("/")
    if not text.startswith("/") and re.match(_FAR, text):
        return text  # an unknown home folder
    whole = normpath(join(root, text))
    if not root:
        return whole if whole.startswith(("/", "../")) or whole == ".." else ""
    return "" if whole == root or whole.startswith(f"{root}/") else whole


def names_path(opinion: RuleMatch, path: str, policy: PermissionPolicy) -> bool:
    """Tells whether a rule is the user's own and names a path by more than wildcards.

    The text before its first wildcard has to be the path or a folder above it, other than the root;
    for agents' configuration, it has to be that configuration itself.
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


# Permission checks for a command line, in plan mode and outside it.


OUTSIDE_PREFIXES = ("/", "~", "..")
OutsideResolver: TypeAlias = Callable[
    [str], str
]  # where a path leads outside the workspace, if it does
NOT_STAGED: Final = "Not run: {why} `stage: true` puts it into the plan."
# How the classifier says that a command starts an interpreter, a build or tests.
CODE_REASONS: Final = ("it runs code", "it builds, tests or installs")
CODE_NOT_STAGED: Final = (
    "Not run: while planning, only read-only commands run (no interpreters, no tests); "
    "`stage: true` puts it into the plan."
)
NOTHING_STAGED: Final = "Nothing can be staged here; call it without `stage`."
READ_ONLY_SHELL: Final = "Other commands are neither run nor staged here (`plan.shell`)."
IN_COPY: Final = "It runs in a scratch copy; nothing real changes."
KEEPS: Final = Decision(STAGE, "The call asks to stage what it changes in the scratch copy.")
NO_COPY: Final = " It cannot run in a scratch copy: {why}"
NOTHING_KEPT: Final = "Nothing can be staged here; call it without `keep`."
CHILD_KEEPS_NOTHING: Final = (
    "A sub-agent cannot keep changes; call it without `keep` and report what changed."
)
NO_NETWORK_IN_COPY: Final = (
    "Not run: the scratch copy has no network. `stage: true` with `network: true` puts the command "
    "into the plan."
)


def planning_checks(
    request: ResourceAccess,
    permissions: PermissionContext,
    commands: Sequence[str],
    files: Sequence[str],
) -> Iterator[PermissionCheck]:
    """Yields the checks for a read-only line: its commands, and the files that it opens."""
    texts = commands or (request.resource,)
    yield from (PermissionCheck(_part(request, text), whole=request.resource) for text in texts)
    yield from _files(files, permissions)


def staged_checks(
    request: ResourceAccess,
    permissions: PermissionContext,
    line: CommandAnalysis,
    why: str = "",
    no_copy: str = "",
) -> Iterator[PermissionCheck]:
    """Yields the checks for a line in plan mode that is staged if the call wants that.

    `why` says why it is not read-only; empty if it is. Its parts are not asked about: the user who
    approves the plan reads the whole line. `no_copy` says why it cannot run in a copy, if it might.
    What a rehearsal tries runs in a copy: as there, rules for commands deny it or ask.
    """
    whole = request.resource
    if line.danger:
        yield denied_check(PermissionCheck(request), line.danger, "defaults")
        return
    staged = Decision(Verdict.STAGE, f"The call asks to stage it. {why}".rstrip())
    if request.tries:
        staged = Decision(RUN, IN_COPY)
    for text in dict.fromkeys((*line.commands, whole)):
        yield PermissionCheck(_part(request, text), staged, staged, whole=whole)
    for path in (*line.writes, *line.perhaps):
        edit, floor = ResourceAccess(Action.EDIT, path), edit_floor(path, permissions)
        if request.tries and floor is STAGED:
            floor = None
        yield PermissionCheck(edit, staged, floor, whole=whole, unreal=request.tries)
    if not request.stage:  # last, so that what forbids it in any case is the reason that is given
        is_code = any(reason in why for reason in CODE_REASONS)
        words = CODE_NOT_STAGED if is_code else NOT_STAGED.format(why=why)
        if no_copy:
            words += NO_COPY.format(why=no_copy)
        refused = Decision(DENY, words, lacks=SCRATCH_COPY if no_copy else "")
        yield PermissionCheck(request, floor=refused)


def copy_checks(
    request: ResourceAccess, permissions: PermissionContext, line: CommandAnalysis
) -> Iterator[PermissionCheck]:
    """Yields the checks for a line that runs in the session's scratch copy.

    What it writes there is not real, so that only denials count; what is kept of it is judged by
    itself, once its paths are known.
    """
    whole = request.resource
    if line.danger:
        yield denied_check(PermissionCheck(request), line.danger, "defaults")
        return
    runs = Decision(RUN, IN_COPY)
    for text in dict.fromkeys((*line.commands, whole)):
        yield PermissionCheck(
            _part(request, text), runs, KEEPS if request.keep else None, whole=whole
        )
    for path in (*line.writes, *line.perhaps):
        edit = ResourceAccess(Action.EDIT, path)
        yield PermissionCheck(edit, runs, whole=whole, unreal=True)
    if request.network:
        yield denied_check(PermissionCheck(request), NO_NETWORK_IN_COPY)
    if request.keep and stages_nothing(permissions):
        words = CHILD_KEEPS_NOTHING if permissions.child else NOTHING_KEPT
        yield denied_check(PermissionCheck(request), words)


def command_line_checks(
    request: ResourceAccess,
    permissions: PermissionContext,
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
    matter = _line_matter(request, permissions, line)
    for text in dict.fromkeys(texts):
        yield msgspec.structs.replace(matter, request=_part(request, text))
    yield from _files(line.reads or (), permissions)
    yield from (_written(path, permissions) for path in line.writes)
    yield from (PermissionCheck(ResourceAccess(Action.EDIT, path)) for path in line.perhaps)
    yield from (
        check_for(ResourceAccess(Action.EDIT, path), permissions)
        for path in agent_config_writes(line)
    )
    found = dict.fromkeys(outer(path) for path in (*(line.reads or ()), *line.opens))
    yield from (outside_check(path, permissions) for path in found if path)


def agent_config_writes(line: CommandAnalysis) -> tuple[str, ...]:
    """Returns the agent configuration that a line may write, without what it certainly writes."""
    paths = dict.fromkeys(path.rstrip("/") for path in line.perhaps)
    found = [path for path in paths if configures_agents(path.encode("utf-8", "surrogateescape"))]
    return tuple(
        path for path in found if not any(f"{path}/".startswith(f"{w}/") for w in line.writes)
    )


def outside_check(path: str, permissions: PermissionContext) -> PermissionCheck:
    """Returns the check for a path outside the workspace, of which only the name is known."""
    folder = path.rstrip("/").rpartition("/")[0]
    matter = check_for(ResourceAccess(Action.OUTSIDE, f"{folder}/*"), permissions)
    return msgspec.structs.replace(matter, fixed=path)


def require_read_only(line: CommandAnalysis) -> tuple[str, ...]:
    """Returns the files that a line opens; raises Refused, with the reason, if it may write."""
    if line.reads is not None:
        return line.reads
    why = "; ".join((line.danger, *line.reasons)).strip("; ") or "it may change something"
    raise Refused(f"Plan mode runs only read-only commands: {why}.")


def _line_matter(
    request: ResourceAccess, permissions: PermissionContext, line: CommandAnalysis
) -> PermissionCheck:
    """Returns what holds for every command of a line; during a build a rule has to name it."""
    whole = request.resource
    if not line.certain:
        ask = Decision(Verdict.ASK, uncertainty_text(line), "defaults")
        return PermissionCheck(request, ask, ask, delicate=True, exact=True, whole=whole)
    if line.reads is not None:
        return PermissionCheck(request, whole=whole)
    default = default_ask(permissions, "running a command that may change something")
    return PermissionCheck(
        request, default, uncertain_edit_floor(permissions), permissions.building, whole=whole
    )


def _part(request: ResourceAccess, text: str) -> ResourceAccess:
    return ResourceAccess(request.action, text, request.key)


def _written(path: str, permissions: PermissionContext) -> PermissionCheck:
    """Returns what a command writes, which is an edit; far from the workspace no everyday one."""
    matter = check_for(ResourceAccess(Action.EDIT, path), permissions)
    if not path.startswith(OUTSIDE_PREFIXES):
        return matter
    default = strictest_decision((matter.default, default_ask(permissions, f"writing {path}")))
    return msgspec.structs.replace(matter, default=default, delicate=True, exact=True)


def _files(files: Sequence[str], permissions: PermissionContext) -> Iterator[PermissionCheck]:
    return (check_for(ResourceAccess(Action.READ, path), permissions) for path in files)
