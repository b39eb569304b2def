"""`assent -p` outside plan mode: what was refused is told, and one undo takes a turn back."""

import pytest
from tests.cli.scripts import Talker, turn, write

from assent.agent.prompt import mode_rules
from assent.cli.goal.result import NOT_ASKED
from assent.permissions.check import ASKS_BEFORE_EDITS

WRITES = turn("", write("a.txt", "a\n"), write("b.txt", "b\n"))
ASKED = [f"Allow edit to {path}? {ASKS_BEFORE_EDITS}" for path in ("a.txt", "b.txt")]


def test_what_nobody_could_be_asked_about_is_told_on_stderr(talker: Talker) -> None:
    talker.script(WRITES, turn("I may not."))
    answer = talker.say("Greet", "--mode", "ask")
    assert (answer.code, answer.out) == (0, b"I may not.\n")
    told = answer.err.decode().splitlines()
    planned, told = told[:3], told[3:]
    assert planned == [
        "· 2 calls:",
        "  write (ask, medium risk): edit a.txt",
        "  write (ask, medium risk): edit b.txt",
    ]
    assert told[0] == f"assent: 2 calls were {NOT_ASKED}"
    assert told[1:3] == [f"assent: {question}" for question in ASKED]


def test_what_nobody_could_be_asked_about_is_in_the_object(talker: Talker) -> None:
    talker.script(WRITES, turn("I may not."))
    answer = talker.say("Greet", "--mode", "ask", "--json")
    assert answer.err == b""
    questions = answer.json["questions"]
    assert [one["question"] for one in questions] == ASKED
    assert questions[0]["detail"].endswith("+a\n")


@pytest.mark.parametrize("mode", ["auto-edit", "yolo"])
def test_undo_takes_the_whole_last_turn_back(talker: Talker, mode: str) -> None:
    edit = ("edit", {"path": "a.txt", "old": "a", "new": "c"})
    talker.script(WRITES, turn("", edit), turn("Done."), turn("", write("d.txt", "d\n")), turn("!"))
    assert talker.say("Greet", "--mode", mode).code == 0
    first = talker.world.run("status", "--json").json["run"]
    assert (first["plan_id"], first["outcome"]) == (None, "done")
    assert talker.world.run("status").out.splitlines()[-1] == b"Next: assent undo"
    assert talker.say("-c", "More").code == 0
    assert talker.world.undo().json["outcome"] == "done"
    assert names(talker) == ["a.txt", "b.txt"]
    assert talker.world.run("status", "--json").json["run"] == first
    assert talker.world.undo().json["outcome"] == "done"
    assert names(talker) == []
    assert talker.world.run("status", "--json").json["run"] is None


def test_one_change_of_a_turn_can_be_taken_back_alone(talker: Talker) -> None:
    talker.script(WRITES, turn("Done."))
    talker.say("Greet", "--mode", "yolo")
    rows = talker.world.ok("log")["events"]
    runs = [row["body"]["run"] for row in rows if row["kind"] == "permit_given"]
    assert len(runs) == 2
    shown = talker.world.ok("undo", runs[0], "--dry-run")
    assert [op["path"] for op in shown["operations"]] == ["a.txt"]
    talker.world.ok("undo", runs[0], "--digest", shown["digest"])
    assert names(talker) == ["b.txt"]


def names(talker: Talker) -> list[str]:
    return sorted(path.name for path in talker.world.root.glob("?.txt"))


def test_auto_edit_asks_before_it_changes_what_other_programs_obey(talker: Talker) -> None:
    talker.script(turn("", write(".github/workflows/ci.yml", "x\n")), turn("I may not."))
    answer = talker.say("Greet", "--mode", "auto-edit", "--json")
    assert [one["header"] for one in answer.json["questions"]] == ["Permission"]
    assert not (talker.world.root / ".github").exists()


def test_without_staging_the_model_is_told_how_a_plan_is_written(talker: Talker) -> None:
    talker.world.put(".opencode/assent.toml", b"[plan]\nstaging = false\n")
    path = ".opencode/plans/greet/PLAN_greet.md"
    talker.script(turn("", write(path, "# Greet\n")), turn("I see."))
    rows = talker.stream("Greet")
    said = [part["text"] for row in rows for part in row["body"].get("parts", [])]
    assert mode_rules("plan", staging=False) in said[0]
    (refused,) = [row["body"]["result"] for row in rows if row["kind"] == "call_ended"]
    assert refused["failed"]
    assert "`write_plan`" in refused["text"]
