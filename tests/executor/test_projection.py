"""Assent's own files in a workspace: where they lie, what is kept, what is read back."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.executor.disk_doubles import WatchedDisk, content_of, failing, put, tree

from assent.core.errors import InvalidPlan, Refused, UsageError, WorkspaceError
from assent.executor.disk import Disk
from assent.executor.projection import LIMIT, LocalProjection, hiding_state
from assent.ports import PlanFile, Projection

IGNORE = b".opencode/.gitignore"
MARKER = b".opencode/assent/workspace.json"


@pytest.fixture
def own(tmp_path: Path) -> Projection:
    return LocalProjection(os.fsencode(tmp_path))


def test_prepare_makes_the_tree_once(tmp_path: Path, own: Projection) -> None:
    for _ in range(2):
        own.prepare()
        assert tree(tmp_path) == {
            b".opencode": None,
            b".opencode/plans": None,
            b".opencode/assent": None,
            IGNORE: b"assent/\n",
        }


def test_plans_may_lie_elsewhere(tmp_path: Path) -> None:
    own = LocalProjection(os.fsencode(tmp_path), b"docs/./plans/")
    own.prepare()
    path = own.plan_path("add-login", "first")
    assert path == b"docs/plans/add-login/PLAN_first.md"
    own.write_plan(path, b"text")
    assert [plan.path for plan in own.find_plans()] == [path]


@pytest.mark.parametrize(
    "plan_dir",
    [b"", b".", b"/tmp", b"../plans", b"a/../..", b".git/plans", b"a/.GIT", b".opencode",
     b".opencode/assent", b".opencode/assent/plans", b".OpenCode/Assent/x", b"a\0b"],
)  # fmt: skip
def test_plans_lie_nowhere_else(tmp_path: Path, plan_dir: bytes) -> None:
    with pytest.raises(Refused) as refused:
        LocalProjection(os.fsencode(tmp_path), plan_dir)
    assert refused.value.exit == 7


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"assent/\n"),
        (b"node_modules\n", b"node_modules\nassent/\n"),
        (b"node_modules", b"node_modules\nassent/\n"),
        (b"a\r\nb\r\n", b"a\r\nb\r\nassent/\r\n"),
        (b"a\r\nb", b"a\r\nb\r\nassent/\r\n"),
        (b"\xff\xfe # not text\n", b"\xff\xfe # not text\nassent/\n"),
        (b"# assent/\n assent/\nmy-assent/\n", b"# assent/\n assent/\nmy-assent/\nassent/\n"),
    ],
)
def test_the_ignore_file_gains_one_line(
    tmp_path: Path, own: Projection, before: bytes, after: bytes
) -> None:
    put(tmp_path, IGNORE, before, 0o640)
    own.prepare()
    assert content_of(tmp_path, IGNORE) == after == hiding_state(after)
    assert stat.S_IMODE(os.stat(os.fsencode(tmp_path) + b"/" + IGNORE).st_mode) == 0o640


@pytest.mark.parametrize(
    "text",
    [b"assent/", b"assent", b"/assent/", b"x\r\nassent/ \r\n", b"*", b"/*\n!.gitignore\n",
     b"**/assent\n", b"assent/**", b"\xef\xbb\xbfassent/\n", b"!assent/\n"],
)  # fmt: skip
def test_an_ignore_file_that_says_it_stays(tmp_path: Path, own: Projection, text: bytes) -> None:
    full = put(tmp_path, IGNORE, text)
    before = os.stat(full)
    own.prepare()
    assert (content_of(tmp_path, IGNORE), os.stat(full).st_ino) == (text, before.st_ino)


def test_plan_paths_are_made_of_good_names(own: Projection) -> None:
    assert own.plan_path("add-login", "a_b-1") == b".opencode/plans/add-login/PLAN_a_b-1.md"
    assert own.plan_path("", "a") == b".opencode/plans/PLAN_a.md"
    for session, name in (("a", "../x"), ("a", ""), ("..", "a"), ("A", "a"), ("a", "ü")):
        with pytest.raises(UsageError):
            own.plan_path(session, name)


def test_plans_are_found_newest_first(tmp_path: Path, own: Projection) -> None:
    assert own.find_plans() == []
    there = {
        b"add-login/PLAN_one.md": 3,
        b"PLAN_flat.md": 2,
        b"other/PLAN_b.md": 5,
        b"other/PLAN_a.md": 5,
    }
    for path, second in there.items():
        os.utime(put(tmp_path, b".opencode/plans/" + path), (second, second))
    for path in (b"x/y/PLAN_deep.md", b"Bad_Session/PLAN_a.md", b"a/PLAN_.md", b"a/PLAN_A.md",
                 b"a/plan_a.md", b"a/PLAN_a.md.orig", b"a/PLAN_\xff.md", b"\xff/PLAN_a.md",
                 b"a/.PLAN_a.md.1.2", b"a/PLAN_a\n.md"):  # fmt: skip
        put(tmp_path, b".opencode/plans/" + path)
    assert own.find_plans() == [
        PlanFile("other", "a", b".opencode/plans/other/PLAN_a.md", 5.0),
        PlanFile("other", "b", b".opencode/plans/other/PLAN_b.md", 5.0),
        PlanFile("add-login", "one", b".opencode/plans/add-login/PLAN_one.md", 3.0),
        PlanFile("", "flat", b".opencode/plans/PLAN_flat.md", 2.0),
    ]


BAD_PLANS: dict[str, tuple[Callable[[Path], object], str]] = {
    "s/PLAN_b.md": (lambda bad: bad.symlink_to("PLAN_good.md"), "is a symlink"),
    "s/PLAN_c.md": (lambda bad: bad.hardlink_to(bad.parents[1] / "other"), "has 2 hard links"),
    "s/PLAN_d.md": (
        lambda bad: bad.write_bytes(b"x" * (LIMIT + 1)),
        "a plan can have at most 1048576",
    ),
    "s/PLAN_e.md": (Path.mkdir, "is not a regular file"),
    "s/PLAN_f.md": (os.mkfifo, "is not a regular file"),
    "PLAN_g.md": (lambda bad: bad.symlink_to("nowhere"), "is a symlink"),
    "t": (lambda bad: bad.symlink_to("s"), "is a symlink"),
}


@pytest.mark.parametrize("bad", BAD_PLANS)
def test_a_bad_plan_does_not_hide_the_others(tmp_path: Path, own: Projection, bad: str) -> None:
    put(tmp_path, b".opencode/plans/s/PLAN_good.md", b"text")
    put(tmp_path, b".opencode/plans/other")
    make, why = BAD_PLANS[bad]
    full = tmp_path / ".opencode/plans" / bad
    make(full)
    for _ in range(2):
        assert [plan.name for plan in own.find_plans()] == ["good"]
        (message,) = own.skipped()
        assert message.startswith(f"Plan file skipped: .opencode/plans/{bad} ")
        assert why in message
    path = os.fsencode(f".opencode/plans/{bad}" if "PLAN" in bad else ".opencode/plans/t/PLAN_a.md")
    with pytest.raises((Refused, InvalidPlan), match=why):
        own.read_plan(path)
    full.rename(tmp_path / "away")
    assert ([plan.name for plan in own.find_plans()], own.skipped()) == (["good"], [])


@pytest.mark.parametrize("hidden", [b"PLAN_bad.md", b"s"])
def test_a_plan_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path, hidden: bytes) -> None:
    class ForbiddingDisk(Disk):
        def open(self, name: bytes, flags: int, mode: int = 0o666, at: int | None = None) -> int:
            if name == hidden:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
            return super().open(name, flags, mode, at)

    put(tmp_path, b".opencode/plans/PLAN_good.md")
    put(tmp_path, b".opencode/plans/s/PLAN_bad.md")
    own = LocalProjection(os.fsencode(tmp_path), disk=ForbiddingDisk())
    assert [plan.name for plan in own.find_plans()] == ["good"]
    (message,) = own.skipped()
    assert "Permission denied" in message


def test_text_goes_out_and_comes_back(tmp_path: Path, own: Projection) -> None:
    path = own.plan_path("add-login", "one")
    assert own.read_plan(path) is None
    for text in (b"first \xff\r\n", b"", b"x" * LIMIT):
        own.write_plan(path, text)
        assert own.read_plan(path) == text
    assert list(tree(tmp_path / ".opencode/plans")) == [b"add-login", b"add-login/PLAN_one.md"]


@pytest.mark.parametrize("look", ["read_plan", "delete_plan", "find_plans"])
def test_a_plan_that_goes_away_at_any_moment_is_gone(tmp_path: Path, look: str) -> None:
    path = b".opencode/plans/s/PLAN_a.md"

    def calls_until_it_goes(at: int) -> int:
        full, calls = put(tmp_path, path, b"text"), 0

        def vanish(call: str) -> None:
            nonlocal calls
            if calls == at and os.path.exists(full):
                os.unlink(full)
            calls += 1

        own = LocalProjection(os.fsencode(tmp_path), disk=WatchedDisk(vanish))
        found = getattr(own, look)(*(() if look == "find_plans" else (path,)))
        assert found in (None, [], b"text") or [plan.name for plan in found] == ["a"]
        assert own.skipped() == []
        return calls

    for at in range(calls_until_it_goes(-1)):
        calls_until_it_goes(at)


def test_a_replaced_text_keeps_its_mode(tmp_path: Path, own: Projection) -> None:
    full = put(tmp_path, b".opencode/plans/PLAN_a.md", b"old", 0o604)
    own.write_plan(b".opencode/plans/PLAN_a.md", b"new")
    assert stat.S_IMODE(os.stat(full).st_mode) == 0o604


def test_a_text_is_durable_before_it_is_named(tmp_path: Path) -> None:
    calls: list[str] = []
    disk = WatchedDisk(calls.append)
    LocalProjection(os.fsencode(tmp_path), disk=disk).write_plan(b".opencode/plans/PLAN_a.md", b"x")
    kept = [call for call in calls if call in ("write", "fsync", "rename")]
    assert kept == ["write", "fsync", "rename", "fsync"]


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_a_failed_write_leaves_the_old_text(tmp_path: Path, call: str) -> None:
    put(tmp_path, b".opencode/plans/PLAN_a.md", b"old")
    own = LocalProjection(os.fsencode(tmp_path), disk=failing(call, errno.ENOSPC))
    with pytest.raises(WorkspaceError, match="No space left"):
        own.write_plan(b".opencode/plans/PLAN_a.md", b"new")
    assert tree(tmp_path / ".opencode/plans") == {b"PLAN_a.md": b"old"}


def test_no_plan_is_larger_than_a_person_can_read(tmp_path: Path, own: Projection) -> None:
    path = own.plan_path("a", "b")
    with pytest.raises(InvalidPlan, match="1048577 bytes"):
        own.write_plan(path, b"x" * (LIMIT + 1))
    assert own.read_plan(path) is None
    put(tmp_path, path, b"x" * (LIMIT + 1))
    with pytest.raises(InvalidPlan, match="1048577 bytes"):
        own.read_plan(path)


@pytest.mark.parametrize(
    "path",
    [
        b"src/a.py",
        b"PLAN_a.md",
        b"/etc/PLAN_a.md",
        b".opencode/plans",
        b".opencode/plans/notes.md",
        b".opencode/plans/a/b/PLAN_c.md",
        b".opencode/plans/../PLAN_a.md",
        b".opencode/plans/A/PLAN_a.md",
        b".opencode/plans/a//PLAN_a.md",
        b".opencode/plans2/PLAN_a.md",
        b".opencode/assent/PLAN_a.md",
    ],
)
def test_only_plan_files_are_read_and_written(tmp_path: Path, own: Projection, path: bytes) -> None:
    with pytest.raises(Refused, match="is not in the plan folder"):
        own.write_plan(path, b"x")
    assert own.read_plan(path) is None
    own.delete_plan(path)
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    ("was", "becomes"), [(b"docs/plans", b"docs"), (b"docs", b"docs/plans"), (b"a", b"b")]
)
def test_a_plan_made_before_plan_dir_changed_is_gone(
    tmp_path: Path, was: bytes, becomes: bytes
) -> None:
    earlier = LocalProjection(os.fsencode(tmp_path), was)
    path = earlier.plan_path("add-login", "one")
    earlier.write_plan(path, b"text")
    own = LocalProjection(os.fsencode(tmp_path), becomes)
    assert own.read_plan(path) is None
    own.delete_plan(path)
    words = rf"plan\.dir was changed to {becomes.decode()} after the plan was created"
    with pytest.raises(Refused, match=words) as refused:
        own.write_plan(path, b"other")
    assert refused.value.next == "assent plan new NAME"
    assert earlier.read_plan(path) == b"text"


def test_a_large_ignore_file_is_not_called_a_plan(tmp_path: Path, own: Projection) -> None:
    put(tmp_path, IGNORE, b"x" * (LIMIT + 1))
    with pytest.raises(WorkspaceError) as large:
        own.prepare()
    assert large.value.message == (
        ".opencode/.gitignore has 1048577 bytes; Assent reads at most 1048576 bytes of such a "
        "file. Make it smaller. Nothing was changed."
    )


@pytest.mark.parametrize("plan_dir", [b"", b".", b"./", b"a/..", b"/tmp", b"../plans"])
def test_a_place_that_is_no_folder_inside_is_named_so(tmp_path: Path, plan_dir: bytes) -> None:
    with pytest.raises(Refused, match=r"^plan\.dir must be a folder inside the workspace; "):
        LocalProjection(os.fsencode(tmp_path), plan_dir)


def test_the_last_plan_takes_its_folder_along(tmp_path: Path, own: Projection) -> None:
    one, two, flat = own.plan_path("a", "one"), own.plan_path("a", "two"), own.plan_path("", "flat")
    for path in (one, two, flat):
        own.write_plan(path, b"x")
    own.delete_plan(one)
    assert own.read_plan(two) == b"x"
    own.delete_plan(two)
    own.delete_plan(two)
    own.delete_plan(flat)
    assert tree(tmp_path) == {b".opencode": None, b".opencode/plans": None}


def test_state_is_copied_where_people_can_read_it(tmp_path: Path, own: Projection) -> None:
    own.write_state("0abc", {})
    own.write_state("0abc", {"approvals.json": b"1", "backups/RUN-1.json": b"2"})
    own.write_state("0abc", {"approvals.json": b"3"})
    assert tree(tmp_path / ".opencode/assent") == {
        b"plans": None,
        b"plans/0abc": None,
        b"plans/0abc/approvals.json": b"3",
        b"plans/0abc/backups": None,
        b"plans/0abc/backups/RUN-1.json": b"2",
    }


def test_all_copies_of_a_plan_go_and_what_is_no_copy_stays(tmp_path: Path, own: Projection) -> None:
    for plan in ("0abc", "0def"):
        own.write_state(plan, {"approvals.json": b"1"})
    put(tmp_path, b".opencode/assent/plans/0def/backups/notes", b"mine")
    own.remove_all_state("0abc")
    own.remove_all_state("0def")
    assert tree(tmp_path / ".opencode/assent") == {
        b"plans": None,
        b"plans/0def": None,
        b"plans/0def/backups": None,
        b"plans/0def/backups/notes": b"mine",
    }


def test_copies_are_not_flushed(tmp_path: Path) -> None:
    disk = WatchedDisk()
    own = LocalProjection(os.fsencode(tmp_path), disk=disk)
    own.write_state("0abc", {"approvals.json": b"1"})
    assert (disk.calls["fsync"], disk.calls["rename"]) == (0, 1)


@pytest.mark.parametrize(
    "name", ["../x", "a/b/c", "/x", "", ".x", "a/../x", "a\0", "a/.x", "..", "Ä"]
)
def test_copies_have_simple_names(tmp_path: Path, own: Projection, name: str) -> None:
    with pytest.raises(Refused):
        own.write_state("0abc", {name: b"x"})
    with pytest.raises(Refused):
        own.write_state(name, {"a": b"x"})


def test_the_agent_is_read_and_written(tmp_path: Path, own: Projection) -> None:
    assert own.read_agent() is None
    for text in (b"first", b"second"):
        own.write_agent(text)
        assert own.read_agent() == text
        assert content_of(tmp_path, b".opencode/agents/plan.md") == text


def test_the_marker_comes_back(tmp_path: Path, own: Projection) -> None:
    assert own.marker() == ""
    own.write_marker("01abc")
    assert own.marker() == "01abc"
    assert content_of(tmp_path, MARKER) == b'{"workspace":"01abc"}\n'


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b'{"workspace": 1}', b'{"workspace": ""}', b'{"workspace": "../x"}',
     b'{"workspace": "a b"}', b"\xff\xfe", b'{"workspace": "\xff"}', b"{}" + b" " * LIMIT,
     b'{"workspace": "' + b"a" * 65 + b'"}', b"[" * 50_000],
)  # fmt: skip
def test_a_bad_marker_is_no_marker(tmp_path: Path, own: Projection, text: bytes) -> None:
    put(tmp_path, MARKER, text)
    assert own.marker() == ""


def test_an_unreadable_marker_is_no_marker(tmp_path: Path) -> None:
    put(tmp_path, MARKER, b'{"workspace":"01abc"}')
    assert LocalProjection(os.fsencode(tmp_path), disk=failing("read", errno.EIO)).marker() == ""
