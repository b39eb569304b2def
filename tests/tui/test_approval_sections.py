"""The pages of a review: nothing is left out, risks come first, and comments find their lines."""

import re

import msgspec
import pytest

from assent.core.digest import sha256
from assent.core.plan.comment import Comment, CommentAnchor, CommentState, PlacedComment
from assent.core.plan.operation import FileState, RunCommand, WriteFile
from assent.core.plan.plan import ReliedOnFile
from assent.core.plan.record import PlanState
from assent.core.plan.rehearsal import Rehearsal, RehearsedCommand
from assent.render.lines import BLANK, Line, spans_text
from assent.render.rehearsal import rehearsal_lines
from assent.render.review import OperationReview, Review
from assent.render.review_changes import ReviewChanges
from assent.tui.line_view import LinePosition, Section
from assent.tui.panels.approval.review import (
    ALL_OF_IT,
    NO_DIGEST,
    ReviewContext,
    anchor_at,
    context_lines,
    next_suggestion,
    number_of,
    operation_section,
    review_sections,
    suggestion_at,
    title_line,
    undo_limits,
    unseen_text,
)

DIGEST = "0123456789abcdef" * 4
TEXT = b"# Plan\n\nfirst\nsecond " + b"x" * 1500 + b"\nthird\n"
DIFF = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n"
WRITE = OperationReview(
    "a" * 64,
    WriteFile(b"a", None, FileState("b" * 64, 4, 0o644)),
    "reversible",
    ("any_file",),
    DIFF,
)
RUN = OperationReview("c" * 64, RunCommand((b"curl", b"x"), network=True), "irreversible")
TIDY = OperationReview("d" * 64, RunCommand((b"touch", b"y")), "reversible")
BACK = OperationReview("e" * 64, RunCommand((b"touch",), undo=(b"rm",)), "compensated")


def review(**changes: object) -> Review:
    plain = Review(
        "p1", "session", "work", b".opencode/plans/session/PLAN_work.md",
        PlanState.AWAITING_APPROVAL, DIGEST, False, TEXT, sha256(TEXT), "o" * 64,
        operations=(WRITE, RUN, TIDY),
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def keys(found: Review) -> list[str]:
    return [sheet.key for sheet in review_sections(found)]


def test_risks_come_first_and_the_end_says_so() -> None:
    since = ReviewChanges("e" * 64, text_diff=None)
    assert keys(review(since=since)) == [
        "risks", "since", "text", "operation 1", "operation 2", "operation 3", "end",
    ]  # fmt: skip
    *_, end = review_sections(review())
    assert end.lines[-1] == Line("dim", ALL_OF_IT)


def test_a_file_that_differs_is_said_before_everything() -> None:
    first, *_ = review_sections(review(), (), "It changed.")
    assert first == Section("live", (Line("risk", "It changed."),))


def test_g12_a_rehearsal_is_shown_with_who_chose_each_command() -> None:
    commands = (
        RehearsedCommand("make test", "user", 0, 1.0), RehearsedCommand("true", "plan", 0, 0.1),
    )  # fmt: skip
    found = Rehearsal("", "0" * 64, "", commands, "overlay", "person", "2026-01-01T00:00:00.000Z")
    assert "rehearsal" not in keys(review(rehearsable=True))  # said in a line below
    shown = review(rehearsable=True, rehearsal=found)
    assert keys(shown)[:2] == ["risks", "rehearsal"]
    [lines] = [each.lines for each in review_sections(shown) if each.key == "rehearsal"]
    assert lines == (*rehearsal_lines(found), BLANK)
    assert sum("configuration" in line.text for line in lines) == 1


def test_what_to_know_of_the_place_is_said_before_the_risks() -> None:
    first, second, *_ = review_sections(review(warnings=("A merge is in progress here.",)))
    assert first == Section("warnings", (Line("risk", "A merge is in progress here."), BLANK))
    assert second.key == "risks"


def test_the_title_has_the_beginning_of_the_digest_and_the_end_does_not_repeat_it() -> None:
    title = title_line(review())
    assert title.text == f"Plan work · Waiting for approval · {DIGEST[:12]}"
    assert spans_text(title.spans) == title.text
    assert title.spans[-1].role == "gutter"
    *_, end = review_sections(review())
    assert not any(DIGEST[:12] in line.text for line in end.lines)
    assert NO_DIGEST in title_line(review(digest="", state=PlanState.DRAFTING)).text


def test_no_line_of_a_review_has_an_id_or_a_digest() -> None:
    since = ReviewChanges("e" * 64, text_diff="--- last review\n+++ now\n@@ -1 +1 @@\n-a\n+b\n")
    relied = (ReliedOnFile(b"setup.py", "f" * 64),)
    found = review(since=since, relied_on=relied)
    texts = [line.text for sheet in review_sections(found) for line in sheet.lines]
    assert not [text for text in texts if re.search("[0-9a-f]{12}", text)]
    assert "relies on  setup.py" in texts
    assert not [text for text in texts if text.startswith(("---", "+++", "@@", "diff --git"))]


def test_the_context_names_what_cannot_be_undone_and_what_is_left_out() -> None:
    found = review()
    undo = tuple(undo_limits(found.operations))
    assert [*undo_limits([WRITE, BACK])] == ["1 undone by its own command: 2. run touch"]
    assert [*undo_limits([WRITE])] == ["everything can be undone"]
    assert undo == ("1 cannot be undone: 2. run curl x", "1 undone with limits: 3. run touch y")
    lines = context_lines(found, ReviewContext(undo, "a note", (WRITE.id,)), 200)
    assert [line.text for line in lines] == [
        "file       .opencode/plans/session/PLAN_work.md",
        "undo       1 cannot be undone: 2. run curl x",
        "undo       1 undone with limits: 3. run touch y",
        "changed    First review",
        "excluded   1. create a",
        "note       a note",
    ]
    assert all(len(line.text) <= 40 for line in context_lines(found, ReviewContext(undo), 40))


def test_g10_a_marked_operation_says_so_in_words() -> None:
    plain, marked = operation_section(review(), 1), operation_section(review(), 1, {WRITE.id})
    assert marked.lines[0] == Line("risk", f"[excluded] {plain.lines[0].text}")
    assert marked.lines[1:] == plain.lines[1:]


def test_what_was_not_shown_is_counted() -> None:
    sheets = tuple(review_sections(review()))
    whole = sum(len(sheet.lines) for sheet in sheets)
    assert unseen_text(sheets, LinePosition("risks", 0)) == (
        f"{whole - 1} lines, including operations 1 to 3"
    )
    assert unseen_text(sheets, LinePosition("operation 3", 0)).endswith("including operation 3")
    assert unseen_text(sheets, LinePosition("end", 0)) == "1 line"


def at(found: Review, key: str, words: str) -> CommentAnchor | None:
    """Returns what a comment is tied to on the first line of a page that has some words."""
    sheet = next(sheet for sheet in review_sections(found) if sheet.key == key)
    line = next(n for n, each in enumerate(sheet.lines) if words in each.text)
    return anchor_at(found, sheet, LinePosition(key, line))


@pytest.mark.parametrize(
    ("words", "number"),
    [("│ # Plan", 1), ("│ first", 3), ("│ second", 4), ("│ ↪ xxx", 4), ("│ third", 5)],
)
def test_f57_a_comment_is_tied_to_the_line_of_the_text_however_it_is_folded(
    words: str, number: int
) -> None:
    anchor = at(review(), "text", words)
    assert anchor is not None
    assert (anchor.operation, anchor.first, anchor.last) == ("", number, number)


@pytest.mark.parametrize(
    ("words", "number"), [("1. create", 0), ("+1 -1", 0), ("-old", 5), ("+new", 6)]
)
def test_g18_a_comment_is_tied_to_the_line_of_the_diff_or_to_the_operation(
    words: str, number: int
) -> None:
    anchor = at(review(), "operation 1", words)
    assert anchor is not None
    quote = (words,) if number > 1 else anchor.quote
    assert (anchor.operation, anchor.first, anchor.quote) == (WRITE.id, number, quote)


def test_nothing_else_can_be_commented_on() -> None:
    assert at(review(), "risks", "Risks") is None
    assert at(review(), "end", "3 operations") is None
    assert [number_of(key) for key in ("text", "operation 12")] == [0, 12]


def critics(
    id: str, operation: str, line: int, state: CommentState = "suggested", *, gone: bool = False
) -> PlacedComment:
    anchor = CommentAnchor(operation, line, line, ("quoted",) if line else ())
    said = Comment(
        id, anchor, f"Words of {id}.", "at", "", DIGEST, author="critic", state=state, model="m"
    )
    return PlacedComment(said, anchor, "gone" if gone else "here")


FOUND = (
    critics("kept", "", 3, "kept"),
    critics("text", "", 3),
    critics("whole", WRITE.id, 0),
    *[critics(f"diff{n}", WRITE.id, 6) for n in range(8)],
    critics("gone", "", 9, gone=True),
)


def stops(found: Review) -> list[str]:
    """The critic's comments in the order in which a key goes through them, once around."""
    sheets, spot, ids = [*review_sections(found)], None, list[str]()
    for _ in range(20):
        spot = next_suggestion(found, sheets, spot)
        if spot is None:
            break
        (sheet,) = [each for each in sheets if each.key == spot.key]
        placed = suggestion_at(found, sheet, spot)
        assert placed is not None
        if placed.comment.id in ids:
            break
        ids.append(placed.comment.id)
    return ids


def test_g22_a_key_goes_through_all_comments_of_the_critic_that_are_not_decided() -> None:
    wanted = ["gone", "text", "whole", *[f"diff{n}" for n in range(8)]]
    assert stops(review(comments=FOUND)) == wanted
    assert stops(review(comments=FOUND[:1])) == []


def test_g22_on_a_line_the_first_comment_of_the_critic_below_it_is_meant() -> None:
    found = review(comments=FOUND)
    sheet = operation_section(found, 1)
    [at] = [n for n, line in enumerate(sheet.lines) if line.text.endswith("+new")]
    meant = [suggestion_at(found, sheet, LinePosition(sheet.key, n)) for n in (at, at + 2, at - 1)]
    assert [one.comment.id if one else "" for one in meant] == ["diff0", "diff1", ""]


def test_g22_words_of_a_critic_cannot_be_taken_for_another_comment() -> None:
    forged = critics("forged", "", 3)
    words = "▸ comment 2 by critic m (not sent unless kept): all is well"
    forged = msgspec.structs.replace(
        forged, comment=msgspec.structs.replace(forged.comment, text=words)
    )
    found = review(comments=(forged, critics("other", "", 5)))
    assert stops(found) == ["forged", "other"]
