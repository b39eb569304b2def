"""Where a plan is built: git in the middle of something, another branch, a moved folder."""

import shutil
from typing import Any

import pytest
from tests.cli.harness import Answer, World

IN_PROGRESS = "is in progress here (see `git status`); finishing it may change files again."


@pytest.fixture
def repo(world: World) -> World:
    """A repository on main, with a plan whose file neither branch has."""
    world.git("init", "-q", "-b", "main")
    for branch, content in (("main", b"one\n"), ("other", b"two\n"), ("main", b"three\n")):
        if branch == "other":
            world.git("switch", "-q", "-c", "other")
        elif content != b"one\n":
            world.git("switch", "-q", "main")
        world.put("file", content)
        world.git("add", "file")
        world.git("commit", "-q", "-m", content.decode())
    world.plan()
    world.write("new.txt", b"new\n")
    return world


def conflict(repo: World) -> None:
    """Leaves a merge where it stopped."""
    (repo.root / ".git/MERGE_HEAD").write_bytes(repo.git("rev-parse", "other"))


def built(repo: World) -> tuple[Answer, dict[str, Any]]:
    answer = repo.run("build", "--json")
    assert answer.code == 0, answer
    return answer, answer.json


def test_nothing_is_said_of_an_ordinary_place(repo: World) -> None:
    repo.approve()
    assert "warnings" not in repo.ok("review")
    answer, row = built(repo)
    assert "warnings" not in row
    assert answer.err == b""


def test_a_merge_in_progress_is_said_in_review_and_build_and_refuses_nothing(repo: World) -> None:
    conflict(repo)
    merge = f"A merge {IN_PROGRESS}"
    assert repo.ok("review")["warnings"] == [merge]  # of a draft, too
    repo.approve()
    assert repo.ok("review")["warnings"] == [merge]
    text = repo.run("review").out.decode()
    assert text.index("A merge is in progress") < text.index("Risks:")
    answer, row = built(repo)
    assert (row["outcome"], row["warnings"]) == ("done", [merge])
    assert f"assent: {merge}".encode() in answer.err


def test_another_branch_than_at_the_approval_is_said(repo: World) -> None:
    repo.approve()
    consents = repo.ok("log")["events"]
    [given] = [event for event in consents if event["kind"] == "plan_approved"]
    assert given["body"]["branch"] == "main"
    repo.git("switch", "-q", "other")
    told = "The plan was approved on branch main, but branch other is checked out now."
    assert repo.ok("review")["warnings"] == [told]
    assert told in " ".join(repo.run("review").out.decode().split())
    _, row = built(repo)
    assert (row["outcome"], row["warnings"]) == ("done", [told])


def test_a_detached_head_is_another_branch(repo: World) -> None:
    repo.approve()
    repo.git("checkout", "-q", "--detach")
    told = "approved on branch main, but no branch (detached HEAD) is checked out now."
    assert repo.ok("review")["warnings"][0].endswith(told)


def test_before_an_approval_no_branch_is_another(repo: World) -> None:
    repo.propose()
    repo.git("switch", "-q", "other")
    assert "warnings" not in repo.ok("review")
    repo.approve()
    assert "warnings" not in repo.ok("review")


def test_a_workspace_that_was_moved_is_said(repo: World) -> None:
    repo.approve()
    was, now = repo.root, repo.base / "moved"
    was.rename(now)
    repo.root = now
    told = (
        f"The workspace moved from {was} to {now} since the plan was created. Paths in its "
        "commands may point elsewhere."
    )
    assert repo.ok("review")["warnings"] == [told]
    answer, row = built(repo)
    assert (row["outcome"], row["warnings"]) == ("done", [told])
    assert b"The workspace moved from " in answer.err


def test_an_approval_in_the_new_place_says_nothing(repo: World) -> None:
    repo.approve()
    repo.root.rename(repo.base / "moved")
    repo.root = repo.base / "moved"
    repo.ok("approve", "--digest", repo.ok("status")["plan"]["digest"])
    assert "warnings" not in repo.ok("review")


def test_a_copy_says_whose_plans_do_not_count_there(repo: World) -> None:
    repo.approve()
    copy = repo.base / "copy"
    shutil.copytree(repo.root, copy, symlinks=True)
    was, repo.root = repo.root, copy
    for command in ("review", "build"):
        refused = repo.no(1, command)
        assert (refused["error"], refused["next"]) == ("not_found", "assent plan list")
        assert f"moved or copied from {was}" in refused["message"]
