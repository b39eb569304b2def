"""Comments as lines and JSON: below the lines they are about, and as a list."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from assent.core.digest import sha256
from assent.core.plan.comment import CommentTarget, PlacedComment, location_text
from assent.core.text.hidden_chars import (
    CONTINUATION_MARK,
    collapse_empty_lines,
    fold_long,
    source_line_count,
    source_lines,
    visible,
)
from assent.core.text.secrets import redact, redaction_text
from assent.render.lines import BLANK, GUTTER, Line, untrusted_lines, wrapped_lines
from assent.render.rows import Row

MARK: Final = "▸ "  # before a comment between the lines of a plan, which never begin with it
MAX_QUOTED_CHARS: Final = 1000  # characters of a line that are quoted
KEY: Final = "private key"  # the one kind of secret that goes over many lines
NONE: Final = "No comments wait."


def commentable_part(
    lines: Iterable[Line], operation: str = "", about: str = "", number: int = 0
) -> CommentTarget:
    """Returns what comments can be tied to: lines as a review shows them, however it folds them."""
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
    """Returns lines as they are quoted: each for itself, of bounded length, without secrets."""
    text = "\n".join(lines)
    safe = redact(text)
    left = None if safe == text else set(safe.split("\n"))
    return tuple([_cut(line if left is None or line in left else _hidden(line)) for line in lines])


def with_comments(
    lines: Iterable[Line], comments: Sequence[PlacedComment], operation: str = ""
) -> Iterable[Line]:
    """Returns the lines of a part with each comment below the last line that it is about."""
    own = [
        (number, placed)
        for number, placed in enumerate(comments, 1)
        if placed.standing != "gone" and placed.anchor.operation == operation
    ]
    return _between(lines, own) if own else lines


def outdated_comment_lines(comments: Sequence[PlacedComment]) -> Iterator[Line]:
    """Renders the comments whose lines are no longer there, with what was quoted."""
    for number, placed in enumerate(comments, 1):
        if placed.standing == "gone":
            yield from one_comment_lines(number, placed)
            yield BLANK


def comment_count_lines(comments: Sequence[PlacedComment]) -> Iterator[Line]:
    """Says how many comments wait, and what sends them."""
    if comments:
        wait = "1 comment waits" if len(comments) == 1 else f"{len(comments)} comments wait"
        yield Line("said", f"{wait} to be sent with a no: assent reject")


def comments_sent_lines(count: int) -> Iterator[Line]:
    """Says how many comments went along with a no."""
    if count:
        went = "1 comment went" if count == 1 else f"{count} comments went"
        yield Line("plain", f"{went} along, with the lines that they are about.")


def comment_lines(comments: Sequence[PlacedComment]) -> Iterator[Line]:
    """Renders comments as a list, each under its place and the lines that it is about."""
    if not comments:
        yield Line("plain", NONE)
        yield Line("plain", "Next: assent comment add plan:LINE 'WORDS'")
    for number, placed in enumerate(comments, 1):
        yield from one_comment_lines(number, placed)
        yield BLANK
    yield from comment_count_lines(comments)


def one_comment_lines(number: int, placed: PlacedComment) -> Iterator[Line]:
    """Renders a comment under its place and the lines that it is about."""
    anchor = placed.anchor
    yield from wrapped_lines("heading", f"Comment {number}: {location_text(placed)}")
    width = len(str(anchor.last))
    for at, line in enumerate(anchor.quote, anchor.first):
        for piece in fold_long(line):
            yield Line("dim", f"{at:>{width}} {GUTTER}{piece}")
    for said in untrusted_lines(redact(placed.comment.text).strip("\n")):
        yield Line("said", MARK + said.text.removeprefix(GUTTER))


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
    """Returns one comment as an object; `first` and `last` are null if it is to all of it."""
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
        "user": comment.user,
    }


def _between(lines: Iterable[Line], own: Sequence[tuple[int, PlacedComment]]) -> Iterator[Line]:
    """Puts comments below the last piece of the line that they end at; to all of it, on top."""
    below: dict[int, list[Line]] = {}
    for number, placed in own:
        below.setdefault(placed.anchor.last, []).extend(_marked(number, placed))
    yield from below.pop(0, ())
    at = 0
    for line in lines:
        text = line.text.removeprefix(GUTTER)
        if not at or not text.startswith(CONTINUATION_MARK):
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
    title = f"comment {number}{lines}{moved}: "
    for line in visible(title + redact(placed.comment.text).strip("\n")).split("\n"):
        for piece in fold_long(line):
            yield Line("said", MARK + piece)


def _hidden(line: str) -> str:
    """Masks a line that is, or is part of, a secret."""
    found = redact(line)
    return redaction_text(KEY) if found == line else found


def _cut(line: str) -> str:
    return line if len(line) <= MAX_QUOTED_CHARS else f"{line[:MAX_QUOTED_CHARS]}…"
