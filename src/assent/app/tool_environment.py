"""Builds the tool environment of a turn: tools, permission gate, guards and asker.

Files outside the workspace are opened for reading, except Assent's own and credentials.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

import msgspec

from assent.agent.loop_guard import LoopGuard, LoopLimits
from assent.agent.services import ProgramOpeners, TaskLimits, ToolEnvironment
from assent.agent.subagents.ancestry import subagents, subagents_line
from assent.app.ports import known_sandbox_status
from assent.app.rules import (
    Configuration,
    check_rule_names,
    open_policy,
    rule_gate,
    unknown_tool_warnings,
)
from assent.app.shell import only_reads, open_process, read_only_shell
from assent.config.paths import PROJECT_SKILLS, AppPaths
from assent.config.settings import Settings
from assent.core.errors import AssentError
from assent.core.permission.rule import parse_rule_argument
from assent.core.session.agent import Agent
from assent.core.text.secrets import Redactor
from assent.core.tool import Decision, GuardedCall, PermissionContext, ResourceAccess
from assent.llm.fetch import HttpPageFetcher
from assent.llm.http_client import HttpClient, wrap_tls
from assent.permissions.gate import RuleGate
from assent.ports.session import AgentDriver, Asker, CallGuard
from assent.tools.command_tools import SHELL, shell_tool
from assent.tools.dispatcher import ToolDispatcher
from assent.tools.registry import TOOLS
from assent.tools.tool import Tool
from assent.workspace.outside_files import LocalOutsideFiles

if TYPE_CHECKING:
    from assent.sandbox.process_runner import LocalProcessRunner
    from assent.sandbox.scratch.backend import ScratchCopies

TASK = "task"

# Opens files outside the workspace for reading, except Assent's own and credentials.


def refused_paths(here: AppPaths) -> list[bytes]:
    """Returns where Assent's own files and credentials are, in every home of this machine."""
    from assent.sandbox.profile.exposure import credential_paths

    own = [os.fsencode(path) for path in (here.state, here.config, here.file)]
    return [*own, *(place for home in _homes() for place in credential_paths(home))]


def _homes() -> list[bytes]:
    homes = {Path.home(), Path("/root")}
    for above in (Path("/home"), Path("/Users")):
        try:
            homes.update(above.iterdir())
        except OSError:
            continue
    return sorted(map(os.fsencode, homes))


class WorkspaceSetup(msgspec.Struct, frozen=True):
    """The current workspace, and its settings."""

    folder: str
    root: bytes
    here: AppPaths
    configuration: Configuration
    warn: Callable[[str], object]
    environment: Mapping[str, str]
    left: Callable[[], float | None] = lambda: None  # seconds of the turn; None: no limit

    @property
    def settings(self) -> Settings:
        return self.configuration.loaded.settings


class InvocationOptions(msgspec.Struct, frozen=True):
    """What this invocation sets in addition to the settings."""

    rules: tuple[str, ...] = ()  # such as `allow bash:git *`
    auto: bool = False
    servers: bool = True  # their tools are to be had, once they are started


def open_tool_environment(
    setup: WorkspaceSetup,
    asker: Asker,
    agents: Mapping[str, Agent],
    driver: AgentDriver,
    choices: InvocationOptions,
) -> tuple[ToolEnvironment, Callable[[], None]]:
    """Returns the tool environment of calls, and how to close it."""
    settings, root = setup.settings, setup.root
    copies = cache(partial(_copies, setup))
    process = cache(partial(open_process, setup.folder))
    gate = _gate(setup, choices, partial(_why_no_copy, copies))
    tools = _tools(setup)
    more, close = _servers(setup, tools if choices.servers else None)
    # Those of plugins, servers and skills have descriptions of their own.
    is_usual = len(tools) == len(TOOLS) and not (choices.rules or settings.mcp)
    selftest = SandboxSelfTest(process)
    tool_environment = ToolEnvironment(
        open_process=process,
        open_shell=cache(lambda: read_only_shell(process(), root, left=setup.left)),
        fetch=HttpPageFetcher(HttpClient(wrap_tls, setup.environment, settings.http.idle_s)),
        gate=gate,
        asker=asker,
        dispatcher=ToolDispatcher(
            tools,
            gate,
            suggest=settings.plan.suggest,
            more=more,
            notes={TASK: subagents_line(agents)},
            # Agents of the user or the project are there to be used: the model has to know them.
            at_once=() if all(each.source == "builtin" for each in subagents(agents)) else (TASK,),
            offers=setup.configuration.offers if is_usual else None,
        ),
        agents=agents,
        hosts=settings.fetch.hosts,
        staging=settings.plan.staging,
        plan_shell=settings.plan.shell,
        open_copy=lambda name, posture: copies().open(name, fence=gate.path_limits(posture)),
        checks=settings.check,
        suggest=settings.plan.suggest,
        formatters=settings.format,
        modes=settings.modes,
        outside=LocalOutsideFiles(root, partial(refused_paths, setup.here)),
        path_limits=gate.path_limits,
        with_path_limits=partial(_fenced, gate, process, setup),
        is_tested=selftest.is_over,
        guards=partial(_guards, gate, _loop_limits(settings)),
        driver=driver,
        tasks=_task_limits(settings),
        auto=choices.auto,
        unconfined=settings.shell.unconfined,
        shell_s=settings.shell.timeout_s,
        seconds_left=setup.left,
        questions_s=settings.questions.expires_s,
        grants_s=settings.questions.grants_expire_s,
        redact=Redactor(setup.configuration.secrets),
        home=os.fsencode(Path.home()),
    )

    def end() -> None:
        close()
        selftest.wait()

    return tool_environment, end


class SandboxSelfTest:
    """Runs the sandbox's self-test beside the session, for calls that can do without a program.

    It takes about a second, once after each boot. A call that needs a program waits for it.
    """

    def __init__(self, process: "Callable[[], LocalProcessRunner]") -> None:
        self._process = process
        self._lock = Lock()  # calls that only read run side by side
        self._thread: Thread | None = None
        self._is_known = False

    def is_over(self) -> bool:
        """Tells whether its result is known, without waiting; starts it if it has to be run."""
        with self._lock:
            if self._thread is None and not self._is_known:
                self._is_known = known_sandbox_status() is not None
                if not self._is_known:
                    self._thread = Thread(target=self._run, name="sandbox self-test", daemon=True)
                    self._thread.start()
            return self._thread is None or not self._thread.is_alive()

    def wait(self) -> None:
        """Waits for its end: what it made for the test is removed then."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        self._process().sandbox_status()


def _copies(setup: WorkspaceSetup) -> "ScratchCopies":
    from assent.app.scratch import open_scratch_at

    return open_scratch_at(setup.folder, setup.here, setup.here.state)


def _why_no_copy(copies: "Callable[[], ScratchCopies]") -> str:
    """Says why no scratch copy can be made here; nothing if one can."""
    try:
        backend = copies().backend()
    except (AssentError, OSError) as error:
        return str(error)
    return (backend.reason or "No scratch copy is possible.") if backend.name == "none" else ""


def _gate(
    setup: WorkspaceSetup, choices: InvocationOptions, why_no_copy: Callable[[], str]
) -> RuleGate:
    typed = tuple(map(parse_rule_argument, choices.rules))
    policy, warnings = setup.configuration.policy
    if typed:
        check_rule_names(typed, setup.settings)
        policy, warnings = open_policy(setup.root, setup.here, setup.configuration.loaded, typed)
    for words in (*warnings, *unknown_tool_warnings(setup.settings, setup.here)):
        setup.warn(words)
    return rule_gate(policy, why_no_copy)


def _fenced(
    gate: RuleGate,
    process: "Callable[[], LocalProcessRunner]",
    setup: WorkspaceSetup,
    permissions: PermissionContext,
) -> ProgramOpeners | None:
    """Returns a runner for programs if rules hide files from them; else None."""
    fence = gate.path_limits(permissions)
    if fence is None:
        return None
    own = cache(lambda: process().with_path_limits(fence))
    return own, cache(lambda: read_only_shell(own(), setup.root, fence, setup.left))


def _guards(
    gate: RuleGate, limits: LoopLimits, posture: Callable[[], PermissionContext]
) -> Sequence[CallGuard]:
    """Returns the guards of one turn."""

    def judge(request: ResourceAccess, attempt: GuardedCall) -> Decision:
        return gate.decide((request,), posture())

    return (LoopGuard(limits, judge, only_reads),)


def _task_limits(settings: Settings) -> TaskLimits:
    tasks = settings.tasks
    children = settings.budget.children
    return TaskLimits(tasks.depth, tasks.together, tasks.seconds, tasks.steps, children)


def _loop_limits(settings: Settings) -> LoopLimits:
    loops = settings.loops
    return LoopLimits(
        loops.warn, loops.ask, loops.block, loops.failures, loops.window, loops.give_up
    )


def _tools(setup: WorkspaceSetup) -> tuple[Tool, ...]:
    """Returns the built-in tools, the one for skills, and those of plugins that are enabled."""
    settings = setup.settings
    builtin = [shell_tool(settings.plan.shell) if one is SHELL else one for one in TOOLS]
    plugins, own = settings.plugins, (*builtin, *_skill_tool(setup))
    if not plugins.enabled:
        return own
    from assent.app.plugins import plugin_tools

    found, remarks = plugin_tools(plugins)
    for words in remarks:
        setup.warn(words)
    return (*own, *found)


def _skill_tool(setup: WorkspaceSetup) -> tuple[Tool, ...]:
    """Returns the tool for skills, if there is a folder that could have some."""
    root = os.fsdecode(setup.root)
    places = [os.fspath(setup.here.skills), *(os.path.join(root, at) for at in PROJECT_SKILLS)]
    if not any(map(os.path.isdir, places)):
        return ()
    from assent.app.skills import open_skill_tool

    return open_skill_tool(setup.root, setup.here, setup.warn)


def _servers(
    setup: WorkspaceSetup, tools: Sequence[Tool] | None
) -> tuple[Callable[[str], Sequence[Tool]], Callable[[], None]]:
    """Returns a function that lists MCP tools, and one that ends the servers."""
    servers = setup.settings.mcp
    if not servers or tools is None:
        return (lambda mode: ()), (lambda: None)
    from assent.app.mcp import McpTools

    found = McpTools(servers, setup.root, [tool.name for tool in tools], setup.warn)
    return found.tools, found.close
