"""The difference between a plan and the one that a person read, as values, lines and JSON."""

import msgspec
import pytest
from tests.render.values import delete, move, review, write

from assent.core.digest import sha256
from assent.core.plan.operation import Operation, RunCommand
from assent.core.plan.plan import Plan, ReliedOnFile, Scope
from assent.render.diff import LIMIT, NOT_SHOWN
from assent.render.lines import Line
from assent.render.review import OperationReview, review_diff_json, review_diff_lines, review_lines
from assent.render.review_changes import (
    FIRST_REVIEW,
    ChangedOperation,
    ReviewChanges,
    review_changes,
    review_changes_lines,
    review_changes_row,
)

CONTENTS = (b"", b"x\n", b"one\n", b"two\n", b"\0\1", b"\0\2")
BLOBS = {sha256(content): content for content in CONTENTS}
MAKE = RunCommand((b"make",))


def plan(*operations: Operation, text: bytes = b"# Plan\n") -> Plan:
    return Plan(text, operations)


def found(was: Plan, now: Plan) -> ReviewChanges:
    return review_changes(was, now, BLOBS.__getitem__)


def texts(difference: ReviewChanges) -> list[str]:
    return [line.text for line in review_changes_lines(difference)]


def test_g9_the_very_same_plan() -> None:
    one = plan(write(b"a", None, b"one\n"), MAKE)
    same = found(one, one)
    assert same == ReviewChanges(one.digest, same=one.ids)
    assert same.nothing
    assert texts(same)[1:] == ["Nothing changed.", ""]


def test_g9_what_left_joined_and_changed() -> None:
    was = plan(write(b"a", None, b"one\n"), write(b"b", None, b"x\n"), MAKE)
    now = plan(MAKE, write(b"a", None, b"two\n"), delete(b"c", b"x\n"))
    difference = found(was, now)
    diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n"
    assert difference == ReviewChanges(
        was.digest,
        added=((now.ids[2], now.operations[2]),),
        removed=((was.ids[1], was.operations[1]),),
        changed=(
            ChangedOperation(
                (was.ids[0], was.operations[0]), (now.ids[1], now.operations[1]), diff
            ),
        ),
        same=(now.ids[0],),
    )
    assert list(review_changes_lines(difference)) == [
        Line("heading", f"Since your last review (digest {was.digest[:12]}…)"),
        Line("removed", "removed  create b"),
        Line("added", "added    delete c"),
        Line("hunk", "changed  create a"),
        Line("dim", "--- a/a"),
        Line("dim", "+++ b/a"),
        Line("hunk", "@@ -1 +1 @@"),
        Line("removed", "-one"),
        Line("added", "+two"),
        Line("plain", "1 operation is unchanged."),
        Line("plain"),
    ]


CHANGED = {
    "binary": (write(b"a", None, b"\0\1"), write(b"a", None, b"\0\2"), None, "create a"),
    "made on other content": (
        write(b"a", b"x\n", b"two\n"),
        write(b"a", b"one\n", b"two\n"),
        "",
        "write a",
    ),
    "mode": (
        write(b"a", None, b"x\n"),
        msgspec.structs.replace(
            write(b"a", None, b"x\n"),
            after=msgspec.structs.replace(write(b"a", None, b"x\n").after, mode=0o755),
        ),
        "old mode 644\nnew mode 755\n",
        "create a",
    ),
    "another kind": (
        write(b"a", b"x\n", b"one\n"),
        delete(b"a", b"x\n"),
        "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n",
        "write a became delete a",
    ),
    "another name": (move(b"a", b"b"), move(b"a", b"c"), "", "move a → b became move a → c"),
}


@pytest.mark.parametrize(("was", "now", "diff", "title"), CHANGED.values(), ids=CHANGED)
def test_g9_an_operation_on_the_same_path(
    was: Operation, now: Operation, diff: str | None, title: str
) -> None:
    difference = found(plan(was), plan(now))
    assert [one.diff for one in difference.changed] == [diff]
    assert (difference.added, difference.removed, difference.nothing) == ((), (), False)
    lines = texts(difference)
    assert f"changed  {title}" in lines
    other = was.before != now.before  # type: ignore[union-attr]
    assert ("Based on different file content than before." in lines) == other
    assert (NOT_SHOWN in lines) == (diff is None)


def test_g9_what_is_too_large_is_not_read() -> None:
    large = write(b"a", None, b"x\n")
    huge = msgspec.structs.replace(large.after, size=LIMIT + 1, digest="0" * 64)
    (changed,) = found(plan(large), plan(msgspec.structs.replace(large, after=huge))).changed
    assert changed.diff is None


def test_g9_another_order_and_equal_commands() -> None:
    one, two = write(b"a", None, b"one\n"), write(b"b", None, b"two\n")
    difference = found(plan(one, two), plan(two, one))
    assert (difference.moved, difference.nothing) == (True, False)
    assert "Operations reordered." in texts(difference)
    more = found(plan(MAKE), plan(MAKE, MAKE))
    assert (len(more.added), len(more.same), more.moved) == (1, 1, False)


def test_g9_text_scope_and_relied_on_files() -> None:
    was = Plan(b"# A\n", (), Scope(("a", "b"), ("make",)), (ReliedOnFile(b"x", "1" * 64),))
    now = Plan(
        b"# B\n",
        (),
        Scope(("b", "\u202ec"), ("make",)),
        (ReliedOnFile(b"x", "2" * 64), ReliedOnFile(b"y", "3" * 64)),
    )
    difference = found(was, now)
    assert difference.text_diff == ("--- last review\t\n+++ now\n@@ -1 +1 @@\n-# A\n+# B\n")
    assert difference.declared == (
        "no longer may touch  a",
        "now may touch  <U+202E>c",
        "relies on  x  111111111111 → 222222222222",
        "relies on  y  nothing → 333333333333",
    )
    swapped = found(Plan(b"", (), Scope(("a", "b"))), Plan(b"", (), Scope(("b", "a"))))
    assert swapped.declared == ("may touch: same entries, reordered",)


def test_g9_as_json() -> None:
    was, now = plan(write(b"a", None, b"one\n")), plan(write(b"a", None, b"two\n"))
    row = review_changes_row(found(was, now))
    assert row is not None
    operations = row.pop("operations")
    assert row == {"digest": was.digest, "text_diff": "", "declared": []}
    assert isinstance(operations, dict)
    assert list(operations) == ["added", "removed", "changed", "same", "moved"]
    assert operations["changed"][0]["was"]["id"] == was.ids[0]
    assert review_changes_row(None) is None


def test_g9_marks_only_where_something_was_read() -> None:
    op = write(b"a", None, b"x\n")
    one = msgspec.structs.replace(
        review(), operations=(OperationReview("1", op, "reversible"),), since=None
    )
    assert "1. create a (reversible)" in [line.text for line in review_lines(one)]
    read = msgspec.structs.replace(one, since=ReviewChanges("d" * 64, same=("2",)))
    assert "1. create a (reversible, new)" in [line.text for line in review_lines(read)]
    assert FIRST_REVIEW in [line.text for line in review_diff_lines(one)]
    assert review_diff_json(one) == {
        "plan_id": "01plan", "digest": "d" * 64, "risks": [], "since": None
    }  # fmt: skip


def test_g9_a_command_that_runs_otherwise_says_how() -> None:
    was = RunCommand((b"npm", b"test"), env=((b"CI", b"1"),))
    now = RunCommand(
        (b"npm", b"test"), env=((b"NODE_OPTIONS", b"-r ./x"),), timeout=9999, network=True
    )
    first, second = plan(was, MAKE), plan(now, MAKE)
    difference = found(first, second)
    assert difference.changed == (
        ChangedOperation(
            (first.ids[0], was),
            (second.ids[0], now),
            "",
            (("variable", "CI=1"), ("limits", "120 s"), ("network", "none")),
            (
                ("variable", "NODE_OPTIONS='-r ./x'"),
                ("limits", "9999 s"),
                ("network", "allowed"),
            ),
        ),
    )
    assert (difference.added, difference.removed) == ((), ())
    assert texts(difference)[1:8] == [
        "changed  run npm test",
        "- variable  CI=1",
        "- limits    120 s",
        "- network   none",
        "+ variable  NODE_OPTIONS='-r ./x'",
        "+ limits    9999 s",
        "+ network   allowed",
    ]
    row = review_changes_row(difference)
    assert row is not None
    (changed,) = row["operations"]["changed"]  # type: ignore[index]
    assert (changed["less"][2], changed["more"][2]) == (("network", "none"), ("network", "allowed"))


def test_g9_commands_are_paired_by_their_line_alone() -> None:
    was, now = RunCommand((b"make",)), RunCommand((b"make", b"all"))
    difference = found(plan(was), plan(now))
    assert [len(rows) for rows in (difference.added, difference.removed)] == [1, 1]
    assert difference.changed == ()
    script = found(plan(RunCommand(script=b"make")), plan(MAKE))
    assert script.changed == ()
    free = found(plan(MAKE), plan(RunCommand((b"make",), profile="unconfined")))
    assert ("sandbox", "unconfined") in free.changed[0].more


def test_g9_what_joined_is_shown_in_full_with_its_risks_first() -> None:
    op, known = write(b"evil.sh", None, b"x\n"), write(b"a", None, b"one\n")
    was, now = plan(known), plan(known, op)
    operations = (
        OperationReview(now.ids[0], known, "reversible", ("secret",), "+one\n", seen=True),
        OperationReview(now.ids[1], op, "reversible", ("executable",), "+x\n"),
    )
    shown = msgspec.structs.replace(review(), operations=operations, since=found(was, now))
    lines = [line.text for line in review_diff_lines(shown)]
    risk = "Risks: 1 of 1 new operation"
    assert lines.index(risk) < lines.index("added    create evil.sh") < lines.index("+x")
    assert lines[lines.index(risk) + 1].startswith("executable      2. evil.sh: ")
    assert "2. create evil.sh (reversible, new)" in lines
    assert "risks: executable" in lines
    assert "+one" not in lines
    since_of = review_diff_json(shown)["since"]
    (joined,) = since_of["operations"]["added"]  # type: ignore[index]
    assert (joined["risks"], joined["diff"]) == (["executable"], "+x\n")
