"""Opens what a session needs: the engine, agents, tools, and the agent loop with its model."""

import os
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import msgspec

from assent.agent.loop.budget import BudgetLimits
from assent.agent.loop.loop import AgentLoop
from assent.agent.prompt import (
    PromptLayer,
    ReminderContext,
    mode_instructions,
    prompt_layers,
    reminder,
)
from assent.agent.services import ToolEnvironment
from assent.app.composition import engine_of
from assent.app.engine import Engine
from assent.app.models import ModelRegistry, StoredKeys
from assent.app.rules import Configuration, ConfigurationCache, unknown_rule_warnings
from assent.app.settings import (
    locate_workspace,
    stored_credentials,
    user_paths,
)
from assent.app.tool_environment import InvocationOptions, WorkspaceSetup, open_tool_environment
from assent.config.agents import agent_folders, load_agents
from assent.config.paths import AppPaths
from assent.config.settings import NotifySettings, Settings
from assent.core.paths import display_path
from assent.core.permission.mode import Mode, default_agent, effective_mode, resolve_mode
from assent.core.session.agent import Agent, PromptContext, unknown_agent
from assent.core.session.record import SessionRecord
from assent.executor.disk import Disk
from assent.llm.http_client import HttpClient, wrap_tls
from assent.ports import OpenedModel
from assent.ports.session import Asker
from assent.workspace.git_state import current_branch
from assent.workspace.instructions import read_instructions

if TYPE_CHECKING:
    from assent.agent.critic import PlanCritic

__all__ = [
    "BudgetLimits",
    "InvocationOptions",
    "PromptLayer",
    "SessionOptions",
    "SessionRuntime",
    "open_session_runtime",
]  # faces get them here


class SessionOptions(msgspec.Struct, frozen=True):
    """The options of one invocation."""

    model: str | None = ""  # None: none is asked for ahead
    agent: str = ""
    limits: BudgetLimits = BudgetLimits()
    choices: InvocationOptions = InvocationOptions()
    named: bool = False  # a person named the agent: one that does not exist is an error
    mode: str = ""  # that a person named: one that does not exist is an error


class SessionRuntime(msgspec.Struct, frozen=True):
    """Everything that a turn needs, for the workspace around one folder."""

    engine: Engine
    driver: AgentLoop
    tools: ToolEnvironment
    mode: Mode  # of a new session
    briefing: PromptContext
    models: ModelRegistry
    warnings: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()  # whose tools are known once they are started
    end: Callable[[], None] = lambda: None
    notify: NotifySettings = NotifySettings()

    def prompt_layers(
        self, record: SessionRecord, agent: Agent, absent: Collection[str] = ()
    ) -> tuple[PromptLayer, ...]:
        """Returns the prompt layers of an agent without some tools."""
        now = ReminderContext(
            staging=self.tools.staging,
            modes=self.tools.modes,
            top_level=self.engine.sessions.top_level(record, agent.name),
        )
        said = reminder(record, None, now)
        modes = effective_mode(record.mode, record.custom, self.tools.modes)[1]
        words = "\n\n".join(each.prompt.strip() for each in modes if each.prompt.strip())
        told = "\n\n".join(filter(None, [mode_instructions(agent, words, absent), said]))
        return prompt_layers(agent, self.briefing, record.model, told, absent)

    def close(self) -> None:
        self.end()
        self.models.close()
        self.engine.close()


MAX_KEPT = 32  # idle connections to providers; as many turns run at once


class RuntimeCache:
    """What a process that drives many turns keeps from one to the next.

    That is what was read from files that did not change since, connections to providers, and the
    environment, which a process keeps.
    """

    def __init__(self) -> None:
        self.configurations = ConfigurationCache()
        self.environment: Final[Mapping[str, str]] = dict(os.environ)
        self._clients: dict[float, HttpClient] = {}
        self._lock = Lock()

    def client(self, idle_s: float) -> HttpClient:
        """Returns the client of all turns that wait that long for a provider."""
        with self._lock:
            if idle_s not in self._clients:
                self._clients[idle_s] = HttpClient(
                    wrap_tls, self.environment, idle_s, most_kept=MAX_KEPT
                )
            return self._clients[idle_s]

    def close(self) -> None:
        """Closes the connections that no turn uses."""
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients = {}


def open_session_runtime(
    folder: str,
    asker: Asker,
    wanted: SessionOptions,
    opened: Engine | None = None,
    kept: RuntimeCache | None = None,
) -> SessionRuntime:
    """Opens everything; raises UsageError if a model is required and there is none.

    A face that already has an open engine passes it in, and one that drives many turns what it
    keeps for them.
    """
    here = user_paths()
    cwd, root = locate_workspace(folder)
    configuration = kept.configurations.read(root, here) if kept else Configuration(root, here)
    loaded = configuration.loaded
    settings = loaded.settings
    stored = StoredKeys(stored_credentials(here, root))
    environment = kept.environment if kept else dict(os.environ)
    models = ModelRegistry(
        settings, environment, cwd, stored, configuration.accounts,
        kept.client(settings.http.idle_s) if kept else None,
    )  # fmt: skip
    agents, remarks = configuration.agents
    if wanted.named and wanted.agent not in agents:
        raise unknown_agent(wanted.agent, agents)
    if wanted.mode:
        resolve_mode(wanted.mode, settings.modes)
    open_model = _ModelCache(models)
    if wanted.model is not None:
        worker = agents.get(wanted.agent or default_agent(settings.mode))
        chosen = open_model(wanted.model or (worker.model if worker else ""))
        if chosen.warm:
            chosen.warm()  # the connection is made while the rest is put together
    engine = opened or engine_of(cwd, root, here, loaded)
    briefing = _briefing(engine, here, (cwd, root))
    driver = AgentLoop(open_model, briefing, _limits(wanted.limits, settings))
    left = driver.purse.seconds_left
    ground = WorkspaceSetup(folder, root, here, configuration, engine.warn, environment, left)
    tools, end = open_tool_environment(ground, asker, agents, driver, wanted.choices)
    if settings.plan.critic:
        tools = _with_critic(tools, settings.plan.critic, open_model, driver)
    engine.sessions.obey(tools)
    own = [rule for agent in agents.values() for rule in agent.rules]
    warnings = (*loaded.warnings, *remarks, *unknown_rule_warnings(own, settings))
    return SessionRuntime(
        engine, driver, tools, settings.mode, briefing, models, warnings, (*settings.mcp,), end,
        settings.notify,
    )  # fmt: skip


def _with_critic(
    tools: ToolEnvironment, name: str, open_model: "_ModelCache", driver: AgentLoop
) -> ToolEnvironment:
    """Returns the tool environment with a critic, which is loaded once a plan is presented."""

    def open_critic() -> "PlanCritic":
        from assent.agent.critic import PlanCritic

        def opened() -> OpenedModel:
            return driver.cancellable(open_model(name))

        return PlanCritic(name, opened, driver.purse, tools.redact)

    return msgspec.structs.replace(tools, open_critic=open_critic)


def _limits(wanted: BudgetLimits, settings: Settings) -> BudgetLimits:
    """Returns the limits of an invocation: its own, else those of the settings."""
    budget = settings.budget
    return BudgetLimits(
        wanted.max_turns or budget.steps or None,
        wanted.max_budget or budget.dollars or None,
        wanted.max_tokens or budget.tokens or None,
        wanted.max_seconds or budget.seconds or None,
    )


class _ModelCache:
    """Opens each model once, so that the connection opened early is the one used."""

    def __init__(self, models: ModelRegistry) -> None:
        self._models = models
        self._opened: dict[str, OpenedModel] = {}

    def __call__(self, name: str) -> OpenedModel:
        if name not in self._opened:
            self._opened[name] = self._models.open(name)
        return self._opened[name]


def _briefing(engine: Engine, here: AppPaths, where: tuple[bytes, bytes]) -> PromptContext:
    cwd, root = where
    on = current_branch(root)
    lines = [
        f"Workspace: {display_path(root)}",
        f"The user is in its folder {display_path(cwd[len(root) + 1 :])}." if cwd != root else "",
        f"Platform: {sys.platform}",
        f"Date: {time.strftime('%Y-%m-%d')}",
        f"Git branch: {on}" if on else "",
    ]
    instructions = read_instructions(root, cwd, os.fsencode(here.config))
    facts = tuple(fact.text for fact in engine.memory.all())
    return PromptContext(tuple(filter(None, lines)), instructions, facts)


# Loads the agents of a workspace: Assent's, the user's and the project's.


def list_agents(folder: str) -> list[Agent]:
    """Returns the agents by name."""
    return list(workspace_agents(folder)[0].values())


def workspace_agents(folder: str) -> tuple[dict[str, Agent], tuple[str, ...]]:
    """Returns the agents in the order of their names, and warnings about their files."""
    places = agent_folders(user_paths().config, Path.home(), locate_workspace(folder)[1])
    agents, warnings = load_agents(places, Disk().open)
    return {name: agents[name] for name in sorted(agents)}, warnings
