"""Runs as pages: the list, one with every operation and its output, and what undoes it."""

from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import Response

from assent.core.errors import AssentError
from assent.render.diff_view import diff_view
from assent.render.rows import Row, encoded
from assent.web.api import runs
from assent.web.errors import status_of
from assent.web.pages.decision import LATE
from assent.web.pages.diff_html import NOTHING_SAID, unified_table
from assent.web.pages.page import GoTo, PageCall, PageRoute, Shown, link

if TYPE_CHECKING:
    from collections.abc import Callable

PER_PAGE: Final = 100
TONES: Final = {
    "done": "good", "undone": "good", "partial": "warn", "rolled_back": "warn", "nothing": "",
    "needs_you": "bad", "conflict": "bad", "failed": "bad", "denied": "bad",
}  # fmt: skip
WORDS: Final = {
    "done": "Done", "undone": "Undone", "partial": "Partly done", "rolled_back": "Rolled back",
    "nothing": "Nothing to do", "needs_you": "Needs your decision",
    "not_started": "Not started", "conflict": "Conflict", "denied": "Denied by a rule",
}  # fmt: skip
WAYS: Final = (
    ("resume", "Resume", "Go on from where it stopped."),
    ("roll_back", "Roll back", "Put everything back that this run changed."),
    ("accept", "Accept as is", "End the run and keep the files as they are now."),
)


def words(outcome: str | None) -> str:
    """Returns a result as people read it."""
    return WORDS.get(outcome or "", (outcome or "not finished").replace("_", " ").capitalize())


def list_runs(call: PageCall) -> Shown:
    """Shows past runs, newest first."""
    asked = {"workspace": call.query.get("workspace", ""), "limit": PER_PAGE}
    found = call.ask(runs.list_runs, query=asked)
    return Shown("runs.html", {"rows": found["runs"], "more": found["more"], **_shared()})


def show_run(call: PageCall) -> Shown:
    """Shows each operation of a run, what its commands printed, and how it can go on."""
    # Our script takes the whole form that goes on with a run, so that is what the person sees.
    seen = msgspec.structs.replace(call, shows=True)
    row = seen.ask(runs.show_run, run=call.path["run"])
    values = {"run": row, "ways": _ways(row), **_shared()}
    return Shown("run.html", values)


def _shared() -> Row:
    return {"words_of": words, "tones": TONES}


def _ways(row: Row) -> tuple[tuple[str, str, str], ...]:
    """Returns how a run that is not over can go on, if nothing works on it now."""
    if not row["unfinished"] or row.get("working"):
        return ()
    return WAYS


def show_undo(call: PageCall) -> Shown:
    """Shows what an undo would do, with the digest that it has."""
    operation = call.query.get("operation", "")
    found = call.ask(runs.preview_undo, query={"operation": operation}, run=call.path["run"])
    return _previewed(call, found, "undo", operation)


def show_redo(call: PageCall) -> Shown:
    """Shows what a redo would do, with the digest that it has."""
    return _previewed(call, call.ask(runs.preview_redo, run=call.path["run"]), "redo", "")


def _previewed(call: PageCall, found: Any, verb: str, operation: str) -> Shown:
    for row in found["operations"]:
        files = diff_view(row.get("diff") or "")
        row["tables"] = [unified_table(file, NOTHING_SAID, lambda line: "") for file in files]
        row["about"] = [words for file in files for words in file.about]
    values = {"preview": found, "verb": verb, "operation": operation, "run": call.path["run"]}
    return Shown("run_undo.html", {**values, **_shared()})


def undo(call: PageCall) -> Shown | GoTo:
    """Undoes a run by the digest of the form."""
    body = {"digest": call.field("digest"), "operation": call.field("operation")}
    return _done(call, lambda: call.ask(runs.undo, body, run=call.path["run"]))


def redo(call: PageCall) -> Shown | GoTo:
    """Redoes an undone run by the digest of the form."""
    body = {"digest": call.field("digest")}
    return _done(call, lambda: call.ask(runs.redo, body, run=call.path["run"]))


def recover(call: PageCall) -> Shown | GoTo:
    """Has a run go on that stopped, in the way that was chosen."""
    body = {"way": call.field("way"), "seen": call.field("seen") or "0"}
    return _done(call, lambda: call.ask(runs.recover, body, run=call.path["run"]))


def _done(call: PageCall, act: "Callable[[], Row]") -> Shown | GoTo:
    run = call.path["run"]
    try:
        found = act()
    except AssentError as error:
        if status_of(error) not in LATE:
            raise
        return Shown("run_late.html", {"error": error, "run": run}, status_of(error))
    return GoTo(link(f"/runs/{run}", ended=str(found.get("outcome") or "")))


def send_evidence(call: PageCall) -> Response:
    """Sends the signed evidence of a run as a file."""
    found = call.ask(runs.evidence, run=call.path["run"])
    name = "".join(each for each in call.path["run"] if each.isalnum() or each in "-_")
    held = {"content-disposition": f'attachment; filename="evidence-{name}.json"'}
    return Response(encoded(found), media_type="application/json", headers=held)


PAGES: Final = (
    PageRoute("GET", "/runs", list_runs),
    PageRoute("GET", "/runs/{run}", show_run),
    PageRoute("GET", "/runs/{run}/undo", show_undo),
    PageRoute("GET", "/runs/{run}/redo", show_redo),
    PageRoute("GET", "/runs/{run}/evidence", send_evidence),
    PageRoute("POST", "/runs/{run}/undo", undo, "approver"),
    PageRoute("POST", "/runs/{run}/redo", redo, "approver"),
    PageRoute("POST", "/runs/{run}/recover", recover, "approver"),
)
