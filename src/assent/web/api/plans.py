"""Endpoints about plans: reading them, proposing, selecting, rebasing and discarding them."""

from typing import TYPE_CHECKING, Final

import msgspec

from assent.core.errors import NotFound
from assent.core.paths import display_path
from assent.planning.approvals import check_digest
from assent.render.diff import text_diff
from assent.render.rebase import rebase_row
from assent.render.review import review_json
from assent.render.rows import Row, plan_row
from assent.render.steps import outline_rows
from assent.web.answers import (
    DiffAnswer,
    OutlinedPlanAnswer,
    PlanAnswer,
    PlansAnswer,
    RebasedPlanAnswer,
    ReviewAnswer,
    RevisionAnswer,
    RevisionsAnswer,
    WholePlanAnswer,
)
from assent.web.endpoint import ApiCall, Endpoint, Nothing, Number
from assent.web.review_memory import ALL, Served

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord
    from assent.web.server import Server


MAX_DIGITS: Final = 10  # of a revision's number


class PlanListQuery(msgspec.Struct, frozen=True):
    """Which plans are listed."""

    workspace: str = ""
    all: bool = False  # with discarded and deleted ones


class DiffQuery(msgspec.Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """Which revisions of a plan's text are compared."""

    start: Number
    end: Number


class ReviewQuery(msgspec.Struct, frozen=True):
    """Which page of a review is shown; 0: all of it at once."""

    page: Number = 0


class PlanDigest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest that the caller saw; a plan that has another one by now is left alone."""

    digest: str = ""


class RebaseRequest(PlanDigest, frozen=True, forbid_unknown_fields=True):
    """Which plan is rebased, or only shown as it would be."""

    dry_run: bool = False


def list_plans(call: ApiCall[PlanListQuery, Nothing]) -> Row:
    """Lists plans, newest first."""
    engines = call.server.engines(call.query.workspace)
    found: list[tuple[Engine, PlanRecord]] = [
        (engine, record)
        for engine in engines
        for record in engine.plans.all(everything=call.query.all)
    ]
    if len(engines) > 1:
        found.sort(key=lambda pair: pair[1].created_at, reverse=True)
    return {"plans": [row_of_plan(engine, record) for engine, record in found]}


def show_plan(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows a plan's state, steps and text, and the last build or rehearsal asked for here."""
    engine, record = call.server.find_plan(call.path["plan"])
    text = display_path(engine.reviews.text(record))
    work = engine.plan_work.of(record)
    last = call.server.plan_worker.row(work[-1]) if work else None
    return {**described(engine, record), "text": text, "work": last}


def revisions(call: ApiCall[Nothing, Nothing]) -> Row:
    """Lists the revisions of a plan's text."""
    _, record = call.server.find_plan(call.path["plan"])
    rows = [{"n": r.n, "at": r.at, "content_hash": r.content_hash} for r in record.revisions]
    return {"revisions": rows}


def revision(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows one revision of a plan's text."""
    engine, record = call.server.find_plan(call.path["plan"])
    number = call.path["n"]
    if not (number.isascii() and number.isdecimal() and len(number) < MAX_DIGITS):
        raise NotFound(f"There is no revision {number!a}.", "assent plan history")
    return {"n": int(number), "text": display_path(_text(engine, record, int(number)))}


def diff(call: ApiCall[DiffQuery, Nothing]) -> Row:
    """Compares two revisions of a plan's text."""
    engine, record = call.server.find_plan(call.path["plan"])
    start, end = call.query.start, call.query.end
    was, now = _text(engine, record, start), _text(engine, record, end)
    return {"diff": text_diff(was, now, f"revision {start}", f"revision {end}")}


def review(call: ApiCall[ReviewQuery, Nothing]) -> Row:
    """Shows everything that is decided about: risks, text and every diff.

    Large plans can be read page by page. What is served to a cookie to its end, from its first
    page on, is what that cookie can approve.
    """
    engine, record = call.server.find_plan(call.path["plan"])
    access, number = call.access.access, call.query.page

    def rendered() -> Row:
        return review_json(engine.review_history.review(record))

    if not number:
        found, served = rendered(), ALL
    else:
        name = f"{record.plan_id}/{record.digest}" if record.digest else ""
        found = call.server.pages.page(access, name, number, rendered)
        served = Served(number, int(str(found["pages"])))
    if record.digest and found["digest"] == record.digest:
        call.note_served(record.plan_id, record.digest, served)
    return found


def propose(call: ApiCall[Nothing, Nothing]) -> Row:
    """Freezes the plan's text and staged operations, and gives the plan a digest."""
    engine, record = call.server.find_plan(call.path["plan"])
    return warned(engine, described(engine, engine.approvals.propose(record)))


def select(call: ApiCall[Nothing, Nothing]) -> Row:
    """Makes a plan the current one of its workspace."""
    engine, record = call.server.find_plan(call.path["plan"])
    return warned(engine, described(engine, engine.plans.use(record.plan_id)))


def rebase(call: ApiCall[Nothing, RebaseRequest]) -> Row:
    """Adapts a plan to files that changed. The result needs a new review and approval."""
    engine, record = _seen(call.server, call.path["plan"], call.body)
    found = engine.rebaser.preview(record)
    if not call.body.dry_run:
        record = engine.rebaser.apply(found)
    row = rebase_row(engine.rebaser.summary(found, record))
    answer = {**row_of_plan(engine, record), **row, "dry_run": call.body.dry_run}
    return warned(engine, answer)


def discard(call: ApiCall[Nothing, PlanDigest]) -> Row:
    """Discards a plan and keeps its file; of several options, all of them."""
    engine, record = _seen(call.server, call.path["plan"], call.body)
    others = [one for one in engine.plans.options(record) if one.plan_id != record.plan_id]
    discarded = engine.plans.discard(record)
    rows = [row_of_plan(engine, engine.plans.discard(one)) for one in others]
    more: Row = {"plans": rows} if rows else {}
    return warned(engine, {**row_of_plan(engine, discarded), **more})


def row_of_plan(engine: "Engine", record: "PlanRecord") -> Row:
    """Returns a plan as every list has it, with its workspace."""
    row = plan_row(record, approved=engine.approvals.is_approved(record))
    return {"workspace": engine.workspace, **row}


def described(engine: "Engine", record: "PlanRecord") -> Row:
    """Returns a plan with its steps."""
    return {**row_of_plan(engine, record), **outline_rows(engine.reviews.outline(record))}


def warned(engine: "Engine", row: Row) -> Row:
    """Adds to an answer what a person should know although everything worked."""
    known = row.get("warnings", [])
    found = [*(known if isinstance(known, list) else []), *engine.take_warnings()]
    return {**row, "warnings": found} if found else row


def _seen(server: "Server", plan: str, saw: PlanDigest) -> "tuple[Engine, PlanRecord]":
    """Returns a plan; raises if it is not the one that the caller saw, where they name that."""
    engine, record = server.find_plan(plan)
    if saw.digest:
        check_digest(record, saw.digest)
    return engine, record


def _text(engine: "Engine", record: "PlanRecord", number: int) -> bytes:
    hashes = {each.n: each.content_hash for each in record.revisions}
    if number not in hashes:
        raise NotFound(f"There is no revision {number}.", "assent plan history")
    return engine.plans.text(hashes[number])


ENDPOINTS = (
    Endpoint("GET", "/plans", "Plans, newest first", "viewer", list_plans, PlanListQuery,
             answer=PlansAnswer),
    Endpoint("GET", "/plans/{plan}", "A plan", "viewer", show_plan, answer=WholePlanAnswer),
    Endpoint(
        "GET", "/plans/{plan}/review", "All that is decided about", "viewer", review, ReviewQuery,
        answer=ReviewAnswer,
    ),
    Endpoint("GET", "/plans/{plan}/revisions", "Revisions of its text", "viewer", revisions,
             answer=RevisionsAnswer),
    Endpoint("GET", "/plans/{plan}/revisions/{n}", "One of them", "viewer", revision,
             answer=RevisionAnswer),
    Endpoint("GET", "/plans/{plan}/diff", "Two of them compared", "viewer", diff, DiffQuery,
             answer=DiffAnswer),
    Endpoint("POST", "/plans/{plan}/propose", "Propose a plan", "author", propose,
             answer=OutlinedPlanAnswer),
    Endpoint("POST", "/plans/{plan}/select", "Make a plan current", "author", select,
             answer=OutlinedPlanAnswer),
    Endpoint(
        "POST", "/plans/{plan}/rebase", "Rebase a plan", "approver", rebase, body=RebaseRequest,
        answer=RebasedPlanAnswer,
    ),
    Endpoint(
        "POST", "/plans/{plan}/discard", "Discard a plan", "approver", discard, body=PlanDigest,
        answer=PlanAnswer,
    ),
)  # fmt: skip
