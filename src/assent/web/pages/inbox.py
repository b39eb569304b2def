"""The inbox: everything that waits for a person, over all workspaces, oldest first."""

from typing import Any

from assent.core.errors import UsageError
from assent.render.rows import Row
from assent.web.api.questions import answer, list_questions, show_question
from assent.web.api.server import waiting
from assent.web.pages.page import GoTo, PageCall, PageRoute, Shown, link, local_path


def show_inbox(call: PageCall) -> Shown:
    """Shows what waits, with risk, age and who asks; each links to exactly that."""
    wanted = {"workspace": call.query.get("workspace", "")}
    rows = call.ask(waiting, query=wanted)["waiting"]
    asked = {each["id"]: each for each in call.ask(list_questions, query=wanted)["questions"]}
    names = {each["workspace"]: each["slug"] for each in asked.values()}
    shown = [{**row, "to": _place(row), "question": asked.get(row["id"])} for row in rows]
    return Shown("inbox.html", {"rows": shown, "names": names})


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
