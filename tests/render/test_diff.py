"""A diff says exactly what changes: applied to the old content it gives the new one."""

import re
import shutil
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.render.values import delete, link, move, state, write

from assent.core.plan.operation import (
    DeleteFile,
    FileKind,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.core.text.line_diff import line_changes
from assent.render.diff import LIMIT, git_quoted, operation_diff, text_diff, unified_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", " ", "+x", "-x", "@@ -1 +1 @@", "\\", "\r"]))
CONTENT = st.builds(
    lambda lines, end: "\n".join(lines).encode() + end, LINES, st.sampled_from([b"", b"\n"])
)
File: TypeAlias = tuple[bytes, FileKind, int] | None


def test_a_change_has_three_lines_of_context() -> None:
    before = b"".join(b"%d\n" % n for n in range(1, 31))
    after = before.replace(b"\n10\n", b"\nten\n").replace(b"\n30\n", b"\n30")
    assert unified_diff(before, after, b"n.txt", b"n.txt") == (
        "--- a/n.txt\n+++ b/n.txt\n"
        "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
        "@@ -27,4 +27,4 @@\n 27\n 28\n 29\n-30\n+30\n\\ No newline at end of file\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "diff"),
    [
        (b"same\n", b"same\n", ""),
        (None, b"", ""),
        (None, b"a\nb\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"),
        (b"a", None, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"),
        (b"a\0", b"b", None),
        (b"a", b"b\0", None),
        (b"\xff\n", b"\xfe\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-\\xff\n+\\xfe\n"),
        (b"a\r\n", b"a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\r\n+a\n"),
    ],
)
def test_contents_that_are_special(before: bytes | None, after: bytes | None, diff: str) -> None:
    assert unified_diff(before, after, b"f", b"f") == diff


def test_what_is_too_large_to_read_is_not_shown() -> None:
    many = (b"x" * 63 + b"\n") * (LIMIT // 64)
    assert unified_diff(b"x" * (LIMIT + 1), b"y", b"f", b"f") is None
    assert unified_diff(None, many, b"f", b"f") is None
    assert unified_diff(many, many + b"y\n", b"f", b"f") is None
    assert unified_diff(many[64:], many, b"f", b"f") is not None


def test_changes_whose_contexts_meet_share_a_hunk() -> None:
    before = b"".join(b"%d\n" % n for n in range(20))
    near = unified_diff(
        before, before.replace(b"5\n", b"x\n", 1).replace(b"\n12\n", b"\ny\n"), b"", b""
    )
    far = unified_diff(
        before, before.replace(b"5\n", b"x\n", 1).replace(b"\n13\n", b"\ny\n"), b"", b""
    )
    assert [diff.count("@@ -") for diff in (near or "", far or "")] == [1, 2]


@given(CONTENT, CONTENT)
def test_applying_the_diff_to_the_old_content_gives_the_new(before: bytes, after: bytes) -> None:
    assert _applied(unified_diff(before, after, b"f", b"f"), before) == after


@pytest.mark.parametrize("symbols", [2, 10, 300])
@pytest.mark.parametrize("seed", range(4))
def test_so_it_does_when_the_search_has_to_give_up(symbols: int, seed: int) -> None:
    random = Random(seed)
    before, after = (
        b"".join(b"%d\n" % random.randrange(symbols) for _ in range(700)) for _ in range(2)
    )
    assert _applied(unified_diff(before, after, b"f", b"f"), before) == after


SHORT = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=30)


@given(SHORT, SHORT)
def test_changes_come_in_order_with_kept_lines_between(old: list[bytes], new: list[bytes]) -> None:
    found = line_changes(old, new)
    rebuilt: list[bytes] = []
    at = 0
    for i, j, k, m in found:
        assert at < i or at == 0
        rebuilt += [*old[at:i], *new[k:m]]
        assert (i, k) != (j, m)
        assert rebuilt == new[:m]
        at = j
    assert [*rebuilt, *old[at:]] == new


def test_lines_without_unique_ones_among_them_get_the_shortest_diff() -> None:
    old, new = [b"%c" % c for c in b"abcabbaxabcabba"], [b"%c" % c for c in b"cbabacycbabac"]
    kept = len(old) - sum(j - i for i, j, _, _ in line_changes(old, new))
    assert kept == _longest_common(old, new)


def test_big_texts_take_no_more_than_a_moment() -> None:
    random = Random(7)
    base = [f"line {n} {random.random()}\n" for n in range(100_000)]
    scattered = [f"new {n}\n" if n % 97 == 0 else line for n, line in enumerate(base)]
    tokens = [[f"{random.randrange(5000)}\n" for _ in range(20_000)] for _ in range(2)]
    shuffled = random.sample(base[:20_000], 20_000)
    pairs = [
        (base, scattered),
        (base[:20_000], [f"other {n}\n" for n in range(20_000)]),
        (tokens[0], tokens[1]),
        (base[:20_000], shuffled),
    ]
    for old, new in pairs:
        before, after = "".join(old).encode(), "".join(new).encode()
        start = time.process_time()
        diff = unified_diff(before, after, b"f", b"f")
        assert time.process_time() - start < 5
        assert _applied(diff, before) == after


def test_scattered_edits_give_a_diff_of_just_those() -> None:
    base = [b"line %d" % n for n in range(5_000)]
    edited = [b"new %d" % n if n % 100 == 50 else line for n, line in enumerate(base)]
    assert line_changes(base, edited) == [(n, n + 1, n, n + 1) for n in range(50, 5_000, 100)]


@pytest.mark.parametrize(
    ("path", "form"),
    [
        (b"a/b c.txt", b"a/b c.txt"),
        ("ä".encode(), b'"\\303\\244"'),
        (b'a"b\\c', b'"a\\"b\\\\c"'),
        (b"t\ta\nb\x01\x7f", b'"t\\ta\\nb\\001\\177"'),
        (b"caf\xe9", b'"caf\\351"'),
    ],
)
def test_odd_paths_are_quoted_as_git_does_it(path: bytes, form: bytes) -> None:
    assert git_quoted(path) == form


def test_revisions_of_a_text_are_compared_under_their_names() -> None:
    assert text_diff(b"a\n", b"b\n", "revision 1", "revision 2") == (
        "--- revision 1\t\n+++ revision 2\t\n@@ -1 +1 @@\n-a\n+b\n"
    )


NO_END = "\\ No newline at end of file\n"


@pytest.mark.parametrize(
    ("op", "before", "after", "diff"),
    [
        (
            write(b"f", None, b"a\n"), None, b"a\n",
            "diff --git a/f b/f\nnew file mode 100644\n"
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n",
        ),
        (write(b"f", None, b""), None, b"", "diff --git a/f b/f\nnew file mode 100644\n"),
        (
            delete(b"f", b"a\n"), b"a\n", None,
            "diff --git a/f b/f\ndeleted file mode 100644\n"
            "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        ),
        (
            move(b"old name", b"new"), None, None,
            "diff --git a/old name b/new\nsimilarity index 100%\n"
            "rename from old name\nrename to new\n",
        ),
        (
            WriteFile(b"f", state(b"\0"), state(b"\0", 0o755)), b"\0", b"\0",
            "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
        ),
        (
            WriteFile(b"f", state(b"a\n", 0o600), state(b"b\n", 0o4755)), b"a\n", b"b\n",
            "diff --git a/f b/f\nold mode 100600\nnew mode 104755\n"
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
        ),
        (
            link(b"l", b"to"), None, b"to",
            "diff --git a/l b/l\nnew file mode 120000\n"
            f"--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+to\n{NO_END}",
        ),
        (
            WriteFile(b"f", state(b"a\n"), state(b"to", kind="link")), b"a\n", b"to",
            "diff --git a/f b/f\ndeleted file mode 100644\n"
            "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
            "diff --git a/f b/f\nnew file mode 120000\n"
            f"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+to\n{NO_END}",
        ),
        (write(b"f", b"a", b"\0"), b"a", b"\0", None),
        (write(b"f", b"a", b"b"), None, b"b", None),
        (write(b"f", None, b"b"), None, None, None),
        (delete(b"f", b"b"), None, None, None),
        (RunCommand((b"ls",)), None, None, None),
    ],
)  # fmt: skip
def test_operations_become_git_patches(
    op: Operation, before: bytes | None, after: bytes | None, diff: str | None
) -> None:
    assert operation_diff(op, before, after) == diff


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    "case",
    [
        (None, (b"a\n" * 9, "file", 0o644)),
        (None, (b"", "file", 0o644)),
        (None, (b"run me", "file", 0o755)),
        ((b"a\nb\n", "file", 0o644), None),
        ((b"1\n2\n3\n4\n5\n", "file", 0o644), (b"1\n2\nx\n4\n5", "file", 0o644)),
        ((b"dos\r\nend\r\n", "file", 0o644), (b"dos\r\nEnd\n", "file", 0o644)),
        (("ä\u202eö\n".encode(), "file", 0o644), ("ä\u200bö\n".encode(), "file", 0o755)),
        ((b"a\n", "file", 0o644), (b"a\n", "file", 0o755)),
        ((b"a\n", "file", 0o644), (b"to", "link", 0o777)),
        ((b"to", "link", 0o777), (b"elsewhere", "link", 0o777)),
        ((b"to", "link", 0o777), (b"a\n", "file", 0o644)),
    ],
)
@pytest.mark.parametrize("name", [b"f", 'o d\tä".txt'.encode()])
def test_git_applies_them(tmp_path: Path, name: bytes, case: tuple[File, File]) -> None:
    old, new = case
    before, after = (None if file is None else state(file[0], file[2], file[1]) for file in case)
    if after is None:
        assert before is not None
        op: Operation = DeleteFile(name, before)
    else:
        op = WriteFile(name, before, after)
    contents = [None if file is None else file[0] for file in case]
    _put(tmp_path / name.decode(), old)
    _git_apply(tmp_path, operation_diff(op, *contents))
    assert _seen(tmp_path / name.decode()) == new


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_applies_a_move(tmp_path: Path) -> None:
    _put(tmp_path / "old", (b"\0binary", "file", 0o644))
    _git_apply(
        tmp_path, operation_diff(MoveFile(b"old", "sub/nü".encode(), state(b"")), None, None)
    )
    assert _seen(tmp_path / "sub" / "nü") == (b"\0binary", "file", 0o644)
    assert _seen(tmp_path / "old") is None


def _applied(diff: str | None, before: bytes) -> bytes:
    """Applies a unified diff strictly: every number and every kept or removed line must fit."""
    assert diff is not None
    old = re.findall(r"[^\n]*\n|[^\n]+", before.decode())
    new: list[str] = []
    at = 0
    lines = diff.split("\n")[2:]
    for line, following in pairwise(lines):
        text = line[1:] + ("" if following.startswith("\\") else "\n")
        match line[0]:
            case "@":
                header = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
                assert header
                start = int(header[1]) - (header[2] != "0")
                new += old[at:start]
                at = start
                assert len(new) == int(header[3]) - (header[4] != "0")
            case " " | "-":
                assert old[at] == text
                at += 1
            case _:
                assert line[0] in "+\\"
        new += [text] if line[0] in " +" else []
    return "".join([*new, *old[at:]]).encode()


def _longest_common(old: list[bytes], new: list[bytes]) -> int:
    row = [0] * (len(new) + 1)
    for a in old:
        above = row
        row = [0]
        for n, b in enumerate(new):
            row.append(above[n] + 1 if a == b else max(above[n + 1], row[n]))
    return row[-1]


def _put(path: Path, file: File) -> None:
    if file is None:
        return
    content, kind, mode = file
    if kind == "link":
        path.symlink_to(content.decode())
    else:
        path.write_bytes(content)
        path.chmod(mode)


def _seen(path: Path) -> File:
    if path.is_symlink():
        return str(path.readlink()).encode(), "link", 0o777
    if not path.exists():
        return None
    runs = path.stat().st_mode & 0o100
    return path.read_bytes(), "file", 0o755 if runs else 0o644


def _git_apply(folder: Path, diff: str | None) -> None:
    assert diff is not None
    git = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(git, input=diff.encode(), cwd=folder, check=True)
