"""Configuration: where plans lie, and what a project cannot decide for its user."""

import os

import pytest
from tests.cli.harness import TRUSTING, World
from tests.cli.killed_build import kill_build

from assent.config.loader import USER_ONLY_WARNING

PROJECT = ".opencode/assent.toml"


def status(world: World) -> list[str]:
    return world.git("status", "--porcelain", "--untracked-files=all").decode().splitlines()


def test_f21_git_status_never_shows_the_state(repo: World) -> None:
    repo.plan()
    assert status(repo) == ["?? .opencode/.gitignore", "?? .opencode/plans/tests/PLAN_work.md"]
    repo.write("a.txt", b"a\n")
    repo.build()
    assert status(repo) == [
        "?? .opencode/.gitignore",
        "?? .opencode/plans/tests/PLAN_work.md",
        "?? a.txt",
    ]
    assert repo.undo().code == 0
    assert not [line for line in status(repo) if ".opencode/assent" in line]
    repo.git("add", "-A")
    assert not [line for line in status(repo) if ".opencode/assent" in line]


def test_f21_not_even_after_a_crash(repo: World) -> None:
    repo.plan()
    for path in ("a.txt", "b.txt"):
        repo.write(path, b"x\n")
    repo.approve()
    kill_build(repo, "rename", 1)
    assert os.listdir(repo.root / ".opencode/assent/stage")
    assert status(repo)[2:] == ["?? a.txt"]


def test_f21_the_plans_can_lie_elsewhere(world: World) -> None:
    world.config.write_text(TRUSTING + '[plan]\ndir = "docs/plans"\n', encoding="utf-8")
    made = world.plan()
    assert made["path"] == "docs/plans/tests/PLAN_work.md"
    assert (world.root / "docs/plans/tests/PLAN_work.md").exists()
    assert not (world.root / ".opencode/plans").exists()
    assert world.no(7, "stage", "write", "docs/plans/x", "--from", "-")["error"] == "refused"
    assert world.no(7, "stage", "delete", "docs/Plans/tests/PLAN_work.md")["error"] == "refused"
    world.write("docs/other.md", b"x\n")
    assert world.build()["outcome"] == "done"
    world.put("docs/plans/PLAN_flat.md", b"# Flat\n")
    assert {row["name"] for row in world.ok("plan", "list")["plans"]} == {"flat", "work"}


def test_f21_the_project_may_say_where_plans_lie(world: World) -> None:
    world.put(PROJECT, b'[plan]\ndir = "notes"\n')
    assert world.plan()["path"] == "notes/tests/PLAN_work.md"
    assert world.run("plan", "list").err == b""


def test_the_project_outranks_the_user_where_it_may_speak(world: World) -> None:
    world.config.write_text(TRUSTING + '[plan]\ndir = "of_user"\n', encoding="utf-8")
    assert world.plan("one")["path"] == "of_user/tests/PLAN_one.md"
    world.put(PROJECT, b'[plan]\ndir = "of_project"\n')
    assert world.plan("two")["path"] == "of_project/tests/PLAN_two.md"


@pytest.mark.parametrize(
    "folder",
    ["../out", "/tmp/out", ".git/plans", ".GIT", ".opencode/assent", ".opencode/assent/x", ".", ""],
)
def test_plans_cannot_lie_just_anywhere(world: World, folder: str) -> None:
    world.put(PROJECT, f'[plan]\ndir = "{folder}"\n'.encode())
    before = sorted(os.listdir(world.base))
    refused = world.run("plan", "new", "x", "--json")
    assert (refused.code, refused.error["error"]) == (7, "refused")
    assert sorted(os.listdir(world.base)) == before


def test_a_plan_folder_that_is_a_symlink_is_refused(world: World) -> None:
    outside = world.base / "outside"
    outside.mkdir()
    world.link("plans", str(outside))
    world.put(PROJECT, b'[plan]\ndir = "plans"\n')
    assert world.no(7, "plan", "new", "x")["error"] == "refused"
    assert list(outside.iterdir()) == []


def test_a_project_cannot_approve_for_its_user(world: World) -> None:
    world.config.unlink()
    world.put(PROJECT, b"[approve]\nwithout_terminal = true\nexpires_s = 1\n")
    world.plan()
    world.write("a.txt", b"a\n")
    digest = world.propose()
    answer = world.process("approve", "--digest", digest)
    assert answer.code == 4
    assert f"sets [approve], {USER_ONLY_WARNING}".encode() in answer.err
    assert world.ok("plan", "show")["approved"] is False


def test_the_user_may_let_a_full_digest_approve(world: World) -> None:
    world.plan()
    world.write("a.txt", b"a\n")
    digest = world.propose()
    assert world.process("approve", "--digest", digest[:63], "--json").code == 4
    assert world.process("approve", "--json").code == 4
    answer = world.process("approve", "--digest", digest, "--json")
    assert (answer.code, answer.json["approved"]) == (0, True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"assent/\n"),
        (b"node_modules\n", b"node_modules\nassent/\n"),
        (b"node_modules", b"node_modules\nassent/\n"),
        (b"a\r\nb\r\n", b"a\r\nb\r\nassent/\r\n"),
        (b"assent/\n", b"assent/\n"),
        (b"/assent\nother\n", b"/assent\nother\n"),
        (b"# assent/\n", b"# assent/\nassent/\n"),
    ],
)
def test_the_gitignore_is_added_to_and_not_replaced(
    world: World, before: bytes | None, after: bytes
) -> None:
    ignore = world.root / ".opencode/.gitignore"
    if before is not None:
        world.put(".opencode/.gitignore", before)
    for _ in range(2):
        world.ok("init")
        assert ignore.read_bytes() == after


def test_the_workspace_is_the_nearest_that_is_one(repo: World) -> None:
    inner = repo.root / "packages" / "inner"
    (inner / "src").mkdir(parents=True)
    assert repo.run("plan", "new", "x", "--json", folder=inner / "src").code == 0
    assert (repo.root / ".opencode/plans/x/PLAN_x.md").exists()
    (inner / ".opencode/plans").mkdir(parents=True)
    assert repo.run("plan", "new", "y", "--json", folder=inner / "src").code == 0
    assert (inner / ".opencode/plans/y/PLAN_y.md").exists()


def test_without_any_mark_the_current_folder_is_the_workspace(world: World) -> None:
    folder = world.root / "a/b"
    folder.mkdir(parents=True)
    assert world.run("plan", "new", "x", folder=folder).code == 0
    assert (folder / ".opencode/plans/x/PLAN_x.md").exists()
