"""How a build by a model ends: what it did and left, whoever it could not ask, and what is next."""

from typing import Any

import pytest
from tests.cli.scripts import MODEL, PRESENT, Talker, Turn, turn, write

SCOPED = "---\nscope:\n  files: [src/*]\n---\n# Greet\n\n- [ ] Write the greeting\n- [ ] Say bye\n"
BARE = "# Greet\n\nWrite something.\n"
DONE = ("todo", {"todos": [
    {"content": "Write the greeting", "status": "completed"},
    {"content": "Say bye", "status": "completed"},
]})  # fmt: skip
GREETS = turn("Writing.", write("src/hello.txt", "hello\n"))
REACHES = turn("Elsewhere.", write("other.txt", "x\n"))
OUTSIDE = "Allow edit to other.txt? other.txt is outside the scope of the approved plan."


def approved(talker: Talker, *then: Turn, text: str = SCOPED) -> str:
    """Lets a model plan prose, says yes to it, and returns the digest."""
    talker.script(turn("A plan.", ("write_plan", {"text": text})), turn("Here.", PRESENT), *then)
    digest = str(talker.json("Greet", code=3)["digest"])
    talker.world.ok("approve", "--digest", digest)
    return digest


def lines(talker: Talker, *arguments: str, code: int = 0) -> list[str]:
    answer = talker.world.run(*arguments)
    assert answer.code == code, answer
    return answer.out.decode().splitlines()


def test_a_build_that_did_everything_is_done(talker: Talker) -> None:
    approved(talker, turn("Writing.", write("src/hello.txt", "hello\n"), DONE), turn("All done."))
    row = talker.world.ok("build")
    (session,) = talker.world.ok("sessions", "list")["sessions"]
    told = {key: row[key] for key in ("outcome", "result", "left", "refused", "questions", "cost")}
    assert told == {
        "outcome": "done",
        "result": "All done.",
        "left": [],
        "refused": [],
        "questions": [],
        "cost": None,
    }
    assert row["session"] == session["session"]
    assert row["usage"].keys() == {"input", "output", "cache_read", "cache_write", "reasoning"}


def test_a_model_that_stops_early_is_not_called_done(talker: Talker) -> None:
    approved(talker, GREETS, REACHES, turn("I stop here."))
    row = talker.world.ok("build")
    assert (row["outcome"], row["left"]) == ("done", ["Write the greeting", "Say bye"])
    assert [(one["tool"], one["about"]) for one in row["refused"]] == [("write", OUTSIDE)]
    assert [one["question"] for one in row["questions"]] == [OUTSIDE]


def test_what_was_left_and_refused_is_said_plainly(talker: Talker) -> None:
    approved(talker, GREETS, REACHES, turn("I stop here."))
    told = lines(talker, "build")
    assert "Done: all operations applied." not in told
    first = "The model finished, but 2 steps were not marked as done and 1 call was refused."
    assert told[told.index(first) + 2 :][:2] == [
        "Not marked as done: Write the greeting",
        "Not marked as done: Say bye",
    ]
    assert f"Refused: write: {OUTSIDE}" in " ".join(" ".join(told).split())
    assert told[-1] == "Next: assent undo"


def test_a_build_without_a_change_did_nothing(talker: Talker) -> None:
    approved(talker, REACHES, turn("I may not."))
    row = talker.world.ok("build")
    assert (row["outcome"], row["operations"], row["result"]) == ("nothing", [], "I may not.")
    assert talker.world.ok("plan", "show")["state"] == "COMPLETED"
    assert talker.world.run("undo", "--dry-run").code == 1


def test_the_text_of_a_build_without_a_change(talker: Talker) -> None:
    approved(talker, turn("There was nothing to do."), text=BARE)
    told = lines(talker, "build")
    assert "The model finished and changed nothing." in told
    assert told[-1] == "Next: assent -c -p 'WHAT NEXT'"


def test_prose_that_covers_nothing_is_reviewed_with_a_warning(talker: Talker) -> None:
    approved(talker, text=BARE)
    assert "declares no `scope.files`" in " ".join(lines(talker, "review"))
    approved(talker)
    assert "declares no `scope.files`" not in " ".join(lines(talker, "review"))


def test_a_key_that_looks_like_scope_is_named_to_the_person(talker: Talker) -> None:
    world = talker.world
    world.plan()
    text = b"---\nscopes: {files: [src/*]}\n---\n# Greet\n"
    world.run("plan", "write", "-", stdin=text)
    assert b"`scopes` is ignored; use `scope`." in world.run("propose").err
    assert "`scopes` is ignored; use `scope`." in " ".join(lines(talker, "review"))


def test_the_model_that_planned_builds_where_none_is_set_up(talker: Talker) -> None:
    approved(talker, GREETS, turn("Done."))
    assert talker.world.ok("build")["outcome"] == "done"


def test_without_any_model_the_way_on_is_named_and_works(talker: Talker) -> None:
    world = talker.world
    world.plan()
    world.run("plan", "write", "-", stdin=SCOPED.encode())
    digest = world.ok("propose")["digest"]
    refused = world.run("approve", "--digest", digest, "--build", "--json")
    assert refused.code == 2
    assert "The approval is kept" in refused.error["message"]
    assert refused.error["next"] == "assent build --model PROVIDER/MODEL"
    assert world.ok("plan", "show")["approved"] is True
    talker.script(GREETS, turn("Done."))
    assert world.ok("build", "--model", MODEL)["outcome"] == "done"


def test_approve_and_build_take_a_model_and_an_agent(talker: Talker) -> None:
    world = talker.world
    world.plan()
    world.run("plan", "write", "-", stdin=SCOPED.encode())
    digest = world.ok("propose")["digest"]
    talker.script(GREETS, turn("Done."))
    yes = ("approve", "--digest", digest)
    assert "require --build" in world.no(2, *yes, "--model", MODEL)["message"]
    row = world.ok(*yes, "--build", "--model", MODEL, "--agent", "build")
    assert row["outcome"] == "done"


def test_a_model_for_operations_is_refused_before_the_yes(talker: Talker) -> None:
    talker.world.plan()
    talker.world.write("a.txt", b"a\n")
    digest = talker.world.ok("propose")["digest"]
    line = ("approve", "--digest", digest, "--build", "--model", MODEL)
    assert "without a model" in talker.world.no(2, *line)["message"]
    assert talker.world.ok("plan", "show")["approved"] is False


def broken(talker: Talker) -> dict[str, Any]:
    """A build whose model fails after its first change."""
    approved(talker, GREETS)
    failed = talker.world.run("build", "--json")
    assert failed.code == 1
    return failed.error


def test_a_build_that_failed_goes_on_with_build(talker: Talker) -> None:
    config = talker.world.config
    config.write_text(config.read_text("utf-8") + "tries = 1\n", encoding="utf-8")
    approved(talker, GREETS, turn("Done.", fault="overloaded"), turn("Done."))
    failed = talker.world.run("build", "--json")
    assert (failed.code, failed.error["next"]) == (1, "assent build")
    assert "assent -c" not in failed.error["message"]
    assert "needs no new approval" in failed.error["message"]
    assert talker.world.ok("build")["outcome"] == "done"


def test_undo_names_what_takes_an_unended_build_back(talker: Talker) -> None:
    broken(talker)
    assert talker.world.no(6, "undo")["next"] == "assent recover --roll-back"


def test_rolling_back_without_a_terminal_names_a_line_that_works(talker: Talker) -> None:
    broken(talker)
    declined = talker.world.no(4, "recover", "--roll-back")
    command = declined["next"].split()
    assert command[:4] == ["assent", "recover", "--roll-back", "--digest"]
    other = talker.world.no(5, "recover", "--roll-back", "--digest", "f" * 64)
    assert other["next"] == "assent recover --roll-back"
    done = talker.world.run(*command[1:], "--json")
    assert (done.code, done.json["outcome"]) == (1, "rolled_back")
    assert not (talker.world.root / "src/hello.txt").exists()
    assert talker.world.ok("plan", "show")["state"] == "AWAITING_APPROVAL"


@pytest.mark.parametrize("line", [["--digest", "0"], ["--accept", "--digest", "0"]], ids=" ".join)
def test_a_digest_is_for_rolling_back(talker: Talker, line: list[str]) -> None:
    talker.world.no(2, "recover", *line)


def test_recover_names_its_own_ways_and_no_other(talker: Talker) -> None:
    broken(talker)
    told = lines(talker, "recover", code=6)
    assert told[-1] == "Next: assent recover --resume, or --roll-back, or --accept"
    assert not any("assent build" in line for line in told)


def test_talking_on_during_a_build_names_what_ends_it(talker: Talker) -> None:
    broken(talker)
    plan = turn("A plan.", ("write_plan", {"text": SCOPED})), turn("Here.", PRESENT)
    said = turn("So far, so good."), turn("Done.")
    talker.script(*plan, GREETS, turn("in vain"), *said)
    assert talker.json("-c", "go on")["next"].endswith(" build")
    row = talker.world.ok("build")
    assert (row["outcome"], row["result"]) == ("done", "Done.")


def test_after_a_rejection_the_next_line_reaches_the_model(talker: Talker) -> None:
    talker.script(turn("A plan.", ("write_plan", {"text": BARE})), turn("Here.", PRESENT))
    talker.json("Greet", code=3)
    assert lines(talker, "reject", "--note", "Shorter.")[-1] == "Next: assent -c"
    talker.world.ok("plan", "new", "own", "--session", "mine")
    talker.world.ok("plan", "write", "-", stdin=b"# Own\n\nGreet.\n")
    talker.world.ok("propose")
    assert lines(talker, "reject", "--note", "No.")[-1] == "Next: assent propose"
