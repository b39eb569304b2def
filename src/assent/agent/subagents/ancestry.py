"""Which agents can be sub-agents, and which sessions are parents and children of another."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from assent.agent.services import TaskLimits
from assent.agent.session_repository import SessionRepository
from assent.core.errors import NotFound, UsageError
from assent.core.event import StoredEvent
from assent.core.session.agent import Agent
from assent.core.session.event import CallEnded, ChildEnded, ChildStarted, StepStarted, TurnEnded
from assent.core.session.question import calls_awaiting_answers
from assent.core.session.record import SessionRecord
from assent.planning.ports import Ports

MAX_DEPTH = 16  # parents; only a log that was tampered with has more

ReadEvents = Callable[[str], Sequence[StoredEvent]]  # the events of a session


def parent_sessions(ports: Ports, record: SessionRecord) -> tuple[SessionRecord, ...]:
    """Returns a child's parent, its parent and so on, in their current state; raises NotFound."""
    found: list[SessionRecord] = []
    diary = SessionRepository(ports, record.workspace)
    while record.parent:
        record = diary.load(record.parent)
        found.append(record)
        if len(found) > MAX_DEPTH:
            raise NotFound(
                f"Session {record.slug} has too many parent sessions.", "assent sessions list"
            )
    return tuple(found)


def requested_end(ports: Ports, record: SessionRecord) -> TurnEnded | None:
    """Returns the end that a user requested for this work, here or in a parent; else None.

    A parent that is not running stops no child: its request is about its last turn.
    """
    above = [each.halt for each in parent_sessions(ports, record) if each.working]
    halt = next(filter(None, [record.halt, *above]), "")
    return halt_end(halt) if halt else None


def halt_end(halt: str) -> TurnEnded:
    """Returns the end of a turn that the user stopped from another terminal."""
    if halt == "paused":
        return TurnEnded("paused", "Paused from another process.")
    return TurnEnded("cancelled", "Cancelled from another process.")


def children_of(events: Sequence[StoredEvent]) -> dict[str, ChildStarted]:
    """Returns all children that a session ever had, by id, with the newest start of each."""
    found = [one.event for one in events if isinstance(one.event, ChildStarted)]
    return {event.child: event for event in found}


def unfinished_children(events: Sequence[StoredEvent]) -> set[str]:
    """Returns the children whose end is not recorded in the session."""
    found: set[str] = set()
    for recorded in events:
        match recorded.body:
            case ChildStarted(child=child):
                found.add(child)
            case ChildEnded(child=child):
                found.discard(child)
            case _:
                pass
    return found


def waiting_tasks(
    events: Sequence[StoredEvent], left: Set[str] = frozenset()
) -> dict[str, ChildStarted]:
    """Returns the children that wait for an answer and whose calls are open, by call.

    `left` are further children that wait, though the session has no record of it.
    """
    begun: dict[str, ChildStarted] = {}
    asking = asking_children(events) | left
    for recorded in events:
        match recorded.body:
            case ChildStarted(call=call, background=False) as started:
                begun[call] = started
            case CallEnded(call=call):
                begun.pop(call, None)
            case StepStarted():  # its calls may have the same ids
                begun.clear()
            case TurnEnded(why=why) if why != "waiting":
                begun.clear()
            case _:
                pass
    return {call: started for call, started in begun.items() if started.child in asking}


def asking_children(events: Sequence[StoredEvent]) -> set[str]:
    """Returns the children that stopped with a question, and were not resumed."""
    found: set[str] = set()
    for recorded in events:
        match recorded.body:
            case ChildEnded(child=child, why="waiting"):
                found.add(child)
            case ChildStarted(child=child) | ChildEnded(child=child):
                found.discard(child)
            case _:
                pass
    return found


def abandoned_while_asking(
    read: ReadEvents, events: Sequence[StoredEvent], depth: int = 0
) -> set[str]:
    """Returns the children that a process left at a question, theirs or a child's, as it died.

    Nothing was done yet for what they ask about, so they can continue; all others are lost.
    """
    if depth > MAX_DEPTH:
        return set()
    found = {child for child in unfinished_children(events) if _asks(read, read(child), depth + 1)}
    of_calls = {started.child for started in waiting_tasks(events, found).values()}
    return found & (of_calls | _behind(events))


def _asks(read: ReadEvents, events: Sequence[StoredEvent], depth: int) -> bool:
    """Tells whether a session, or a child of it, only waits for an answer."""
    if calls_awaiting_answers(events):
        return True
    left = abandoned_while_asking(read, events, depth)
    asking = asking_children(events) | left
    return bool(waiting_tasks(events, left) or asking & _behind(events))


def _behind(events: Sequence[StoredEvent]) -> set[str]:
    """Returns the children that run in the background."""
    return {each.child for each in children_of(events).values() if each.background}


# Which agents can be started as sub-agents, and their limits.


_SHELL = ("shell", "bash")  # under which names an agent's table speaks of it


def subagents(agents: Mapping[str, Agent]) -> tuple[Agent, ...]:
    """Returns the agents that may be started for a task, by name."""
    found = [agent for agent in agents.values() if agent.kind != "primary"]
    return tuple(sorted(found, key=lambda agent: agent.name))


def subagents_line(agents: Mapping[str, Agent]) -> str:
    """Returns the types of sub-agents, as `task` describes them; nothing if there are none."""
    told = [f"{each.name} ({each.description})".replace(" ()", "") for each in subagents(agents)]
    return f"Agents: {', '.join(told)}" if told else ""


def subagent(agents: Mapping[str, Agent], name: str) -> Agent:
    """Returns the agent of that name if it may work as a child; else raises UsageError."""
    known = {agent.name: agent for agent in subagents(agents)}
    if name not in known:
        raise UsageError(
            f"Sub-agent type {name!a} not found. Available: {', '.join(known) or 'none'}. No "
            "sub-agent was started."
        )
    return known[name]


def is_read_only(agent: Agent) -> bool:
    """Tells whether an agent changes nothing: it may not edit, and its file grants no commands."""
    rules = [rule.permission for rule in agent.rules]
    named: Iterable[str] = {*agent.tools, *agent.permission, *rules}
    return agent.denies("edit") and not any(name in _SHELL for name in named)


def max_steps(agent: Agent, limits: TaskLimits) -> int:
    """Returns the step limit of a task; a project's agent can only lower the user's limit."""
    return int(_most(agent, agent.steps, limits.steps))


def max_seconds(agent: Agent, limits: TaskLimits) -> float:
    """Returns the time limit of a task in seconds; a project's agent can only lower it."""
    return _most(agent, agent.seconds, limits.seconds)


def _most(agent: Agent, own: float, usual: float) -> float:
    if agent.source == "project":
        return min((most for most in (own, usual) if most), default=0)
    return own or usual
