"""patch: add, update, delete and move in one call, in two forms, all or nothing (F131)."""

from pathlib import Path

import pytest
from tests.tools.call_harness import Desk

from assent.core.digest import sha256
from assent.core.plan.operation import DeleteFile, FileState, MoveFile, WriteFile
from assent.core.tool import EditEffect, Verdict

ALL = """\
*** Begin Patch
*** Add File: new/a.py
+import os
+
+print(os)
*** Update File: b.py
@@ def f():
-    return 1
+    return 2
*** Delete File: c.py
*** Update File: d.py
*** Move to: sub/e.py
@@
 one
-two
+TWO
*** End Patch
"""
UNIFIED = """\
diff --git a/new/a.py b/new/a.py
new file mode 100644
--- /dev/null
+++ b/new/a.py
@@ -0,0 +1,3 @@
+import os
+
+print(os)
diff --git a/b.py b/b.py
--- a/b.py
+++ b/b.py
@@ -1,5 +1,5 @@ def f
 def f():
-    return 1
+    return 2
 
 def g():
     return 1
diff --git a/c.py b/c.py
deleted file mode 100644
--- a/c.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/d.py b/sub/e.py
similarity index 50%
rename from d.py
rename to sub/e.py
--- a/d.py
+++ b/sub/e.py
@@ -1,2 +1,2 @@
 one
-two
+TWO
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def state(content: bytes, mode: int = 0o644) -> FileState:
    return FileState(sha256(content), len(content), mode)


def begin(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


@pytest.mark.parametrize("patch", [ALL, UNIFIED], ids=["marked", "unified"])
def test_f131_one_call_adds_updates_deletes_and_moves(desk: Desk, patch: str) -> None:
    desk.put("b.py", "def f():\n    return 1\n\ndef g():\n    return 1\n")
    desk.put("c.py", "gone\n")
    desk.put("d.py", "one\ntwo\n").chmod(0o755)
    made = b"import os\n\nprint(os)\n"
    old = b"def f():\n    return 1\n\ndef g():\n    return 1\n"
    new = b"def f():\n    return 2\n\ndef g():\n    return 1\n"
    effect = desk.call("patch", patch=patch).effect
    assert isinstance(effect, EditEffect)
    assert set(effect.operations) == {
        WriteFile(b"new/a.py", None, state(made)),
        WriteFile(b"b.py", state(old), state(new)),
        DeleteFile(b"c.py", state(b"gone\n")),
        DeleteFile(b"d.py", state(b"one\ntwo\n", 0o755)),
        WriteFile(b"sub/e.py", None, state(b"one\nTWO\n", 0o755)),
    }
    assert {sha256(content) for content in effect.contents.values()} == set(effect.contents)


@pytest.mark.parametrize(
    "patch",
    [
        begin("*** Update File: f", "*** Move to: sub/g"),
        "diff --git a/f b/sub/g\nsimilarity index 100%\nrename from f\nrename to sub/g\n",
    ],
)
def test_f131_a_file_that_only_moves_is_moved(desk: Desk, patch: str) -> None:
    desk.put("f", "x\n")
    outcome = desk.call("patch", patch=patch)
    assert outcome.effect == EditEffect((MoveFile(b"f", b"sub/g", state(b"x\n")),))
    assert outcome.text == "f: moves."


def test_f131_a_file_that_does_not_fit_stops_all_of_it(desk: Desk) -> None:
    desk.put("b.py", "other\n")
    desk.put("c.py", "gone\n")
    desk.put("d.py", "one\ntwo\n")
    told = desk.failing("patch", patch=ALL)
    assert told.startswith("b.py: hunk 1: no line matches 'def f():'")
    assert "Nothing was changed." in told


CASES = {
    "CRLF": (b"a\r\nb\r\nc\r\n", ("@@", " a", "-b", "+x", "+y"), b"a\r\nx\r\ny\r\nc\r\n"),
    "CRLF without a final end": (b"a\r\nb", ("@@", " b", "+c"), b"a\r\nb\r\nc"),
    "no final newline": (b"a\nb", ("@@", "-b", "+c"), b"a\nc"),
    "BOM": (b"\xef\xbb\xbfa\n", ("@@", "-a", "+b"), b"\xef\xbb\xbfb\n"),
    "odd bytes": (b"\xff\na\n", ("@@", "-a", "+b"), b"\xff\nb\n"),
    "the context keeps its blanks": (b"a  \nb\n", ("@@", " a", "-b", "+c"), b"a  \nc\n"),
    "indentation": (b"\tif x:\n\t\ty\n", ("@@", " if x:", "-    y", "+    z"), b"\tif x:\n\t\tz\n"),
    "at the end": (b"a\nb\na\n", ("@@", "-a", "+c", "*** End of File"), b"a\nb\nc\n"),
    "appended": (b"a\n", ("@@", "+b"), b"a\nb\n"),
    "into an empty file": (b"", ("@@", "+b"), b"b\n"),
    "after an anchor": (b"f\nx\ng\nx\n", ("@@ g", "-x", "+y"), b"f\nx\ng\ny\n"),
    "two hunks": (b"1\n2\n3\n4\n", ("@@", "-1", "+a", "@@", "-4", "+d"), b"a\n2\n3\nd\n"),
    "a blank line that lost its sign": (b"a\n\nb\n", ("@@", " a", "", "-b", "+c"), b"a\n\nc\n"),
    "all of it": (b"a\n", ("@@", "-a"), b""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_f131_an_update_keeps_what_it_is_not_about(desk: Desk, case: str) -> None:
    before, rows, after = CASES[case]
    desk.put("f", before)
    desk.call("patch", patch=begin("*** Update File: f", *rows))
    assert desk.content("f") == after


@pytest.mark.parametrize(
    ("old", "hunk", "new"),
    [
        (b"x\nx\nx\n", "@@ -2 +2 @@\n-x\n+y\n", b"x\ny\nx\n"),
        (b"a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n", b"a\nc\n"),
        (b"a\nb\n", "@@ -2 +2 @@\n-b\n+c\n\\ No newline at end of file\n", b"a\nc"),
        (b"a\nb\n", "@@ -1,0 +2 @@\n+x\n", b"a\nx\nb\n"),
        (b"0\n0\na\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", b"0\n0\na\nc\n"),
        (b"-- x\n++ y\n", "@@ -1,2 +1,2 @@\n--- x\n+-- z\n ++ y\n", b"-- z\n++ y\n"),
    ],
    ids=["line numbers decide", "gains an end", "loses its end", "insertion", "moved", "dashes"],
)
def test_f131_a_unified_hunk(desk: Desk, old: bytes, hunk: str, new: bytes) -> None:
    desk.put("f", old)
    desk.call("patch", patch=f"--- a/f\n+++ b/f\n{hunk}")
    assert desk.content("f") == new


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ("", "names no file"),
        ("hello", "names no file"),
        (begin("junk"), "line 2: unexpected 'junk'"),
        (begin("*** Update File: f", "@@", "*odd"), "unexpected '*odd'"),
        (begin("*** Update File: f", "@@", "-x", "+y"), "several places, at lines 1, 3"),
        (begin("*** Update File: f", "@@", "-nothing"), "was not found"),
        (begin("*** Update File: none", "@@", "-x", "+y"), "does not exist"),
        (begin("*** Delete File: none"), "does not exist"),
        (begin("*** Add File: f", "+x"), "exists"),
        (begin("*** Update File: f", "*** Move to: g", "@@", "-a", "+b"), "g already exists"),
        (begin("*** Update File: f", "@@", "-a", "+b", "*** Delete File: f"), "named twice"),
        ("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n x\n", "shorter than its header"),
        ("diff --git a/f b/f\nGIT binary patch\n", "binary"),
        ("@@ -1 +1 @@\n-x\n+y\n", "unexpected '@@ -1 +1 @@'"),
    ],
)
def test_f131_a_patch_that_cannot_be_meant_is_told(desk: Desk, patch: str, words: str) -> None:
    desk.put("f", "x\na\nx\n")
    desk.put("g", "")
    assert words in desk.failing("patch", patch=patch)


def test_f131_the_nearest_lines_of_a_patch_are_lines_of_the_file(desk: Desk) -> None:
    desk.put("f", "def f():\n    return 2\n")
    told = desk.failing("patch", patch=begin("*** Update File: f", "@@", "-    return 3"))
    assert told == (
        "f: hunk 1 was not found after line 0. Nothing was changed. Nearest are lines 1-2:\n"
        "def f():\n    return 2"
    )


def test_f131_every_file_of_a_patch_is_judged(desk: Desk) -> None:
    desk.put(".env", "KEY=1\n")
    desk.put("a", "x\n")
    desk.answer = "no"
    patch = begin("*** Update File: a", "@@", "-x", "+y", "*** Update File: .env", "@@", "-KEY=2")
    settled = desk.settle("patch", patch=patch)
    assert settled.decision is not None
    assert settled.decision.verdict is Verdict.ASK
    assert "KEY=1" not in settled.outcome.text


def test_f131_every_hunk_of_every_file_is_shown_under_its_path(desk: Desk) -> None:
    lines = [str(n) for n in range(1, 31)]
    desk.put("a", "\n".join(lines) + "\n")
    desk.put("b", "one\n")
    patch = begin(
        "*** Update File: a", "@@", "-3", "+three", "@@", "-20", "+twenty", "*** Update File: b",
        "@@", "-one", "+1",
    )  # fmt: skip
    assert desk.call("patch", patch=patch).text.splitlines() == [
        "a: 2 hunks:", "@@ -3 +3 @@", "-3", "+three", "@@ -20 +20 @@", "-20", "+twenty",
        "b: 1 hunk:", "@@ -1 +1 @@", "-one", "+1",
    ]  # fmt: skip
