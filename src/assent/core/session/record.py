"""Session records: the state of a session, folded from its events without the messages."""

import msgspec

from assent.core.event import Event, EventBody
from assent.core.llm import TokenUsage
from assent.core.permission.mode import CustomModes, Mode, missing_mode
from assent.core.session.event import (
    ChildStarted,
    Compacted,
    CompactionRejected,
    CritiqueEnded,
    MessageAdded,
    ModeChanged,
    ModelChosen,
    OptionLinked,
    PlanLinked,
    QuestionAnswered,
    QuestionAsked,
    SessionDeleted,
    SessionRenamed,
    SessionRewound,
    SessionStarted,
    StepEnded,
    StepStarted,
    Todo,
    TodosChanged,
    TurnEnded,
    TurnStarted,
    WorkHalted,
)


class SessionRecord(msgspec.Struct, frozen=True):
    """A session, folded from its events; `seq` is the last event included."""

    session: str
    workspace: str
    slug: str
    mode: Mode
    created_at: str
    updated_at: str
    seq: int
    goal: str = ""
    title: str = ""
    parent: str = ""
    fork: str = ""
    agent: str = ""  # of the newest message
    model: str = ""  # that a message asked for last; empty: the agent's own
    plan_id: str = ""
    plan_seq: int = 0  # the model knows the plan's stream up to here,
    home_seq: int = 0  # and the workspace's up to here
    todos: tuple[Todo, ...] = ()
    turns: int = 0
    steps: int = 0  # requests for an answer so far; titles and summaries are none
    messages: int = 0  # of the user; synthetic ones do not count
    waiting: bool = False  # something was said that no step has read yet
    working: bool = False  # a turn began and did not end
    build: str = ""  # the run of prose that this turn carries out, and no other turn
    usage: TokenUsage = TokenUsage()
    cost: float | None = 0.0  # dollars; None: part of it is not known
    deleted: bool = False
    custom: str = ""  # a custom mode; `mode` is its base
    depth: int = 0  # how many parents it has
    children: int = 0  # started so far
    questions: tuple[str, ...] = ()  # ids of the unanswered ones
    halt: str = ""  # paused or cancelled: a person wants, or wanted, the work to stop
    ended: str = ""  # how the last turn ended
    rewound: bool = False  # the user went back, and has said nothing since
    compactions: int = 0  # summaries that replaced older messages
    option: str = ""  # the plan's label, if it is one of several to choose from,
    others: dict[str, int] = {}  # and how far the model knows the streams of the others, by plan


RESUME_TEXT = "Continue where you stopped."
_FINISHED = ("", "end", "presented")  # how a turn ends that came to its own end, or never began


def is_turn_owed(record: SessionRecord) -> bool:
    """Tells whether a turn can go on, or begin, without another word."""
    return record.waiting or record.working or record.ended == "waiting"


def is_at_rest(record: SessionRecord) -> bool:
    """Tells whether the last turn came to its own end, and nothing stops or waits since."""
    return not (record.working or record.halt or record.questions) and record.ended in _FINISHED


def resume_text(record: SessionRecord) -> str | None:
    """Returns the message with which a stopped session resumes; None if it was not stopped."""
    if is_turn_owed(record):
        return ""
    return RESUME_TEXT if record.halt or record.ended not in _FINISHED else None


def with_current_mode(record: SessionRecord, modes: CustomModes) -> SessionRecord:
    """Returns a session in the mode that it is in now: plan mode where its own is gone (F11)."""
    if not missing_mode(record.custom, modes):
        return record
    return msgspec.structs.replace(record, mode="plan", custom="")


def fold_session(record: SessionRecord | None, event: Event, seq: int, at: str) -> SessionRecord:
    """Returns the record after one more event."""
    if isinstance(event, SessionStarted):
        return SessionRecord(
            event.session, event.workspace, event.slug, event.mode, at, at, seq,
            event.goal, parent=event.parent, fork=event.fork, custom=event.custom,
            depth=event.depth,
        )  # fmt: skip
    assert record is not None, "a session's first event starts it"
    changes = _changes(record, event)
    return msgspec.structs.replace(record, seq=seq, updated_at=at, **changes)


def _changes(record: SessionRecord, event: EventBody) -> dict[str, object]:
    match event:
        case MessageAdded(agent=agent, synthetic=synthetic, model=model):
            said = record.messages + (not synthetic)
            asked = model or record.model
            back = record.rewound and bool(synthetic)
            news = {"agent": agent, "model": asked, "messages": said}
            return {**news, "waiting": True, "rewound": back}
        case ModeChanged(mode=mode, custom=custom):
            return {"mode": mode, "custom": custom}
        case PlanLinked(plan_id, seq, home):
            link = {"plan_id": plan_id, "plan_seq": seq, "home_seq": home}
            return {**link, "option": "", "others": {}}
        case OptionLinked(plan_id, seq, home, option, others):
            link = {"plan_id": plan_id, "plan_seq": seq, "home_seq": home}
            return {**link, "option": option, "others": dict(others)}
        case TodosChanged(todos):
            return {"todos": todos}
        case SessionRenamed(title):
            return {"title": title}
        case ModelChosen(model):
            return {"model": model}
        case _:
            return _work_changes(record, event)


def _work_changes(record: SessionRecord, event: EventBody) -> dict[str, object]:
    match event:
        case TurnStarted(turn, build):
            return {"turns": turn, "working": True, "build": build, "halt": "", "ended": ""}
        case StepStarted(step):
            return {"steps": step, "waiting": False}
        case (
            StepEnded(usage=usage, cost=cost)
            | CompactionRejected(usage=usage, cost=cost)
            | CritiqueEnded(usage=usage, cost=cost)
        ):
            return {"usage": add_usage(record.usage, usage), "cost": _sum(record.cost, cost)}
        case Compacted(usage=usage, cost=cost):
            paid = {"usage": add_usage(record.usage, usage), "cost": _sum(record.cost, cost)}
            return {**paid, "compactions": record.compactions + 1}
        case TurnEnded(why):
            return {"working": False, "build": "", "ended": why}
        case SessionDeleted():
            return {"deleted": True}
        case _:
            return _other_changes(record, event)


def _other_changes(record: SessionRecord, event: EventBody) -> dict[str, object]:
    """Folds the events in between: questions, children, and a user's stop request."""
    match event:
        case QuestionAsked(id=id):
            return {"questions": (*record.questions, id)}
        case QuestionAnswered(id=id):
            return {"questions": tuple(each for each in record.questions if each != id)}
        case ChildStarted():
            return {"children": record.children + 1}
        case WorkHalted(how):
            return {"halt": how}
        case SessionRewound(left=left, agent=agent, model=model):
            last = {"messages": left, "agent": agent, "model": model}
            return {**last, "waiting": False, "halt": "", "ended": "", "rewound": True}
        case _:
            return {}


def add_usage(one: TokenUsage, other: TokenUsage) -> TokenUsage:
    """Adds up tokens."""
    return TokenUsage(*[getattr(one, f) + getattr(other, f) for f in TokenUsage.__struct_fields__])


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
