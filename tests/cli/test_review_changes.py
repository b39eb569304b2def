"""What changed since I last read this: per person, first, and with everything after it."""

from typing import Any

import pytest
from tests.cli.harness import World
from tests.cli.terminal import QUESTION, Terminal

from assent.render.review_changes import OTHER_CONTENT, since_text

READ = ("review", "--json", "--seen")


@pytest.fixture
def read(world: World) -> World:
    """A plan that the person has read, and a revision of it that they have not."""
    world.put("old.txt", b"old\n")
    world.plan(goal="Two things")
    world.write("a.txt", b"one\ntwo\nthree\n")
    world.write("b.txt", b"b\n")
    world.write("c.txt", b"c\n")
    world.propose()
    world.run(*READ)
    return world


def revised(world: World) -> str:
    world.write("a.txt", b"one\n2\nthree\n")
    world.ok("stage", "remove", ids(world)["b.txt"])
    world.ok("stage", "delete", "old.txt")
    text = world.text()
    front = b"---\nscope:\n  files: ['*.txt']\nrelies_on: [kept.txt]\n---\n"
    world.put("kept.txt", b"kept\n")
    text.write_bytes(front + text.read_bytes() + b"\nMore.\n")
    return world.propose()


def ids(world: World) -> dict[str, str]:
    return {row["path"]: row["id"] for row in world.ok("stage", "list")["operations"]}


def readings(world: World) -> list[dict[str, Any]]:
    return [e["body"] for e in world.ok("log")["events"] if e["kind"] == "review_shown"]


def test_g9_the_difference_since_the_last_reading(read: World) -> None:
    was = read.ok("review")["digest"]
    revised(read)
    found = read.ok("review")
    since = found["since"]
    assert since["digest"] == was
    operations = since["operations"]
    assert [row["path"] for row in operations["added"]] == ["old.txt"]
    assert operations["added"][0]["risks"] == ["deletes"]
    assert "-old\n" in operations["added"][0]["diff"]
    assert [row["path"] for row in operations["removed"]] == ["b.txt"]
    (changed,) = operations["changed"]
    assert changed["now"]["path"] == "a.txt"
    assert changed["diff"].splitlines() == [
        "--- a/a.txt", "+++ b/a.txt", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"
    ]  # fmt: skip
    assert operations["same"] == [ids(read)["c.txt"]]
    assert "+More.\n" in since["text_diff"]
    kept = found["relied_on"][0]["digest"][:12]
    assert since["declared"] == ["now may touch  *.txt", f"relies on  kept.txt  nothing → {kept}"]
    seen = {row["path"]: row["seen"] for row in found["operations"]}
    assert seen == {"a.txt": False, "c.txt": True, "old.txt": False}


def test_g9_as_lines_the_difference_comes_first_and_nothing_is_hidden(read: World) -> None:
    was = read.ok("review")["digest"]
    revised(read)
    text = read.run("review").out.decode()
    head, _, rest = text.partition("Risks: ")
    assert f"{since_text(was)}\n" in head
    for line in (
        "removed  create b.txt",
        "added    delete old.txt",
        "changed  create a.txt",
        "-two",
    ):
        assert f"\n{line}\n" in head
    assert "1 operation is unchanged." in head
    assert "create c.txt (reversible, reviewed)\n" in rest
    assert "create a.txt (reversible, changed)\n" in rest
    assert "+c\n" in rest
    only = read.run("review", "--changes").out.decode()
    title, _, difference = head.partition("Since your last review")
    assert only.startswith(f"{title}Risks: 1 of 2 new operations\ndeletes ")
    assert difference in only
    after = only.partition(difference)[2]
    assert "create a.txt (reversible, changed)\n" in after
    assert "\nrisks: deletes\n" in after
    assert "-old\n" in after
    assert "+c\n" not in only
    assert read.ok("review", "--changes")["since"] == read.ok("review")["since"]


def test_g9_the_question_shows_the_difference_first_and_then_everything(read: World) -> None:
    digest = revised(read)
    read.config.unlink()
    terminal = Terminal(read, "approve", "--json", env={"NO_COLOR": "1"})
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    screen, _, _ = terminal.screen.replace(b"\r\n", b"\n").partition(QUESTION)
    assert screen.index(b"Since your last review") < screen.index(b"Risks: ")
    assert b"+c\n" in screen.partition(b"Risks: ")[2]
    assert [body["digest"] for body in readings(read)][1:] == [digest]


def test_g9_what_counts_as_reading(world: World) -> None:
    world.plan()
    world.write("a.txt", b"a\n")
    digest = world.propose()
    for line in (("review", "--json"), ("review",), ("review", "--changes"), ("diff",)):
        assert world.run(*line).code == 0
    assert readings(world) == []
    assert world.ok("review")["since"] is None
    assert b"First review" in world.run("review", "--changes").out
    assert world.no(2, "review", "--changes", "--seen")["error"] == "usage"
    no = Terminal(world, "approve", "--json", "--no-input")
    assert no.end().code == 4
    assert readings(world) == []
    shown = Terminal(world, "review", shared=("stdout",), env={"PAGER": "cat"})
    assert shown.end().code == 0
    assert digest.encode() in shown.screen
    (body,) = readings(world)
    assert (body["digest"], body["plan_id"]) == (digest, world.ok("review")["plan_id"])
    again = Terminal(world, "review", shared=("stdout",), env={"PAGER": "cat"})
    assert again.end().code == 0
    assert len(readings(world)) == 1
    assert b"Nothing changed." in again.screen


def test_g9_what_went_through_a_pager_counts_by_the_persons_own_word_alone(world: World) -> None:
    world.plan()
    world.write("a.txt", b"".join(b"line %d\n" % number for number in range(100)))
    digest = world.propose()
    screen = ("stdin", "stdout")
    for pager in ("true", "cat"):
        paged = Terminal(world, "review", shared=screen, env={"PAGER": pager})
        assert paged.end().code == 0
        assert readings(world) == []
    said = Terminal(world, "review", "--seen", shared=screen, env={"PAGER": "cat"})
    assert said.end().code == 0
    assert [body["digest"] for body in readings(world)] == [digest]


def test_g9_a_review_that_fits_the_screen_counts(world: World) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=b"# Short\n")
    digest = world.propose()
    shown = Terminal(world, "review", shared=("stdin", "stdout"), env={"PAGER": "false"})
    assert shown.end().code == 0
    assert [body["digest"] for body in readings(world)] == [digest]


def test_g9_whoever_says_no_at_the_question_has_read_it_too(world: World) -> None:
    world.plan()
    world.write("a.txt", b"a\n")
    digest = world.propose()
    world.config.unlink()
    assert Terminal(world, "approve", "--json").answer(b"no\n").code == 4
    assert [body["digest"] for body in readings(world)] == [digest]


def test_g9_each_person_has_read_for_themselves(read: World) -> None:
    revised(read)
    ada = read.process("review", "--json", env={"LOGNAME": "ada"})
    assert (ada.code, ada.json["since"]) == (0, None), ada
    assert {row["seen"] for row in ada.json["operations"]} == {False}
    assert read.process("review", "--json", "--seen", env={"LOGNAME": "ada"}).code == 0
    assert (
        read.process("review", "--json", env={"LOGNAME": "ada"}).json["since"]["operations"][
            "added"
        ]
        == []
    )
    assert read.ok("review")["since"]["operations"]["added"] != []


def test_g9_a_draft_is_not_compared_and_not_read(world: World) -> None:
    world.plan()
    world.write("a.txt", b"a\n")
    assert world.ok("review", "--seen")["since"] is None
    assert readings(world) == []


def test_g9_declined_operations_have_left(read: World) -> None:
    op = ids(read)["b.txt"]
    digest = read.ok("approve", "--without", op, "--dry-run")["digest"]
    read.ok("approve", "--without", op, "--digest", digest)
    operations = read.ok("review")["since"]["operations"]
    assert [row["path"] for row in operations["removed"]] == ["b.txt"]
    assert len(operations["same"]) == 2


def test_g9_after_a_rebase_only_what_drifted_is_new(world: World) -> None:
    lines = [b"%d\n" % number for number in range(20)]
    world.put("f", b"".join(lines))
    world.plan()
    world.ok("stage", "edit", "f", "--find", "2\n3\n", "--put", "two\n3\n")
    world.write("g", b"g\n")
    world.propose()
    world.run(*READ)
    world.put("f", b"".join([*lines[:-1], b"last\n"]))
    world.ok("rebase")
    found = world.ok("review")
    assert {row["path"]: row["seen"] for row in found["operations"]} == {"f": False, "g": True}
    (changed,) = found["since"]["operations"]["changed"]
    assert "-19\n+last\n" in changed["diff"]
    assert "two" not in changed["diff"]
    assert OTHER_CONTENT.encode() in world.run("review").out


def test_g9_a_command_that_runs_otherwise_is_shown_with_what_is_other(world: World) -> None:
    world.plan()
    world.ok("stage", "run", "--", "npm", "test")
    world.propose()
    world.run(*READ)
    world.ok("stage", "clear")
    more = ("--network", "--env", "NODE_OPTIONS=--require=./evil.js", "--timeout", "9999")
    world.ok("stage", "run", *more, "--", "npm", "test")
    world.propose()
    text = world.run("review", "--changes").out.decode()
    risks, _, rest = text.partition("Since your last review")
    assert "network " in risks
    assert "irreversible " in risks
    for line in (
        "+ variable  NODE_OPTIONS=--require=./evil.js", "- limits   120 s", "+ limits    9999 s",
        "+ network   allowed", "changed  run npm test",
    ):  # fmt: skip
        assert f"\n{line}\n" in rest
    assert "Effects over the network cannot be undone." in rest
    (changed,) = world.ok("review", "--changes")["since"]["operations"]["changed"]
    assert ["network", "allowed"] in changed["more"]
    assert "network" in changed["now"]["risks"]
    assert changed["now"]["remarks"]
