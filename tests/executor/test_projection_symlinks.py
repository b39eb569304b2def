"""Links where Assent keeps its own files: nothing outside is read, written, or removed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.executor.disk_doubles import put, tree

from assent.core.errors import Refused
from assent.executor.projection import NOT_REGULAR, LocalProjection
from assent.ports import Projection

PLAN = b".opencode/plans/add-login/PLAN_one.md"

CALLS: dict[str, Callable[[Projection], object]] = {
    "prepare": lambda own: own.prepare(),
    "find_plans": lambda own: own.find_plans(),
    "read_plan": lambda own: own.read_plan(PLAN),
    "write_plan": lambda own: own.write_plan(PLAN, b"x"),
    "delete_plan": lambda own: own.delete_plan(PLAN),
    "write_state": lambda own: own.write_state("0abc", {"a.json": b"x", "backups/b.json": b"x"}),
    "read_agent": lambda own: own.read_agent(),
    "write_agent": lambda own: own.write_agent(b"x"),
    "marker": lambda own: own.marker(),
    "write_marker": lambda own: own.write_marker("01abc"),
}

PLAN_CALLS = ("find_plans", "read_plan", "write_plan", "delete_plan")

FOLDER_LINKS = [
    *[(".opencode", call) for call in CALLS],
    *[(".opencode/plans", call) for call in (*PLAN_CALLS, "prepare")],
    *[(".opencode/plans/add-login", call) for call in PLAN_CALLS if call != "find_plans"],
    *[(".opencode/assent", call) for call in ("prepare", "write_state", "marker", "write_marker")],
    (".opencode/assent/plans", "write_state"),
    (".opencode/assent/plans/0abc", "write_state"),
    (".opencode/assent/plans/0abc/backups", "write_state"),
    (".opencode/agents", "read_agent"),
    (".opencode/agents", "write_agent"),
]

FILE_LINKS = [
    *[(PLAN.decode(), call) for call in PLAN_CALLS if call != "find_plans"],
    (".opencode/.gitignore", "prepare"),
    (".opencode/assent/plans/0abc/a.json", "write_state"),
    (".opencode/agents/plan.md", "read_agent"),
    (".opencode/agents/plan.md", "write_agent"),
    (".opencode/assent/workspace.json", "marker"),
    (".opencode/assent/workspace.json", "write_marker"),
]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder outside that looks like ours in every place."""
    outside = tmp_path / "outside"
    for path in (b"PLAN_one.md", b"plans/add-login/PLAN_one.md", b"add-login/PLAN_one.md",
                 b"workspace.json", b"assent/workspace.json", b".gitignore", b"a.json",
                 b"agents/other.md", b"0abc/a.json", b"b.json"):  # fmt: skip
        put(outside, path, b"precious")
    return outside


@pytest.mark.parametrize(("link", "call"), FOLDER_LINKS)
def test_a_symlinked_folder_is_refused(tmp_path: Path, victim: Path, link: str, call: str) -> None:
    root = tmp_path / "work"
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(victim)
    check_refused(root, victim, link, call)


@pytest.mark.parametrize(("link", "call"), FILE_LINKS)
@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_a_linked_file_is_refused(
    tmp_path: Path, victim: Path, link: str, call: str, make: Callable[[Path, Path], None]
) -> None:
    root = tmp_path / "work"
    (root / link).parent.mkdir(parents=True)
    make(victim / "PLAN_one.md", root / link)
    check_refused(root, victim, link, call)


@pytest.mark.parametrize(("path", "call"), FILE_LINKS)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_no_call_waits_for_a_pipe_or_reads_a_folder(
    tmp_path: Path, path: str, call: str, make: Callable[[Path], None]
) -> None:
    full = tmp_path / path
    full.parent.mkdir(parents=True)
    make(full)
    with pytest.raises(Refused, match=NOT_REGULAR):
        CALLS[call](LocalProjection(os.fsencode(tmp_path)))


def check_refused(root: Path, victim: Path, link: str, call: str) -> None:
    before = tree(victim)
    with pytest.raises(Refused, match=rf"^{link} (is a symlink|has 2 hard links)") as refused:
        CALLS[call](LocalProjection(os.fsencode(root)))
    assert refused.value.exit == 7
    assert tree(victim) == before


def test_the_root_may_be_reached_through_a_symlink(tmp_path: Path) -> None:
    """Only what lies below the workspace can be planted by what is in it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    LocalProjection(os.fsencode(tmp_path / "link")).write_plan(PLAN, b"x")
    assert (tmp_path / "real" / os.fsdecode(PLAN)).read_bytes() == b"x"
