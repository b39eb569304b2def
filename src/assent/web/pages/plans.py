"""A plan as pages: as it is now, its history, and its options side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from assent.core.errors import AssentError
from assent.core.paths import display_path
from assent.core.plan.record import PlanState
from assent.planning.plan_status import OPEN_STATES
from assent.render.diff import text_diff
from assent.render.diff_view import diff_view
from assent.render.options import compare_options, comparison_json
from assent.render.status import state_text
from assent.web.api import plans
from assent.web.api.runs import list_runs
from assent.web.pages.diff_html import NOTHING_SAID, unified_table
from assent.web.pages.markdown import preview_markdown
from assent.web.pages.page import GoTo, PageCall, PageRoute, Shown
from assent.web.pages.review_view import text_table

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord
    from assent.core.session.record import SessionRecord

TONES: Final = {
    "AWAITING_APPROVAL": "accent", "DRAFTING": "", "EXECUTING": "warn", "COMPLETED": "good",
    "HALTED": "bad", "DISCARDED": "",
}  # fmt: skip
MAX_DIGITS: Final = 6  # of a number in a query
MAX_RUNS: Final = 100  # of the workspace, among which those of a plan are looked for


def plan_values(call: PageCall, engine: "Engine", record: "PlanRecord", tab: str) -> dict[str, Any]:
    """Returns what every page of a plan needs: its state, and what may be done with it."""
    row = plans.row_of_plan(engine, record)
    approved = bool(row["approved"])
    options = engine.plans.options(record) if record.options else []
    return {
        "plan": row,
        "record": record,
        "tab": tab,
        "words": state_text(record.state, approved=approved),
        "tone": "good" if approved else TONES[record.state],
        "open": record.state in OPEN_STATES,
        "awaits": record.state is PlanState.AWAITING_APPROVAL,
        "drafting": record.state is PlanState.DRAFTING,
        "revisions": len(record.revisions),
        "options": len(options),
        "workspace_id": engine.workspace,
        "session": engine.sessions.of_plan(record),
    }


def show_plan(call: PageCall) -> Shown:
    """Shows a plan as it is in its file now, with a preview, its work and its runs."""
    engine, record = call.server.find_plan(call.path["plan"])
    values = plan_values(call, engine, record, "plan")
    live, trouble = _live_text(engine, record)
    text = display_path(live)
    preview = preview_markdown(text)
    work = [call.server.plan_worker.row(each) for each in engine.plan_work.of(record)][::-1]
    asked = call.ask(list_runs, query={"workspace": engine.workspace, "limit": MAX_RUNS})
    runs = [run for run in asked["runs"] if run["plan_id"] == record.plan_id]
    values |= {
        "preview": preview,
        "text_rows": text_table(live, NOTHING_SAID, lambda line: ""),
        "trouble": trouble,
        "work": work[:3],
        "is_working": any(each["state"] in ("queued", "running") for each in work),
        "runs": runs,
        "operations": len(engine.plans.operations(record)) if not record.frozen else None,
        "outline": engine.reviews.outline(record),
        "revising": _revising(engine, values["session"]) if values["drafting"] else "",
        "decisions": engine.review_history.decisions(record),
    }
    return Shown("plan.html", values)


def _revising(engine: "Engine", session: "SessionRecord | None") -> str:
    """Returns what the session of a draft does: works, or has not read a rejection yet."""
    if session is None:
        return ""
    if engine.sessions.now(session).working or engine.message_queues.queue(session).next:
        return "working"
    return "unread" if engine.sessions.is_revision_due(session) else ""


def _live_text(engine: "Engine", record: "PlanRecord") -> tuple[bytes, str]:
    """Returns the text of a plan as its file has it, and what is to be known about that."""
    if not record.path or record.imported:
        return engine.reviews.text(record), ""
    try:
        live = engine.plans.live_text(record)
    except AssentError as error:
        return engine.reviews.text(record), error.message
    if live is None:
        return engine.reviews.text(record), "The plan's file is gone; this is its recorded text."
    if record.frozen and live != engine.reviews.text(record):
        return live, "The file differs from what was proposed. Propose it to review this text."
    return live, ""


def show_history(call: PageCall) -> Shown:
    """Shows the revisions of a plan's text, and how two of them differ."""
    engine, record = call.server.find_plan(call.path["plan"])
    values = plan_values(call, engine, record, "history")
    known = [each.n for each in record.revisions]
    start = _number(call.query.get("from", ""), known, known[-2] if len(known) > 1 else 0)
    end = _number(call.query.get("to", ""), known, known[-1] if known else 0)
    hashes = {each.n: each.content_hash for each in record.revisions}
    tables, same = [], False
    if start and end and start != end:
        was, now = (engine.plans.text(hashes[n]) for n in (start, end))
        diff = text_diff(was, now, f"revision {start}", f"revision {end}")
        same = diff == ""
        tables = [
            unified_table(file, NOTHING_SAID, lambda line: "") for file in diff_view(diff or "")
        ]
    values |= {
        "list": list(reversed(record.revisions)),
        "start": start,
        "end": end,
        "tables": tables,
        "same": same,
        "decisions": engine.review_history.decisions(record),
    }
    return Shown("plan_history.html", values)


def small_number(text: str) -> int:
    """Returns a number that a query names; 0 if it is none, or absurd."""
    plain = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    return int(text) if plain else 0


def _number(text: str, known: Sequence[int], otherwise: int) -> int:
    found = small_number(text)
    return found if found in known else otherwise


def show_options(call: PageCall) -> Shown:
    """Shows several plans side by side, what differs first."""
    engine, record = call.server.find_plan(call.path["plan"])
    options = engine.plans.options(record)
    reviews = [engine.review_history.review(each) for each in options or [record]]
    values = plan_values(call, engine, record, "options")
    values |= {"compared": comparison_json(compare_options(reviews)), "reviews": reviews}
    return Shown("plan_options.html", values)


def propose(call: PageCall) -> GoTo:
    """Proposes a draft, which freezes what is decided about."""
    call.ask(plans.propose, plan=call.path["plan"])
    return GoTo(f"/plans/{call.path['plan']}/review")


def select(call: PageCall) -> GoTo:
    """Makes a plan the current one, of which its session's model is notified."""
    call.ask(plans.select, plan=call.path["plan"])
    return GoTo(f"/plans/{call.path['plan']}")


def rebase(call: PageCall) -> GoTo:
    """Adapts a plan to files that changed."""
    body = {"digest": call.field("digest")}
    call.ask(plans.rebase, body, plan=call.path["plan"])
    return GoTo(f"/plans/{call.path['plan']}/review")


def discard(call: PageCall) -> GoTo:
    """Discards a plan; its file stays."""
    call.ask(plans.discard, {"digest": call.field("digest")}, plan=call.path["plan"])
    return GoTo(f"/plans/{call.path['plan']}")


PAGES: Final = (
    PageRoute("GET", "/plans/{plan}", show_plan),
    PageRoute("GET", "/plans/{plan}/history", show_history),
    PageRoute("GET", "/plans/{plan}/options", show_options),
    PageRoute("POST", "/plans/{plan}/propose", propose, "author"),
    PageRoute("POST", "/plans/{plan}/select", select, "author"),
    PageRoute("POST", "/plans/{plan}/rebase", rebase, "approver"),
    PageRoute("POST", "/plans/{plan}/discard", discard, "approver"),
)
