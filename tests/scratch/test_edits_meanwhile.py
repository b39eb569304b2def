"""A person works in the workspace while a command runs: no change of theirs goes unnoticed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.copies import furnished, kinds, line, settle

from assent.core.shell.process import CommandSpec, OutputChunk, ProcessLimits

pytestmark = needs_bubblewrap

Edit = Callable[[Path], object]


def _swapped(root: Path) -> None:
    (root / "swap").mkdir()
    (root / "swap/one.md").write_text("by hand\n", encoding="utf-8")
    os.rename(root / "docs", root / "old")
    os.rename(root / "swap", root / "docs")


# What a person does, what the command does to the same path, and that path.
EDITS: dict[str, tuple[Edit, str, bytes]] = {
    "content": (lambda r: (r / "a.txt").write_bytes(b"mine\n"), "echo x >> a.txt", b"a.txt"),
    "content, then its time": (
        lambda r: ((r / "a.txt").write_bytes(b"b\n"), os.utime(r / "a.txt", (1, 1))),
        "echo x >> a.txt", b"a.txt"),
    "mode": (lambda r: (r / "a.txt").chmod(0o600), "echo x >> a.txt", b"a.txt"),
    "removed": (lambda r: (r / "a.txt").unlink(), "echo x > a.txt", b"a.txt"),
    "made": (lambda r: (r / "new").write_bytes(b"mine\n"), "echo x > new", b"new"),
    "made in a new folder": (
        lambda r: ((r / "n").mkdir(), (r / "n/f").write_bytes(b"mine\n")),
        "mkdir -p n && echo x > n/f", b"n/f"),
    "a symlink instead": (
        lambda r: ((r / "a.txt").unlink(), (r / "a.txt").symlink_to("run.sh")),
        "echo x > t && mv t a.txt", b"a.txt"),
    "renamed over it": (
        lambda r: ((r / "t").write_bytes(b"mine\n"), os.rename(r / "t", r / "a.txt")),
        "rm a.txt", b"a.txt"),
    "its folder renamed": (
        lambda r: os.rename(r / "src/deep", r / "src/deeper"), "echo x >> src/deep/b.txt",
        b"src/deep/b.txt"),
    "its folder removed": (
        lambda r: shutil.rmtree(r / "src"), "echo x >> src/deep/b.txt", b"src/deep/b.txt"),
    "another folder in its place": (_swapped, "echo x > docs/one.md", b"docs/one.md"),
    "a folder instead of the file": (
        lambda r: ((r / "a.txt").unlink(), (r / "a.txt").mkdir(), (r / "a.txt/f").touch()),
        "echo x >> a.txt", b"a.txt"),
}  # fmt: skip


@pytest.mark.parametrize("only", ["overlay", "copy"])
@pytest.mark.parametrize("edit", EDITS)
def test_what_a_person_does_meanwhile_is_a_conflict_or_not_touched(
    edit: str, only: str, tmp_path: Path
) -> None:
    """The command may see either version; what it left there is never taken without a word."""
    place = furnished(tmp_path, only=only)
    copy = place.open()
    act, command, path = EDITS[edit]
    text = f"mkdir -p out; echo go; sleep 0.3; {command}; echo y >> run.sh"
    parts = copy.run(CommandSpec(text), os.fsencode(place.root), ProcessLimits(seconds=30))
    assert isinstance(next(parts), OutputChunk)
    act(place.root)
    list(parts)
    before = place.seen()
    found = copy.changes()
    conflicts = {one.path for one in found.conflicts}
    assert path in conflicts or path.decode() not in kinds(found), found
    assert b"run.sh" not in conflicts
    assert place.seen() == before
    settle()
    again = line(copy, place, "cat a.txt run.sh docs/one.md")
    mine = [place.root / name for name in ("a.txt", "run.sh", "docs/one.md")]
    assert again.output == b"".join(one.read_bytes() for one in mine if one.is_file())
    copy.clear()
