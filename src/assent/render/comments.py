"""Comments as lines and JSON: below the lines they are about, and as a list."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from assent.core.digest import sha256
from assent.core.plan.comment import (
    Comment,
    CommentTarget,
    PlacedComment,
    in_threads,
    location_text,
)
from assent.core.text.hidden_chars import (
    CONTINUATION_MARK,
    collapse_empty_lines,
    fold_long,
    source_line_count,
    source_lines,
    visible,
    visible_line,
)
from assent.core.text.secrets import redact, redaction_text
from assent.render.lines import BLANK, GUTTER, Line, untrusted_lines, wrapped_lines
from assent.render.rows import Row

MARK: Final = "▸ "  # before a comment between the lines of a plan, which never begin with it
MAX_QUOTED_CHARS: Final = 1000  # characters of a line that are quoted
KEY: Final = "private key"  # the one kind of secret that goes over many lines
NONE: Final = "No pending comments."


def commentable_part(
    lines: Iterable[Line], operation: str = "", about: str = "", number: int = 0
) -> CommentTarget:
    """Returns what comments can be tied to: lines as a review shows them, however they fold."""
    whole: list[str] = []
    for line in lines:
        text = line.text.removeprefix(GUTTER)
        if whole and text.startswith(CONTINUATION_MARK):
            whole[-1] += text.removeprefix(CONTINUATION_MARK)
        else:
            whole += source_lines(text)
    return CommentTarget(
        operation, about, quotable_lines(whole), sha256("\n".join(whole).encode()), number
    )


def quotable_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Returns lines as they are quoted: separate, of bounded length, without secrets."""
    text = "\n".join(lines)
    safe = redact(text)
    left = None if safe == text else set(safe.split("\n"))
    return tuple([_cut(line if left is None or line in left else _hidden(line)) for line in lines])


def with_comments(
    lines: Iterable[Line],
    comments: Sequence[PlacedComment],
    operation: str = "",
    numbers: Sequence[int] = (),
) -> Iterable[Line]:
    """Returns the lines of a part with each comment below the last line that it is about.

    `numbers` are those of the lines, where they do not follow from the lines themselves.
    """
    own = [
        (one.number, one.placed)
        for one in in_threads(comments)
        if one.placed.standing != "gone" and one.placed.anchor.operation == operation
    ]
    return _between(lines, own, numbers) if own else lines


def outdated_comment_lines(comments: Sequence[PlacedComment]) -> Iterator[Line]:
    """Renders the comments whose lines no longer exist, with what was quoted."""
    for one in in_threads(comments):
        if one.placed.standing == "gone":
            yield from one_comment_lines(one.number, one.placed, one.head)
            yield BLANK


def is_suggested(placed: PlacedComment) -> bool:
    """Tells whether a comment is a critic's that no one kept: it is not sent."""
    return placed.comment.state == "suggested"


def pending_text(waiting: int) -> str:
    """Returns how many comments wait to be sent, and what sends them."""
    wait = "1 pending comment" if waiting == 1 else f"{waiting} pending comments"
    return f"{wait}, sent when you reject: assent reject"


def comment_count_lines(comments: Sequence[PlacedComment]) -> Iterator[Line]:
    """Renders how many comments are pending and suggested, and which commands take them on."""
    found = sum(map(is_suggested, comments))
    waiting = len(comments) - found
    if waiting:
        yield Line("said", pending_text(waiting))
    if found:
        yield Line("said", f"{suggested_text(found)}, not sent unless you keep them:")
        yield Line("said", "assent comment keep NUMBER (or --all), assent comment dismiss NUMBER")


def suggested_text(count: int) -> str:
    """Counts the comments that a critic suggested."""
    return "1 comment by the critic" if count == 1 else f"{count} comments by the critic"


def comments_sent_lines(count: int) -> Iterator[Line]:
    """Renders how many comments were sent with a rejection."""
    if count:
        went = "1 comment" if count == 1 else f"{count} comments"
        yield Line("plain", f"{went} sent with the quoted lines.")


def comment_lines(comments: Sequence[PlacedComment]) -> Iterator[Line]:
    """Renders comments as a list, each under its location and the lines that it is about."""
    if not comments:
        yield Line("plain", NONE)
        yield Line("plain", "Next: assent comment add plan:LINE 'TEXT'")
    yield from listed_comment_lines(comments)
    yield from comment_count_lines(comments)


def listed_comment_lines(
    comments: Sequence[PlacedComment], *, suggested: bool = True
) -> Iterator[Line]:
    """Renders comments by number, or only those that a rejection sends."""
    for one in in_threads(comments):
        if suggested or not is_suggested(one.placed):
            yield from one_comment_lines(one.number, one.placed, one.head)
            yield BLANK


def one_comment_lines(number: int, placed: PlacedComment, head: int = 0) -> Iterator[Line]:
    """Renders a comment under its location and its lines; a reply under the comment's number."""
    anchor = placed.anchor
    name = comment_name(number, placed.comment)
    where = f" to comment {head}" if head else f": {location_text(placed)}"
    yield from wrapped_lines("heading", f"C{name[1:]}{where}")
    width = len(str(anchor.last))
    for at, line in enumerate(() if head else anchor.quote, anchor.first):
        for piece in fold_long(line):
            yield Line("dim", f"{at:>{width}} {GUTTER}{piece}")
    for said in untrusted_lines(redact(placed.comment.text).strip("\n")):
        yield Line("said", MARK + said.text.removeprefix(GUTTER))


def comment_name(number: int, comment: Comment) -> str:
    """Returns what a comment is called; one by a critic says so, and whether it is sent."""
    if comment.author == "person":
        return f"comment {number}" + (", a reply" if comment.reply_to else "")
    rated = f", {comment.severity}" if comment.severity else ""
    sent = "kept" if comment.state == "kept" else "not sent unless kept"
    return f"comment {number} by critic {visible_line(comment.model)}{rated} ({sent})"


def comment_rows(comments: Sequence[PlacedComment]) -> list[Row]:
    """Returns comments as the objects that `--json` prints."""
    return [comment_row(number, placed) for number, placed in enumerate(comments, 1)]


def part_lines(found: CommentTarget, first: int = 0, last: int = 0) -> Iterator[Line]:
    """Renders the lines of a part, or some of them, with the numbers that comments name."""
    width = len(str(len(found.lines)))
    wanted = found.lines[max(first - 1, 0) : last if first else None]
    number = max(first, 1)
    for line in collapse_empty_lines(wanted, signed=bool(found.operation)):
        for piece in fold_long(line):
            yield Line("plain", f"{number:>{width}} {GUTTER}{piece}")
        number += source_line_count(line)


def comment_row(number: int, placed: PlacedComment) -> Row:
    """Returns one comment as an object; `first` and `last` are null if it is about all of it."""
    comment, anchor = placed.comment, placed.anchor
    return {
        "id": comment.id,
        "number": number,
        "on": "operation" if anchor.operation else "plan",
        "operation": anchor.operation or None,
        "about": anchor.about or None,
        "first": anchor.first or None,
        "last": anchor.last or None,
        "standing": placed.standing,
        "quote": list(anchor.quote),
        "text": redact(comment.text),
        "digest": comment.digest or None,
        "at": comment.at,
        "user": comment.user or None,
        **({"reply_to": comment.reply_to} if comment.reply_to else {}),
        **(_critic_fields(comment) if comment.author == "critic" else {}),
    }


def _critic_fields(comment: Comment) -> Row:
    return {
        "author": comment.author,
        "state": comment.state,
        "model": comment.model,
        "severity": comment.severity or None,
    }


def _between(
    lines: Iterable[Line], own: Sequence[tuple[int, PlacedComment]], numbers: Sequence[int]
) -> Iterator[Line]:
    """Inserts comments below the last row of their last line; those about all of it come first."""
    below: dict[int, list[Line]] = {}
    for number, placed in own:
        below.setdefault(placed.anchor.last, []).extend(_marked(number, placed))
    yield from below.pop(0, ())
    at = 0
    for place, line in enumerate(lines):
        text = line.text.removeprefix(GUTTER)
        if numbers:
            if numbers[place] != at:
                for passed in sorted(each for each in below if each <= at):
                    yield from below.pop(passed)
            at = numbers[place]
        elif not at or not text.startswith(CONTINUATION_MARK):
            for passed in sorted(each for each in below if each <= at):
                yield from below.pop(passed)
            at += source_line_count(text)
        yield line
    for rest in below.values():
        yield from rest


def _marked(number: int, placed: PlacedComment) -> Iterator[Line]:
    anchor = placed.anchor
    lines = f" (lines {anchor.first}-{anchor.last})" if anchor.last > anchor.first else ""
    moved = ", moved with its lines" if placed.standing == "moved" else ""
    title = f"{comment_name(number, placed.comment)}{lines}{moved}: "
    for line in visible(title + redact(placed.comment.text).strip("\n")).split("\n"):
        for piece in fold_long(line):
            yield Line("said", MARK + piece)


def _hidden(line: str) -> str:
    """Masks a line that is, or is part of, a secret."""
    found = redact(line)
    return redaction_text(KEY) if found == line else found


def _cut(line: str) -> str:
    return line if len(line) <= MAX_QUOTED_CHARS else f"{line[:MAX_QUOTED_CHARS]}…"
