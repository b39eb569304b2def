"""Operations on a line each, one in full, and todos."""

from assent.core.plan.operation import (
    RISK_CODES,
    DeleteFile,
    FileState,
    MoveFile,
    RunCommand,
    WriteFile,
)
from assent.core.session.event import Todo
from assent.render.diff import NOT_SHOWN
from assent.render.lines import BLANK, Line
from assent.render.review import (
    NONE,
    OperationReview,
    diff_line_counts,
    operation_detail_lines,
    operation_title,
    staged_lines,
)
from assent.tui.sidebar.sidebar import todo_count, todo_lines

FILE = FileState("0" * 64, 1, 0o644)
DIFF = """diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,2 +1,3 @@
 same
-- old
++ new
+more
"""
WRITE = OperationReview("w" * 64, WriteFile(b"a", FILE, FILE), "reversible", (), DIFF)
DELETE = OperationReview(
    "d" * 64, DeleteFile(b"b", FILE), "reversible", ("deletes",), DIFF.replace("+", "-")
)
MOVE = OperationReview("m" * 64, MoveFile(b"c", b"d", FILE), "reversible", (), "rename")
RUN = OperationReview(
    "r" * 64, RunCommand((b"make",)), "irreversible", ("irreversible",), remarks=("Look out.",)
)
BINARY = OperationReview("b" * 64, WriteFile(b"e", None, FILE), "reversible", ("unshown",))


def test_only_lines_of_the_file_are_counted() -> None:
    assert diff_line_counts(DIFF) == (2, 1)
    assert diff_line_counts(DIFF + DIFF) == (4, 2)
    assert diff_line_counts(None) == diff_line_counts("") == (0, 0)


def test_each_operation_is_a_line_with_a_sign_for_its_risk() -> None:
    assert [*staged_lines([WRITE, DELETE, MOVE, RUN, BINARY])] == [
        Line("plain", "1  write  a  +2 -1"),
        Line("risk", "2! delete b  -3"),
        Line("plain", "3  move   c → d"),
        Line("risk", "4! run    make"),
        Line("risk", "5! create e  not text"),
    ]
    assert [*staged_lines([])] == [Line("dim", NONE)]


def test_one_in_full_has_its_risks_first() -> None:
    assert operation_title(4, RUN) == "4. run make (irreversible)"
    lines = [*operation_detail_lines(RUN)]
    assert lines[:3] == [
        Line("risk", f"! irreversible: {RISK_CODES['irreversible']}"),
        BLANK,
        Line("plain", "$ make"),
    ]
    assert lines[-1] == Line("plain", "Look out.")
    added = [one.text for one in operation_detail_lines(WRITE) if one.style == "added"]
    assert "more" in [text.partition("+")[2] for text in added]
    assert [*operation_detail_lines(BINARY)][-1] == Line("plain", NOT_SHOWN)


def test_f127_each_state_of_a_todo_has_a_sign_and_words() -> None:
    todos = (
        Todo("a"), Todo("b", "in_progress"), Todo("c\u202e", "completed"), Todo("d", "cancelled"),
    )  # fmt: skip
    assert [*todo_lines(todos)] == [
        Line("plain", "○ a"),
        Line("heading", "▶ now: b"),
        Line("dim", "✓ done: c<U+202E>"),
        Line("dim", "✗ dropped: d"),
    ]
    assert (todo_count(todos), todo_count(())) == ("2/4", "")
    assert [*todo_lines(())] == [Line("dim", "No todos.")]
