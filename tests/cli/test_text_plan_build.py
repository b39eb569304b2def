"""Plans of prose on the command line: a model carries out what was approved, inside its scope."""

import re
import signal
import subprocess
from time import sleep
from typing import Any

import pytest
from tests.cli.harness import PROGRAM, TICK_S, World
from tests.cli.scripts import MODEL, PRESENT, Talker, Turn, turn, write
from tests.support import forked_python

TEXT = """---
scope:
  files: [src/*]
---
# Greet

## Proposed changes

- [ ] Write the greeting
- [ ] Say goodbye
"""
PLANNED = (turn("A plan.", ("write_plan", {"text": TEXT})), turn("Here.", PRESENT))
STEPS = [("Write the greeting", "completed"), ("Say goodbye", "in_progress")]
TODO = ("todo", {"todos": [{"content": words, "status": status} for words, status in STEPS]})
BUILT = (
    turn("Writing.", write("src/hello.txt", "hello\n")),
    turn("Again.", write("src/hello.txt", "hello, you\n"), TODO),
    turn("All done."),
)


@pytest.fixture
def talker(world: World) -> Talker:
    made = Talker(world)
    config = f'model = "{MODEL}"\n' + world.config.read_text("utf-8")
    world.config.write_text(config, encoding="utf-8")
    return made


def planned(talker: Talker, *then: Turn) -> str:
    """Lets the model plan, and returns the digest that waits for a yes."""
    talker.script(*PLANNED, *then)
    return str(talker.json("Greet", code=3)["digest"])


def hello(talker: Talker) -> bytes | None:
    path = talker.world.root / "src/hello.txt"
    return path.read_bytes() if path.exists() else None


def sessions(talker: Talker) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = talker.world.ok("sessions", "list")["sessions"]
    return listed


def test_f50_approve_and_build_in_one_action(talker: Talker) -> None:
    digest = planned(talker, *BUILT)
    row = talker.world.ok("approve", "--digest", digest, "--build")
    assert row["outcome"] == "done"
    assert [op["result"] for op in row["operations"]] == ["done"]
    assert hello(talker) == b"hello, you\n"
    shown = talker.world.ok("plan", "show")
    assert (shown["state"], shown["approved"]) == ("COMPLETED", False)
    assert talker.world.no(4, "build")["error"] == "spent"


def test_f68_progress_is_tracked_and_what_is_left_is_said(talker: Talker) -> None:
    digest = planned(talker, *BUILT)
    talker.world.ok("approve", "--digest", digest)
    answer = talker.world.run("build")
    assert answer.code == 0
    assert answer.out.startswith(b"Writing.\nAgain.\nAll done.\n")
    assert b"Not marked as done: Say goodbye" in answer.out
    assert b"Write the greeting" not in answer.out
    (session,) = sessions(talker)
    assert session["mode"] == "plan"


def test_outside_the_scope_nobody_to_ask_is_a_no(talker: Talker) -> None:
    digest = planned(talker, turn("Elsewhere.", write("other.txt", "x\n")), turn("I may not."))
    talker.world.ok("approve", "--digest", digest)
    row = talker.world.ok("build")
    assert (row["outcome"], row["operations"]) == ("nothing", [])
    assert not (talker.world.root / "other.txt").exists()


def test_undo_takes_the_build_back_as_one(talker: Talker) -> None:
    digest = planned(talker, *BUILT)
    run = talker.world.ok("approve", "--digest", digest, "--build")["run"]
    assert talker.world.ok("undo", "--dry-run")["run"] == run
    undone = talker.world.undo()
    assert (undone.code, undone.json["outcome"]) == (0, "done")
    assert hello(talker) is None


def test_f51_the_build_agents_own_model_works_unless_one_is_chosen(talker: Talker) -> None:
    digest = planned(talker)
    talker.world.put("own.json", b'{"turns": [{}, {}, {"text": "By its own."}]}')
    talker.world.put("chosen.json", b'{"turns": [{}, {}, {"text": "By the chosen."}]}')
    agents = talker.world.config.parent / "agents"
    agents.mkdir()
    agent = "---\ndescription: Builds\nmode: primary\nmodel: scripted:own.json\n---\nBuild.\n"
    (agents / "build.md").write_text(agent, encoding="utf-8")
    talker.world.ok("approve", "--digest", digest)
    assert talker.world.run("build").out.startswith(b"By its own.\n")
    talker.world.ok("plan", "new", "again", "--session", "tests")
    talker.world.ok("plan", "write", "-", stdin=b"# Again\n\nSay it again.\n")
    talker.world.approve()
    talker.world.put("chosen.json", b'{"turns": [{"text": "By the chosen."}]}')
    chosen = talker.world.run("build", "--model", "scripted:chosen.json")
    assert chosen.out.startswith(b"By the chosen.\n")


def test_without_a_model_nothing_is_spent(talker: Talker) -> None:
    digest = planned(talker, *BUILT)
    talker.world.ok("approve", "--digest", digest)
    talker.world.no(2, "build", "--model", "nobody/knows")
    assert talker.world.ok("plan", "show")["approved"] is True
    assert talker.world.ok("build")["outcome"] == "done"


def test_without_an_approval_there_is_no_build(talker: Talker) -> None:
    planned(talker, *BUILT)
    assert talker.world.no(3, "build")["error"] == "not_approved"
    assert len(sessions(talker)) == 1


def test_a_model_is_only_for_prose(world: World) -> None:
    world.plan()
    world.write("a.txt", b"a\n")
    world.approve()
    assert "without a model" in world.no(2, "build", "--model", "a/b")["message"]
    assert world.ok("build")["outcome"] == "done"


def test_a_build_that_fails_goes_on_without_a_second_yes(talker: Talker) -> None:
    """Law 3: the script ends too early; with the rest of it the same run comes to its end."""
    digest = planned(talker, BUILT[0])
    failed = talker.world.run("approve", "--digest", digest, "--build", "--json")
    assert failed.code == 1
    assert "needs no new approval" in failed.error["message"]
    assert hello(talker) == b"hello\n"
    assert talker.world.ok("plan", "show")["state"] == "EXECUTING"
    waiting = talker.world.run("recover", "--json")
    assert (waiting.code, waiting.json["outcome"]) == (6, "needs_you")
    talker.script(*PLANNED, BUILT[0], turn("asked for in vain"), *BUILT[1:])
    row = talker.world.ok("build")
    assert (row["outcome"], row["run"]) == ("done", waiting.json["run"])
    assert hello(talker) == b"hello, you\n"


def test_recover_goes_on_where_it_is_told_to(talker: Talker) -> None:
    digest = planned(talker, BUILT[0])
    talker.world.run("approve", "--digest", digest, "--build")
    talker.script(*PLANNED, BUILT[0], turn("asked for in vain"), *BUILT[1:])
    assert talker.world.ok("recover", "--resume")["outcome"] == "done"
    assert talker.world.ok("plan", "show")["state"] == "COMPLETED"


def test_a_build_that_failed_can_be_accepted(talker: Talker) -> None:
    digest = planned(talker, BUILT[0])
    talker.world.run("approve", "--digest", digest, "--build")
    assert talker.world.ok("recover", "--accept")["outcome"] == "done"
    assert talker.world.ok("plan", "show")["state"] == "COMPLETED"
    assert hello(talker) == b"hello\n"


def test_taking_it_back_needs_a_person(talker: Talker) -> None:
    digest = planned(talker, BUILT[0])
    talker.world.run("approve", "--digest", digest, "--build")
    assert talker.world.run("recover", "--roll-back", "--no-input").code == 4
    assert hello(talker) == b"hello\n"


def test_f50_killed_in_the_middle_it_goes_on(talker: Talker) -> None:
    digest = planned(talker, BUILT[0], {**BUILT[1], "delay_ms": 60_000}, BUILT[2])
    talker.world.ok("approve", "--digest", digest)
    line = [*PROGRAM, "-C", str(talker.world.root), "build"]
    process = forked_python.Popen(line, env=talker.world.env, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"Writing.\n"
        while hello(talker) is None:
            sleep(TICK_S)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert talker.world.ok("plan", "show")["state"] == "EXECUTING"
    # Whether the second request was on record when the process died is chance; it is made again.
    talker.script(*PLANNED, BUILT[0], BUILT[1], BUILT[1], *BUILT[2:])
    assert talker.world.ok("build")["outcome"] == "done"
    assert hello(talker) == b"hello, you\n"
    kinds = [row["kind"] for row in talker.world.ok("log")["events"]]
    assert kinds.count("run_started") == kinds.count("run_ended") - kinds.count("permit_given")


def test_the_exported_text_is_there_before_the_model_works(talker: Talker) -> None:
    talker.world.put(".opencode/assent.toml", b'[plan]\nexport = "PLAN.md"\n')
    digest = planned(talker, *BUILT)
    row = talker.world.ok("approve", "--digest", digest, "--build")
    assert len(row["operations"]) == 2
    assert (talker.world.root / "PLAN.md").read_text("utf-8") == TEXT
    talker.world.undo()
    assert not (talker.world.root / "PLAN.md").exists()


def test_it_is_run_by_the_real_program(talker: Talker) -> None:
    digest = planned(talker, *BUILT)
    done = talker.world.process("approve", "--digest", digest, "--build")
    *told, last = done.err.decode().splitlines()
    assert (done.code, told) == (
        0,
        [
            "  write (run, medium risk): edit src/hello.txt",
            "· 2 calls:",
            "  write (run, medium risk): edit src/hello.txt, read src/hello.txt",
        ],
    )
    assert last.startswith("  todo (run, low risk): ")
    assert re.search(rb"^The model finished, but 1 step was not marked", done.out, re.M)


def test_an_agent_that_nobody_knows_spends_nothing(talker: Talker) -> None:
    digest = planned(talker, *BUILT)
    talker.world.ok("approve", "--digest", digest)
    talker.world.no(2, "build", "--agent", "nobody")
    assert talker.world.ok("plan", "show")["approved"] is True
