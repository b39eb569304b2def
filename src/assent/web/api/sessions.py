"""Endpoints about sessions: starting them, talking to them, and what a person may change."""

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec

from assent.agent.sessions import fork_mode
from assent.core.errors import IllegalState, UsageError
from assent.core.permission.mode import Mode, resolve_mode
from assent.core.session.event import MessageQueued, UserTyped
from assent.core.session.queue import MAX_TEXT_CHARS
from assent.core.session.record import SessionRecord, resume_text
from assent.render.log import event_row
from assent.render.rows import Row, redacted_row, session_row
from assent.render.sessions import with_children
from assent.web.answers import (
    AcceptedMessageAnswer,
    SessionAnswer,
    SessionEventsAnswer,
    SessionsAnswer,
    StartedSessionAnswer,
    TodosAnswer,
)
from assent.web.api.raising import check_first_agent, check_mode, check_next_agent
from assent.web.endpoint import ApiCall, Endpoint, Nothing, Number

if TYPE_CHECKING:
    from assent.app.engine import Engine

ACCEPTED: Final = 202
MAX_EVENTS: Final = 1_000  # of a session in one answer
MAX_NAME: Final = 200  # characters of what a mode, a model or an agent is called
MAX_REASON: Final = 2_000  # characters
Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]


class SessionListQuery(msgspec.Struct, frozen=True):
    """Which sessions are listed."""

    workspace: str = ""


class NewSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A goal, and how to work on it; the mode is the configured one unless another is named."""

    goal: str
    workspace: str = ""
    mode: Name = ""
    plan_mode: bool = False
    model: Name = ""
    agent: Name = ""
    confirm: str = ""  # "yolo" for that mode


class NewMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Something that is said to a session; with `planMode` that message is worked on as a plan."""

    text: str
    plan_mode: bool = False
    model: Name = ""
    agent: Name = ""


class MessageQuery(msgspec.Struct, frozen=True):
    """After which event of the session to begin."""

    after: Number = 0


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a session is stopped."""

    reason: Annotated[str, msgspec.Meta(max_length=MAX_REASON)] = ""


class SessionChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is changed of a session; everything else stays."""

    mode: Name | None = None
    title: str | None = None
    model: Name | None = None
    confirm: str = ""  # "yolo" for that mode


def list_sessions(call: ApiCall[SessionListQuery, Nothing]) -> Row:
    """Lists sessions, newest first, children after their parents."""
    rows: list[Row] = []
    for engine in call.server.engines(call.query.workspace):
        rows += [session_answer(engine, record) for record in with_children(engine.sessions.all())]
    return {"sessions": rows}


def start_session(call: ApiCall[Nothing, NewSession]) -> Row:
    """Starts a session with a goal; its turn begins as soon as a thread is free."""
    wanted, server = call.body, call.server
    if not wanted.goal.strip():
        raise UsageError("The goal is empty. Nothing was started.")
    if len(wanted.goal) > MAX_TEXT_CHARS:
        raise UsageError(f"A goal has at most {MAX_TEXT_CHARS:,} characters. Nothing was started.")
    engine = server.choose_engine(wanted.workspace)
    default, modes = _default_mode(call, engine), engine.sessions.modes
    named = resolve_mode(wanted.mode, modes) if wanted.mode else default
    mode = "plan" if wanted.plan_mode else named[1] or named[0]
    check_mode(call, default, resolve_mode(mode, modes), wanted.confirm)
    check_first_agent(call, engine, resolve_mode(mode, modes)[0], wanted.agent)
    _check_model(wanted.model)
    engine.orphan_slots.check()
    typed = UserTyped(wanted.goal if call.access.kind == "cookie" else "")
    record, message = engine.message_queues.start(
        engine.sessions, wanted.goal, mode, wanted.agent, wanted.model, typed, call.by
    )
    server.work(engine, record)
    return {"message": message.message, **session_answer(engine, record)}


def show_session(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows a session's state, and the messages that wait for their turn."""
    engine, record = call.server.find_session(call.path["session"])
    return session_answer(engine, record)


def messages(call: ApiCall[MessageQuery, Nothing]) -> Row:
    """Shows what happened in a session after one of its events: messages, steps, calls, results.

    `last` is what the next request passes as `after`; `more` tells whether there is more already.
    """
    engine, record = call.server.find_session(call.path["session"])
    events = engine.sessions.events(record, call.query.after)
    found = events[:MAX_EVENTS]
    rows = [{"n": each.seq, **event_row(each, {})} for each in found]
    last = found[-1].seq if found else call.query.after
    return {"messages": rows, "last": last, "more": len(events) > len(found)}


def say(call: ApiCall[Nothing, NewMessage]) -> Row:
    """Says something to a session; it is worked on in its turn, and events tell what comes of it.

    The text is content: a slash or an exclamation mark at its beginning means nothing.
    """
    engine, record = call.server.find_session(call.path["session"])
    said = call.body
    if not said.text.strip():
        raise UsageError("The message is empty. Nothing was said.")
    _check_talkable(record)
    check_next_agent(call, engine, record, said.agent, plan_mode=said.plan_mode)
    _check_model(said.model)
    new = MessageQueued(
        "", said.text, call.by, said.plan_mode, said.model, said.agent,
        typed=call.access.kind == "cookie",
    )  # fmt: skip
    message = engine.message_queues.add(record, new)
    call.server.work(engine, record)
    return _accepted(engine, record, message)


def remove_message(call: ApiCall[Nothing, Nothing]) -> Row:
    """Removes a message that still waits for its turn."""
    engine, record = call.server.find_session(call.path["session"])
    engine.message_queues.remove(record, call.path["message"])
    return session_answer(engine, record)


def pause(call: ApiCall[Nothing, Reason]) -> Row:
    """Pauses a session: what runs is stopped, and what waits is not begun."""
    engine, record = call.server.find_session(call.path["session"])
    return session_answer(engine, engine.sessions.halt(record, "paused", call.body.reason))


def cancel(call: ApiCall[Nothing, Reason]) -> Row:
    """Cancels a session: its questions are answered with no, and what waits is removed."""
    engine, record = call.server.find_session(call.path["session"])
    for each in engine.message_queues.queue(record).waiting:
        engine.message_queues.remove(record, each.message)
    return session_answer(engine, engine.sessions.halt(record, "cancelled", call.body.reason))


def resume(call: ApiCall[Nothing, Nothing]) -> Row:
    """Resumes a session that was stopped, or that has an answer to go on with."""
    engine, record = call.server.find_session(call.path["session"])
    queued = engine.message_queues.queue(record).next
    words = resume_text(engine.sessions.now(record))
    if words is None and queued is None:
        raise IllegalState(
            f"Session {record.slug} is not paused or interrupted.",
            f"POST /api/v1/sessions/{record.session}/messages",
        )
    if queued is None:
        queued = engine.message_queues.add(record, MessageQueued("", words or "", call.by))
    call.server.work(engine, record)
    return _accepted(engine, record, queued)


def fork(call: ApiCall[Nothing, Nothing]) -> Row:
    """Copies messages and todos to a new session; plans, approvals and grants are not copied.

    It begins in plan mode if the session is in it, else in ask mode; where new sessions begin in a
    stricter one, that takes an approver.
    """
    engine, record = call.server.find_session(call.path["session"])
    check_mode(call, _default_mode(call, engine), (fork_mode(record.mode), record.custom), "")
    return session_answer(engine, engine.sessions.fork(record))


def change(call: ApiCall[Nothing, SessionChange]) -> Row:
    """Changes mode, title and model of a session: all that is named, or nothing.

    To raise the mode takes an approver, and `yolo` a second confirmation: `confirm`.
    """
    engine, record = call.server.find_session(call.path["session"])
    wanted, sessions = call.body, engine.sessions
    if wanted.mode is not None:
        now, then = (record.mode, record.custom), resolve_mode(wanted.mode, sessions.modes)
        check_mode(call, now, then, wanted.confirm)
    _check_model(wanted.model or "")
    record = sessions.change(record, wanted.mode, wanted.model, wanted.title)
    return session_answer(engine, record)


def todos(call: ApiCall[Nothing, Nothing]) -> Row:
    """Lists the todos of a session."""
    _, record = call.server.find_session(call.path["session"])
    return {"todos": msgspec.to_builtins(record.todos)}


def _default_mode(call: ApiCall[Any, Any], engine: "Engine") -> tuple[Mode, str]:
    """Returns the mode in which sessions of a workspace begin."""
    name = call.server.host.default_mode(call.server.root_of(engine))
    return resolve_mode(name, engine.sessions.modes)


def _check_model(name: str) -> None:
    """Refuses what cannot be a model; whether there is such a one is found out by its turn."""
    if not name.isprintable() or name != name.strip():
        raise UsageError(f"{name!a} is not a model. Nothing was changed.", "GET /api/v1/models")


def _check_talkable(record: SessionRecord) -> None:
    if record.parent:
        raise IllegalState(
            "This session belongs to a tool call of another one.",
            f"POST /api/v1/sessions/{record.parent}/messages",
        )


def _accepted(engine: "Engine", record: SessionRecord, message: MessageQueued) -> Row:
    """Returns what waits now; `ahead` of a message are those whose turns come first."""
    queue = engine.message_queues.queue(record)
    known = [each.message for each in (*filter(None, [queue.taken]), *queue.waiting)]
    ahead = known.index(message.message) if message.message in known else 0
    return {"message": message.message, "ahead": ahead, **session_answer(engine, record)}


def session_answer(engine: "Engine", record: SessionRecord) -> Row:
    """Returns a session, and the messages that wait in it."""
    sessions, queue = engine.sessions, engine.message_queues.queue(record)
    row = session_row(sessions.now(record), sessions.failure(record), sessions.missing_mode(record))
    waiting = [_queued_row(each) for each in queue.waiting]
    return {
        "workspace": engine.workspace,
        **row,
        "at_work_on": redacted_row(_queued_row(queue.taken)) if queue.taken else None,
        "queue": redacted_row(waiting),
        "questions": list(record.questions),
    }


def _queued_row(queued: MessageQueued) -> Row:
    return {
        "message": queued.message,
        "text": queued.text,
        "by": queued.user,
        "plan_mode": queued.plan_mode,
    }


_ONE = "/sessions/{session}"
ENDPOINTS = (
    Endpoint("GET", "/sessions", "Sessions, newest first", "viewer", list_sessions,
             SessionListQuery, answer=SessionsAnswer),
    Endpoint("POST", "/sessions", "Start a session", "author", start_session, body=NewSession,
             status=ACCEPTED, answer=StartedSessionAnswer),
    Endpoint("GET", _ONE, "A session", "viewer", show_session, answer=SessionAnswer),
    Endpoint("PATCH", _ONE, "Change a session", "author", change, body=SessionChange,
             answer=SessionAnswer),
    Endpoint("GET", f"{_ONE}/messages", "What happened in a session", "viewer", messages,
             MessageQuery, answer=SessionEventsAnswer),
    Endpoint("POST", f"{_ONE}/messages", "Say something", "author", say, body=NewMessage,
             status=ACCEPTED, answer=AcceptedMessageAnswer),
    Endpoint("DELETE", f"{_ONE}/messages/{{message}}", "Remove a waiting message", "author",
             remove_message, answer=SessionAnswer),
    Endpoint("POST", f"{_ONE}/pause", "Pause a session", "author", pause, body=Reason,
             answer=SessionAnswer),
    Endpoint("POST", f"{_ONE}/cancel", "Cancel a session", "author", cancel, body=Reason,
             answer=SessionAnswer),
    Endpoint("POST", f"{_ONE}/resume", "Resume a session", "author", resume, status=ACCEPTED,
             answer=AcceptedMessageAnswer),
    Endpoint("POST", f"{_ONE}/fork", "Fork a session", "author", fork, status=201,
             answer=SessionAnswer),
    Endpoint("GET", f"{_ONE}/todos", "The todos of a session", "viewer", todos, answer=TodosAnswer),
)  # fmt: skip
