"""The decision on a plan: the confirmation with its whole digest, and what comes of the answer."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from assent.core.errors import AssentError
from assent.core.session.event import MessageQueued
from assent.core.session.record import is_at_rest
from assent.render.review import operation_counts_text
from assent.web.api import decisions
from assent.web.api.plans import row_of_plan
from assent.web.errors import status_of
from assent.web.pages.page import GoTo, PageCall, PageRoute, Shown
from assent.web.pages.plans import plan_values

if TYPE_CHECKING:
    from assent.core.plan.record import PlanRecord

LATE: Final = (409, 423)  # statuses that a page explains by who decided, and what to do now


def show_confirmation(call: PageCall) -> Shown:
    """Shows what is about to be approved: the whole digest, and how much of it was served."""
    engine, record = call.server.find_plan(call.path["plan"])
    digest = call.query.get("digest", "")
    call.server.check_role(call.access, "approver", decides=True)
    served = call.server.reviewed.find(call.access.access, record.plan_id, digest)
    values = plan_values(call, engine, record, "review")
    known = digest == record.digest or (served is not None and served.was == record.digest)
    waits = values["awaits"] and not values["plan"]["approved"]
    if not digest or not known or not waits or served is None:
        return _late(call, record, None)
    plan = engine.plans.repository().plan(record)
    without = served.without
    if without:
        plan = engine.partial_approvals.preview(record, without).plan
    values |= {
        "digest": digest,
        "served": served,
        "counts": operation_counts_text(plan.operations),
        "excluded": len(without),
        "is_text": plan.is_text_only,
        "others": [one.option for one in engine.plans.options(record) if one is not record],
        "comments": len(engine.comments.waiting(record)),
    }
    return Shown("plan_confirm.html", values)


def approve(call: PageCall) -> Shown | GoTo:
    """Approves the digest of the form, and has it built if the form says so; once."""
    engine, record = call.server.find_plan(call.path["plan"])
    if row_of_plan(engine, record)["approved"]:
        return _late(call, record, None)
    body: dict[str, Any] = {
        "digest": call.field("digest"),
        "note": call.field("note").replace("\r\n", "\n"),
        "build": call.field("do") == "build",
        "skipped": call.field("skipped") == "1",
    }
    return _decided(call, decisions.approve, body)


def reject(call: PageCall) -> Shown | GoTo:
    """Rejects a plan with the comments that wait, and the parts of the form."""
    parts = ("scope", "constraints", "priorities", "notes")
    feedback = {name: call.field(name).replace("\r\n", "\n") for name in parts}
    body = {"digest": call.field("digest"), "feedback": feedback}
    found = _decided(call, decisions.reject, body)
    if isinstance(found, GoTo):
        with suppress(AssentError):  # the rejection is on record, and is read with the next message
            _have_revised(call)
    return found


def _have_revised(call: PageCall) -> None:
    """Has the model of a rejected plan read the feedback at once, as the screen does.

    So it is where this server drives the session and nothing is due there; what waits, is stopped
    or is driven elsewhere goes on in its own time.
    """
    engine, record = call.server.find_plan(call.path["plan"])
    session = engine.sessions.of_plan(record)
    if session is None:
        return
    queue, rests = engine.message_queues.queue(session), is_at_rest(engine.sessions.now(session))
    is_ours = queue.seq > 0 and queue.next is None
    if is_ours and rests and engine.sessions.is_revision_due(session):
        engine.message_queues.add(session, MessageQueued("", user=f"web, {call.access.name}"))
        call.server.work(engine, session)


def build(call: PageCall) -> Shown | GoTo:
    """Builds an approved plan."""
    return _decided(call, decisions.build, {"digest": call.field("digest")})


def _decided(call: PageCall, run: Any, body: Mapping[str, Any]) -> Shown | GoTo:
    plan = call.path["plan"]
    try:
        call.ask(run, body, plan=plan)
    except AssentError as error:
        if status_of(error) not in LATE:
            raise
        _, record = call.server.find_plan(plan)
        return _late(call, record, error)
    return GoTo(f"/plans/{plan}?decided=1")


def _late(call: PageCall, record: "PlanRecord", error: AssentError | None) -> Shown:
    """Says why an answer came too late, or too early: who decided, and what to do now."""
    engine, record = call.server.find_plan(record.plan_id)
    values = plan_values(call, engine, record, "review")
    digest = call.field("digest") or call.query.get("digest", "")
    served = call.server.reviewed.find(call.access.access, record.plan_id, digest)
    about = {digest, served.was if served else digest}
    found = engine.review_history.decisions(record)
    is_over = not values["open"] or values["plan"]["approved"]
    last = next((each for each in found if is_over or each.digest in about), None)
    values |= {"error": error, "is_decided": is_over or last is not None, "last": last}
    is_answer = bool(call.form) or not values["is_decided"]
    status = status_of(error) if error else LATE[0] if is_answer else 200
    return Shown("plan_late.html", values, status)


PAGES: Final = (
    PageRoute("GET", "/plans/{plan}/approve", show_confirmation, "approver"),
    PageRoute("POST", "/plans/{plan}/approve", approve, "approver"),
    PageRoute("POST", "/plans/{plan}/reject", reject, "author"),
    PageRoute("POST", "/plans/{plan}/build", build, "approver"),
)
