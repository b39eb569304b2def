"""A plan as it stands now: title, state, digest, text, and which lines of it changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.digest import sha256
from assent.core.plan.record import PlanRecord, PlanState, TextRevision
from assent.render.lines import GUTTER, Line
from assent.tui.sidebar.sidebar import (
    DIFFERS,
    changed_lines,
    plan_header_lines,
    plan_title,
    text_lines,
)

TEXT = b"# Fix it\n\nwords\n"
PATH = b".opencode/plans/s/PLAN_p.md"


def plan(state: PlanState = PlanState.DRAFTING, digest: str = "") -> PlanRecord:
    return PlanRecord(
        "01p", "01w", "s", "p", PATH, "", "", "now", 3, state,
        revisions=(TextRevision(1, "now", sha256(TEXT)),), digest=digest, frozen=digest,
    )  # fmt: skip


def test_a_draft_has_a_title_and_a_state_and_no_digest() -> None:
    assert [*plan_header_lines(plan(), TEXT, approved=False)] == [
        Line("heading", "Fix it"),
        Line("plain", "Draft"),
        Line("dim", PATH.decode()),
    ]


def test_a_proposed_plan_has_a_digest_and_says_if_its_file_differs() -> None:
    proposed = plan(PlanState.AWAITING_APPROVAL, "ab" * 32)
    for undone, words in (("", ""), ("some", ", partly undone"), ("all", ", undone")):
        told = [
            line.text for line in plan_header_lines(proposed, TEXT, approved=False, undone=undone)
        ]
        assert told[1] == f"Waiting for approval{words}"
    same = [*plan_header_lines(proposed, TEXT, approved=True)]
    assert same == [
        Line("heading", "Fix it"),
        Line("digest", "Approved, not built"),
        Line("digest", "digest abababababab"),
        Line("dim", PATH.decode()),
    ]
    other = [*plan_header_lines(proposed, TEXT + b"more\n", approved=True)]
    assert other == [*same, Line("risk", DIFFERS)]


@pytest.mark.parametrize(
    ("text", "title"),
    [(None, "p"), (b"", "p"), (b"## no\n# \n", "p"), (b"a\n# b \n", "b"), (b"# \xff", "\\xff")],
)
def test_the_title_is_the_first_heading_else_the_name(text: bytes | None, title: str) -> None:
    assert plan_title(plan(), text) == title


def test_the_text_stands_behind_a_gutter_with_what_hides_written_out() -> None:
    text = "# One\n```\n# code\n```\nwords\u202e\n".encode()
    assert text_lines(text) == [
        [Line("heading", f"{GUTTER}# One")],
        [Line("code", f"{GUTTER}```")],
        [Line("code", f"{GUTTER}# code")],
        [Line("code", f"{GUTTER}```")],
        [Line("plain", f"{GUTTER}words<U+202E>")],
    ]


def test_a_very_long_line_is_several() -> None:
    [pieces] = text_lines(b"x" * 1500)
    assert len(pieces) > 1


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"a\nb\nc\n", b"a\nb\nc\n", set()),
        (b"a\nb\nc\n", b"a\nx\nc\n", {1}),
        (b"a\nb\n", b"a\nb\nc\nd\n", {2, 3}),
        (b"a\nb\nc\n", b"a\nc\n", {1}),
        (b"a\nb\n", b"a\n", {0}),
        (b"", b"a\n", {0}),
    ],
)
def test_f28_lines_that_changed(old: bytes, new: bytes, expected: set[int]) -> None:
    assert changed_lines(old, new) == expected


@given(st.lists(st.sampled_from([b"a", b"b", b""])), st.lists(st.sampled_from([b"a", b"b", b""])))
def test_changed_lines_are_lines_of_the_new_text(old: list[bytes], new: list[bytes]) -> None:
    before, after = b"\n".join(old), b"\n".join(new)
    shown = len(text_lines(after))
    assert all(0 <= line < shown for line in changed_lines(before, after))


def test_empty_lines_that_are_counted_keep_the_place_of_every_line() -> None:
    found = text_lines(b"a\n" + b"\n" * 30 + b"b\n")
    assert len(found) == 32
    assert [line for lines in found for line in lines] == [
        Line("plain", "│ a"),
        Line("plain", "│ ␤ 30 empty lines"),
        Line("plain", "│ b"),
    ]
