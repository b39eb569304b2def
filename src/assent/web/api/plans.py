"""Endpoints about plans: reading them, and what people decide about them."""

from typing import TYPE_CHECKING

import msgspec

from assent.core.errors import NotFound
from assent.core.paths import display_path
from assent.render.diff import text_diff
from assent.render.review import review_json
from assent.render.rows import Row, plan_row
from assent.render.steps import outline_rows
from assent.web.endpoint import ApiCall, Endpoint, Nothing

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord


class PlanListQuery(msgspec.Struct, frozen=True):
    """Which plans are listed."""

    workspace: str = ""
    all: bool = False  # with discarded and deleted ones


class DiffQuery(msgspec.Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """Which revisions of a plan's text are compared."""

    start: int
    end: int


def list_plans(call: ApiCall[PlanListQuery, Nothing]) -> Row:
    """Lists plans, newest first."""
    found: list[tuple[Engine, PlanRecord]] = [
        (engine, record)
        for engine in call.server.engines(call.query.workspace)
        for record in engine.plans.all(everything=call.query.all)
    ]
    found.sort(key=lambda pair: pair[1].changed_at, reverse=True)
    return {"plans": [_row(engine, record) for engine, record in found]}


def show_plan(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows a plan's state, steps and text."""
    engine, record = call.server.find_plan(call.path["plan"])
    outline = engine.reviews.outline(record)
    text = display_path(engine.reviews.text(record))
    return {**_row(engine, record), **outline_rows(outline), "text": text}


def revisions(call: ApiCall[Nothing, Nothing]) -> Row:
    """Lists the revisions of a plan's text."""
    _, record = call.server.find_plan(call.path["plan"])
    rows = [{"n": r.n, "at": r.at, "content_hash": r.content_hash} for r in record.revisions]
    return {"revisions": rows}


def revision(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows one revision of a plan's text."""
    engine, record = call.server.find_plan(call.path["plan"])
    number = call.path["n"]
    if not number.isdecimal():
        raise NotFound(f"There is no revision {number!a}.")
    return {"n": int(number), "text": display_path(_text(engine, record, int(number)))}


def diff(call: ApiCall[DiffQuery, Nothing]) -> Row:
    """Compares two revisions of a plan's text."""
    engine, record = call.server.find_plan(call.path["plan"])
    start, end = call.query.start, call.query.end
    was, now = _text(engine, record, start), _text(engine, record, end)
    return {"diff": text_diff(was, now, f"revision {start}", f"revision {end}")}


def review(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows everything that is decided about: risks, text and every diff."""
    engine, record = call.server.find_plan(call.path["plan"])
    found = review_json(engine.review_history.review(record))
    call.server.reviewed.note(call.access.access, record.digest)
    return found


def _text(engine: "Engine", record: "PlanRecord", number: int) -> bytes:
    hashes = {each.n: each.content_hash for each in record.revisions}
    if number not in hashes:
        raise NotFound(f"There is no revision {number}.", "assent plan history")
    return engine.plans.text(hashes[number])


def _row(engine: "Engine", record: "PlanRecord") -> Row:
    row = plan_row(record, approved=engine.approvals.is_approved(record))
    return {"workspace": engine.workspace, **row}


ENDPOINTS = (
    Endpoint("GET", "/plans", "Plans, newest first", "viewer", list_plans, PlanListQuery),
    Endpoint("GET", "/plans/{plan}", "A plan", "viewer", show_plan),
    Endpoint("GET", "/plans/{plan}/review", "All that is decided about", "viewer", review),
    Endpoint("GET", "/plans/{plan}/revisions", "Revisions of its text", "viewer", revisions),
    Endpoint("GET", "/plans/{plan}/revisions/{n}", "One of them", "viewer", revision),
    Endpoint("GET", "/plans/{plan}/diff", "Two of them compared", "viewer", diff, DiffQuery),
)
