"""Estimates what the work of a session will take, with the prices of its model."""

from pathlib import Path

from assent.agent.session_repository import SessionRepository
from assent.app.settings import user_paths
from assent.core.session.estimate import (
    WorkEstimate,
    WorkHistory,
    estimate_work,
    open_steps,
    work_history,
)
from assent.core.session.record import SessionRecord
from assent.llm.catalog import ModelCatalog
from assent.planning.ports import WorkspaceConfig

RECENT_EVENTS = 500  # of a session, that an estimate looks at


def estimate_build(
    config: WorkspaceConfig,
    sessions: SessionRepository,
    record: SessionRecord | None,
    steps: int,
    model: str,
    agent: str,
) -> WorkEstimate:
    """Estimates the build of a text plan, with the model that will be used for it.

    It is the one that was asked for, else the agent's own, else the session's.
    """
    chosen = model or _own_model(config, agent) or (record.model if record else "")
    return estimate_session(config, sessions, record, steps, chosen or config.model)


def _own_model(config: WorkspaceConfig, agent: str) -> str:
    """Returns the model that an agent's file names; nothing if there is no such agent."""
    from assent.config.agents import agent_folders, load_agents
    from assent.executor.disk import Disk

    agents, _ = load_agents(
        agent_folders(user_paths().config, Path.home(), config.root), Disk().open
    )
    return agents[agent].model if agent in agents else ""


def estimate_session(
    config: WorkspaceConfig,
    sessions: SessionRepository,
    record: SessionRecord | None,
    steps: int | None = None,
    model: str = "",
) -> WorkEstimate:
    """Estimates what the open todos of a session will take, or a number of other steps.

    Without a session it is one that has not begun. The prices are those of `model`, else of the
    model that the session used last, else of that of the settings.
    """
    history, named, wanted = WorkHistory(), config.model, steps or 0
    if record is not None:
        recent = max(0, record.seq - RECENT_EVENTS)
        history = work_history(sessions.read(record.session, recent))
        named = history.model or record.model or named
        wanted = open_steps(record.todos) if steps is None else steps
    provider, _, name = (model or named).partition("/")
    known = ModelCatalog(config.models).find(provider, name)
    return estimate_work(history, wanted, known.prices, known.context)
