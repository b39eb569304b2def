"""Estimates what the work of a session will take, with the prices of its model."""

from assent.agent.session_repository import SessionRepository
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


def estimate_session(
    config: WorkspaceConfig,
    sessions: SessionRepository,
    record: SessionRecord | None,
    steps: int | None = None,
) -> WorkEstimate:
    """Estimates what the open todos of a session will take, or a number of other steps.

    Without a session it is one that has not begun, with the model of the settings.
    """
    history, named, wanted = WorkHistory(), config.model, steps or 0
    if record is not None:
        recent = max(0, record.seq - RECENT_EVENTS)
        history = work_history(sessions.read(record.session, recent))
        named = history.model or record.model or named
        wanted = open_steps(record.todos) if steps is None else steps
    provider, _, name = named.partition("/")
    known = ModelCatalog(config.models).find(provider, name)
    return estimate_work(history, wanted, known.prices, known.context)
