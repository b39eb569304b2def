"""G4: an approval is for one workspace; it moves with its folder, and a copy has no power."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.crash.rig import Answer, Rig, command
from tests.crash.stories import BY_NAME
from tests.crash.trees import plant, seen

STORY = BY_NAME["eight_operations"]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path, STORY)


def test_a_copy_of_the_workspace_can_build_nothing_of_the_original(rig: Rig) -> None:
    twin = rig.folder / "twin"
    subprocess.run(["cp", "-a", rig.site.root, twin], check=True)
    answer = _at(rig, twin, "build", "--plan", rig.plan_id)
    assert (answer.exit, answer.json["error"]) == (5, "other_workspace")
    assert _at(rig, twin, "build").exit != 0
    assert seen(bytes(twin)) == STORY.start
    (plan,) = _at(rig, twin, "plan", "list").json["plans"]  # its file is here, as a draft anew
    assert (plan["state"], plan["approved"]) == ("DRAFTING", False)
    assert plan["plan_id"] != rig.plan_id
    assert rig.command("build").exit == 0
    assert rig.tree() == STORY.finish
    assert seen(bytes(twin)) == STORY.start


def test_a_moved_workspace_keeps_its_plans(rig: Rig) -> None:
    moved = rig.folder / "elsewhere" / "work"
    moved.parent.mkdir()
    rig.site.root.rename(moved)
    assert _at(rig, moved, "plan", "show").json["approved"]
    assert _at(rig, moved, "build").exit == 0
    assert seen(bytes(moved)) == STORY.finish
    moved.rename(rig.site.root)
    assert rig.command("build").exit == 4


def test_two_workspaces_that_changed_places_do_not_take_each_other_for_themselves(
    rig: Rig,
) -> None:
    twin, aside = rig.folder / "twin", rig.folder / "aside"
    subprocess.run(["cp", "-a", rig.site.root, twin], check=True)
    assert _at(rig, twin, "status").exit == 0
    rig.site.root.rename(aside)
    twin.rename(rig.site.root)
    aside.rename(twin)
    assert _at(rig, rig.site.root, "build", "--plan", rig.plan_id).exit == 5
    assert rig.tree() == STORY.start
    assert _at(rig, twin, "build").exit == 0
    assert seen(bytes(twin)) == STORY.finish


@pytest.mark.parametrize("again", ["empty", "with the same files"])
def test_a_folder_made_anew_at_the_same_path_is_not_the_workspace(again: str, rig: Rig) -> None:
    shutil.rmtree(rig.site.root)
    rig.site.root.mkdir()
    if again != "empty":
        plant(rig.root, STORY.start)
    left = rig.tree()
    # Whether or not the folder got the same inode again: the plan's text is not there.
    assert rig.command("build", "--plan", rig.plan_id).exit == 5
    assert rig.command("build").exit != 0
    assert rig.tree() == left


def test_a_marker_put_into_another_folder_makes_it_no_workspace(rig: Rig) -> None:
    other = rig.folder / "other"
    marker = other / ".opencode" / "assent" / "workspace.json"
    marker.parent.mkdir(parents=True)
    shutil.copy(rig.site.root / ".opencode" / "assent" / "workspace.json", marker)
    plant(bytes(other), STORY.start)
    answer = _at(rig, other, "build", "--plan", rig.plan_id)
    assert (answer.exit, answer.json["error"]) == (5, "other_workspace")
    assert seen(bytes(other)) == STORY.start


def test_a_run_killed_in_a_workspace_that_is_then_moved_is_recovered_there(rig: Rig) -> None:
    from_the_middle = rig.build_killed_at("hands.rename_noreplace", 3)
    assert from_the_middle not in (STORY.start, STORY.finish)
    moved = rig.folder / "moved"
    os.rename(rig.site.root, moved)
    assert _at(rig, moved, "recover").json["outcome"] == "done"
    assert seen(bytes(moved)) == STORY.finish


def _at(rig: Rig, root: Path, *arguments: str) -> Answer:
    return command(rig.folder, root, *arguments)
