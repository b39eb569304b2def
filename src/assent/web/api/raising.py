"""What raises what a session may do without asking: a mode, or an agent; an approver decides it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from assent.core.errors import UsageError
from assent.core.permission.mode import MODES, Mode, default_agent
from assent.core.permission.rule import PermissionPattern
from assent.core.session.agent import Agent, may_widen
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import messages_before
from assent.web.api.configuration import known_agents
from assent.web.endpoint import ApiCall
from assent.web.errors import NotConfirmed

if TYPE_CHECKING:
    from assent.app.engine import Engine

YOLO: Final = "yolo"
CustomMode = tuple[Mode, str]  # a mode, and the custom mode of which it is the base, if any
_Remembered = frozenset[tuple[str, str, str, tuple[PermissionPattern, ...]]]


def check_mode(call: ApiCall[Any, Any], now: CustomMode, then: CustomMode, confirm: str) -> None:
    """Raises an error if a change of mode could allow more than before, and that is not theirs."""
    if not _raises(now, then):
        return
    call.check("approver", decides=True)
    if then[0] == YOLO and confirm != YOLO:
        raise NotConfirmed(
            "In yolo mode nothing asks before it runs. Nothing was changed.",
            'send it again with "confirm": "yolo"',
        )


def _raises(now: CustomMode, then: CustomMode) -> bool:
    if now == then:
        return False
    if now[1] and then[0] != "plan":
        return True  # what narrows the custom mode no longer does
    higher = MODES.index(then[0]) > MODES.index(now[0])
    return higher or (now[1] != "" and now[0] == "plan")


def check_first_agent(call: ApiCall[Any, Any], engine: "Engine", mode: Mode, agent: str) -> None:
    """Raises Forbidden if a new session's agent could do more than the usual one of its mode.

    Raises UsageError if there is no such agent.
    """
    if agent:
        known = _known(engine, agent)
        _check(call, engine, (known, agent), None, mode, [default_agent(mode)])


def check_next_agent(
    call: ApiCall[Any, Any],
    engine: "Engine",
    record: SessionRecord,
    agent: str,
    *,
    plan_mode: bool = False,
) -> None:
    """Raises Forbidden if the agent of a message could do more than the session's can now.

    Those of messages that come first count, too: one of them may be stricter. Raises UsageError if
    there is no such agent.
    """
    if agent:
        queue = engine.message_queues.queue(record)
        before = [each.agent for each in (*filter(None, [queue.taken]), *queue.waiting)]
        than = [engine.sessions.next_agent(record), *filter(None, before)]
        than += ["plan"] if plan_mode else []
        _check(call, engine, (_known(engine, agent), agent), record, record.mode, than)


def check_rewound_agent(
    call: ApiCall[Any, Any], engine: "Engine", record: SessionRecord, message: str
) -> None:
    """Raises Forbidden if a rewind to a message brings back an agent that could do more."""
    left = messages_before(engine.sessions.messages(record), message)
    back = msgspec.structs.replace(record, agent=left[-1].agent if left else "")
    agent, now = engine.sessions.next_agent(back), engine.sessions.next_agent(record)
    agents = known_agents(engine)
    if agent != now and agent in agents:
        _check(call, engine, (agents, agent), record, record.mode, [now])


def _known(engine: "Engine", name: str) -> dict[str, Agent]:
    """Returns the agents of a workspace; raises UsageError if one is not among them."""
    agents = known_agents(engine)
    if name not in agents:
        raise UsageError(f"Agent {name!a} not found. Nothing was started.", "GET /api/v1/agents")
    return agents


def _check(
    call: ApiCall[Any, Any],
    engine: "Engine",
    chosen: tuple[dict[str, Agent], str],
    record: SessionRecord | None,
    mode: Mode,
    than: Iterable[str],
) -> None:
    """Raises Forbidden if a token or an author chooses an agent that could do more than others."""
    agents, name = chosen
    for other in than:
        if other == name:
            continue
        known = agents.get(other)
        # One that is gone plans in plan mode, whatever the mode of the session is.
        wider = known is None and mode != "plan"
        wider = wider or may_widen(agents[name], known or agents["plan"])
        more = _remembered(engine, record, mode, name) - _remembered(engine, record, mode, other)
        if wider or more:
            call.check("approver", decides=True)
            return


def _remembered(
    engine: "Engine", record: SessionRecord | None, mode: Mode, agent: str
) -> _Remembered:
    """Returns the remembered answers that could count for an agent; in plan mode none does."""
    session = record.session if record else ""
    return frozenset(
        (grant.mode, grant.custom, grant.plan, grant.patterns)
        for grant in (engine.grants.all() if mode != "plan" else ())
        if grant.agent == agent and (grant.reach == "project" or grant.session == session)
    )
