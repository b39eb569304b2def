"""`assent stage run`: what is staged, what is refused, and what drafts with commands come to."""

from typing import Any

import pytest
from tests.cli.harness import World


def commands(world: World) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = world.ok("stage", "list")["operations"]
    return rows


def test_a_command_is_staged_as_it_was_given_and_not_run(world: World) -> None:
    world.plan()
    world.put("web/a", b"")
    row = world.ok(
        "stage", "run", "--cwd", "web", "--timeout", "600", "--env", "A=b=c", "--env", "E=",
        "--network", "--undo", "rm -r 'node modules'", "--", "npm", "ci", "--no-audit", "$HOME",
    )["operation"]  # fmt: skip
    assert row == {
        "id": row["id"], "kind": "run", "path": None, "to": None,
        "argv": ["npm", "ci", "--no-audit", "$HOME"], "script": "", "cwd": "web",
        "env": {"A": "b=c", "E": ""}, "timeout": 600, "network": True,
        "undo": ["rm", "-r", "node modules"], "profile": "workspace",
    }  # fmt: skip
    assert commands(world) == [row]
    assert world.files() == {b"web": ("folder", 0, b""), b"web/a": ("file", 0o644, b"")}


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [(("--script", "a > b\n# c"), b""), (("--script", "-"), b"a > b\n# c"),
     (("--script", "@s.sh"), b"")],
)  # fmt: skip
def test_a_script_is_typed_read_from_a_file_or_piped(
    world: World, arguments: tuple[str, ...], stdin: bytes
) -> None:
    world.plan()
    world.put("s.sh", b"a > b\n# c")
    row = world.ok("stage", "run", *arguments, stdin=stdin)["operation"]
    assert (row["argv"], row["script"], row["cwd"]) == ([], "a > b\n# c", ".")


@pytest.mark.parametrize(
    ("given", "undo"),
    [
        ("make clean", ["make", "clean"]),
        ('rm "a b" c', ["rm", "a b", "c"]),
        ("rm a && rm b", ["sh", "-c", "rm a && rm b"]),
        ("rm *.o", ["sh", "-c", "rm *.o"]),
        ("A=1 make", ["sh", "-c", "A=1 make"]),
        ("rm a\nrm b", ["sh", "-c", "rm a\nrm b"]),
        ("rm '$x'", ["sh", "-c", "rm '$x'"]),
    ],
)
def test_an_undo_is_words_and_with_operators_a_line_for_sh(
    world: World, given: str, undo: list[str]
) -> None:
    world.plan()
    assert world.ok("stage", "run", "--undo", given, "--", "x")["operation"]["undo"] == undo


@pytest.mark.parametrize(
    ("code", "arguments", "words"),
    [
        (2, (), "Give either a program with arguments or a script."),
        (2, ("--script", " \n"), "Give either a program with arguments or a script."),
        (2, ("--script", "x", "--", "y"), "Give either a program with arguments or a script."),
        (2, ("--", ""), "The program name is empty"),
        (2, ("--timeout", "0", "--", "x"), "1 to 86400 seconds, not 0"),
        (2, ("--timeout", "86401", "--", "x"), "1 to 86400 seconds"),
        (2, ("--env", "A", "--", "x"), "use NAME=VALUE"),
        (7, ("--env", "1=b", "--", "x"), "is not a valid variable name"),
        (7, ("--env", "A=b", "--env", "A=c", "--", "x"), "given twice"),
        (7, ("--env", "LD_PRELOAD=x", "--", "x"), "LD_PRELOAD controls which programs run"),
        (2, ("--undo", "'", "--", "x"), "cannot be parsed"),
        (2, ("--undo", " ", "--", "x"), "is empty"),
        (1, ("--cwd", "nowhere", "--", "x"), "nowhere is not a folder"),
        (1, ("--cwd", "file", "--", "x"), "file is not a folder"),
        (7, ("--cwd", "..", "--", "x"), ".. is outside the workspace"),
        (7, ("--cwd", "out", "--", "x"), "out is outside the workspace"),
        (7, ("--cwd", ".git", "--", "x"), "belongs to Git"),
        (2, ("--script", "x" * 100_001), "at most 100000 bytes"),
    ],
)
def test_what_could_not_run_is_refused_and_nothing_is_staged(
    world: World, code: int, arguments: tuple[str, ...], words: str
) -> None:
    world.plan()
    world.put("file")
    world.put(".git/config")
    world.link("out", "/")
    answer = world.run("stage", "run", "--json", *arguments)
    assert answer.code == code, answer
    assert words in answer.error["message"]
    assert commands(world) == []


def test_diff_shows_a_command_as_the_review_does(world: World) -> None:
    world.plan()
    world.ok("stage", "run", "--script", "set -e\nmake", "--env", "A=b")
    world.put("b", b"\0")
    world.ok("stage", "delete", "b")
    shown = world.run("diff").out.decode()
    head, _, rest = shown.partition("Sandboxed: writes only in the workspace")
    assert head.splitlines()[:4] == ["run set -e (2 lines)", "│ set -e", "│ make", "folder    ."]
    assert "variable  A=b" in head
    assert "binary or too large" not in head
    assert "b: contents not shown" in rest
    assert head.partition("\n")[2] in world.run("review").out.decode()


def test_a_folder_that_the_draft_makes_will_do(world: World) -> None:
    world.plan()
    world.write("new/a", b"x\n")
    assert world.ok("stage", "run", "--cwd", "new", "--", "make")["operation"]["cwd"] == "new"
    world.put("old/a")
    world.ok("stage", "delete", "old")
    world.no(1, "stage", "run", "--cwd", "old", "--", "make")


def test_it_runs_where_the_person_is(world: World) -> None:
    world.plan()
    world.put("web/a")
    answer = world.run("stage", "run", "--json", "--", "make", folder=world.root / "web")
    assert answer.json["operation"]["cwd"] == "web"


def test_what_is_staged_after_a_command_is_a_segment_of_its_own(world: World) -> None:
    world.plan()
    world.put("a", b"one\n")
    world.put("m", b"moved\n")
    world.write("a", b"two\n")
    world.ok("stage", "move", "m", "n")
    command = world.ok("stage", "run", "--", "true")["operation"]["id"]
    world.write("a", b"three\n")
    world.write("n", b"changed\n")  # whose old content only the disk has, under its old name
    world.ok("stage", "delete", "a")
    kinds = [(row["kind"], row["path"], row["to"]) for row in commands(world)]
    assert kinds == [
        ("write", "a", None), ("move", "m", "n"), ("run", None, None), ("delete", "a", None),
        ("write", "n", None),
    ]  # fmt: skip
    first = commands(world)[0]["id"]
    refused = world.no(1, "stage", "remove", first)
    assert "depends on this one; remove that one first" in refused["message"]
    assert refused["next"] == f"assent stage remove {commands(world)[3]['id'][:12]}"
    world.ok("stage", "remove", command)
    kinds = [(row["kind"], row["path"], row["to"]) for row in commands(world)]
    assert sorted(kinds) == [("delete", "a", None), ("delete", "m", None), ("write", "n", None)]


def test_the_same_command_twice_is_two_operations(world: World) -> None:
    world.plan()
    ids = [world.ok("stage", "run", "--", "make", "test")["operation"]["id"] for _ in "12"]
    assert len(set(ids)) == 2
    world.ok("stage", "remove", ids[1])
    assert [row["id"] for row in commands(world)] == ids[:1]
    lines = world.run("stage", "list").out.decode().splitlines()
    assert lines == [f"{ids[0][:12]}  run     make test"]
