"""Modes in patches: no more rights than git gives, and no other kind of file by a mode alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.errors import NoMatch
from assent.core.patch.file_patch import (
    check_kind,
    check_target,
    git_mode,
    is_executable,
    is_link,
    target_mode,
    with_executable,
)
from assent.core.patch.parser import parse_patch
from assent.core.plan.operation import FileState

HUNK = b"@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("said", "means"),
    [
        (0o100644, 0o100644), (0o100755, 0o100755), (0o100777, 0o100755), (0o107777, 0o100755),
        (0o100666, 0o100644), (0o100600, 0o100600), (0o100750, 0o100750), (0o100655, 0o100644),
        (0o100000, 0o100644), (0o100011, 0o100644), (0o100244, 0o100644), (0o100100, 0o100755),
        (0o120000, 0o120000), (0o120777, 0o120000), (0o160000, 0o160000),
    ],
)  # fmt: skip
def test_modes_mean_no_more_than_git_gives_and_never_nothing(said: int, means: int) -> None:
    assert git_mode(said) == means


@given(st.integers(0, 0o7777), st.integers(0, 0o7777))
def test_a_patched_file_can_be_read_and_is_run_by_its_owner_if_the_patch_says_so(
    said: int, has: int
) -> None:
    (file,) = parse_patch(b"diff --git a/f b/f\nnew mode 10%04o\n" % said)
    fresh, changed = target_mode(file, None), target_mode(file, FileState("", 0, has))
    git = 0o755 if said & 0o100 else 0o644
    assert fresh & ~git == 0
    assert fresh & 0o400
    assert is_executable(fresh) == is_executable(git)
    assert changed == (with_executable(has, git == 0o755) if fresh == git else fresh)


FILE, LINK = FileState("", 1, 0o644), FileState("", 1, 0o777, "link")


@pytest.mark.parametrize(
    ("modes", "before"),
    [
        (b"old mode 100644\nnew mode 120000\n", FILE),
        (b"old mode 120000\nnew mode 100644\n", LINK),
        (b"new mode 120000\n", FILE),
        (b"new mode 100644\n", LINK),
        (b"new mode 120000\nrename from g\nrename to f\n", FILE),
        (b"old mode 120000\nnew mode 100755\ncopy from g\ncopy to f\n", LINK),
        (b"old mode 100644\nnew mode 120000\n--- a/f\n+++ b/f\n" + HUNK, FILE),
    ],
)
def test_a_mode_makes_no_symlink_of_a_file_nor_the_reverse(modes: bytes, before: FileState) -> None:
    (file,) = parse_patch(b"diff --git a/f b/f\n" + modes)
    with pytest.raises(NoMatch, match="a mode change cannot turn it into a "):
        check_kind(file, before)


@pytest.mark.parametrize(
    ("modes", "before"),
    [
        (b"old mode 100644\nnew mode 100755\n", FILE),
        (b"deleted file mode 120000\n", LINK),
        (b"deleted file mode 100644\n", FILE),
        (b"index 1111..2222 120000\n", LINK),
        (b"rename from g\nrename to f\n", LINK),
    ],
)
def test_what_stays_of_its_kind_may_change(modes: bytes, before: FileState) -> None:
    (file,) = parse_patch(b"diff --git a/f b/f\n" + modes)
    check_kind(file, before)
    assert is_link(file, before) == (before is LINK)


@pytest.mark.parametrize("target", [b"", b"a\0b"])
def test_a_symlink_needs_a_target(target: bytes) -> None:
    with pytest.raises(NoMatch, match="names no target"):
        check_target(target)
    check_target(b"a")
