"""Comment anchors: what in a review comments can be tied to, and where their lines are now."""

from collections.abc import Iterable, Iterator, Sequence

from assent.core.paths import display_path
from assent.core.plan.comment import Comment, CommentTarget, PlacedComment, place_comment
from assent.core.plan.operation import RunCommand
from assent.render.comments import commentable_part
from assent.render.diff_lines import diff_lines
from assent.render.lines import untrusted_lines
from assent.render.operation_text import command_lines, operation_brief
from assent.render.review import OperationReview, Review
from assent.render.rows import operation_kind


def text_part(text: bytes) -> CommentTarget:
    """Returns a plan's text, line by line."""
    return commentable_part(untrusted_lines(display_path(text)))


def operation_part(number: int, operation: OperationReview) -> CommentTarget:
    """Returns an operation as a review shows it: its diff, or its command; else it has no lines."""
    op = operation.op
    lines = (
        command_lines(op, operation.unheld)
        if isinstance(op, RunCommand)
        else diff_lines(operation.diff or "")
    )
    return commentable_part(lines, operation.id, _about(operation), number)


def place_comments(review: Review, comments: Sequence[Comment]) -> tuple[PlacedComment, ...]:
    """Returns comments with where their lines are in a review; parts they do not name stay out."""
    if not comments:
        return ()
    parts = [*_parts(review, [comment.anchor.about for comment in comments])]
    return tuple([place_comment(comment, parts) for comment in comments])


def _parts(review: Review, about: Iterable[str]) -> Iterator[CommentTarget]:
    wanted = set(about)
    if "" in wanted:
        yield text_part(review.text)
    for number, operation in enumerate(review.operations, 1):
        if _about(operation) in wanted:
            yield operation_part(number, operation)


def _about(operation: OperationReview) -> str:
    return f"{operation_kind(operation.op)} {operation_brief(operation.op)}"
