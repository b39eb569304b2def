"""Redo takes back an undo: the newest, as long as nothing else was run since, or a named one."""

import pytest
from tests.cli.harness import Answer, World


def text(content: bytes, mode: int = 0o644) -> tuple[str, int, bytes]:
    return "file", mode, content


def redo(world: World, *arguments: str) -> Answer:
    """Redoes by the digest of the plan that does it."""
    digest = world.ok("redo", *arguments, "--dry-run")["digest"]
    return world.run("redo", *arguments, "--digest", digest, "--json")


def build(world: World, name: str, files: dict[str, bytes]) -> str:
    world.plan(name)
    for path, content in files.items():
        world.write(path, content)
    return str(world.build()["run"])


@pytest.fixture
def undone(world: World) -> World:
    """A run that created, changed and deleted a file each, and was taken back."""
    world.put("changed", b"before\n", 0o755)
    world.put("deleted", b"deleted\n")
    world.plan()
    world.write("new/file", b"new\n")
    world.ok("stage", "edit", "changed", "--find", "before", "--put", "after")
    world.ok("stage", "delete", "deleted")
    world.build()
    assert world.undo().code == 0
    return world


AFTER = {
    b"new": ("folder", 0, b""),
    b"new/file": text(b"new\n"),
    b"changed": text(b"after\n", 0o755),
}


def test_f141_redo_brings_back_what_undo_took(undone: World) -> None:
    answer = redo(undone)
    assert answer.code == 0
    assert [row["result"] for row in answer.json["operations"]] == ["done"] * 3
    assert sorted(row["path"] for row in answer.json["restored"]) == [
        "changed",
        "deleted",
        "new/file",
    ]
    assert (answer.json["conflicts"], answer.json["not_covered"]) == ([], [])
    assert undone.files() == AFTER


def test_f141_after_an_undo_comes_redo_and_after_a_redo_undo(world: World) -> None:
    run = build(world, "one", {"a": b"1\n"})

    def last(*arguments: str) -> str:
        return world.run(*arguments).out.decode().splitlines()[-1]

    for verb, other in (("undo", "redo"), ("redo", "undo"), ("undo", "redo")):
        digest = world.ok(verb, "--dry-run")["digest"]
        assert last(verb, "--digest", digest) == f"Next: assent {other}"
        assert last("review") == last("status") == f"Next: assent {other}"
        assert f"\nNext: assent {other}\n" in world.run("plan", "show").out.decode()
        assert world.no(4, "build")["next"] == f"assent {other}"
        undone = {"undone": True} if verb == "undo" else {}
        assert (
            world.ok("status")["run"].items() >= {"run": run, "outcome": "done", **undone}.items()
        )
        told = world.run("status").out.decode().splitlines()[0]
        assert told == f"Last run: {run[:12]} is done{', then undone' if undone else ''}."


def test_f141_a_redo_of_what_others_followed_names_it(world: World) -> None:
    build(world, "one", {"a": b"1\n"})
    undo = world.undo().json["run"]
    build(world, "two", {"b": b"2\n"})
    shown = world.run("review", "--plan", "one").out.decode().splitlines()[-1]
    assert shown == f"Next: assent redo {undo}"
    assert world.ok(*shown.split()[2:], "--dry-run")["operations"]


def test_f141_after_an_operation_was_undone_redo_brings_it_back(world: World) -> None:
    build(world, "one", {"a": b"1\n", "b": b"2\n"})
    digest = world.ok("undo", "--operation", "1", "--dry-run")["digest"]
    told = world.run("undo", "--operation", "1", "--digest", digest).out.decode()
    assert told.endswith("Next: assent redo\n")
    assert world.run("status").out.decode().endswith("Next: assent undo\n")
    assert redo(world).code == 0
    undo = world.undo().json["run"]
    digest = world.ok("undo", undo, "--dry-run")["digest"]
    again = world.run("undo", undo, "--digest", digest).out.decode()
    assert again.endswith("Next: assent undo\n")


def test_f141_redo_is_a_plan_with_a_digest_of_its_own(undone: World) -> None:
    events = len(undone.ok("log")["events"])
    preview = undone.ok("redo", "--dry-run")
    assert undone.ok("redo", "--dry-run") == preview
    assert len(undone.ok("log")["events"]) == events
    shown = undone.run("redo", "--dry-run").out.decode()
    assert f"Next: assent redo {preview['run']} --digest {preview['digest']}" in shown
    refused = undone.no(5, "redo", "--digest", "0" * 64)
    assert (refused["error"], refused["next"]) == ("other_digest", "assent redo --dry-run")
    assert undone.no(2, "redo", "--dry-run", "--digest", preview["digest"])["error"] == "usage"


def test_f141_a_preview_lists_what_a_redo_does_beside_the_diff_of_it(undone: World) -> None:
    preview = undone.ok("redo", "--dry-run")
    rows = {row["path"]: (row["kind"], row["diff"]) for row in preview["operations"]}
    assert {path: kind for path, (kind, _) in rows.items()} == {
        "new/file": "write",
        "changed": "write",
        "deleted": "delete",
    }
    assert "+++ b/new/file" in rows["new/file"][1]
    assert "-before\n+after\n" in rows["changed"][1]
    assert "+++ /dev/null" in rows["deleted"][1]
    shown = undone.run("redo", "--dry-run").out.decode()
    done = redo(undone).json
    assert sorted(row["id"] for row in preview["operations"]) == sorted(
        row["id"] for row in done["operations"]
    )
    for row in preview["operations"]:
        verb = "create" if row["path"] == "new/file" else row["kind"]
        assert f"{row['id'][:12]}  {verb:<6}  {row['path']}" in shown


def test_f141_a_preview_after_a_partial_undo_lists_what_the_redo_does(world: World) -> None:
    world.put("kept", b"old\n")
    build(world, "one", {"made": b"made\n", "kept": b"new\n"})
    world.put("kept", b"mine\n")
    assert world.undo().code == 1
    (row,) = world.ok("redo", "--dry-run")["operations"]
    assert (row["kind"], row["path"]) == ("write", "made")
    assert "+++ b/made" in row["diff"]


def test_f141_only_what_the_run_wrote_and_nobody_changed_since(undone: World) -> None:
    undone.put("changed", b"mine\n", 0o755)
    undone.put("bystander", b"mine too\n")
    answer = redo(undone)
    (conflict,) = answer.json["conflicts"]
    assert (conflict["path"], conflict["reason"]) == ("changed", "changed changed after the run")
    assert undone.files() == {
        **AFTER,
        b"changed": text(b"mine\n", 0o755),
        b"bystander": text(b"mine too\n"),
    }


def test_f141_undo_and_redo_go_back_and_forth(undone: World) -> None:
    before = undone.files()
    for _ in range(2):
        assert redo(undone).code == 0
        assert undone.files() == AFTER
        assert undone.no(1, "redo", "--dry-run")["error"] == "not_found"
        assert undone.undo().code == 0
        assert undone.files() == before


def test_f141_several_undos_are_redone_newest_first(world: World) -> None:
    runs = [build(world, f"p{n}", {"a.txt": b"%d" % n}) for n in range(3)]
    for _ in runs:
        assert world.undo().code == 0
    assert world.files() == {}
    for content in (b"0", b"1", b"2"):
        assert redo(world).code == 0
        assert world.files() == {b"a.txt": text(content)}
    assert world.no(1, "redo")["error"] == "not_found"


def test_f141_after_other_work_an_undo_has_to_be_named(undone: World) -> None:
    run = undone.ok("runs", "list")["runs"][-1]["run"]
    build(undone, "other", {"other.txt": b"x"})
    refused = undone.no(1, "redo", "--dry-run")
    assert refused["message"].endswith("Name the undone run: `assent redo RUN`.")
    assert redo(undone, run[:24]).code == 0
    assert undone.files() == {**AFTER, b"other.txt": text(b"x")}
    assert undone.no(1, "redo", run)["error"] == "not_found"


def test_f141_later_work_on_the_same_files_is_not_overwritten(undone: World) -> None:
    run = undone.ok("runs", "list")["runs"][-1]["run"]
    build(undone, "other", {"changed": b"other\n"})
    answer = redo(undone, run)
    assert [row["path"] for row in answer.json["conflicts"]] == ["changed"]
    assert undone.files()[b"changed"] == text(b"other\n", 0o755)


def test_f141_there_is_nothing_to_redo(world: World) -> None:
    refused = world.no(1, "redo")
    assert (refused["error"], refused["next"]) == ("not_found", "assent runs list")
    build(world, "one", {"a": b"1"})
    assert world.no(1, "redo", "--dry-run")["error"] == "not_found"


def test_f141_what_changed_on_every_path_leaves_nothing_to_redo(undone: World) -> None:
    for path in ("changed", "deleted", "new/file"):
        undone.put(path, b"mine\n")
    answer = undone.run("redo", "--json")
    assert (answer.code, answer.json["outcome"]) == (5, "nothing")
    assert len(answer.json["conflicts"]) == 3


def test_f141_a_redo_of_one_operation_says_nothing_of_commands_beside_it(world: World) -> None:
    world.plan()
    world.write("a", b"a\n")
    world.ok("stage", "run", "--", "true")
    world.write("b", b"b\n")
    world.build()
    assert world.undo("--operation", "3").code == 0
    answer = redo(world)
    assert (answer.code, answer.json["not_covered"], answer.json["notes"]) == (0, [], [])


def test_f141_what_was_given_up_and_redone_names_the_redo_as_what_can_be_undone(
    world: World,
) -> None:
    run = build(world, "one", {"a": b"1\n"})
    assert world.undo().code == 0
    world.ok("runs", "delete", run, "--force")
    digest = world.ok("redo", "--dry-run")["digest"]
    said = world.run("redo", "--digest", digest).out.decode()
    assert (b"a" in world.files(), "Next: assent undo " in said) == (True, True)
    assert world.undo(said.rpartition("Next: assent undo ")[2].strip()).code == 0
    assert b"a" not in world.files()
