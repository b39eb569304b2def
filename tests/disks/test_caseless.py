"""G5, G6: on a file system that takes no notice of case, plans are applied and taken back whole."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash.rig import Rig, approve, command
from tests.crash.stories import STORIES, Story, move, write
from tests.crash.trees import Tree, file, tree
from tests.disks.possible import needs_fuse

from assent.core.digest import sha256
from assent.core.errors import ImpossibleOperations, Refused, WorkspaceError
from assent.core.plan.operation import FileState, WriteFile
from assent.core.plan.plan import Plan
from assent.core.run.journal import drive_to_end
from assent.executor.file_writer import LocalFileWriter
from assent.executor.segment import slot_layout

OLD, NEW = b"old\n", b"new\n"
MOUNTED = b"mounted\n"  # the file system says so; its module needs a library to be imported


@pytest.fixture
def caseless(tmp_path: Path) -> Iterator[Path]:
    """Yields a folder whose `work` is such a file system."""
    needs_fuse()
    for name in ("shown", "work"):
        (tmp_path / name).mkdir()
    place = tmp_path / "work"
    line = [sys.executable, "-m", "tests.disks.caseless", str(tmp_path / "shown"), str(place)]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as server:
        assert server.stdout
        assert server.stdout.readline() == MOUNTED, "the file system has ended"
        assert place.is_mount()
        try:
            yield tmp_path
        finally:
            subprocess.run(["fusermount3", "-u", "-z", str(place)], check=True)
            server.terminate()


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_g6_every_plan_is_built_and_taken_back(story: Story, caseless: Path) -> None:
    rig = Rig(caseless, story)
    assert rig.build().outcome == "done"
    assert rig.tree() == story.finish
    engine = rig.open()
    assert drive_to_end(engine.undo.apply(engine.undo.preview(), "test")).outcome == "done"
    engine.close()
    assert (files(rig.tree()), rig.leftovers()) == (files(story.start), [])


def files(found: Tree) -> Tree:
    """Leaves folders out: an undo does not give one that went its mode back."""
    return {path: entry for path, entry in found.items() if entry.kind != "folder"}


def test_a_name_in_other_case_is_the_file_that_stands_there(caseless: Path) -> None:
    start, finish = tree({b"Read.me": file(OLD)}), tree({b"Read.me": file(NEW)})
    rig = Rig(caseless, Story("other_case", start, (write(b"READ.ME", NEW),), finish))
    assert rig.build().outcome == "done"
    assert {path.lower(): state for path, state in rig.tree().items()} == tree(
        {b"read.me": file(NEW)}
    )


TWICE = {
    "two_new": ({}, (write(b"a", OLD), write(b"A", NEW))),
    "written_and_moved_onto": ({b"b": file(OLD)}, (write(b"a", NEW), move(b"b", b"A"))),
}


@pytest.mark.parametrize("name", TWICE)
def test_one_file_under_two_names_is_refused_when_it_is_staged(name: str, caseless: Path) -> None:
    start, steps = TWICE[name]
    first = Rig(caseless, Story("first", tree({**start}), (write(b"other", OLD),), {}))
    before = first.tree()
    with pytest.raises(Refused, match="differ only in case") as refused:
        approve(first.site, Story(name, {}, steps, {}), name="twice")
    assert refused.value.next == "assent stage list"
    assert first.tree() == before
    assert len(first.command("stage", "list", "--plan", "crash/twice").json["operations"]) == 1


def test_one_file_under_two_names_is_refused_when_it_is_proposed_and_when_it_is_built(
    caseless: Path,
) -> None:
    rig = Rig(caseless, Story("first", tree({}), (write(b"other", OLD),), {}))
    new = FileState(sha256(NEW), len(NEW), 0o644)
    twice = (WriteFile(b"A", None, new), WriteFile(b"a", None, new))
    engine = rig.open()
    with pytest.raises(ImpossibleOperations, match="A and a are the same file here"):
        engine.approvals.check_plan(Plan(b"text", twice))
    engine.close()
    with pytest.raises(WorkspaceError, match="A and a are the same file here") as refused:
        slot_layout(LocalFileWriter(rig.root), "run", twice)
    assert refused.value.next == "assent stage list"


class Desk:
    """The program in a workspace on such a disk, with a plan; nobody asks before a yes."""

    def __init__(self, base: Path, **files: bytes) -> None:
        self.base = base
        self.work = base / "work"
        self.other = base / "other"
        self.other.mkdir()
        config = base / "config" / "assent" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("[approve]\nwithout_terminal = true\n", encoding="utf-8")
        for name, content in files.items():
            (self.work / name).write_bytes(content)
        self.ok("plan", "new", "work", "--goal", "A goal")

    def ok(self, *arguments: str) -> dict[str, Any]:
        answer = command(self.base, self.work, *arguments)
        assert answer.exit == 0, answer
        return answer.json

    def no(self, *arguments: str) -> dict[str, Any]:
        answer = command(self.base, self.work, *arguments)
        assert answer.exit != 0, answer
        return answer.json

    def staged(self) -> list[tuple[str, str, str | None]]:
        rows = self.ok("stage", "list")["operations"]
        return [(row["kind"], row["path"], row["to"]) for row in rows]

    def build(self) -> dict[str, bytes]:
        """Proposes, approves and builds; returns the files that the workspace has then."""
        self.ok("approve", "--digest", self.ok("propose")["digest"])
        self.ok("build")
        return self.files()

    def files(self) -> dict[str, bytes]:
        found = [path for path in self.work.rglob("*") if path.is_file()]
        names = {path: str(path.relative_to(self.work)) for path in found}
        return {
            name: path.read_bytes()
            for path, name in names.items()
            if not name.startswith((".opencode", ".gitignore"))
        }


def test_a_copy_in_which_a_name_has_other_case_deletes_nothing(caseless: Path) -> None:
    desk = Desk(caseless, **{"Read.me": OLD, "gone": OLD})
    (desk.other / "read.ME").write_bytes(OLD)
    answer = desk.ok("stage", "from", str(desk.other), "--delete")
    assert ([row["path"] for row in answer["operations"]], answer["alike"]) == (["gone"], 1)
    assert desk.build() == {"Read.me": OLD}


@pytest.mark.parametrize("delete", [[], ["--delete"], ["--delete", "READ.me"]])
def test_what_changed_in_a_copy_is_written_to_the_name_that_stands_here(
    delete: list[str], caseless: Path
) -> None:
    desk = Desk(caseless, **{"Read.me": OLD})
    (desk.work / "Src").mkdir()
    (desk.work / "Src" / "Main").write_bytes(OLD)
    (desk.other / "read.ME").write_bytes(NEW)
    (desk.other / "src").mkdir()
    (desk.other / "src" / "main").write_bytes(OLD)
    (desk.other / "src" / "more").write_bytes(NEW)
    desk.ok("stage", "from", str(desk.other), *delete)
    more = [] if delete[1:] else [("write", "Src/more", None)]
    assert desk.staged() == [("write", "Read.me", None), *more]
    added = {} if delete[1:] else {"Src/more": NEW}
    assert desk.build() == {"Read.me": NEW, "Src/Main": OLD, **added}


def test_a_copy_is_compared_with_the_names_of_the_draft(caseless: Path) -> None:
    desk = Desk(caseless, **{"Read.me": OLD, "Gone": OLD})
    (desk.other / "read.ME").write_bytes(OLD)
    (desk.other / "new").write_bytes(NEW)
    (desk.other / "gone").write_bytes(NEW)
    desk.ok("stage", "move", "Read.me", "READ.me")
    desk.ok("stage", "write", "New", "--from", str(desk.other / "read.ME"))
    desk.ok("stage", "delete", "GONE")
    desk.ok("stage", "from", str(desk.other), "--delete")
    assert sorted(desk.staged()) == [
        ("move", "Read.me", "READ.me"),
        ("write", "Gone", None),
        ("write", "New", None),
    ]
    assert desk.build() == {"READ.me": OLD, "New": NEW, "Gone": NEW}


def test_two_names_of_a_copy_that_are_one_file_here_are_refused(caseless: Path) -> None:
    desk = Desk(caseless)
    for name in ("Read.me", "read.ME"):
        (desk.other / name).write_bytes(OLD)
    refused = desk.no("stage", "from", str(desk.other))
    assert "Read.me and read.ME differ only in case" in refused["message"]
    (desk.work / "READ.ME").write_bytes(OLD)
    refused = desk.no("stage", "from", str(desk.other))
    told = "Read.me and read.ME are two files in the source folder but the same file here"
    assert told in refused["message"]
    assert desk.staged() == []


def test_a_plan_of_elsewhere_with_two_names_of_one_file_is_refused(caseless: Path) -> None:
    desk = Desk(caseless)
    elsewhere = caseless / "elsewhere"
    elsewhere.mkdir()
    for place in (elsewhere, desk.work):
        (place / "a").write_bytes(OLD)
    (desk.other / "A").write_bytes(NEW)
    plan = str(caseless / "plan.json")
    for line in (
        ("plan", "new", "work", "--goal", "A goal"),
        ("stage", "from", str(desk.other), "--delete"),
        ("propose", "--portable", "--out", plan),
    ):
        answer = command(caseless, elsewhere, *line)
        assert answer.exit == 0, answer
    digest = answer.json["digest"]
    assert command(caseless, elsewhere, "approve", plan, "--digest", digest).exit == 0
    refused = desk.no("build", plan)
    assert "A and a are the same file here" in refused["message"]


RENAME = b"""diff --git a/Read.me b/READ.me
similarity index 100%
rename from Read.me
rename to READ.me
"""
CHANGED = b"""index 1..2 100644
--- a/Read.me
+++ b/READ.me
@@ -1 +1 @@
-old
+new
"""


def test_a_patch_can_change_the_case_of_a_name(caseless: Path) -> None:
    desk = Desk(caseless, **{"Read.me": OLD})
    patch = caseless / "patch"
    patch.write_bytes(RENAME + CHANGED.replace(b"index 1..2", b"index 1111..2222"))
    refused = desk.no("stage", "patch", str(patch))
    assert "are the same file here" in refused["message"]
    assert desk.staged() == []
    patch.write_bytes(RENAME)
    desk.ok("stage", "patch", str(patch))
    assert desk.staged() == [("move", "Read.me", "READ.me")]
    assert desk.build() == {"READ.me": OLD}


def test_a_patch_of_a_folder_in_other_case_names_no_way_to_lose_it(caseless: Path) -> None:
    desk = Desk(caseless)
    (desk.work / "Src").mkdir()
    (desk.work / "Src" / "a").write_bytes(OLD)
    patch = caseless / "patch"
    patch.write_bytes(RENAME.replace(b"Read.me", b"Src/a").replace(b"READ.me", b"SRC/a"))
    for line in (("stage", "patch", str(patch)), ("stage", "move", "Src", "SRC")):
        refused = desk.no(*line)
        assert "SRC/a and Src/a are the same file here" in refused["message"]
        assert refused["next"] == "assent stage move Src/a OTHER"
    assert desk.staged() == []
