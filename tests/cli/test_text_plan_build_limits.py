"""What bounds a build by a model: what a person saw, its own turns, one process, the same text."""

import subprocess

import pytest
from tests.cli.harness import PROGRAM
from tests.cli.scripts import PRESENT, Talker, Turn, turn, write
from tests.cli.test_text_plan_build_result import GREETS, SCOPED, approved, broken, lines
from tests.support import forked_python

from assent.core.plan.operation import RISK_CODES, STRUCTURE_RISKS

ANY = '---\nscope: {files: ["*"]}\n---\n# Notes\n\nWrite the notes.\n'
LATE = ((0, "nothing"), (4, "spent"))  # of a second process that came when all was over
PLANNED = turn("A plan.", ("write_plan", {"text": SCOPED})), turn("Here.", PRESENT)


def later(talker: Talker, *then: Turn) -> None:
    """Says what the model will answer after a build that broke."""
    talker.script(*PLANNED, GREETS, turn("asked for in vain"), *then)


def turns(talker: Talker) -> int:
    events = talker.world.ok("log")["events"]
    return [row["kind"] for row in events].count("turn_started")


def hello(talker: Talker) -> bool:
    return (talker.world.root / "src/hello.txt").exists()


def test_operations_are_applied_without_a_model_whatever_they_write(talker: Talker) -> None:
    calls = ("write_plan", {"text": ANY}), write("notes.md", ANY), PRESENT
    talker.script(turn("", *calls), turn("", write("evil.txt", "x\n")), turn("Done."))
    digest = talker.json("Note it", code=3)["digest"]
    review = talker.world.ok("review")
    assert [op["path"] for op in review["operations"]] == ["notes.md"]
    assert review["risks"] == ["no_verification", "no_steps"]  # none that is about a model
    yes = ("approve", "--digest", digest, "--build")
    assert "without a model" in talker.world.no(2, *yes, "--model", "a/b")["message"]
    row = talker.world.ok(*yes)
    assert (row["outcome"], len(row["operations"]), turns(talker)) == ("done", 1, 1)
    assert (talker.world.root / "notes.md").read_text("utf-8") == ANY
    assert not (talker.world.root / "evil.txt").exists()


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (SCOPED, ["model_writes", "no_verification"]),
        (ANY, ["any_file", "model_writes", "no_verification", "no_steps"]),
    ],
)
def test_review_says_first_what_a_model_may_do(talker: Talker, text: str, codes: list[str]) -> None:
    approved(talker, text=text)
    assert talker.world.ok("review")["risks"] == codes
    shown = lines(talker, "review")
    begin = [RISK_CODES[code] if code in STRUCTURE_RISKS else f"{code} " for code in codes]
    assert all(map(str.startswith, shown[6:], begin))
    assert shown[5].startswith("Risks: model changes; ")


def test_what_is_asked_meanwhile_does_not_end_the_build(talker: Talker) -> None:
    broken(talker)
    later(talker, turn("I stopped in the middle."), turn("", write("src/bye.txt", "bye\n")), turn())
    assert talker.json("-c", "What happened so far?")["state"] == "EXECUTING"
    row = talker.world.ok("build")
    assert [op["result"] for op in row["operations"]] == ["done", "done"]
    assert (talker.world.root / "src/bye.txt").read_bytes() == b"bye\n"


def test_what_is_asked_meanwhile_has_no_scope(talker: Talker) -> None:
    broken(talker)
    evil = turn("", ("delete", {"path": "src/hello.txt"}), write("src/evil.txt", "x\n"))
    later(talker, evil, turn("I may not."), turn("Done."))
    talker.json("-c", "Something else entirely")
    assert hello(talker)
    assert not (talker.world.root / "src/evil.txt").exists()
    row = talker.world.ok("build")
    assert (len(row["operations"]), row["refused"]) == (1, [])


@pytest.mark.parametrize("line", [["build"], ["recover", "--accept"]], ids=" ".join)
def test_who_comes_second_is_told_and_asks_no_model(talker: Talker, line: list[str]) -> None:
    approved(talker, GREETS, turn("Done.", delay_ms=1500), turn("One turn too many."))
    command = [*PROGRAM, "-C", str(talker.world.root), "build"]
    first = forked_python.Popen(
        command, env=talker.world.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert first.stdout is not None
    assert first.stdout.readline() == b"Writing.\n"
    second = talker.world.process(*line, "--json")
    out, err = first.communicate()
    assert (first.returncode, err) == (0, b"  write (run, medium risk): edit src/hello.txt\n")
    assert out.startswith(b"Done.\n")
    assert b"Traceback" not in second.err
    told = second.json["outcome"] if second.code == 0 else second.error["error"]
    assert (second.code, told) in ((1, "illegal_step"), *LATE)
    assert turns(talker) == 2


def test_law_4_a_changed_file_stops_a_build_that_goes_on(talker: Talker) -> None:
    broken(talker)
    later(talker, turn("Done."))
    path = talker.world.root / talker.world.ok("plan", "show")["path"]
    path.write_text(SCOPED.replace("src/*", "*"), encoding="utf-8")
    told = talker.world.no(5, "build")
    assert (told["error"], told["next"]) == ("live_differs", "assent diff --live")
    assert talker.world.no(5, "recover", "--resume")["error"] == "live_differs"
    assert talker.world.run(*told["next"].split()[1:]).code == 0
    path.write_text(SCOPED, encoding="utf-8")
    assert talker.world.ok("build")["outcome"] == "done"


def test_a_scope_that_excludes_is_refused(talker: Talker) -> None:
    text = SCOPED.replace("[src/*]", '["*", "!secret.py"]')
    talker.script(turn("", ("write_plan", {"text": text})), turn("", PRESENT), turn("Oh."))
    rows = talker.stream("Greet")
    told = [row["body"]["result"] for row in rows if row["kind"] == "call_ended"][-1]
    assert told["failed"]
    assert "`!` cannot exclude anything" in told["text"]
    refused = talker.world.no(1, "propose")
    assert (refused["error"], "!secret.py" in refused["message"]) == ("bad_plan", True)


@pytest.mark.parametrize(("consent", "code"), [("approve", 1), ("reject", 3)])
def test_a_discarded_plan_names_a_command_that_works(
    talker: Talker, consent: str, code: int
) -> None:
    approved(talker)
    if consent == "reject":
        talker.world.ok("reject", "--note", "No.")
    talker.world.run("plan", "delete", "--plan", talker.world.ok("plan", "show")["plan_id"])
    told = talker.world.no(code, "build")
    assert "discarded" in told["message"]
    assert talker.world.run(*told["next"].split()[1:]).code == 0
