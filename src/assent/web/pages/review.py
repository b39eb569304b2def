"""The review page: all that is decided about a plan, page by page, with what one can say to it."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from starlette.responses import Response

from assent.core.digest import operation_ids
from assent.core.errors import NotFound
from assent.core.paths import display_path
from assent.core.plan.operation import FileState, Operation, matching_operations
from assent.core.text.hidden_chars import visible_path
from assent.planning.plan_status import OPEN_STATES
from assent.render.estimate import estimate_text
from assent.render.file_tree import TreeRow, file_tree, tree_files
from assent.render.lines import counted
from assent.render.rehearsal import rehearsal_row, rehearsal_text
from assent.render.review import OperationReview, Review, option_text
from assent.render.review_changes import changes_text, review_changes_lines
from assent.render.rows import operation_subject, operation_verb
from assent.web.api import comments as comments_api
from assent.web.api import decisions, operations
from assent.web.pages.markdown import preview_markdown
from assent.web.pages.page import GoTo, PageCall, PageRoute, Shown, link
from assent.web.pages.plans import plan_values, small_number
from assent.web.pages.review_body import ReviewBody, opened_lines
from assent.web.pages.review_view import (
    SHORT,
    CommentView,
    comment_views,
    image_type,
    risk_views,
    thread_html,
)
from assent.web.review_memory import Served

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord

PAGE_OPERATIONS: Final = 50  # as many as a browser shows at once
PAGE_CHARS: Final = 200_000  # of diffs, from which a page is full with fewer operations
MAX_FILES: Final = 200  # of which the tree lists all; beyond, folders and what is risky or here
MAX_ROWS: Final = 500  # of such a tree; beyond, it lists the files of this page alone
FEW: Final = 10  # operations, among which nothing needs to be searched
MAX_FIND: Final = 200  # characters
MAX_IMAGE: Final = 8 << 20
_ID: Final = re.compile(r"[0-9a-f]{64}")  # of an operation


def show_review(call: PageCall) -> Shown:
    """Shows a page of a review; a plan without some operations, if these are named.

    What is served to its end, from its first page on, is what this cookie can approve.
    """
    engine, record = call.server.find_plan(call.path["plan"])
    without = tuple(filter(None, call.query.get("without", "").split(",")))
    number, part = page_number(call), call.query.get("part", "")
    review, served = _review(call, engine, record, without, known=number > 1 or part == "files")
    pages = cut_pages(review.operations)
    if number > len(pages):
        raise NotFound(f"There is no page {number}; the last one is {len(pages)}.")
    values = plan_values(call, engine, record, "review")
    values |= _parts(call, engine, record, review, pages, number, without)
    if part == "files":
        return Shown("plan_tree.html", values)
    if number == 1:
        values |= {
            "risks": risk_views(review),
            "text_rows": values["body"].text(),
            "preview": preview_markdown(display_path(review.text)),
        }
    values["can_exclude"] = (
        values["awaits"] and not values["plan"]["approved"] and call.may("author")
    )
    if part:
        wanted = [each for each in values["operations"] if each.short == part]
        if not wanted:
            raise NotFound("There is no such operation on this page.")
        return Shown("plan_operation.html", {**values, "one": wanted[0]})
    shown = Served(number, len(pages), served.was, served.without)

    def then() -> None:
        if review.digest:
            memory, access = call.server.reviewed, call.access.access
            memory.note(access, record.plan_id, review.digest, shown)

    return Shown("plan_review.html", values, then=then, in_pieces=True)


def page_number(call: PageCall) -> int:
    """Returns which page of a review is asked for."""
    return max(small_number(call.query.get("page", "")), 1)


def cut_pages(found: Sequence[OperationReview]) -> list[range]:
    """Returns the operations of each page by their places; there is always a first page."""
    pages: list[range] = []
    start = chars = 0
    for at, one in enumerate(found):
        size = len(one.diff or "")
        if at > start and (at - start == PAGE_OPERATIONS or chars + size > PAGE_CHARS):
            pages.append(range(start, at))
            start, chars = at, 0
        chars += size
    return [*pages, range(start, len(found))]


def _review(
    call: PageCall,
    engine: "Engine",
    record: "PlanRecord",
    without: tuple[str, ...],
    *,
    known: bool,
) -> tuple[Review, Served]:
    """Returns a plan's review, or that of a part of it, and what it was made from.

    `known` takes the one that was made for another page of it, if that is kept.
    """
    if not without:
        kept, key = call.server.reviews, (call.access.access, record.plan_id, record.digest)
        found = kept.find(key) if known and record.digest else None
        if found is not None:
            return found, Served()
        review = engine.review_history.review(record)
        if review.digest:
            kept.keep(key, review)
        return review, Served()
    call.server.check_role(call.access, "author", decides=False)
    engine.approvals.check_live(record)
    preview = engine.partial_approvals.preview(record, without)
    ids = preview.was.ids
    excluded = tuple(ids[index] for index in preview.smaller.declined)
    return engine.review_history.partial(preview, ""), Served(was=record.digest, without=excluded)


def _parts(
    call: PageCall,
    engine: "Engine",
    record: "PlanRecord",
    review: Review,
    pages: Sequence[range],
    number: int,
    without: tuple[str, ...],
) -> dict[str, Any]:
    split = call.query.get("view", "") == "split"
    said = comment_views(review.comments) if number == 1 or without else _comments(engine, record)
    can_comment = call.may("author") and record.state in OPEN_STATES and not without
    base = {"page": str(number) if number > 1 else "", "view": "split" if split else ""}
    asked = call.query.get("on", "") if can_comment else ""
    values = {"plan": record.plan_id, "csrf": call.csrf, "can_comment": can_comment, "base": base}
    folds = call.query.get("open", "")
    here = [review.operations[at] for at in pages[number - 1]]
    body = ReviewBody(
        review, said, values, {**base, "without": ",".join(without)}, asked, folds,
        opened_lines(engine, here, folds),
    )  # fmt: skip
    ids = [one.id for one in review.operations]
    viewed = call.server.viewed.among(call.access.access, record.plan_id, ids)
    find = call.query.get("find", "").strip()[:MAX_FIND]
    tree, tree_words = review_tree(review.operations, pages[number - 1], find)
    excluding = ",".join(each[:SHORT] for each in without)
    kept = {"view": base["view"], "without": excluding, "find": find}
    return {
        "review": review,
        "body": body,
        "operations": map(body.operation, pages[number - 1]),  # each when the page gets to it
        "total": len(review.operations),
        "page": number,
        "pages": len(pages),
        "last": number == len(pages),
        "first_number": pages[number - 1].start + 1,
        "last_number": pages[number - 1].stop,
        "split": split,
        "base": base,
        "without": excluding,
        "find": find,
        "few": FEW,
        "same": "".join(f"&{urlencode({name: text})}" for name, text in kept.items() if text),
        "tree": tree,
        "tree_words": tree_words,
        "page_of": _page_of(pages),
        "since": review.since,
        "since_words": changes_text(review.since) if review.since else "",
        "since_lines": [*review_changes_lines(review.since)][1:] if review.since else [],
        "comments": said,
        "waiting": sum(not each.is_suggested for each in said),
        "suggested": sum(each.is_suggested for each in said),
        "can_comment": can_comment,
        "rehearsal": rehearsal_row(review.rehearsal),
        "rehearsal_words": rehearsal_text(review.rehearsal),
        "estimate": estimate_text(review.estimate) if review.estimate else "",
        "option": option_text(review) if review.option else "",
        "excluded": [
            {"id": one.id, "reason": one.reason, "subject": _named(one.op)}
            for one in review.declined
        ],
        "ids": ids,
        "viewed": viewed,
        "numbers": {id: number for number, id in enumerate(ids, 1)},
        "thread": lambda found: thread_html(found, values),
        "say": lambda name: thread_html((), {**values, "where": name}),
        "where": asked,
    }


def _named(op: Operation) -> str:
    return f"{operation_verb(op)} {operation_subject(op)}"


def _comments(engine: "Engine", record: "PlanRecord") -> list[CommentView]:
    return comment_views(engine.comments.placed(record))


def review_tree(
    operations: Sequence[OperationReview], page: range, find: str = ""
) -> tuple[list[TreeRow], str]:
    """Returns the rows of the tree of files beside a page, and what it leaves out.

    With `find`, it has the files of all pages whose path contains that.
    """
    files = [*tree_files(operations)]
    if find:
        found = [file for file in files if find.casefold() in visible_path(file.path).casefold()]
        more = f" The first {MAX_FILES} are listed." if len(found) > MAX_FILES else ""
        match = "matches" if len(files) == 1 else "match"
        told = f"{len(found):,} of {counted(len(files), 'file')} {match}.{more}"
        return file_tree(found[:MAX_FILES]), told
    if len(files) <= MAX_FILES:
        return file_tree(files), ""
    rows = file_tree(files, lambda file: file.is_risky or file.number - 1 in page)
    if len(rows) <= MAX_ROWS:
        return rows, "All folders, with the files of this page and risky ones."
    return file_tree(file for file in files if file.number - 1 in page), "Files of this page."


def _page_of(pages: Sequence[range]) -> list[int]:
    return [number for number, page in enumerate(pages, 1) for _ in page]


def choose_without(call: PageCall) -> GoTo:
    """Goes to the review of a plan without the operations that were chosen.

    If these are excluded on the page already, it goes where the button leads: to a page or the
    approval. What was ticked and not shown as excluded yet is shown first.
    """
    shown = [*filter(None, call.field("without").split(","))]
    chosen = [each[:12] for each in dict.fromkeys([*shown, *call.fields("operation")])]
    again = set(call.fields("include"))
    left = [each for each in chosen if each not in again]
    go, view = call.field("go"), call.field("view")
    if set(left) != {each[:12] for each in shown}:
        go = ""
    if go == "approve":
        return GoTo(link(f"/plans/{call.path['plan']}/approve", digest=call.field("digest")))
    find = call.field("find").strip()
    return GoTo(_review_path(call, page=go, view=view, without=",".join(left), find=find))


def mark_viewed(call: PageCall) -> GoTo | Response:
    """Marks an operation as viewed, or as not viewed; a script gets no page."""
    _, record = call.server.find_plan(call.path["plan"])
    operation = call.field("operation")
    if not _ID.fullmatch(operation):
        raise NotFound("There is no such operation.")
    marks, viewed = call.server.viewed, call.field("viewed") == "1"
    marks.mark(call.access.access, record.plan_id, operation, viewed=viewed)
    if not call.shows:
        return Response(status_code=204)
    shown = {name: call.field(name) for name in ("page", "view", "without")}
    return GoTo(f"{_review_path(call, **shown)}#{quote(call.field('at'))}")


def remove_operation(call: PageCall) -> GoTo:
    """Removes an operation from a draft, with what depends on it."""
    call.ask(operations.remove, plan=call.path["plan"], operation=call.field("operation"))
    return GoTo(_review_path(call, page=call.field("page")))


def rehearse(call: PageCall) -> GoTo:
    """Tries a plan in a scratch copy; each line of the form is a command instead of the usual."""
    lines = [line.strip() for line in call.field("commands").splitlines()]
    body = {"digest": call.field("digest"), "commands": [line for line in lines if line]}
    call.ask(decisions.rehearse, body, plan=call.path["plan"])
    return GoTo(f"/plans/{call.path['plan']}#work")


def add_comment(call: PageCall) -> GoTo:
    """Comments on lines of the text or of an operation, or replies to a comment."""
    where, last, head = call.field("where"), call.field("last").strip(), call.field("reply_to")
    first = where.partition(":")[2]
    if last and first and last != first:
        where = f"{where}-{last}"
    body = {"where": where, "text": call.field("text"), "reply_to": head}
    added = call.ask(comments_api.add_comment, body, plan=call.path["plan"])
    return _commented(call, f"reply {head}" if head else where, f"c-{added['id']}")


def change_comment(call: PageCall) -> GoTo:
    """Edits, keeps or removes a comment, by the button that was used."""
    plan, comment = call.path["plan"], call.path["comment"]
    place = f"c-{comment}"
    match call.field("do"):
        case "remove":
            gone = call.ask(comments_api.remove_comment, plan=plan, comment=comment)
            place = _part_of(call, gone["operation"])
        case "keep":
            call.ask(comments_api.change_comment, {"state": "kept"}, plan=plan, comment=comment)
        case _:
            body = {"text": call.field("text")}
            call.ask(comments_api.change_comment, body, plan=plan, comment=comment)
    return _commented(call, f"edit {comment}", place)


def _commented(call: PageCall, sent: str, place: str) -> GoTo:
    """Goes back to the page and the place where a comment was written."""
    query = {"page": call.field("page"), "view": call.field("view"), "sent": sent}
    return GoTo(f"{_review_path(call, **query)}#{quote(place)}")


def _part_of(call: PageCall, operation: str | None) -> str:
    """Returns the place of an operation on its page; without one, that of the plan's text."""
    engine, record = call.server.find_plan(call.path["plan"])
    ids = _operations(engine, record)[1]
    return f"o{ids.index(operation) + 1}" if operation in ids else "text"


def _operations(
    engine: "Engine", record: "PlanRecord"
) -> tuple[Sequence[Operation], Sequence[str]]:
    """Returns the operations of a plan or a draft, and their ids."""
    if record.frozen:
        frozen = engine.plans.repository().plan(record)
        return frozen.operations, frozen.ids
    found = engine.plans.operations(record)
    return found, operation_ids(found)


def send_image(call: PageCall) -> Response:
    """Sends a picture of an operation, if its name and its size say that it is one."""
    engine, record = call.server.find_plan(call.path["plan"])
    found, ids = _operations(engine, record)
    places = matching_operations(ids, call.path["operation"])
    if len(places) != 1:
        raise NotFound("There is no such operation.")
    operation = found[places[0]]
    side = call.path["side"]
    state: FileState | None = (
        getattr(operation, side, None) if side in ("before", "after") else None
    )
    kind = image_type(getattr(operation, "path", b""))
    if state is None or not kind or state.size > MAX_IMAGE:
        raise NotFound("This is not a picture that can be shown.")
    content = b"".join(engine.drafts.content_reader(found)(state.digest))
    return Response(content, media_type=kind)


def _review_path(call: PageCall, **query: str) -> str:
    given = {name: value for name, value in query.items() if value and value != "1"}
    return f"/plans/{call.path['plan']}/review" + (f"?{urlencode(given)}" if given else "")


PAGES: Final = (
    PageRoute("GET", "/plans/{plan}/review", show_review),
    PageRoute("POST", "/plans/{plan}/without", choose_without, "author"),
    PageRoute("POST", "/plans/{plan}/viewed", mark_viewed),
    PageRoute("POST", "/plans/{plan}/remove", remove_operation, "author"),
    PageRoute("POST", "/plans/{plan}/rehearse", rehearse, "author"),
    PageRoute("POST", "/plans/{plan}/comments", add_comment, "author"),
    PageRoute("POST", "/plans/{plan}/comments/{comment}", change_comment, "author"),
    PageRoute("GET", "/plans/{plan}/images/{operation}/{side}", send_image),
)
