"""Endpoints about decisions on plans: what to exclude, approve, reject, rehearse and build.

An approval names the digest that this server rendered for the very cookie that approves it.
"""

from typing import TYPE_CHECKING, Final

import msgspec

from assent.core.errors import AssentError, DigestMismatch, NotFound, UsageError
from assent.core.plan.approval import MAX_LIFETIME_S
from assent.core.plan.comment import Feedback
from assent.core.shell.process import MAX_COMMAND_S
from assent.planning.approvals import WebApprover, check_digest
from assent.planning.plans import check_note
from assent.render.approval import approved_fields, excluded_rows
from assent.render.review import review_json
from assent.render.review_changes import changes_text
from assent.render.rows import Row, error_row
from assent.render.status import of_plan
from assent.runs.rehearsal import RehearsalRequest
from assent.web.answers import (
    ApprovedPlanAnswer,
    RejectedPlanAnswer,
    ReviewAnswer,
    WorkAnswer,
    WorkListAnswer,
)
from assent.web.api.plans import row_of_plan, warned
from assent.web.endpoint import API, Answer, ApiCall, Endpoint, Nothing, Number
from assent.web.review_memory import Served

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord

WEB: Final = "web"  # the channel of an approval that came over HTTP
REHEARSAL_S: Final = 1800  # of each command, if nothing else is said


class WithoutRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The operations to exclude from the plan with this digest; page 0: all of it at once."""

    digest: str
    operations: tuple[str, ...]
    page: Number = 0


class ApproveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest to approve; `skipped` says that it was not read to its end."""

    digest: str
    note: str = ""
    build: bool = False
    skipped: bool = False
    expires_s: int | None = None
    model: str = ""  # that builds a text plan
    agent: str = ""


class FeedbackRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of feedback; empty ones are not mentioned."""

    scope: str = ""
    constraints: str = ""
    priorities: str = ""
    notes: str = ""


class RejectRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest to reject, and what should change."""

    digest: str
    note: str = ""
    feedback: FeedbackRequest = FeedbackRequest()


class BuildRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest to build, and who builds it if it is a text plan."""

    digest: str
    model: str = ""
    agent: str = ""


class RehearseRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to run instead of the commands that verify plans here; there is no network."""

    digest: str = ""
    commands: tuple[str, ...] = ()
    timeout: int = REHEARSAL_S


def without(call: ApiCall[Nothing, WithoutRequest]) -> Row:
    """Shows a plan without some operations, as it would be approved; records nothing.

    The answer is the review of the smaller plan, with its digest, which can then be approved.
    """
    engine, record = call.server.find_plan(call.path["plan"])
    _check_digest(engine, record, call.body.digest)
    engine.approvals.check_live(record)
    preview = engine.partial_approvals.preview(record, call.body.operations)
    digest, access = preview.plan.digest, call.access.access

    def rendered() -> Row:
        return review_json(engine.review_history.partial(preview, ""))

    ids = preview.was.ids
    excluded = tuple(ids[index] for index in preview.smaller.declined)
    served = Served(was=record.digest, without=excluded)
    if not call.body.page:
        found = rendered()
    else:
        name = f"{record.plan_id}/{digest}"
        found = call.server.pages.page(access, name, call.body.page, rendered)
        pages = int(str(found["pages"]))
        served = msgspec.structs.replace(served, page=call.body.page, pages=pages)
    call.note_served(record.plan_id, digest, served)
    return found


def approve(call: ApiCall[Nothing, ApproveRequest]) -> Row | Answer:
    """Approves the digest that was shown to this cookie, to its end or explicitly not.

    With `build`, the plan is built right after; then the answer is 202, with the work.
    """
    engine, record = call.server.find_plan(call.path["plan"])
    wanted, access = call.body, call.access
    note = check_note(wanted.note)
    if wanted.expires_s is not None and not 0 < wanted.expires_s <= MAX_LIFETIME_S:
        raise UsageError(f"expires_s must be 1 to {MAX_LIFETIME_S} seconds.")
    if wanted.model or wanted.agent:
        _check_builder(engine, record, then_build=wanted.build)
    if wanted.build:
        call.server.plan_worker.check_room()
        engine.runs.check_decided()  # otherwise the plan is approved, but not built
    look = f"GET {API}/plans/{record.plan_id}/review"
    served = call.server.reviewed.find(access.access, record.plan_id, wanted.digest)
    if served is None or not served.without:
        engine.approvals.check_approvable(record)
        _check_digest(engine, record, wanted.digest)
    served = call.server.reviewed.check(
        access.access, record.plan_id, wanted.digest, look, skipped=wanted.skipped
    )
    by = WebApprover(access.name, wanted.skipped or not served.whole)
    if served.without:
        approved, more = _approve_part(engine, record, wanted, served, note, by)
    else:
        engine.approvals.check_files(record)  # reading takes time
        approved = engine.approvals.approve(
            record, wanted.digest, note, WEB, expires_s=wanted.expires_s, by=by
        )
        more = {}
    if not by.skipped:
        engine.review_history.record(approved)
    row = {**row_of_plan(engine, approved), **more, **_approved(engine, approved)}
    if not wanted.build:
        return warned(engine, row)
    try:
        row["work"] = call.server.plan_worker.build(
            engine, approved, access.name, wanted.model, wanted.agent
        )
    except AssentError as error:  # the plan is approved nevertheless, which the answer says
        row["work"] = error_row(error)
    return Answer(warned(engine, row), 202)


def reject(call: ApiCall[Nothing, RejectRequest]) -> Row:
    """Rejects the plan with this digest and says why; it becomes a draft again.

    Pending comments are sent with it. If it was shown to this cookie to its end, the next review
    says what has changed since.
    """
    engine, record = call.server.find_plan(call.path["plan"])
    _check_digest(engine, record, call.body.digest)
    given = call.body.feedback
    notes = "\n\n".join(filter(str.strip, (check_note(call.body.note), given.notes)))
    feedback = Feedback(given.scope, given.constraints, given.priorities, notes)
    changed, sent = engine.comments.reject(record, feedback)
    shown = call.server.reviewed.find(call.access.access, record.plan_id, record.digest)
    if call.access.kind == "cookie" and shown is not None and shown.whole:
        engine.review_history.record(record)
    more: Row = {"comments": sent} if sent else {}
    return warned(engine, {**row_of_plan(engine, changed), **more})


def build(call: ApiCall[Nothing, BuildRequest]) -> Row:
    """Builds the approved plan with this digest, exactly and once; what happens comes as events."""
    engine, record = call.server.find_plan(call.path["plan"])
    wanted = call.body
    _check_digest(engine, record, wanted.digest)
    call.server.plan_worker.check_idle(engine, record, "build")
    if engine.runs.is_text_plan(record):
        engine.text_plan_builds.check(record, wanted.digest)
    else:
        if wanted.model or wanted.agent:
            _check_builder(engine, record, then_build=True)
        engine.runs.check_decided()
        engine.approvals.usable(record)
        engine.approvals.check_live(record)
        engine.approvals.check_files(record)
    return call.server.plan_worker.build(
        engine, record, call.access.name, wanted.model, wanted.agent
    )


def rehearse(call: ApiCall[Nothing, RehearseRequest]) -> Row:
    """Tries a plan or a draft in a scratch copy, without network; changes and approves nothing.

    What a token rehearses counts as tried by a program.
    """
    engine, record = call.server.find_plan(call.path["plan"])
    wanted = call.body
    if wanted.digest:
        _check_digest(engine, record, wanted.digest)
    if not 0 < wanted.timeout <= MAX_COMMAND_S:
        raise UsageError(f"timeout must be 1 to {MAX_COMMAND_S} seconds.")
    if not all(line.strip() for line in wanted.commands):
        raise UsageError("A command is empty.")
    engine.approvals.check_plan(engine.rehearser.plan(record))
    return call.server.plan_worker.rehearse(
        engine,
        record,
        call.access.name,
        lambda stopped: RehearsalRequest(
            wanted.commands,
            network=False,
            by="person" if call.access.kind == "cookie" else "model",
            stopped=stopped,
            seconds=wanted.timeout,
        ),
    )


def list_work(call: ApiCall[Nothing, Nothing]) -> Row:
    """Lists the builds and rehearsals of a plan that the server was asked for, newest first."""
    engine, record = call.server.find_plan(call.path["plan"])
    rows = [call.server.plan_worker.row(work) for work in engine.plan_work.of(record)]
    return {"work": rows[::-1]}


def show_work(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows where a build or a rehearsal stands."""
    engine, record = call.server.find_plan(call.path["plan"])
    for work in engine.plan_work.of(record):
        if work.id == call.path["work"]:
            return call.server.plan_worker.row(work)
    raise NotFound(f"There is no work {call.path['work']!a} on this plan.")


def _approve_part(
    engine: "Engine",
    record: "PlanRecord",
    wanted: ApproveRequest,
    served: Served,
    note: str,
    by: WebApprover,
) -> "tuple[PlanRecord, Row]":
    """Approves a plan without what was excluded: both are one record, or nothing is recorded."""
    _check_digest(engine, record, served.was)
    engine.approvals.check_approvable(record)
    engine.approvals.check_live(record)
    preview = engine.partial_approvals.preview(record, served.without)
    if preview.plan.digest != wanted.digest:
        raise DigestMismatch(
            f"The plan without these operations now has digest {preview.plan.digest}; you named "
            f"{wanted.digest}. Nothing was approved.",
            f"POST {API}/plans/{record.plan_id}/without",
        )
    approved = engine.partial_approvals.approve(preview, note, WEB, wanted.expires_s, by)
    return approved, excluded_rows(preview.excluded)


def _check_builder(engine: "Engine", record: "PlanRecord", *, then_build: bool) -> None:
    """Refuses a model and an agent where none is used."""
    if not then_build:
        raise UsageError("model and agent are for an approval with build. Nothing was approved.")
    if record.frozen and not engine.runs.is_text_plan(record):
        raise UsageError("A plan with operations is built without a model and an agent.")


def _approved(engine: "Engine", record: "PlanRecord") -> Row:
    of = engine.plans.reference(record, current=False)
    reasons, way_out = engine.reviews.denied(record)
    gone = [one.plan_id for one in engine.approvals.options.discarded_with(record)]
    return approved_fields(reasons, of_plan(way_out, of), gone)


def _check_digest(engine: "Engine", record: "PlanRecord", digest: str) -> None:
    """Refuses a plan that is not the one that was named, and says what changed since."""
    try:
        check_digest(record, digest)
    except DigestMismatch as error:
        changes = engine.review_history.changes_since(record, digest)
        if changes is not None and (words := changes_text(changes)):
            error.message = f"{error.message} Since then: {words}."
        raise


ENDPOINTS = (
    Endpoint(
        "POST", "/plans/{plan}/without", "A plan without some operations", "author", without,
        body=WithoutRequest, answer=ReviewAnswer,
    ),
    Endpoint(
        "POST", "/plans/{plan}/approve", "Approve a plan by its digest", "approver", approve,
        body=ApproveRequest, decides=True, answer=ApprovedPlanAnswer,
    ),
    Endpoint(
        "POST", "/plans/{plan}/reject", "Reject a plan and say why", "author", reject,
        body=RejectRequest, answer=RejectedPlanAnswer,
    ),
    Endpoint(
        "POST", "/plans/{plan}/build", "Build an approved plan", "approver", build,
        body=BuildRequest, decides=True, status=202, answer=WorkAnswer,
    ),
    Endpoint(
        "POST", "/plans/{plan}/rehearse", "Try a plan in a scratch copy", "author", rehearse,
        body=RehearseRequest, status=202, answer=WorkAnswer,
    ),
    Endpoint("GET", "/plans/{plan}/work", "Its builds and rehearsals", "viewer", list_work,
             answer=WorkListAnswer),
    Endpoint("GET", "/plans/{plan}/work/{work}", "One of them", "viewer", show_work,
             answer=WorkAnswer),
)  # fmt: skip
