"""The inbox: everything that waits for a person, over all workspaces, oldest first."""

from typing import Any

import msgspec

from assent.core.errors import NotFound, UsageError
from assent.render.rows import Row
from assent.render.status import state_text
from assent.web.api.plans import row_of_plan
from assent.web.api.questions import answer, list_questions, show_question
from assent.web.api.runs import show_run
from assent.web.api.server import waiting
from assent.web.pages.page import GoTo, PageCall, PageRoute, Shown, link, local_path
from assent.web.pages.runs import words


class Settled(msgspec.Struct, frozen=True):
    """What an open page shows as waiting, and does not wait any more."""

    kind: str
    id: str
    title: str
    to: str
    what: str  # such as `Approved`
    by: str = ""
    at: str = ""
    answer: str = ""


def show_inbox(call: PageCall) -> Shown:
    """Shows what waits, with risk, age and who asks; each links to exactly that.

    What the open page shows and was decided meanwhile stays in its place, with who decided.
    """
    wanted = {"workspace": call.query.get("workspace", "")}
    rows = call.ask(waiting, query=wanted)["waiting"]
    asked = {each["id"]: each for each in call.ask(list_questions, query=wanted)["questions"]}
    names = {each["workspace"]: each["slug"] for each in asked.values()}
    shown: list[Row | Settled] = [
        {**row, "to": _place(row), "question": asked.get(row["id"])} for row in rows
    ]
    still = {f"{row['kind']}:{row['id']}" for row in rows}
    for at, name in enumerate(call.shown):  # in the order in which they stand
        settled = None if name in still else _settled(call, *name.partition(":")[::2])
        if settled is not None:
            shown.insert(at, settled)
    return Shown("inbox.html", {"rows": shown, "waits": bool(rows), "names": names})


def _settled(call: PageCall, kind: str, id: str) -> Settled | None:
    """Returns who decided about something that waited; None if it is not known."""
    try:
        match kind:
            case "question":
                return _settled_question(call, id)
            case "plan" | "build":
                return _settled_plan(call, kind, id)
            case "run":
                row = call.ask(show_run, run=id)
                title = str(row.get("name") or "Run")
                return Settled(kind, id, title, link(f"/runs/{id}"), words(row["outcome"]))
            case _:
                return None
    except NotFound:
        return None


def _settled_question(call: PageCall, id: str) -> Settled:
    found = call.ask(show_question, question=id)
    first: dict[str, Any] = found["questions"][0] if found["questions"] else {}
    things = ", ".join(first.get("things") or ())
    title = first.get("command") or things or first.get("question") or "Question"
    said = "; ".join(", ".join(each) for each in found["answers"] or ())
    by, at = found["answered_by"] or "", found["answered_at"] or ""
    what = "Answered" if by else str(found["standing"]).capitalize()
    return Settled("question", id, str(title), link(f"/questions/{id}"), what, by, at, said)


def _settled_plan(call: PageCall, kind: str, id: str) -> Settled:
    engine, record = call.server.find_plan(id)
    row = row_of_plan(engine, record)
    last = next(iter(engine.review_history.decisions(record)), None)
    what, to = state_text(record.state, approved=bool(row["approved"])), link(f"/plans/{id}")
    if last is None:
        return Settled(kind, id, record.name, to, what)
    by = f"{last.by} ({last.way})" if last.way else last.by
    return Settled(
        kind, id, record.name, to, f"{what}: {last.what.lower()}", by, last.at, last.note
    )


def _place(row: Row) -> str:
    """Returns the page that shows exactly what waits."""
    match row["kind"]:
        case "question":
            return link(f"/questions/{row['id']}")
        case "run":
            return link(f"/runs/{row['id']}")
        case _:
            return link(f"/plans/{row['plan_id']}")


def show_one(call: PageCall) -> Shown:
    """Shows one question; one that was answered says by whom and how."""
    found = call.ask(show_question, question=call.path["question"])
    return Shown("question.html", {"question": found, "workspace": found["workspace"]})


def answer_one(call: PageCall) -> GoTo:
    """Answers a question under the digest it was shown with."""
    id = call.path["question"]
    asked = call.ask(show_question, question=id)
    scope = call.field("scope")
    always = [each["pattern"] for part in asked["questions"] for each in part["always"]]
    body: dict[str, Any] = {"digest": call.field("digest"), "text": call.field("text").strip()}
    if scope:
        if scope != "no" and body["text"]:
            raise UsageError(
                "You wrote why not, but chose to allow. Nothing was answered.", "go back"
            )
        body["answer"] = scope
        body["pattern"] = always if scope in ("session", "project") else []
    else:
        body["answer"] = [_words(call, number) for number, _ in enumerate(asked["questions"])]
        body["text"] = ""
    call.ask(answer, body, question=id)
    return GoTo(local_path(call.field("back") or "/"))


def _words(call: PageCall, number: int) -> str:
    """Returns the answer to one part of a question: own words, else what was chosen."""
    own = call.field(f"words-{number}").strip()
    return own or ",".join(call.fields(f"choice-{number}"))


PAGES = (
    PageRoute("GET", "/", show_inbox),
    PageRoute("GET", "/questions/{question}", show_one),
    PageRoute("POST", "/questions/{question}/answer", answer_one),
)
