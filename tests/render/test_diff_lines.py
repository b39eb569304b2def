"""A diff as lines for a person: what each line is, in one part or two, long or short."""

import pytest

from assent.core.digest import sha256
from assent.core.plan.operation import FileState, WriteFile
from assent.core.text.hidden_chars import CONTINUATION_MARK, WIDTH
from assent.render.diff import INCOMPLETE, diff_lines, diff_text, operation_diff
from assent.render.lines import Line

FILE = FileState(sha256(b"a\n"), 2, 0o644)
LINK = FileState(sha256(b"t"), 1, 0o777, "link")


def test_a_file_that_becomes_a_link_has_two_parts() -> None:
    diff = operation_diff(WriteFile(b"x", FILE, LINK), b"a\n", b"t")
    assert diff is not None
    assert diff_lines(diff) == [
        Line("dim", "diff --git a/x b/x"),
        Line("dim", "deleted file mode 100644"),
        Line("dim", "--- a/x"),
        Line("dim", "+++ /dev/null"),
        Line("hunk", "@@ -1 +0,0 @@"),
        Line("removed", "-a"),
        Line("dim", "diff --git a/x b/x"),
        Line("dim", "new file mode 120000"),
        Line("dim", "--- /dev/null"),
        Line("dim", "+++ b/x"),
        Line("hunk", "@@ -0,0 +1 @@"),
        Line("added", "+t"),
        Line("dim", INCOMPLETE.decode().strip()),
    ]


@pytest.mark.parametrize("line", ["diff --git a/x b/x", "@@ -1 +1 @@", "--- a/x", "+++ b/x"])
def test_content_that_looks_like_a_header_is_content(line: str) -> None:
    content = f"a\n{line}\n".encode()
    state = FileState(sha256(content), len(content), 0o644)
    diff = operation_diff(WriteFile(b"x", None, state), None, content)
    assert diff is not None
    assert diff_lines(diff)[-3:] == [
        Line("hunk", "@@ -0,0 +1,2 @@"),
        Line("added", "+a"),
        Line("added", f"+{line}"),
    ]


def test_long_lines_are_folded_and_nothing_gives_nothing() -> None:
    head, *rest = diff_lines("--- a\n+++ b\n@@ -0,0 +1 @@\n+" + "x" * 1200 + "\n")[3:]
    assert head == Line("added", "+" + "x" * (WIDTH - 1))
    assert {line.style for line in rest} == {"added"}
    assert all(line.text.startswith(CONTINUATION_MARK) for line in rest)
    assert diff_lines("") == []


@pytest.mark.parametrize("length", [10, 1000, 1200])
def test_as_one_text_it_is_the_same(length: int) -> None:
    diff = "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+\u202e\n+" + "x" * length + "\n"
    assert diff_text(diff) == "\n".join([line.text for line in diff_lines(diff)])
