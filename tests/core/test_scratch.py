"""Decisions about the scratch copy: kinds of changes, what is excluded, and conflicts."""

import pytest

from assent.core.plan.operation import DeleteFile, FileState, MoveFile, RunCommand, WriteFile
from assent.core.scratch import (
    CHANGED_FILE,
    CHANGED_FOLDER,
    CLOCK,
    CommandTimes,
    RealIdentity,
    ScratchChange,
    change_kind,
    conflict_reason,
    later_conflict,
    left_out,
    scratch_draft,
)

FILE = FileState("a" * 64, 1, 0o644)
OTHER = FileState("b" * 64, 1, 0o644)
RUN = FileState("a" * 64, 1, 0o755)
LINK = FileState("a" * 64, 1, 0o777, "link")


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (None, None, None),
        (FILE, FILE, None),
        (None, FILE, "created"),
        (FILE, None, "deleted"),
        (LINK, None, "deleted"),
        (FILE, OTHER, "replaced"),
        (FILE, RUN, "mode"),
        (LINK, FILE, "replaced"),
        (FILE, LINK, "symlink"),
        (None, LINK, "symlink"),
    ],
)
def test_kinds_of_changes(
    before: FileState | None, after: FileState | None, kind: str | None
) -> None:
    assert change_kind(before, after) == kind


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (b"a.txt", None),
        (b"git", None),
        (b".gitignore", None),
        (b".git", "git"),
        (b".git/hooks/x", "git"),
        (b"sub/.GIT/config", "git"),
        (b"sub/.git. /config", "git"),
        (b"GIT~1/config", "git"),
        (b".opencode/assent/x", "assent"),
        (b".opencode/ASSENT/x", "assent"),
        (b".opencode/agents/plan.md", "assent"),
        (b".opencode/agents/mine.md", None),
        (b"plans/PLAN_x.md", "assent"),
        (b"Plans/PLAN_x.md", "assent"),
        (b"plans2/x", None),
    ],
)
def test_what_is_never_taken(path: bytes, why: str | None) -> None:
    assert left_out(path, (b"plans",)) == why


def test_a_draft_is_the_states_of_its_paths() -> None:
    found = scratch_draft(
        [
            WriteFile(b"a", None, FILE),
            MoveFile(b"old/b", b"new/b", OTHER, 1),
            DeleteFile(b"c/d/e", FILE, 2),
            RunCommand((b"make",)),
        ]
    )
    assert found.files == {b"a": FILE, b"old/b": None, b"new/b": OTHER, b"c/d/e": None}
    assert found.pruned == (b"old", b"c/d", b"c")
    assert found.moved == ((b"new/b", b"old/b"),)


TIMES = CommandTimes(began=1000, ended=2000, elapsed=1000, tick=10)


@pytest.mark.parametrize(
    ("path", "changed", "why"),
    [
        (b"a", {b"a": 500, b"": 500}, None),
        (b"a", {b"a": 989, b"": 1500}, None),  # another file of the top folder came or went
        (b"a", {b"a": 990, b"": 500}, CHANGED_FILE),
        (b"a", {b"a": 1500, b"": 500}, CHANGED_FILE),
        (b"a", {b"a": 9000, b"": 500}, CHANGED_FILE),
        (b"d/a", {b"d/a": 500, b"d": 1500, b"": 500}, CHANGED_FOLDER),
        (b"e/d/a", {b"e/d/a": 500, b"e/d": 500, b"e": 990, b"": 500}, CHANGED_FOLDER),
        (b"a", {b"a": None, b"": 500}, None),
        (b"a", {b"a": None, b"": 1500}, CHANGED_FOLDER),
        (b"d/a", {b"d/a": None, b"d": None, b"": 1500}, CHANGED_FOLDER),
        (b"d/a", {b"d/a": None, b"d": 500, b"": 1500}, None),
        (b"d/a", {b"d/a": None, b"d": 1500, b"": 500}, CHANGED_FOLDER),
    ],
)
def test_what_may_have_changed_meanwhile_is_a_conflict(
    path: bytes, changed: dict[bytes, int | None], why: str | None
) -> None:
    assert conflict_reason(path, changed, TIMES) == why


def test_a_clock_that_went_back_makes_everything_a_conflict() -> None:
    second = 1_000_000_000
    back = CommandTimes(began=10 * second, ended=9 * second, elapsed=second, tick=10)
    assert conflict_reason(b"a", {b"a": 5, b"": 5}, back) == CLOCK
    slow = CommandTimes(began=second, ended=second + second // 2, elapsed=second, tick=10)
    assert conflict_reason(b"a", {b"a": 5, b"": 5}, slow) == CLOCK


def test_a_file_that_differs_later_is_a_conflict() -> None:
    real = RealIdentity(1, 2, 3, 4, 5, 6)
    change = ScratchChange(b"a", "replaced", FILE, OTHER, real)
    assert later_conflict(change, real) is None
    assert later_conflict(change, RealIdentity(1, 2, 3, 4, 5, 7)) is not None
    assert later_conflict(change, None) is not None
