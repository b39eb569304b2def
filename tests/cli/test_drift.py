"""Drift: a build stops, before it does anything, if the files are not what the plan saw."""

import os
from collections.abc import Callable

import pytest
from tests.cli.harness import World
from tests.cli.terminal import QUESTION, Terminal

from assent.planning.plan_status import MAX_CHEAP_BYTES

START = {
    b"edited": ("file", 0o644, b"edited\n"),
    b"deleted": ("file", 0o644, b"deleted\n"),
    b"moved": ("file", 0o644, b"moved\n"),
}


@pytest.fixture
def approved(world: World) -> World:
    """A plan of four operations, approved."""
    for path, (_, _, content) in START.items():
        world.put(path, content)
    world.plan()
    world.write("created", b"created\n")
    world.ok("stage", "edit", "edited", "--find", "edited", "--put", "changed")
    world.ok("stage", "delete", "deleted")
    world.ok("stage", "move", "moved", "target")
    world.approve()
    return world


def replace_by_link(world: World, path: str) -> None:
    os.unlink(world.at(path))
    world.link(path, "elsewhere")


def replace_by_folder(world: World, path: str) -> None:
    os.unlink(world.at(path))
    world.put(f"{path}/inside", b"x")


DRIFTS: dict[str, tuple[str, Callable[[World], object]]] = {
    "an edited file changed": ("edited", lambda w: w.put("edited", b"other!\n")),
    "a deleted file changed": ("deleted", lambda w: w.put("deleted", b"other!!\n")),
    "a moved file changed": ("moved", lambda w: w.put("moved", b"other\n")),
    "only the mode changed": ("edited", lambda w: os.chmod(w.at("edited"), 0o755)),
    "a file is gone": ("deleted", lambda w: os.unlink(w.at("deleted"))),
    "something stands where a file is to be created": ("created", lambda w: w.put("created", b"")),
    "something stands where a file is to go": ("target", lambda w: w.put("target", b"x")),
    "a symlink stands there": ("edited", lambda w: replace_by_link(w, "edited")),
    "a folder stands there": ("edited", lambda w: replace_by_folder(w, "edited")),
    "a folder stands where a file is to be created": ("created", lambda w: w.put("created/x", b"")),
}


@pytest.mark.parametrize(("path", "change"), DRIFTS.values(), ids=DRIFTS)
def test_f66_a_changed_base_is_refused_and_nothing_is_written(
    approved: World, path: str, change: Callable[[World], object]
) -> None:
    change(approved)
    before = approved.files()
    refused = approved.no(5, "build")
    assert refused["error"] == "drift"
    assert path in [row["path"] for row in refused["changed"]]
    assert f" {path} " in refused["message"]
    assert approved.files() == before
    shown = approved.ok("plan", "show")
    assert (shown["state"], shown["approved"]) == ("AWAITING_APPROVAL", True)


def test_f66_the_message_names_file_expected_and_found(approved: World) -> None:
    os.unlink(approved.at("deleted"))
    os.chmod(approved.at("edited"), 0o600)
    refused = approved.no(5, "build")
    assert "deleted was deleted." in refused["message"]
    assert "edited changed: mode 600 instead of 644." in refused["message"]
    assert "content " not in refused["message"]
    rows = {row["path"]: row for row in refused["changed"]}
    assert rows["deleted"]["expected"].startswith("a file, mode 644, 8 bytes, content ")
    assert rows["deleted"]["found"] == "nothing"
    assert rows["edited"]["found"].startswith("a file, mode 600, 7 bytes, content ")


@pytest.mark.parametrize(("path", "change"), DRIFTS.values(), ids=DRIFTS)
def test_a_plan_whose_files_changed_can_still_be_read(
    approved: World, path: str, change: Callable[[World], object]
) -> None:
    whole = approved.ok("review")
    assert "drifted" not in whole
    change(approved)
    found = approved.ok("review")
    assert [row["path"] for row in found["drifted"]] == [path]
    assert [row["diff"] for row in found["operations"]] == [
        row["diff"] for row in whole["operations"]
    ]
    text = approved.run("review").out.decode()
    assert f"\nFiles changed since the plan was proposed\n{path}: " in text
    assert text.endswith("Next: assent rebase\n")
    assert approved.run("diff").code == 0
    stands = approved.run("status").out.decode()
    assert f"Files changed since the plan was proposed\n{path}: " in stands
    assert stands.endswith("Next: assent rebase\n")
    assert [row["path"] for row in approved.ok("status")["drifted"]] == [path]


def test_what_is_gone_is_said_in_a_word(approved: World) -> None:
    os.unlink(approved.at("edited"))
    assert approved.ok("review")["drifted"] == [{"path": "edited", "now": "gone"}]
    for command in ("review", "status"):
        assert b"\nedited: was deleted\n" in approved.run(command).out
    approved.put("edited", b"another text\n")
    os.chmod(approved.at("edited"), 0o755)
    told = "edited: changed: 13 bytes instead of 7, mode 755 instead of 644"
    for command in ("review", "status"):
        assert told in approved.run(command).out.decode()
    assert ", content " in approved.ok("review")["drifted"][0]["now"]


def test_a_folder_that_became_a_symlink_does_not_stop_a_reader(world: World) -> None:
    world.put("in/a", b"a\n")
    world.plan()
    world.write("in/a", b"b\n")
    world.write("in/new", b"b\n")
    world.propose()
    os.rename(world.at("in"), world.at("out"))
    world.link("in", "out")
    assert world.ok("review")["drifted"]
    assert world.run("diff").code == 0


def test_where_much_would_have_to_be_read_status_says_nothing(world: World) -> None:
    world.put("large", b"x" * (MAX_CHEAP_BYTES + 1))
    world.plan()
    world.write("large", b"small\n")
    world.approve()
    world.put("large", b"y" * (MAX_CHEAP_BYTES + 1))
    assert "drifted" not in world.ok("status")
    assert world.ok("review")["drifted"]


def test_nobody_agrees_to_a_plan_whose_files_changed(world: World) -> None:
    world.put("a", b"a\n")
    world.plan()
    world.ok("stage", "edit", "a", "--find", "a", "--put", "b")
    digest = world.propose()
    os.unlink(world.at("a"))
    refused = world.no(5, "approve", "--digest", digest)
    assert (refused["error"], refused["next"]) == ("drift", "assent rebase")
    assert "a was deleted." in refused["message"]
    assert not world.ok("plan", "show")["approved"]
    terminal = Terminal(world, "approve", "--json")
    assert terminal.end().code == 5
    assert QUESTION not in terminal.screen


def test_f65_everything_is_checked_before_anything_is_done(approved: World) -> None:
    """The last operation cannot be done, so the first is not done either."""
    approved.put("target", b"in the way\n")
    before = approved.files()
    assert approved.no(5, "build")["error"] == "drift"
    assert approved.files() == before
    assert not [e for e in approved.ok("log")["events"] if e["kind"] == "run_started"]
    os.unlink(approved.at("target"))
    assert [row["result"] for row in approved.ok("build")["operations"]] == ["done"] * 4


def test_a_file_restored_to_its_bytes_is_no_drift(approved: World) -> None:
    approved.put("edited", b"other\n")
    assert approved.no(5, "build")["error"] == "drift"
    approved.put("edited", b"edited\n")
    assert approved.ok("build")["outcome"] == "done"


def test_drift_before_the_proposal_is_refused_there(world: World) -> None:
    world.put("a", b"a\n")
    world.plan()
    world.ok("stage", "edit", "a", "--find", "a", "--put", "b")
    world.put("a", b"changed\n")
    assert world.no(5, "propose")["error"] == "drift"
    assert world.ok("plan", "show")["state"] == "DRAFTING"


def test_a_refused_proposal_leaves_an_approved_plan_as_it_was(approved: World) -> None:
    approved.put("edited", b"other\n")
    before = approved.ok("plan", "show"), len(approved.ok("log")["events"])
    assert approved.no(5, "propose")["error"] == "drift"
    assert (approved.ok("plan", "show"), len(approved.ok("log")["events"])) == before


def test_a_moved_head_alone_is_no_drift(repo: World) -> None:
    repo.plan()
    repo.ok("stage", "edit", "kept.txt", "--find", "kept", "--put", "changed")
    repo.approve()
    repo.put("other.txt", b"other\n")
    repo.git("add", "other.txt")
    repo.git("commit", "-q", "-m", "something else")
    repo.git("checkout", "-q", "-b", "topic")
    assert repo.ok("build")["outcome"] == "done"


def test_another_branch_state_is_drift(repo: World) -> None:
    repo.plan()
    repo.ok("stage", "edit", "kept.txt", "--find", "kept", "--put", "changed")
    repo.approve()
    repo.git("checkout", "-q", "-b", "topic")
    repo.put("kept.txt", b"kept otherwise\n")
    repo.git("commit", "-q", "-a", "-m", "same file")
    assert repo.no(5, "build")["error"] == "drift"
    repo.git("checkout", "-q", "main")
    assert repo.ok("build")["outcome"] == "done"


def relying(world: World) -> None:
    world.put("relied", b"relied\n")
    world.plan()
    text = b"---\nrelies_on:\n  - relied\n---\n# Relying\n"
    world.ok("plan", "write", "-", stdin=text)
    world.write("a.txt", b"a\n")
    world.approve()


def test_a_relied_on_file_that_changed_is_drift(world: World) -> None:
    relying(world)
    world.put("relied", b"changed\n")
    refused = world.no(5, "build")
    assert refused["error"] == "drift"
    assert "relied changed: other content." in refused["message"]
    assert world.files() == {b"relied": ("file", 0o644, b"changed\n")}
    os.unlink(world.at("relied"))
    assert "relied was deleted." in world.no(5, "build")["message"]
    world.put("relied", b"relied\n")
    assert world.ok("build")["outcome"] == "done"


def test_only_the_content_of_a_relied_on_file_counts(world: World) -> None:
    relying(world)
    os.chmod(world.at("relied"), 0o755)
    assert world.ok("build")["outcome"] == "done"


def test_a_plan_cannot_rely_on_what_is_not_there(world: World) -> None:
    world.plan()
    for path, code in (("missing", 1), ("../outside", 7), (".", 1)):
        text = f"---\nrelies_on: ['{path}']\n---\n# X\n"
        world.ok("plan", "write", "-", stdin=text.encode())
        world.no(code, "propose")


def test_what_lies_outside_the_declared_scope_is_a_risk(world: World) -> None:
    world.put("src/old.py", b"old\n")
    world.plan()
    text = b"---\nscope: {files: ['src/*.py', docs/readme.md], commands: [make test]}\n---\n# X\n"
    world.ok("plan", "write", "-", stdin=text)
    world.write("src/deep/a.py", b"a\n")
    world.write("docs/readme.md", b"b\n")
    world.write("setup.py", b"c\n")
    world.ok("stage", "move", "src/old.py", "old.py")
    world.propose()
    review = world.ok("review")
    assert review["scope"] == {
        "files": ["src/*.py", "docs/readme.md"],
        "commands": ["make test"],
    }
    outside = [row["path"] for row in review["operations"] if "out_of_scope" in row["risks"]]
    assert outside == ["setup.py", "src/old.py"]
    assert b"out_of_scope" in world.run("review").out


def test_g17_risks_come_first(world: World) -> None:
    world.put("old.txt", b"old\n")
    world.plan(goal="Nothing special")
    world.write("harmless.txt", b"harmless\n")
    world.write(".env", b"x=1\n")
    world.write("tool", b"#!/bin/sh\n", "--mode", "755")
    world.write("key.txt", b"-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n")
    world.ok("stage", "delete", "old.txt")
    world.propose()
    risks = {row["path"]: row["risks"] for row in world.ok("review")["operations"]}
    assert risks == {
        "harmless.txt": [],
        ".env": ["protected"],
        "tool": ["executable"],
        "key.txt": ["secret"],
        "old.txt": ["deletes"],
    }
    shown = world.run("review").out.decode()
    places = [
        shown.index(part)
        for part in (
            "Risks: 4 of 5 operations", "deletes         5. old.txt", "protected       2. .env",
            "secret          4. key.txt", "executable      3. tool", "Text\n", "Nothing special",
            "1. create harmless.txt", "5. delete old.txt", "Digest\n",
        )
    ]  # fmt: skip
    assert places == sorted(places)
