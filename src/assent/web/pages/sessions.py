"""Pages of sessions: the list, a new one, the conversation, and all that a person does in it."""

from typing import TYPE_CHECKING, Any, Final

from assent.core.errors import NotFound
from assent.core.permission.mode import MODES, resolve_mode
from assent.render.estimate import dollars_text, token_count_text
from assent.render.modes import MODE_SUMMARIES
from assent.render.rows import Row
from assent.web.api.configuration import agents, modes
from assent.web.api.plans import row_of_plan
from assent.web.api.questions import list_questions
from assent.web.api.raising import YOLO
from assent.web.api.rewind import rewind, rewind_points
from assent.web.api.sessions import (
    cancel,
    change,
    fork,
    list_sessions,
    pause,
    remove_message,
    resume,
    say,
    show_session,
    start_session,
)
from assent.web.pages.conversation import Conversation, fold_conversation
from assent.web.pages.page import GoTo, PageCall, PageRoute, Shown, link
from assent.web.pages.plan_list import state_words

if TYPE_CHECKING:
    from assent.app.engine import Engine

SHOWN_ENTRIES: Final = 150  # of a conversation; older ones come when asked for


def show_sessions(call: PageCall) -> Shown:
    """Lists sessions, newest first, after a form for a new one."""
    workspace = call.query.get("workspace", "")
    rows = call.ask(list_sessions, query={"workspace": workspace})["sessions"]
    served = [engine.workspace for engine in call.server.engines()]
    values: Row = {"rows": rows, "modes": MODES, "meanings": MODE_SUMMARIES, "goal": ""}
    if workspace or len(served) == 1:
        values |= {"agents": _agents(call, workspace or served[0])}
    return Shown("sessions.html", {"agents": [], **values})


def start(call: PageCall) -> GoTo | Shown:
    """Starts a session with a goal; yolo, or a mode based on it, asks once more before."""
    body = {name: call.field(name) for name in ("goal", "workspace", "mode", "model", "agent")}
    engine = call.server.choose_engine(body["workspace"])
    if body["mode"] and _is_yolo(engine, body["mode"]) and call.field("confirm") != YOLO:
        values = {"action": "/sessions", "fields": body, "back": "/sessions"}
        return Shown("confirm_yolo.html", values)
    found = call.ask(start_session, {**body, "confirm": call.field("confirm")})
    return GoTo(link(f"/sessions/{found['session']}"))


def _is_yolo(engine: "Engine", mode: str) -> bool:
    return resolve_mode(mode, engine.sessions.modes)[0] == YOLO


def show(call: PageCall) -> Shown:
    """Shows a session: conversation, questions, prompt, and what it stands at."""
    id = call.path["session"]
    engine, record = call.server.find_session(id)
    row = call.ask(show_session, session=id)
    found = fold_conversation(engine.sessions.events(record))
    most = SHOWN_ENTRIES if call.query.get("all", "") != "yes" else len(found.entries)
    waiting = call.ask(list_questions, query={"workspace": engine.workspace})["questions"]
    return Shown(
        "session.html",
        {
            "row": row,
            "talk": found,
            "entries": found.entries[-most:] if most else [],
            "older": max(0, len(found.entries) - most),
            "questions": [each for each in waiting if each["root"] == id],
            "plan": _plan(engine, row["plan_id"]),
            "state_words": state_words,
            "workspace": engine.workspace,
            "modes": _mode_choices(call, row),
            "agents": _agents(call, engine.workspace),
            "usage": _usage(row, found),
            "stoppable": bool(row["at_work_on"]) or row["state"] == "working",
            "resumable": row["state"] in ("paused", "cancelled", "interrupted", "failed"),
        },
    )


def _plan(engine: "Engine", plan_id: str | None) -> Row | None:
    """Returns the plan that a session works on."""
    try:
        return row_of_plan(engine, engine.plans.repository().load(plan_id)) if plan_id else None
    except NotFound:  # it was deleted
        return None


def _mode_choices(call: PageCall, row: Row) -> list[Row]:
    """Returns all modes as buttons; custom ones next to their base."""
    found: list[Row] = []
    rows: list[Row] = call.ask(modes, query={"workspace": row["workspace"]})["modes"]
    for base in MODES:
        chosen = row["mode"] == base and not row["custom_mode"]
        found.append({"id": base, "base": base, "title": MODE_SUMMARIES[base], "chosen": chosen})
        for each in rows:
            if each["base"] == base and each["id"] not in MODES:
                title = str(each["label"] or each["id"])
                on = row["custom_mode"] == each["id"]
                found.append({"id": each["id"], "base": base, "title": title, "chosen": on})
    return found


def _agents(call: PageCall, workspace: str | None) -> list[str]:
    rows = call.ask(agents, query={"workspace": workspace or ""})["agents"]
    return [row["name"] for row in rows if row["kind"] != "subagent"]


def _usage(row: Row, found: Conversation) -> list[tuple[str, str]]:
    used: Any = row["usage"]
    cost: Any = row["cost"]
    shown = [
        ("Context", f"{token_count_text(found.context)} tokens" if found.context else ""),
        ("Read", f"{token_count_text(used['input'])} tokens" if used["input"] else ""),
        ("Written", f"{token_count_text(used['output'])} tokens" if used["output"] else ""),
        ("Cost", dollars_text(cost)),
        ("Steps", str(row["steps"] or "")),
        ("Model", found.model or str(row["model"] or "")),
        ("Agent", str(row["agent"] or "")),
    ]
    return [(name, text) for name, text in shown if text]


def _back(call: PageCall) -> GoTo:
    return GoTo(link(f"/sessions/{call.path['session']}"))


def send(call: PageCall) -> GoTo:
    """Says something to a session; while it works, the message waits for its turn."""
    body = {name: call.field(name) for name in ("text", "model", "agent")}
    call.ask(say, body, session=call.path["session"])
    return _back(call)


def confirm_mode(call: PageCall) -> Shown:
    """Asks once more before yolo, or a mode based on it."""
    engine, record = call.server.find_session(call.path["session"])
    mode = call.query.get("mode", YOLO)
    if not _is_yolo(engine, mode):
        raise NotFound("This mode is not based on yolo.")
    back = link(f"/sessions/{record.session}")
    values = {"action": f"{back}/mode", "fields": {"mode": mode}, "back": back}
    return Shown("confirm_yolo.html", values)


def choose_mode(call: PageCall) -> GoTo:
    """Changes the mode; yolo, or a mode based on it, asks once more before."""
    engine, record = call.server.find_session(call.path["session"])
    mode, confirm = call.field("mode"), call.field("confirm")
    if _is_yolo(engine, mode) and confirm != YOLO:
        return GoTo(link(f"/sessions/{record.session}/yolo", mode=mode))
    call.ask(change, {"mode": mode, "confirm": confirm}, session=record.session)
    return _back(call)


def rename(call: PageCall) -> GoTo:
    """Gives a session another title."""
    call.ask(change, {"title": call.field("title")}, session=call.path["session"])
    return _back(call)


def remove(call: PageCall) -> GoTo:
    """Removes a message that waits."""
    session, message = call.path["session"], call.field("message")
    call.ask(remove_message, session=session, message=message)
    return _back(call)


def pause_session(call: PageCall) -> GoTo:
    """Pauses what works; what waits is kept."""
    call.ask(pause, {}, session=call.path["session"])
    return _back(call)


def cancel_session(call: PageCall) -> GoTo:
    """Cancels what works and removes what waits."""
    call.ask(cancel, {}, session=call.path["session"])
    return _back(call)


def resume_session(call: PageCall) -> GoTo:
    """Has a session that was stopped go on."""
    call.ask(resume, session=call.path["session"])
    return _back(call)


def fork_session(call: PageCall) -> GoTo:
    """Goes on in a copy of the conversation."""
    found = call.ask(fork, session=call.path["session"])
    return GoTo(link(f"/sessions/{found['session']}"))


def show_rewind(call: PageCall) -> Shown:
    """Shows what a rewind to a message would remove, and which files it would restore."""
    session = call.path["session"]
    row = call.ask(show_session, session=session)
    found = call.ask(rewind_points, query={"to": call.query.get("to", "last")}, session=session)
    return Shown("rewind.html", {"row": row, "found": found, "workspace": row["workspace"]})


def do_rewind(call: PageCall) -> GoTo:
    """Rewinds the conversation, and with a digest the files, too."""
    body = {"to": call.field("to"), "digest": call.field("digest")}
    call.ask(rewind, body, session=call.path["session"])
    return _back(call)


_ONE = "/sessions/{session}"
PAGES = (
    PageRoute("GET", "/sessions", show_sessions),
    PageRoute("POST", "/sessions", start),
    PageRoute("GET", _ONE, show),
    PageRoute("POST", f"{_ONE}/messages", send),
    PageRoute("POST", f"{_ONE}/remove", remove),
    PageRoute("POST", f"{_ONE}/mode", choose_mode),
    PageRoute("GET", f"{_ONE}/yolo", confirm_mode, "author"),
    PageRoute("POST", f"{_ONE}/title", rename),
    PageRoute("POST", f"{_ONE}/pause", pause_session),
    PageRoute("POST", f"{_ONE}/cancel", cancel_session),
    PageRoute("POST", f"{_ONE}/resume", resume_session),
    PageRoute("POST", f"{_ONE}/fork", fork_session),
    PageRoute("GET", f"{_ONE}/rewind", show_rewind),
    PageRoute("POST", f"{_ONE}/rewind", do_rewind),
)
