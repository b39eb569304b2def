"""Reading patches: names, headers, hunks and binary parts, by table; what is no patch is said."""

import zlib
from base64 import b85encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.errors import AssentError, NoMatch, Refused, UsageError
from assent.core.patch.file_patch import (
    MAX_CONTENT_BYTES,
    AppliedHunks,
    BinaryPatch,
    FilePatch,
    Hunk,
    apply_hunks,
    blob_id,
    decoded_row,
    inflate_exactly,
    is_applied,
    is_full_id,
    rebuild_content,
    with_executable,
)
from assent.core.patch.parser import (
    common_name,
    is_epoch,
    parse_patch,
    split_label,
    strip_components,
    unquoted_name,
    workspace_path,
)
from assent.render.diff import git_quoted

HUNK = b"@@ -1 +1 @@\n-a\n+b\n"
CHANGE = Hunk(1, (b"a\n",), 1, (b"b\n",))


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_names_survive_quoting(name: bytes) -> None:
    assert unquoted_name(git_quoted(name)) == name or name.startswith(b'"')


@pytest.mark.parametrize(
    ("name", "becomes"),
    [
        (b'"a\\tb"', b"a\tb"),
        (b'"\\303\\274"', "ü".encode()),
        (b'"\\377\\"\\\\"', b'\xff"\\'),
        (b'"broken\\q"', b'"broken\\q"'),
        (b"plain", b"plain"),
    ],
)
def test_quoted_names(name: bytes, becomes: bytes) -> None:
    assert unquoted_name(name) == becomes


@pytest.mark.parametrize(
    ("label", "name", "stamp"),
    [
        (b"a/x\t2026-01-01 10:00:00.0 +0000", b"a/x", b"2026-01-01 10:00:00.0 +0000"),
        (b"a/x y\t", b"a/x y", b""),
        (b'"a/t\\tb"\t2026', b"a/t\tb", b"2026"),
        (b"a/x y", b"a/x y", b""),
    ],
)
def test_labels(label: bytes, name: bytes, stamp: bytes) -> None:
    assert split_label(label) == (name, stamp)


@pytest.mark.parametrize(
    ("stamp", "is_one"),
    [
        (b"1970-01-01 00:00:00.000000000 +0000", True),
        (b"1970-01-01 05:30:00.000000000 +0530", True),
        (b"1969-12-31 19:00:00.000000000 -0500", True),
        (b"1970-01-01 00:00:00 -05:00", False),
        (b"2026-01-01 00:00:00 +0000", False),
        (b"", False),
    ],
)
def test_the_time_of_no_file(stamp: bytes, is_one: bool) -> None:
    assert is_epoch(stamp) == is_one


@pytest.mark.parametrize(
    ("title", "strip", "name"),
    [
        (b"a/x b/x", 1, b"x"),
        (b"a/x y b/x y", 1, b"x y"),
        (b"a/x b/x b/x b/x", 1, b"x b/x"),
        (b"x x", 0, b"x"),
        (b"long/x b/x", 1, b"x"),
        (b'"a/\\303\\274" "b/\\303\\274"', 1, "ü".encode()),
        (b'a/x "b/x"', 1, b"x"),
        (b"a/x b/y", 1, None),
        (b"x x", 1, None),
    ],
)
def test_the_name_in_a_title(title: bytes, strip: int, name: bytes | None) -> None:
    assert common_name(title, strip) == name


def test_parts_that_are_left_out() -> None:
    assert strip_components(b"a/b/c", 0) == b"a/b/c"
    assert strip_components(b"a//b/c", 1) == b"b/c"
    assert strip_components(b"/home/x/c", 3) == b"c"
    assert workspace_path(b"./b//c") == b"b/c"
    with pytest.raises(UsageError):
        strip_components(b"c", 1)
    for name in (b"../x", b"a/../../x", b"a/..", b"/etc/passwd"):
        with pytest.raises(Refused):
            workspace_path(name)


@pytest.mark.parametrize(
    ("patch", "found"),
    [
        (b"--- a/f\n+++ b/f\n" + HUNK, FilePatch("change", b"f", b"f", 1, hunks=(CHANGE,))),
        (
            b"words\n--- a/f\t2026\r\n+++ b/f\t2026\r\n" + HUNK + b"-- \n2.39\n",
            FilePatch("change", b"f", b"f", 2, hunks=(CHANGE,)),
        ),
        (
            b"--- f.orig\n+++ f\n" + HUNK,
            FilePatch("change", b"f", b"f", 1, hunks=(CHANGE,)),
        ),
        (
            b"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n\\ No newline at end of file\n",
            FilePatch("create", b"f", b"f", 1, hunks=(Hunk(0, (), 1, (b"b",)),)),
        ),
        (
            b"--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+b\n",
            FilePatch("change", b"f", b"f", 1, hunks=(Hunk(0, (), 1, (b"b\n",)),), unsure=True),
        ),
        (
            b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
            FilePatch("change", b"f", b"f", 1, 0o100644, 0o100755),
        ),
        (
            b"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n",
            FilePatch("create", b"e", b"e", 1, None, 0o100644, ids=("0000000", "e69de29")),
        ),
        (
            b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
            FilePatch("rename", b"x", b"y", 1),
        ),
        (
            b'diff --git a/x "b/\\303\\274"\nsimilarity index 90%\ncopy from x\n'
            b'copy to "\\303\\274"\nindex 1234..5678 100755\n--- a/x\n+++ "b/\\303\\274"\n' + HUNK,
            FilePatch(
                "copy", b"x", "ü".encode(), 1, 0o100755, 0o100755, (CHANGE,),
                ids=("1234", "5678"),
            ),
        ),
        (
            b"diff --git a/l b/l\ndeleted file mode 120000\nindex 1234..0000\n--- a/l\n"
            b"+++ /dev/null\n@@ -1 +0,0 @@\n-to\n\\ No newline at end of file\n",
            FilePatch(
                "delete", b"l", b"l", 1, 0o120000, None, (Hunk(1, (b"to",), 0, ()),),
                ids=("1234", "0000"),
            ),
        ),
    ],
)  # fmt: skip
def test_files(patch: bytes, found: FilePatch) -> None:
    strip = 0 if patch.startswith(b"--- f.orig") else None
    assert parse_patch(patch, strip) == (found,)


def test_lines_of_a_hunk() -> None:
    rows = b" one\n\n-old\n\\ No newline at end of file\n+new\r\n+\n"
    (file,) = parse_patch(b"--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@ def f():\n" + rows)
    assert file.hunks == (
        Hunk(1, (b"one\n", b"\n", b"old"), 1, (b"one\n", b"\n", b"new\r\n", b"\n"), 2, 0),
    )


def test_an_empty_change_of_git_s_is_left_out() -> None:
    alone = b"diff --git a/f b/f\ndiff --git a/g b/g\nold mode 100644\nnew mode 100755\n"
    assert [file.new for file in parse_patch(alone)] == [b"g"]


def test_a_series_has_groups() -> None:
    one = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n" + HUNK
    mail = b"From %b Mon Sep 17 00:00:00 2001\nSubject: x\n\n" % (b"0" * 40)
    assert [file.group for file in parse_patch(mail + one + one + mail + one)] == [0, 0, 1]


@pytest.mark.parametrize(
    "patch",
    [
        b"diff --git a/x b/y\nold mode 100644\nnew mode 100755\n",
        b"diff --git a/x b/x\nrename from x\nrename to y\n--- a/x\n+++ b/z\n" + HUNK,
        b"diff --git a/x b/x\nindex 12..34\n--- a/x\n+++ b/y\n" + HUNK,
        b"diff --git a/x b/x\nnew file mode 040000\n",
        b"diff --git a/x b/x\nold mode 100644\nnew mode 755\n",
        b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n",
        b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n\\ No newline\n a\n+c\n",
        b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n\\ No newline\n",
        b"--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n-b\n+c\n",
        b"--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\nxa\n",
        b"--- /dev/null\n+++ /dev/null\n" + HUNK,
        b"diff --git a/x b/x\nindex 12..34\nGIT binary patch\nnonsense\n",
    ],
)
def test_nonsense_is_said_with_its_line(patch: bytes) -> None:
    with pytest.raises(UsageError, match=r"Line \d+ of the patch is invalid"):
        parse_patch(patch)


@given(st.binary(max_size=300), st.sampled_from([None, 0, 1]))
def test_any_bytes_are_read_or_refused(content: bytes, strip: int | None) -> None:
    with suppress(AssentError):
        assert all(file.old and file.new for file in parse_patch(content, strip))


PIECES = (
    b"diff --git a/f b/f\n", b"--- a/f\n", b"+++ b/f\n", HUNK, b"@@ -1,2 +1,2 @@\n", b" a\n",
    b"-a\n", b"+b\n", b"\\ No newline at end of file\n", b"index 1234..5678 100644\n",
    b"rename from f\n", b"rename to g\n", b"GIT binary patch\n", b"literal 3\n",
    b"new file mode 100644\n", b"\n",
    b"zcmV-&0000\n", b"deleted file mode 120000\n", b"copy from f\n", b"--- /dev/null\n", b"\r\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14).map(b"".join))
def test_any_lines_of_patches_are_read_or_refused(patch: bytes) -> None:
    with suppress(AssentError):
        assert all(file.old and file.new for file in parse_patch(patch))


def packed(content: bytes) -> list[bytes]:
    data = zlib.compress(content)
    rows = [data[at : at + 52] for at in range(0, len(data), 52)]
    return [
        bytes([len(part) + (64 if len(part) < 27 else 70)])
        + b85encode(part + b"\0" * (-len(part) % 4))
        for part in rows
    ]


@given(st.binary(max_size=2000))
def test_binary_contents_survive(content: bytes) -> None:
    joined = b"".join(map(decoded_row, packed(content)))
    assert inflate_exactly(joined, len(content)) == content
    for size in (len(content) + 1, max(len(content) - 1, 0)):
        if size != len(content):
            with pytest.raises(Refused):
                inflate_exactly(joined, size)


def test_a_small_patch_cannot_bring_very_much() -> None:
    bomb = zlib.compress(b"\0" * 10_000_000)
    with pytest.raises(Refused):
        inflate_exactly(bomb, 10)
    with pytest.raises(Refused):
        inflate_exactly(bomb, MAX_CONTENT_BYTES + 1)


@pytest.mark.parametrize("line", [b"A", b"A\xff\xff", b"1abcde", b"Zabcde", b"Aabc", b"B~~~~~"])
def test_a_damaged_row_is_refused(line: bytes) -> None:
    with pytest.raises(Refused):
        decoded_row(line)


@pytest.mark.parametrize(
    ("delta", "made"),
    [
        (b"\x0a\x05\x91\x02\x05", b"23456"),
        (b"\x0a\x08\x90\x03\x02xy\x91\x07\x03", b"012xy789"),
        (b"\x0a\x03\x03xyz", b"xyz"),
    ],
)
def test_deltas(delta: bytes, made: bytes) -> None:
    assert rebuild_content(BinaryPatch("delta", delta), b"0123456789") == made


@pytest.mark.parametrize(
    "delta",
    [
        b"",
        b"\x0b\x01\x01x",
        b"\x0a\x02\x01x",
        b"\x0a\x01\x00",
        b"\x0a\x05\x05xy",
        b"\x0a\x05\x91\x08\x05",
        b"\x0a\x05\x91",
        b"\x0a\x01\x91\x00\x05",
        b"\xff\xff",
    ],
)
def test_damaged_deltas_are_refused(delta: bytes) -> None:
    with pytest.raises(Refused):
        rebuild_content(BinaryPatch("delta", delta), b"0123456789")


def test_git_s_names_of_contents() -> None:
    assert blob_id(b"", "0" * 40) == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert blob_id(b"", "0" * 64).startswith("473a0f4c3be8a93681a267e3b1e9a7dc")
    assert [is_full_id("0" * n) for n in (7, 40, 64)] == [False, True, True]


def test_executable_modes() -> None:
    modes = [(0o644, True), (0o640, True), (0o755, False), (0o755, True), (0o600, False)]
    assert [with_executable(*each) for each in modes] == [0o755, 0o750, 0o644, 0o755, 0o600]


TEXT = b"".join(b"%d\n" % n for n in range(1, 21))
MIDDLE = Hunk(9, (b"9\n", b"10\n", b"11\n"), 9, (b"9\n", b"ten\n", b"11\n"), 1, 1)


def test_hunks_fit_where_they_say_or_in_one_other_place() -> None:
    assert apply_hunks(TEXT, (MIDDLE,)) == AppliedHunks(TEXT.replace(b"10\n", b"ten\n"))
    moved = apply_hunks(b"x\ny\n" + TEXT, (MIDDLE,))
    assert moved == AppliedHunks(b"x\ny\n" + TEXT.replace(b"10\n", b"ten\n"), ((1, 2),))
    with pytest.raises(NoMatch, match="several other places"):
        apply_hunks(b"x\n" + TEXT + TEXT, (MIDDLE,))
    assert is_applied(TEXT.replace(b"10\n", b"ten\n"), (MIDDLE,))
    assert not is_applied(TEXT, (MIDDLE,))


def test_hunks_come_one_after_another() -> None:
    later = Hunk(3, (b"3\n",), 3, (b"three\n",))
    with pytest.raises(NoMatch, match="hunk 2 does not apply at line 3"):
        apply_hunks(TEXT, (MIDDLE, later))
    both_fit = apply_hunks(b"x\n" + TEXT, (later, MIDDLE))
    assert both_fit.moved == ((1, 1), (2, 1))


def test_context_on_one_side_means_an_end_of_the_file() -> None:
    last = Hunk(19, (b"19\n", b"20\n"), 19, (b"19\n", b"20\n", b"21\n"), 2, 0)
    first = Hunk(1, (b"1\n", b"2\n"), 1, (b"0\n", b"1\n", b"2\n"), 0, 2)
    assert apply_hunks(TEXT, (first, last)).content == b"0\n" + TEXT + b"21\n"
    with pytest.raises(NoMatch, match="expected the end of the file"):
        apply_hunks(TEXT + b"more\n", (last,))
    with pytest.raises(NoMatch, match="does not apply at line 1"):
        apply_hunks(b"more\n" + TEXT, (first,))


def test_a_last_line_without_an_end_is_another_line() -> None:
    bare = Hunk(1, (b"1",), 1, (b"one",))
    assert apply_hunks(b"1", (bare,)).content == b"one"
    for content in (b"1\n", b"1\n2\n", b"21"):
        with pytest.raises(NoMatch):
            apply_hunks(content, (bare,))


def test_no_context_at_all_fits_an_empty_file_alone() -> None:
    fresh = Hunk(0, (), 1, (b"1\n",))
    assert apply_hunks(b"", (fresh,)).content == b"1\n"
    with pytest.raises(NoMatch, match="no context lines"):
        apply_hunks(b"x\n", (fresh,))
