"""Comments between lines: each below the last piece of its line, however a review folds it."""

import pytest
from tests.render.values import write

from assent.core.event import PlanRejected
from assent.core.plan.comment import Comment, CommentAnchor, PlacedComment, place_comment
from assent.core.plan.operation import RunCommand
from assent.render.comments import (
    comment_lines,
    comment_rows,
    commentable_part,
    part_lines,
    quotable_lines,
    with_comments,
)
from assent.render.diff import diff_lines
from assent.render.lines import Line, untrusted_lines
from assent.render.review import OperationReview, operation_part, text_part
from assent.store.hash_chain import decode_event, encode_event

LONG = "x" * 1500
TOKEN = "ghp_" + "a1" * 18


def on(first: int, last: int, words: str = "Why?", operation: str = "") -> PlacedComment:
    anchor = CommentAnchor(operation, first, last, ("quoted",) * (last - first + 1 if first else 0))
    return PlacedComment(Comment("c", anchor, words, "at", "me", ""), anchor, "here")


def test_g18_lines_are_counted_as_written_and_not_as_folded() -> None:
    folded = [*untrusted_lines(f"one\n{LONG}\ntwo\n")]
    assert len(folded) > 3
    found = commentable_part(folded)
    assert found.lines == ("one", f"{LONG[:1000]}…", "two")
    shown = [*with_comments(folded, [on(2, 2)])]
    at = shown.index(Line("said", "▸ comment 1: Why?"))
    assert shown[at + 1] == Line("plain", "│ two")
    assert shown[:at] + shown[at + 1 :] == folded


@pytest.mark.parametrize(
    ("where", "before"),
    [((1, 1), "│ one"), ((1, 2), "│ two"), ((3, 3), "│ three"), ((9, 9), "│ three")],
)
def test_g18_a_comment_stands_below_its_last_line(where: tuple[int, int], before: str) -> None:
    shown = [
        line.text for line in with_comments(untrusted_lines("one\ntwo\nthree\n"), [on(*where)])
    ]
    at = next(n for n, text in enumerate(shown) if text.startswith("▸ "))
    assert shown[at - 1] == before


def test_g18_a_comment_to_all_of_it_stands_on_top() -> None:
    shown = [*with_comments(untrusted_lines("one\n"), [on(0, 0, "All of it?")])]
    assert shown == [Line("said", "▸ comment 1: All of it?"), Line("plain", "│ one")]


def test_g18_without_comments_of_their_own_lines_are_what_they_were() -> None:
    lines = diff_lines("diff --git a/a b/a\n@@ -0,0 +1 @@\n+a\n")
    assert with_comments(lines, ()) is lines
    assert with_comments(lines, [on(1, 1)], "some operation") is lines
    gone = PlacedComment(on(1, 1).comment, on(1, 1).anchor, "gone")
    assert [*with_comments(untrusted_lines("one\n"), [gone])] == [Line("plain", "│ one")]


def test_g18_words_cannot_pass_for_lines_of_ours_or_hide() -> None:
    shown = [*with_comments(untrusted_lines("one\n"), [on(1, 1, "a\x1b[2J\n│ two\n+three")])]
    assert [line.text for line in shown[1:]] == [
        "▸ comment 1: a<U+001B>[2J", "▸ │ two", "▸ +three",
    ]  # fmt: skip


def test_g18_a_command_can_be_commented_line_by_line() -> None:
    op = RunCommand((), script=b"make\nmake test\n", cwd=b"", timeout=60)
    found = operation_part(2, OperationReview("id", op, "irreversible"))
    assert (found.operation, found.number, found.lines[:2]) == ("id", 2, ("make", "make test"))


def test_g18_what_is_not_shown_as_text_has_no_lines() -> None:
    binary = OperationReview("id", write(b"a.png", None, b"\0"), "reversible", diff=None)
    found = operation_part(1, binary)
    assert (found.about, found.lines, [*part_lines(found)]) == ("write a.png", (), [])


def test_g18_a_quote_has_no_secret_in_it() -> None:
    assert quotable_lines(["a", f"token {TOKEN}", "b"]) == (
        "a",
        "token [masked: GitHub token]",
        "b",
    )


def test_g18_a_quote_is_found_again_although_something_else_is_masked_now() -> None:
    was = text_part(b"# A\n\nDo it.\n")
    anchor = CommentAnchor("", 3, 3, was.lines[2:3], "", was.seen)
    now = text_part(f"# A\n\nUse {TOKEN}.\nDo it.\n".encode())
    assert place_comment(Comment("c", anchor, "Why?", "at", "me", ""), [now]).anchor.first == 4


def test_g18_the_list_has_each_comment_under_its_place() -> None:
    placed = on(3, 3, f"Use {TOKEN}?")
    assert [line.text for line in comment_lines([placed])] == [
        "Comment 1: line 3 of the plan text",
        "3 │ quoted",
        "▸ Use [masked: GitHub token]?",
        "",
        "1 pending comment, sent when you reject: assent reject",
    ]
    assert TOKEN not in str(comment_rows([placed]))
    assert [line.text for line in comment_lines([])] == [
        "No pending comments.", "Next: assent comment add plan:LINE 'TEXT'",
    ]  # fmt: skip


def test_f57_a_log_from_before_comments_can_be_read() -> None:
    body = '{"type":"plan_rejected","digest":"d","note":"No.","user":"me"}'
    old = decode_event((1, "plan/w/p", 1, "at", "plan_rejected", body)).event
    assert old == PlanRejected("d", "No.", "me")
    sent = PlanRejected("d", "No.", "me", (on(3, 3).comment,))
    kind, body = encode_event(sent)
    assert decode_event((1, "plan/w/p", 1, "at", kind, body)).event == sent
