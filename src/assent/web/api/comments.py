"""Endpoints about comments on lines of a plan, which are sent when it is rejected."""

from typing import TYPE_CHECKING, Literal

import msgspec

from assent.core.errors import NotFound, UsageError
from assent.core.plan.comment import Comment, PlacedComment, comment_location
from assent.core.plan.operation import matching_operations
from assent.render.comments import comment_row, comment_rows
from assent.render.rows import Row
from assent.web.answers import CommentAnswer, CommentsAnswer
from assent.web.api.plans import warned
from assent.web.endpoint import ApiCall, Endpoint, Nothing

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord


class CommentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A comment: its text, and where it belongs, such as `plan:12-15` or `2:7`.

    A reply names a comment with `reply_to` instead; a critic's is kept by it.
    """

    text: str
    where: str = ""
    reply_to: str = ""


class CommentChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another text for a comment; or a critic's comment is `kept`, so that it is sent, too."""

    text: str = ""
    state: Literal["", "kept"] = ""


def list_comments(call: ApiCall[Nothing, Nothing]) -> Row:
    """Lists pending and suggested comments, each with its lines."""
    engine, record = call.server.find_plan(call.path["plan"])
    return {"comments": comment_rows(engine.comments.placed(record))}


def add_comment(call: ApiCall[Nothing, CommentRequest]) -> Row:
    """Comments on lines of the plan's text or of an operation's diff, or replies to a comment."""
    engine, record = call.server.find_plan(call.path["plan"])
    wanted = call.body
    if bool(wanted.where) == bool(wanted.reply_to):
        raise UsageError("Pass where or reply_to, and one of them only.", "assent comment --help")
    if wanted.reply_to:
        added = engine.comments.reply(record, wanted.reply_to, wanted.text)
    else:
        anchor = engine.comments.anchor(record, *comment_location(wanted.where))
        added = engine.comments.add(record, anchor, wanted.text)
    return warned(engine, _row(added, len(engine.comments.listed(record))))


def change_comment(call: ApiCall[Nothing, CommentChange]) -> Row:
    """Edits a comment, which makes a critic's your own; or keeps a critic's as it is."""
    engine, record = call.server.find_plan(call.path["plan"])
    reference, wanted = call.path["comment"], call.body
    if bool(wanted.text) == bool(wanted.state):
        raise UsageError("Pass text or state, and one of them only.", "assent comment --help")
    number = _number(engine, record, reference)
    if wanted.text:
        return warned(engine, _row(engine.comments.change(record, reference, wanted.text), number))
    (kept,) = engine.comments.keep(record, [reference])
    return warned(engine, _row(kept, number))


def remove_comment(call: ApiCall[Nothing, Nothing]) -> Row:
    """Removes a comment before it is sent; a critic's is dismissed."""
    engine, record = call.server.find_plan(call.path["plan"])
    number = _number(engine, record, call.path["comment"])
    return warned(engine, _row(engine.comments.remove(record, call.path["comment"]), number))


def _number(engine: "Engine", record: "PlanRecord", comment: str) -> int:
    """Returns under which number a list shows a comment; 0 if it is not there.

    Raises NotFound for a number or the beginning of an id: what they mean may change meanwhile.
    """
    ids = [one.id for one in engine.comments.listed(record)]
    if comment in ids:
        return ids.index(comment) + 1
    if matching_operations(ids, comment):
        raise NotFound(
            f"{comment!a} is not the full id of a comment. Nothing was changed.",
            "GET /api/v1/plans/ID/comments",
        )
    return 0


def _row(comment: Comment, number: int) -> Row:
    return comment_row(number, PlacedComment(comment, comment.anchor, "here"))


ENDPOINTS = (
    Endpoint("GET", "/plans/{plan}/comments", "Comments on a plan", "viewer", list_comments,
             answer=CommentsAnswer),
    Endpoint(
        "POST", "/plans/{plan}/comments", "Comment on a plan", "author", add_comment,
        body=CommentRequest, answer=CommentAnswer,
    ),
    Endpoint(
        "PATCH", "/plans/{plan}/comments/{comment}", "Change a comment", "author", change_comment,
        body=CommentChange, answer=CommentAnswer,
    ),
    Endpoint(
        "DELETE", "/plans/{plan}/comments/{comment}", "Remove a comment", "author", remove_comment,
        answer=CommentAnswer,
    ),
)  # fmt: skip
