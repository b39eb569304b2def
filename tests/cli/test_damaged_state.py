"""Small files of Assent's own that are damaged: at most a warning, never a traceback or a wait."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.harness import PROGRAM, UNPRIVILEGED, World
from tests.support import forked_python


def ousted(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


def linked(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("elsewhere")))


def content(text: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(text)

    return damage


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": content(b""),
    "garbage": content(b"garbage {"),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "binary": content(bytes(range(256)) * 4),
    "a list": content(b"[1, 2]"),
    "other types": content(
        b'{"workspace": 7, "position": "x", "chain": 3, "key": 1, "standing": [], "operations": 1}'
    ),
    "odd values": content(
        b'{"workspace": "../../x", "position": 99999999999999999999999, "chain": "zz", "key": ""}'
    ),
    "a folder": ousted(Path.mkdir),
    "a symlink": linked,
    "a symlink to nowhere": ousted(lambda path: path.symlink_to("/nowhere/at/all")),
    "a pipe": ousted(os.mkfifo),
}
# By the pattern of their names below the world; the log and the key have tests of their own.
FILES = {
    "anchor": "state/assent/log.db-anchor",
    "sandbox": "state/assent/sandbox.json",
    "stamp": "state/assent/blobs/collected",
    "list of spares": "state/assent/spares/*.list",
    "marker": "project/.opencode/assent/workspace.json",
    "approvals": "project/.opencode/assent/plans/*/approvals.json",
    "operations": "project/.opencode/assent/plans/*/operations.json",
    "tasks": "project/.opencode/assent/plans/*/taskmap.json",
    "backups": "project/.opencode/assent/plans/*/backups/*.json",
}


@pytest.fixture
def used(world: World) -> World:
    """A world with a run that was done, so that every small file is there."""
    world.put("a.txt", b"a\n")
    world.put("gone.txt", b"gone\n")
    world.plan()
    world.write("a.txt", b"b\n")
    world.ok("stage", "delete", "gone.txt")
    world.build()
    state = world.state / "assent"
    if not (state / "sandbox.json").exists():
        (state / "sandbox.json").write_bytes(b"{}")
    (state / "blobs" / "collected").touch()
    return world


def file(world: World, pattern: str) -> Path:
    return next(iter(sorted(world.base.glob(pattern))))


@pytest.mark.parametrize("pattern", FILES.values(), ids=FILES.keys())
def test_everything_goes_on(used: World, pattern: str) -> None:
    for number, (name, damage) in enumerate(DAMAGES.items()):
        target = file(used, pattern)
        whole = target.read_bytes()
        damage(target)
        assert used.run("status").code == 0, name
        assert used.ok("recover")["outcome"] == "nothing", name
        used.plan(f"p{number}")
        used.write("a.txt", name.encode())
        assert used.build()["outcome"] == "done", name
        for stands in (target, target.with_name("elsewhere")):
            if stands.is_dir() and not stands.is_symlink():
                shutil.rmtree(stands)
            else:
                stands.unlink(missing_ok=True)
        target.write_bytes(whole)
        target.chmod(0o600)
    assert used.ok("log", "--verify")["holds"]
    assert used.undo().code == 0


@pytest.mark.parametrize("run", [subprocess.run, forked_python.run], ids=["fresh", "forked"])
def test_modes_keep_out_who_is_not_privileged(
    world: World, run: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    closed = world.base / "closed"
    closed.touch(mode=0)
    tried = f"import subprocess; subprocess.run(['cat', {str(closed)!r}]); open({str(closed)!r})"
    code = UNPRIVILEGED[2].removesuffix(PROGRAM[2]) + tried
    answer = world.start([*UNPRIVILEGED[:2], code], run=run)
    assert answer.code == 1
    assert answer.err.count(b"Permission denied") == 2, answer


@pytest.mark.parametrize("pattern", FILES.values(), ids=FILES.keys())
def test_so_it_does_if_one_cannot_be_read(used: World, pattern: str) -> None:
    used.plan("two")
    used.write("a.txt", b"c\n")
    digest = used.propose()
    file(used, pattern).chmod(0)
    for line in (["status"], ["log", "--verify"], ["recover"], ["runs", "list"]):
        answer = used.unprivileged(*line)
        assert (answer.code, b"Traceback" in answer.err) == (0, False), answer
    answer = used.unprivileged("approve", "--build", "--digest", digest)
    assert answer.code == 0, answer


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_new_log_in_a_workspace_with_a_damaged_marker(
    used: World, damage: Callable[[Path], None]
) -> None:
    marker = used.root / ".opencode/assent/workspace.json"
    shutil.rmtree(used.state / "assent")
    damage(marker)
    answer = used.run("plan", "new", "again", "--session", "s", "--goal", "Go on", "--json")
    assert answer.code == 0, answer
    plain = marker.is_file() and not marker.is_symlink()
    assert plain or b"workspace.json" in answer.err
    used.write("b.txt", b"b\n")
    assert used.build()["outcome"] == "done"


def test_a_marker_that_was_lost_is_written_again(used: World) -> None:
    marker = used.root / ".opencode/assent/workspace.json"
    before = marker.read_bytes()
    marker.write_bytes(b"garbage")
    used.plan("two")
    assert marker.read_bytes() == before
