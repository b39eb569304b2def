"""`assent rebase`: drift by relevance. Where changes still fit, only the difference is new."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.harness import World

from assent.planning.rebase import RELIED_ON_GONE

LINES = [b"line %d\n" % n for n in range(1, 31)]


def text(**changed: bytes) -> bytes:
    """A text of thirty lines, some of them replaced, by number."""
    return b"".join(changed.get(f"n{n}", line) for n, line in enumerate(LINES, 1))


@pytest.fixture
def approved(world: World) -> World:
    """A plan that changes two texts, makes, deletes and moves a file; approved."""
    for path in ("a.txt", "b.txt"):
        world.put(path, text())
    world.put("old", b"old\n")
    world.put("moved", b"moved\n")
    world.plan()
    world.write("a.txt", text(n10=b"ours\n"))
    world.write("b.txt", text(n20=b"ours\n"))
    world.write("new", b"new\n")
    world.ok("stage", "delete", "old")
    world.ok("stage", "move", "moved", "there")
    world.approve()
    return world


def paths(rows: list[dict[str, Any]]) -> list[str]:
    return [row["path"] for row in rows]


def test_g8_a_moved_head_alone_voids_nothing(repo: World) -> None:
    repo.plan()
    repo.ok("stage", "edit", "kept.txt", "--find", "kept", "--put", "changed")
    digest = repo.approve()
    repo.put("other.txt", b"other\n")
    repo.git("add", "other.txt")
    repo.git("commit", "-q", "-m", "something else")
    repo.git("checkout", "-q", "-b", "topic")
    answer = repo.ok("rebase")
    assert (answer["differs"], answer["digest"], answer["approved"]) == (False, digest, True)
    assert b"The plan fits the current files" in repo.run("rebase").out
    assert repo.ok("build")["outcome"] == "done"


def test_g8_a_changed_file_voids_it_and_names_the_way_on(approved: World) -> None:
    approved.put("a.txt", text(n25=b"theirs\n"))
    for command in ("build", "propose"):
        refused = approved.no(5, command)
        assert (refused["error"], refused["next"]) == ("drift", "assent rebase")
        assert "a.txt changed: " in refused["message"]
        assert "b.txt" not in refused["message"]


def test_g8_where_the_hunk_fits_only_the_difference_is_new(approved: World) -> None:
    was = approved.ok("plan", "show")["digest"]
    approved.put("a.txt", text(n25=b"theirs\n"))
    before = approved.files()
    answer = approved.ok("rebase")
    assert (answer["was"], answer["state"]) == (was, "AWAITING_APPROVAL")
    assert answer["digest"] == approved.ok("plan", "show")["digest"] != was
    assert paths(answer["changed"]) == ["a.txt"]
    assert (len(answer["unchanged"]), answer["dropped"], answer["relied_on"]) == (4, [], [])
    assert approved.files() == before
    assert approved.no(3, "build")["error"] == "not_approved"
    rows = {row["id"] for row in approved.ok("review")["operations"]}
    assert rows == {*answer["unchanged"], answer["changed"][0]["id"]}
    approved.ok("approve", "--digest", answer["digest"])
    assert approved.ok("build")["outcome"] == "done"
    files = approved.files()
    assert files[b"a.txt"] == ("file", 0o644, text(n10=b"ours\n", n25=b"theirs\n"))
    assert files[b"b.txt"] == ("file", 0o644, text(n20=b"ours\n"))
    assert approved.undo().code == 0
    assert approved.files() == before


def test_g8_it_is_one_transaction_under_the_same_plan(approved: World) -> None:
    plan = approved.ok("plan", "show")["plan_id"]
    approved.put("a.txt", text(n25=b"theirs\n"))
    start = len(approved.ok("log")["events"])
    assert approved.ok("rebase")["plan_id"] == plan
    kinds = [event["kind"] for event in approved.ok("log")["events"]][start:]
    assert kinds == ["plan_revised", "draft_changed", "plan_rebased", "plan_proposed"]


def test_g8_a_dry_run_changes_nothing(approved: World) -> None:
    approved.put("a.txt", text(n25=b"theirs\n"))
    before = approved.ok("plan", "show"), approved.ok("log")
    would = approved.ok("rebase", "--dry-run")
    assert (approved.ok("plan", "show"), approved.ok("log")) == before
    assert approved.ok("rebase")["digest"] == would["digest"]


def test_g8_what_is_there_already_is_dropped(approved: World) -> None:
    approved.put("a.txt", text(n10=b"ours\n", n25=b"theirs\n"))
    approved.put("new", b"new\n")
    os.unlink(approved.at("old"))
    os.rename(approved.at("moved"), approved.at("there"))
    answer = approved.ok("rebase")
    assert sorted(paths(answer["dropped"])) == ["a.txt", "moved", "new", "old"]
    assert (len(answer["unchanged"]), answer["changed"]) == (1, [])
    approved.ok("approve", "--digest", answer["digest"])
    assert approved.ok("build")["outcome"] == "done"
    approved.plan("another")
    approved.write("new", b"newer\n")
    approved.propose()
    approved.put("new", b"newer\n")
    before = approved.ok("status")["plan"]
    answer = approved.ok("rebase")
    assert (answer["outcome"], answer["digest"]) == ("nothing", None)
    assert paths(answer["dropped"]) == ["new"]
    assert approved.ok("status")["plan"] == before
    told = approved.run("rebase").out.decode()
    assert "The files already contain everything in this plan; nothing was changed." in told


def test_g8_modes_and_moves_follow_what_others_did(approved: World) -> None:
    os.chmod(approved.at("a.txt"), 0o755)
    os.chmod(approved.at("old"), 0o600)
    approved.put("moved", b"moved and changed\n")
    answer = approved.ok("rebase")
    assert sorted(paths(answer["changed"])) == ["a.txt", "moved", "old"]
    approved.ok("approve", "--digest", answer["digest"])
    assert approved.ok("build")["outcome"] == "done"
    files = approved.files()
    assert files[b"a.txt"] == ("file", 0o755, text(n10=b"ours\n"))
    assert files[b"there"] == ("file", 0o644, b"moved and changed\n")


def remove_and_link(world: World, path: str) -> None:
    os.unlink(world.at(path))
    world.link(path, "elsewhere")


CONFLICTS: dict[str, tuple[str, Callable[[World], object]]] = {
    "the same line": ("a.txt", lambda w: w.put("a.txt", text(n10=b"theirs\n"))),
    "a line beside it": ("a.txt", lambda w: w.put("a.txt", text(n12=b"theirs\n"))),
    "no text": ("a.txt", lambda w: w.put("a.txt", text(n25=b"\0\n"))),
    "gone": ("a.txt", lambda w: os.unlink(w.at("a.txt"))),
    "a symlink": ("a.txt", lambda w: remove_and_link(w, "a.txt")),
    "made by others": ("new", lambda w: w.put("new", b"other\n")),
    "deleted and changed": ("old", lambda w: w.put("old", b"changed\n")),
    "moved and gone": ("moved", lambda w: os.unlink(w.at("moved"))),
    "moved onto": ("there", lambda w: w.put("there", b"taken\n")),
    "a folder": ("new", lambda w: w.put("new/inside", b"x")),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_g8_what_does_not_fit_is_named_and_nothing_is_changed(approved: World, case: str) -> None:
    path, change = CONFLICTS[case]
    change(approved)
    approved.put("b.txt", text(n5=b"theirs\n"))  # which would fit
    before = approved.ok("plan", "show"), len(approved.ok("log")["events"]), approved.files()
    refused = approved.no(5, "rebase")
    assert refused["error"] == "drift"
    assert f" {path} " in refused["message"]
    assert "b.txt" not in refused["message"]
    assert "Nothing was changed." in refused["message"]
    after = approved.ok("plan", "show"), len(approved.ok("log")["events"]), approved.files()
    assert after == before


def test_g8_relied_on_files_are_pinned_anew_and_shown(world: World) -> None:
    world.put("relied", b"relied\n")
    world.plan()
    world.ok("plan", "write", "-", stdin=b"---\nrelies_on:\n  - relied\n---\n# Relying\n")
    world.write("a.txt", b"a\n")
    world.approve()
    world.put("relied", b"changed\n")
    assert world.no(5, "build")["next"] == "assent rebase"
    told = world.run("rebase", "--dry-run").out
    assert b"relies on relied, which changed; review it." in told
    answer = world.ok("rebase")
    assert (answer["relied_on"], answer["changed"]) == (["relied"], [])
    assert len(answer["unchanged"]) == 1
    world.ok("approve", "--digest", answer["digest"])
    assert world.ok("build")["outcome"] == "done"


def test_g8_a_relied_on_file_that_is_gone_is_a_conflict(world: World) -> None:
    world.put("relied", b"relied\n")
    world.plan()
    world.ok("plan", "write", "-", stdin=b"---\nrelies_on:\n  - relied\n---\n# Relying\n")
    world.write("a.txt", b"a\n")
    world.approve()
    os.unlink(world.at("relied"))
    assert f"relied {RELIED_ON_GONE}" in world.no(5, "rebase")["message"]


def test_g8_a_draft_is_rebased_and_stays_a_draft(world: World) -> None:
    world.put("a.txt", text())
    world.plan()
    world.write("a.txt", text(n10=b"ours\n"))
    world.put("a.txt", text(n25=b"theirs\n"))
    assert world.no(5, "propose")["next"] == "assent rebase"
    answer = world.ok("rebase")
    assert (answer["state"], answer["was"], answer["digest"]) == ("DRAFTING", None, None)
    assert b"The plan fits" in world.run("rebase").out
    world.build()
    assert world.files()[b"a.txt"] == ("file", 0o644, text(n10=b"ours\n", n25=b"theirs\n"))


def test_g8_after_a_rebase_the_old_approval_is_good_for_nothing(approved: World) -> None:
    approved.put("a.txt", text(n25=b"theirs\n"))
    approved.ok("rebase")
    approved.put("a.txt", text())
    assert approved.no(3, "build")["error"] == "not_approved"


def test_g8_later_segments_follow_what_the_first_became(world: World) -> None:
    world.put("a.txt", text())
    world.plan()
    world.write("a.txt", text(n10=b"ours\n"))
    world.ok("stage", "run", "--", "true")
    world.write("a.txt", text(n10=b"ours\n", n20=b"later\n"))
    world.propose()
    world.put("a.txt", text(n2=b"theirs\n"))
    answer = world.ok("rebase")
    assert paths(answer["changed"]) == ["a.txt", "a.txt"]
    assert len(answer["unchanged"]) == 1
    diffs = [row["diff"] for row in world.ok("review")["operations"] if row["path"]]
    assert ["+ours" in diff for diff in diffs] == [True, False]
    assert ["+later" in diff for diff in diffs] == [False, True]


def test_g8_a_plan_that_is_over_cannot_be_rebased(approved: World) -> None:
    approved.ok("build")
    assert approved.no(1, "rebase")["error"] == "illegal_step"


def test_g8_the_export_of_the_text_follows_too(world: World) -> None:
    world.config.write_text(
        "[approve]\nwithout_terminal = true\n[plan]\nexport = 'PLAN.md'\n", encoding="utf-8"
    )
    world.put("a.txt", text())
    world.plan()
    world.write("a.txt", text(n10=b"ours\n"))
    world.approve()
    world.put("PLAN.md", b"somebody else's\n")
    answer = world.ok("rebase")
    assert (paths(answer["changed"]), len(answer["unchanged"])) == (["PLAN.md"], 1)
    (rebased,) = [e for e in world.ok("log")["events"] if e["kind"] == "plan_rebased"]
    assert rebased["body"]["paths"] == ["PLAN.md"]
    world.ok("approve", "--digest", answer["digest"])
    assert world.ok("build")["outcome"] == "done"
