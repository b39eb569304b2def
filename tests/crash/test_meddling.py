"""F66, F142: a change between check and rename is noticed, goes back to its place, and stays."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.crash.meddling import MINE, Meddling, choices, taken_by_a_folder
from tests.crash.rig import Rig
from tests.crash.stories import BY_NAME, STORIES, Story
from tests.crash.trees import Tree, folder, seen, tree

from assent.core.run.journal import drive_to_end

EACH = [pytest.param(story, id=story.name) for story in STORIES]
RENAMES = ("hands.rename_noreplace", "hands.rename_exchange")


class Meddler:
    """Meddles right before rename number `at`, with the path being renamed or with a given one."""

    def __init__(self, rig: Rig, at: int, choice: int, path: bytes = b"") -> None:
        self.rig = rig
        self.kind: Meddling | None = None
        self.changed: Tree = {}
        self.gone: set[bytes] = set()
        self.path = path
        self.renames = 0
        self._at = at
        self._choice = choice

    def __call__(self, moment: str, arguments: tuple[Any, ...]) -> None:
        if moment not in RENAMES or not (path := self._persons_own(arguments)):
            return
        self.renames += 1
        if self.renames == self._at + 1:
            self._meddle(self.path or path)

    def _meddle(self, path: bytes) -> None:
        kinds = choices(self.rig.root + b"/" + path)
        if self._choice >= len(kinds):
            return
        self.path, self.kind = path, kinds[self._choice]
        before = self.rig.tree()
        self.kind(self.rig.root + b"/" + path)
        after = self.rig.tree()
        self.changed = {p: entry for p, entry in after.items() if before.get(p) != entry}
        self.gone = before.keys() - after.keys()

    def _persons_own(self, arguments: tuple[Any, ...]) -> bytes:
        """Returns the end of a rename that is not a slot."""
        for name, at in (arguments[:2], arguments[2:]):
            full = os.readlink(os.fsencode(f"/proc/self/fd/{at}")) + b"/" + name
            path = full.removeprefix(self.rig.root + b"/")
            if not path.startswith((b".opencode/", b"/")):  # nor a spare, outside the workspace
                return bytes(path)
        return b""

    def wanted(self) -> Tree:
        """Returns the tree as it was at first, with what the meddler did."""
        start = {p: e for p, e in self.rig.story.start.items() if not _at_or_below(p, self.gone)}
        return tree({**start, **self.changed})


@pytest.mark.parametrize("story", EACH)
def test_a_change_right_before_a_rename_is_kept_and_all_else_goes_back(
    story: Story, quick_path: Path
) -> None:
    rig = Rig(quick_path, story)
    tried = [_tried(rig, meddler) for meddler in _meddlers(rig)]
    assert len(tried) >= 3


def _meddlers(rig: Rig, path: bytes = b"") -> Iterator[Meddler]:
    """Yields meddlers for every rename of the run and all that can be done there."""
    for at in count():
        for choice in count():
            rig.restore(rig.approved)
            meddler = Meddler(rig, at, choice, path)
            yield meddler
            if meddler.renames <= at:
                return
            if meddler.kind is None:
                break


def _tried(rig: Rig, meddler: Meddler) -> str:
    report = rig.build(meddler)
    if meddler.kind is None:
        assert report.outcome == "done"
        return "nothing was changed"
    place = f"{meddler.kind.__name__} {meddler.path!r} before rename {meddler.renames}"
    if report.outcome == "needs_you":
        assert _is_swapped(rig.story, meddler.path), place
        assert meddler.changed.items() <= rig.tree().items(), place
        aside = _step_aside(rig, meddler.path)
        report = drive_to_end(rig.open().runs.recover("roll_back"))
        assert rig.tree() == {**rig.story.start, **aside}, place
    elif meddler.kind is taken_by_a_folder:  # of a folder that somebody made anew nothing is known
        assert _without_folder_modes(rig.tree()) == _without_folder_modes(meddler.wanted()), place
    else:
        assert rig.tree() == meddler.wanted(), place
    assert report.outcome == "rolled_back", place
    assert rig.leftovers() == [], place
    return place


def _is_swapped(story: Story, path: bytes) -> bool:
    """Tells whether a file and a folder change places here: what stands there bars the way back."""
    return any(
        story.start[above].kind != story.finish[above].kind
        for above in (path, path.partition(b"/")[0])
        if above in story.start and above in story.finish
    )


def _step_aside(rig: Rig, path: bytes) -> Tree:
    """Clears the way as a person would, and returns what is thereby in the tree too."""
    full = rig.root + b"/" + path
    if os.path.lexists(full + b".twin"):
        os.unlink(full)
        os.rename(full + b".twin", full)
        return {}
    os.rename(full, rig.root + b"/aside")
    return {p: e for p, e in rig.tree().items() if p.startswith(b"aside")}


@pytest.mark.parametrize("name", ["eight_operations", "folder_to_file", "file_to_folder", "move"])
def test_a_change_of_any_touched_file_before_any_rename_is_never_lost(
    name: str, quick_path: Path
) -> None:
    rig = Rig(quick_path, BY_NAME[name])
    start, finish = rig.story.start, rig.story.finish
    touched = [p for p in {**start, **finish} if start.get(p) != finish.get(p)]
    ends = {
        _kept(rig, meddler)
        for path in touched
        if (start.get(path) or finish[path]).kind != "folder"
        for meddler in _meddlers(rig, path)
    }
    assert {"done", "rolled_back"} <= ends <= {"done", "rolled_back", "needs_you"}


def _kept(rig: Rig, meddler: Meddler) -> str:
    """Whatever the outcome, what the meddler wrote is at its place, or in a slot that is named."""
    report = rig.build(meddler)
    if meddler.kind is None:
        return report.outcome
    place = f"{meddler.kind.__name__} {meddler.path!r} before rename {meddler.renames}: {report}"
    mine = [p for p, entry in meddler.changed.items() if MINE.rstrip() in entry.content]
    there = rig.tree()
    lost = [p for p in mine if there.get(p) != meddler.changed[p]]
    slots = seen(rig.root, without=b"")
    named = [
        path
        for path, entry in slots.items()
        if path.startswith(b".opencode/") and MINE.rstrip() in entry.content
    ]
    assert not lost or named, place
    for path in named:
        assert os.fsdecode(path.rpartition(b"/inside")[0] or path) in " ".join(report.notes), place
    return report.outcome


@pytest.mark.parametrize("story", EACH)
def test_a_folder_that_becomes_a_way_out_in_the_middle_leads_nowhere(
    story: Story, tmp_path: Path
) -> None:
    rig = Rig(tmp_path, story)
    outside = tmp_path / "outside"
    outside.mkdir()
    fired = 0
    for path in [path for path, entry in story.start.items() if entry.kind == "folder"]:
        for at in count():
            rig.restore(rig.approved)
            way_out = _WayOut(rig, at, path, os.fsencode(outside))
            report = rig.build(way_out)
            assert report.outcome in ("done", "rolled_back", "needs_you")
            drive_to_end(rig.open().runs.recover())
            assert seen(os.fsencode(outside)) == {}
            if not way_out.done:
                break
            fired += 1
    assert fired >= 1


class _WayOut(Meddler):
    """Moves a folder aside and puts a symlink in its place that leads out of the workspace."""

    def __init__(self, rig: Rig, at: int, path: bytes, outside: bytes) -> None:
        super().__init__(rig, at, 0, path)
        self.done = False
        self._outside = outside

    def _meddle(self, path: bytes) -> None:
        full = self.rig.root + b"/" + path
        if not os.path.isdir(full) or os.path.islink(full):
            return
        os.rename(full, full + b".away")
        os.symlink(self._outside, full)
        self.done = True


def _without_folder_modes(found: Tree) -> Tree:
    return {path: folder() if e.kind == "folder" else e for path, e in found.items()}


def _at_or_below(path: bytes, gone: set[bytes]) -> bool:
    return any(path == one or path.startswith(one + b"/") for one in gone)
