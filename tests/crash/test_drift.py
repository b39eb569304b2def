"""F66, G8, law 2: a file that changed after the yes stops the build before anything is spent."""

import os
from pathlib import Path

import pytest
from tests.crash.meddling import Meddling, choices, remove
from tests.crash.rig import Rig
from tests.crash.stories import Story, delete, move, point, write
from tests.crash.trees import Tree, file, link, plant, seen, tree

from assent.core.errors import Drift
from assent.core.paths import display_path
from assent.executor.drift import FILES_CHANGED

RELIES = b"---\nrelies_on: [base.txt]\n---\n# Rests on a file\n\n- [ ] change the others\n"
START: Tree = {
    b"base.txt": file(b"the base\n"),
    b"sub/replaced.txt": file(b"old\n" * 20),
    b"sub/deleted.txt": file(b"gone soon\n"),
    b"moved.txt": file(b"on its way\n"),
    b"link": link(b"base.txt"),
    b"goal/here.txt": file(b"neighbour\n"),
}
STORY = Story(
    "drift",
    tree(START),
    (
        write(b"sub/replaced.txt", b"new\n" * 30),
        delete(b"sub/deleted.txt"),
        move(b"moved.txt", b"goal/moved.txt"),
        point(b"link", b"goal"),
        write(b"goal/fresh.txt", b"fresh\n"),
    ),
    tree(
        {
            b"base.txt": file(b"the base\n"),
            b"sub/replaced.txt": file(b"new\n" * 30),
            b"goal/here.txt": file(b"neighbour\n"),
            b"goal/moved.txt": file(b"on its way\n"),
            b"goal/fresh.txt": file(b"fresh\n"),
            b"link": link(b"goal"),
        }
    ),
)
TOUCHED = (
    b"base.txt", b"sub/replaced.txt", b"sub/deleted.txt", b"moved.txt", b"link", b"goal/moved.txt",
    b"goal/fresh.txt",
)  # fmt: skip


@pytest.mark.parametrize("path", TOUCHED, ids=os.fsdecode)
def test_a_changed_file_is_named_and_nothing_is_done(path: bytes, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY, RELIES)
    kinds = choices(rig.root + b"/" + path)
    if path == b"base.txt":  # only its content was relied on
        kinds = tuple(kind for kind in kinds if kind.__name__ != "chmodded")
    for kind in kinds:
        rig.restore(rig.approved)
        _meddled(rig, path, kind)
    assert len(kinds) >= 3


def _meddled(rig: Rig, path: bytes, kind: Meddling) -> None:
    kind(rig.root + b"/" + path)
    left = rig.tree()
    with pytest.raises(Drift, match=FILES_CHANGED) as caught:
        rig.build()
    assert caught.value.exit == 5
    assert display_path(path) in [row["path"] for row in caught.value.rows["changed"]]
    assert rig.tree() == left
    assert rig.leftovers() == []
    _put_back(rig)
    assert rig.build().outcome == "done"  # so the approval was not spent
    assert rig.tree() == STORY.finish


def _put_back(rig: Rig) -> None:
    for path, entry in sorted(rig.tree().items(), reverse=True):
        if STORY.start.get(path) != entry:
            remove(rig.root + b"/" + path)
    plant(rig.root, {p: e for p, e in STORY.start.items() if p not in rig.tree()})


@pytest.mark.parametrize("folder", [b"sub", b"goal"], ids=os.fsdecode)
def test_a_folder_that_became_a_way_out_is_not_entered(folder: bytes, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY, RELIES)
    outside = os.fsencode(tmp_path) + b"/outside"
    os.rename(rig.root + b"/" + folder, outside)  # so everything outside looks just as expected
    os.symlink(outside, rig.root + b"/" + folder)
    before, left = seen(outside), rig.tree()
    with pytest.raises(Drift, match="is a symlink now, and no folder") as caught:
        rig.build()
    row = {"path": display_path(folder), "expected": "a folder"}
    assert row.items() <= caught.value.rows["changed"][-1].items()
    assert seen(outside) == before
    assert rig.tree() == left
    os.unlink(rig.root + b"/" + folder)
    os.rename(outside, rig.root + b"/" + folder)
    assert rig.build().outcome == "done"


def test_a_folder_that_became_a_file_is_named(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY, RELIES)
    remove(rig.root + b"/goal")
    plant(rig.root, {b"goal": file(b"no folder any more\n")})
    left = rig.tree()
    with pytest.raises(Drift, match="goal is a file now, and no folder"):
        rig.build()
    assert rig.tree() == left
