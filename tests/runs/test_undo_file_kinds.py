"""Law 7: whatever became of folders, files and symlinks, an undo restores it or says why not."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from tests.planning.test_snapshot_model import remove, room
from tests.support.fake_commands import ActingWorld
from tests.support.file_trees import Entries, laid
from tests.support.properties import examples

from assent.core.paths import is_inside
from assent.core.plan.operation import footprint
from assent.core.run.journal import drive_to_end

NAMES = st.sampled_from(["a", "b", "d", "d/x", "d/y", "d/e", "d/e/x", "d/e/y", "e", "e/x"])
WORDS = st.sampled_from([b"a", b"d", b"one", b"two", b"../outside"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, WORDS),
        st.tuples(st.just("link"), NAMES, WORDS),
        st.tuples(st.just("remove"), NAMES, st.just(b"")),
        st.tuples(st.just("move"), NAMES, NAMES.map(str.encode)),
    ),
    max_size=6,
)
Step = tuple[str, str, bytes]

FOLDER: list[Step] = [("write", "d/x", b"one"), ("write", "d/e/y", b"two")]
TO_LINK: list[Step] = [("link", "d", b"../outside")]
AWAY: list[Step] = [("move", "d", b"e"), ("link", "d", b"../outside")]


def act(steps: Sequence[Step], root: Path) -> None:
    for kind, name, content in steps:
        path = root / name
        if kind in ("write", "link"):
            room(root, path)
        if kind == "write":
            path.write_bytes(content)
        elif kind == "link":
            os.symlink(content, path)
        elif os.path.realpath(path.parent) != str(path.parent) or not os.path.lexists(path):
            continue  # nothing of the workspace
        elif kind == "remove":
            remove(path)
        else:
            move(root, path, root / content.decode())


def move(root: Path, path: Path, to: Path) -> None:
    if path not in (to, *to.parents) and to not in path.parents:
        room(root, to)
        if os.path.lexists(path):
            shutil.move(path, to)


def contents(tree: Entries) -> set[bytes]:
    return {content for kind, _, content in tree.values() if kind == "file"}


def displaced(start: Entries, left: Entries) -> set[bytes]:
    """Returns the contents that a run took away from every name they had."""
    stays = {path: entry for path, entry in start.items() if left.get(path) == entry}
    return contents(start) - contents(stays)


def world(base: str, start: Sequence[Step], *acts: Sequence[Step]) -> ActingWorld:
    place = Path(base).resolve()
    found = ActingWorld(place, *[partial(act, steps) for steps in acts])
    (place / "outside").mkdir()
    (place / "outside/x").write_bytes(b"precious")
    act(start, found.root)
    return found


def others(start: Entries, named: set[bytes], end: Entries) -> set[bytes]:
    """Returns what is not as it was, and not named either."""
    return {p for p in {*start, *end} if start.get(p) != end.get(p)} - named


def is_true(reason: str, touched: set[bytes]) -> bool:
    """Tells whether somebody did change a file that a run is said to have left otherwise."""
    path, changed, _ = reason.partition(" changed after the run")
    return not changed or any(
        is_inside(p, path.encode()) or is_inside(path.encode(), p) for p in touched
    )


@settings(max_examples=examples(120), deadline=None)
@given(STEPS, STEPS, STEPS, STEPS)
@example(FOLDER, TO_LINK, [], [])
@example(FOLDER, AWAY, [], [])
@example(FOLDER, [], AWAY, [("write", "e/x", b"mine")])
@example(FOLDER, TO_LINK, [], [("link", "d", b"elsewhere")])
@example(TO_LINK, FOLDER, [], [])
@example(TO_LINK, FOLDER, [("write", "d", b"a")], [])
def test_law_7_folders_and_symlinks_are_taken_back(
    before: list[Step], one: list[Step], two: list[Step], mine: list[Step]
) -> None:
    with tempfile.TemporaryDirectory() as base:
        there = world(base, before, one, two)
        start = laid(there.root)
        drive_to_end(there.opened().runs.build(there.approved(0, 0)))
        left = laid(there.root)
        act(mine, there.root)
        met = laid(there.root)
        engine = there.opened()
        preview = engine.undo.preview()
        engine.reviews.undo_review(preview.source, preview.plan, again=preview.extent.again)
        report = drive_to_end(engine.undo.apply(preview, "test"))
        end = laid(there.root)
        spared = [preview.originals[index] for index, _ in preview.inversion.conflicts]
        named = {path for op in spared for path, *_ in footprint(op)}
        event(f"meddled: {left != met}, left alone: {bool(named)}")
        some = "partial" if spared else "done"
        assert report.outcome == (some if preview.plan.operations else "nothing")
        touched = {p for p in {*left, *met} if left.get(p) != met.get(p)}
        assert others(start, named | touched, end) == set()
        assert {p for p in touched if met.get(p) != end.get(p)} <= {
            p for p in touched if start.get(p) == end.get(p)
        }
        assert displaced(start, left) & contents(met) <= contents(end)
        assert all(is_true(reason, touched) for _, reason in preview.inversion.conflicts)
        assert (Path(base) / "outside/x").read_bytes() == b"precious"


@settings(max_examples=examples(120), deadline=None)
@given(STEPS, STEPS, STEPS, STEPS)
@example(FOLDER, AWAY, [], [])
@example(FOLDER, TO_LINK, [], [])
@example(FOLDER, AWAY, [], [("write", "e/x", b"mine")])
@example(FOLDER, AWAY, [], [("link", "d", b"elsewhere")])
@example(TO_LINK, FOLDER, [], [])
def test_law_6_a_way_back_loses_no_content(
    before: list[Step], one: list[Step], two: list[Step], mine: list[Step]
) -> None:
    with tempfile.TemporaryDirectory() as base:
        there = world(base, before, one, two)
        start = laid(there.root)
        drive_to_end(there.opened().runs.build(there.approved(0, 1)))
        left = laid(there.root)
        act(mine, there.root)
        met = laid(there.root)
        hollow = any((there.root / os.fsdecode(path)).is_dir() for path in start)
        report = drive_to_end(there.opened().runs.recover("roll_back"))
        end = laid(there.root)
        event(f"meddled: {left != met}, ended as: {report.outcome}")
        touched = {p for p in {*left, *met} if left.get(p) != met.get(p)}
        if report.outcome == "rolled_back" and not touched:
            assert end == start
        assert touched or hollow or report.outcome == "rolled_back"
        assert displaced(start, left) & contents(met) <= contents(end)
        assert (Path(base) / "outside/x").read_bytes() == b"precious"
