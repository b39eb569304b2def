"""F143: plans in repositories that are in the middle of something leave git's own work alone."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.crash.rig import Rig, approve
from tests.crash.stories import Story, delete, move, write
from tests.crash.trees import Tree, file, seen, tree

from assent.core.errors import Refused
from assent.core.run.journal import drive_to_end

BASE = """
git init -q -b main . && git config user.name t && git config user.email t@localhost
printf 'one\\ntwo\\nthree\\n' > both && printf old > edited && mkdir -p far/away
printf far > far/away/file && printf near > near
git add -A && git commit -q -m base
git switch -q -c side && printf 'one\\nside\\nthree\\n' > both && git commit -q -a -m side
git switch -q main && printf 'one\\nmain\\nthree\\n' > both && git commit -q -a -m main
"""
PLACES = {
    "merge": f"{BASE} git merge -q side; test -e .git/MERGE_HEAD",
    "rebase": f"{BASE} git switch -q side; git rebase -q main; test -d .git/rebase-merge",
    "cherry_pick": f"{BASE} git cherry-pick side; test -e .git/CHERRY_PICK_HEAD",
    "bisect": f"{BASE} git bisect start -q main main~1",
    "dirty": f"{BASE} printf dirty > near; printf staged > far/away/file; git add far",
    "detached": f"{BASE} git switch -q --detach main~1",
    "sparse": f"{BASE} git sparse-checkout set --no-cone /both /edited; test ! -e near",
    "worktree": f"""
        mkdir ../main && cd ../main && {BASE} rmdir ../work && git worktree add -q ../work side
        test -f ../work/.git""",
    "submodule": f"""
        mkdir ../other && (cd ../other && {BASE}) && {BASE}
        git -c protocol.file.allow=always submodule add -q ../other inner
        git commit -q -m sub""",
    "no_commit_yet": "git init -q -b main . && printf old > edited",
}


@pytest.mark.parametrize("place", PLACES)
def test_f143_a_plan_leaves_git_as_it_was(place: str, tmp_path: Path) -> None:
    root = repository(place, tmp_path)
    was, about = git_state(root), seen(os.fsencode(root))
    steps = (write(b"edited", b"new"), write(b"made/here", b"made"), move(b"edited", b"moved"))
    rig = Rig(tmp_path, Story(place, {}, steps, {}))
    assert rig.build().outcome == "done"
    assert rig.tree() == tree(
        {**without(about, b"edited"), b"moved": file(b"new"), b"made/here": file(b"made")}
    )
    assert git_state(root) == was
    engine = rig.open()
    assert drive_to_end(engine.undo.apply(engine.undo.preview(), "test")).outcome == "done"
    engine.close()
    assert (rig.tree(), git_state(root)) == (about, was)


@pytest.mark.parametrize("place", ["merge", "rebase"])
def test_f143_a_file_in_conflict_is_changed_only_as_it_was_seen(place: str, tmp_path: Path) -> None:
    root = repository(place, tmp_path)
    marked = (root / "both").read_bytes()
    assert b"<<<<<<<" in marked
    rig = Rig(tmp_path, Story(place, {}, (write(b"both", b"resolved\n"),), {}))
    (root / "both").write_bytes(marked + b"by hand\n")
    with pytest.raises(Exception, match="both"):
        rig.build()
    assert (root / "both").read_bytes() == marked + b"by hand\n"


@pytest.mark.parametrize("path", [b"inner/.git", b"inner/.git/config", b".gitmodules/../.git/x"])
def test_nothing_of_git_is_a_target_in_a_submodule(path: bytes, tmp_path: Path) -> None:
    repository("submodule", tmp_path)
    rig = Rig(tmp_path, Story("plain", {}, (write(b"near", b"n"),), {}))
    with pytest.raises(Refused):
        approve(rig.site, Story("bad", {}, (write(path, b"x"),), {}), name="bad")


def test_a_file_in_a_submodule_is_a_file_like_any_other(tmp_path: Path) -> None:
    root = repository("submodule", tmp_path)
    about = seen(os.fsencode(root))
    rig = Rig(tmp_path, Story("inner", {}, (delete(b"inner/near"),), {}))
    assert rig.build().outcome == "done"
    assert rig.tree() == without(about, b"inner/near")


def test_a_file_that_a_sparse_checkout_leaves_out_can_be_written(tmp_path: Path) -> None:
    root = repository("sparse", tmp_path)
    rig = Rig(tmp_path, Story("sparse", {}, (write(b"near", b"n"),), {}))
    assert rig.build().outcome == "done"
    assert (root / "near").read_bytes() == b"n"


def repository(place: str, folder: Path) -> Path:
    """Makes the workspace a repository in the middle of something, and returns it."""
    root = folder / "work"
    root.mkdir()
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_EDITOR": "true", "HOME": str(folder)}
    lines = PLACES[place].strip()
    subprocess.run(
        ["bash", "-c", lines], cwd=root, env={**os.environ, **quiet}, capture_output=True,
        check=True,
    )  # fmt: skip
    return root


def git_state(root: Path) -> dict[str, bytes]:
    """Returns every file that git keeps for the work tree."""
    own = root / ".git"
    if own.is_file():
        own = Path(own.read_text(encoding="utf-8").removeprefix("gitdir: ").strip())
    return {str(p): p.read_bytes() for p in sorted(own.rglob("*")) if p.is_file()}


def without(found: Tree, *gone: bytes) -> Tree:
    return {path: entry for path, entry in found.items() if path not in gone}
