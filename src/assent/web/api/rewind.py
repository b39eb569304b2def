"""Endpoints that rewind a session: only the conversation, or the files as well.

With files, everything that was done since a message is undone by one plan, which is decided like
any other undo: by the digest that was served to the very caller.
"""

from typing import TYPE_CHECKING

import msgspec

from assent.core.errors import DigestMismatch
from assent.core.run.journal import DONE
from assent.planning.approvals import WebApprover
from assent.render.rows import Row
from assent.render.sessions import rewind_point_rows, rewound_row
from assent.runs.run_rows import undo_report_row, undo_row
from assent.web.answers import RewindPointsAnswer, RewoundSessionAnswer
from assent.web.api.decisions import WEB
from assent.web.api.plans import warned
from assent.web.api.raising import check_rewound_agent
from assent.web.api.runs import check_free
from assent.web.api.sessions import session_answer
from assent.web.endpoint import API, ApiCall, Endpoint, Nothing

if TYPE_CHECKING:
    from assent.agent.rewind_files import FileRewind
    from assent.app.engine import Engine
    from assent.core.session.record import SessionRecord

NOT_REWOUND = "Nothing was changed, and the session was not rewound."


class RewindQuery(msgspec.Struct, frozen=True):
    """The message to which a rewind is shown; the last one is `last`."""

    to: str = ""


class RewindPoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The message to which a session is rewound; the last one unless another is named.

    With the digest of the undo that was shown, files are rewound, too.
    """

    to: str = ""
    digest: str = ""


def rewind_points(call: ApiCall[RewindQuery, Nothing]) -> Row:
    """Lists the messages to which a session can be rewound.

    With `to`, it also shows what would be rewound, and the undo of everything since as `undo`:
    its digest rewinds the files, too. Files that changed since are left alone.
    """
    engine, record = call.server.find_session(call.path["session"])
    row: Row = {"messages": rewind_point_rows(engine.sessions.messages(record))}
    if not call.query.to:
        return row
    engine.runs.record_lost_command()  # else an undo would later be about more than was shown
    shown = engine.file_rewinds.preview(record, _message(call.query.to))
    if shown.has_files:
        call.note_served(_subject(shown), shown.undo.plan.digest)
    since = engine.sessions.since(record, shown.message.id)
    diffs = engine.reviews.undo_diffs(shown.undo.source, shown.undo.plan, again=False)
    undo = {**undo_row(shown.undo, diffs), "run": None, "runs": list(shown.undo.target.runs)}
    return {**row, **rewound_row(shown.message, since.turns, since.runs), "undo": undo}


def rewind(call: ApiCall[Nothing, RewindPoint]) -> Row:
    """Rewinds a session to before a message; files stay, and later runs are listed for an undo.

    With `digest`, files are rewound, too, and that takes an approver; so does an agent that could
    do more than the present one.
    """
    engine, record = call.server.find_session(call.path["session"])
    if call.body.digest:
        call.check("approver", decides=True)
        return _with_files(call, engine, record)
    spoken = engine.sessions.user_message(record, _message(call.body.to))
    check_rewound_agent(call, engine, record, spoken.id)
    since = engine.sessions.since(record, spoken.id)
    _forget_queue(engine, record)
    back = session_answer(engine, engine.sessions.rewind(record, spoken.id))
    return {**back, **rewound_row(spoken, since.turns, since.runs), "files": "kept"}


def _with_files(
    call: ApiCall[Nothing, RewindPoint], engine: "Engine", record: "SessionRecord"
) -> Row:
    """Undoes what was shown, and rewinds the session if that came to its end."""
    check_free(engine)
    engine.runs.check_decided()
    shown = engine.file_rewinds.preview(record, _message(call.body.to))
    digest, now = call.body.digest, shown.undo.plan.digest if shown.has_files else ""
    look = f"GET {API}/sessions/{record.session}/rewind?to={shown.message.id}"
    if digest != now:
        told = f"The undo now has digest {now}" if now else "There are no files to undo"
        raise DigestMismatch(f"{told}; you named {digest}. {NOT_REWOUND}", look)
    call.server.reviewed.check(call.access.access, _subject(shown), digest, look)
    since = engine.sessions.since(record, shown.message.id)
    _forget_queue(engine, record)
    steps = engine.file_rewinds.apply(shown, WEB, by=WebApprover(call.access.name))
    report = call.server.plan_worker.drive(engine, shown.undo.source, steps, "")
    with engine.runs.housekeeping("What is kept of runs was not pruned"):
        engine.retention.retain(daily=True)
    done = report.outcome in DONE
    back = session_answer(engine, engine.sessions.load(record.session))
    row = {**back, **rewound_row(shown.message, since.turns, since.runs)}
    row |= {"files": "restored" if done else "kept"} | ({} if done else {"rewound_to": None})
    return warned(engine, {**row, "result": undo_report_row(shown.undo, report)})


def _forget_queue(engine: "Engine", record: "SessionRecord") -> None:
    """Removes what waits to be said, which was meant for the conversation as it is."""
    with engine.sessions.rewinding(record):
        pass  # what cannot be rewound now is said before anything is removed
    for each in engine.message_queues.queue(record).waiting:
        engine.message_queues.remove(record, each.message)


def _message(to: str) -> str:
    return "" if to == "last" else to


def _subject(shown: "FileRewind") -> str:
    return f"rewind/{shown.session.session}/{shown.message.id}"


_ONE = "/sessions/{session}/rewind"
ENDPOINTS = (
    Endpoint("GET", _ONE, "Where it can be rewound to", "viewer", rewind_points, RewindQuery,
             answer=RewindPointsAnswer),
    Endpoint("POST", _ONE, "Rewind a session", "author", rewind, body=RewindPoint,
             answer=RewoundSessionAnswer),
)  # fmt: skip
