"""Compaction through the command line: on request, in a turn, and what the person is told."""

import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli.harness import PROGRAM, World
from tests.cli.scripts import MODEL, Talker, turn, write
from tests.llm.server import Server, Turn, serving
from tests.llm.wire_responses import Reply
from tests.support import forked_python

from assent.store.locks import FileLocks

PATIENCE = 60.0
LONG = "word " * 800  # 1,000 tokens
HUGE = "word " * 5_000  # 6,250 tokens
SMALL = '\n[models."openai/m"]\ncontext = 8000\n'
NOTICE = "This session was compacted 3 times"


@pytest.fixture
def talked(talker: Talker) -> Talker:
    """A world with one session of one turn, which is worth a summary."""
    talker.script(turn(LONG, write("a.txt", "a\n")), turn("One."), turn("Two."), turn("Three."))
    assert talker.say("Write it down").code == 0
    return talker


@pytest.fixture
def served(talker: Talker) -> Iterator[tuple[Talker, Server]]:
    """A world whose model is a server with a small context."""
    config = talker.world.config
    config.write_text(config.read_text("utf-8") + SMALL, encoding="utf-8")
    with serving(Turn(Reply("Noted."))) as server:
        talker.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        yield talker, server


def kinds(world: World) -> list[str]:
    return [row["kind"] for row in world.ok("log")["events"] if row["session"]]


def asked(server: Server) -> list[dict[str, Any]]:
    return [each.json for each in server.heard if not each.line.startswith("GET")]


def test_f116_a_session_of_one_turn_is_compacted_and_goes_on(talked: Talker) -> None:
    world = talked.world
    done = world.ok("sessions", "compact", "write-it-down")
    assert (done["slug"], done["compactions"], done["mode"]) == ("write-it-down", 1, "plan")
    assert done["summary"].startswith("Summary: ")
    assert done["tokens_after"] < done["tokens_before"] > 1_000
    assert (done["pruned"], done["notices"]) == (0, [])
    # And what holds now: the agent's instructions, the mode and the plan.
    assert kinds(world)[-3:] == ["compacted", "message_added", "message_added"]
    assert len(world.ok("stage", "list")["operations"]) == 1
    row = talked.json("-c", "Go on")
    assert (row["result"], row["compactions"], row["turns"]) == ("Two.", 1, 2)


def test_f116_it_says_how_much_shorter_the_session_is(talked: Talker) -> None:
    answer = talked.world.run("sessions", "compact")
    assert answer.code == 0
    assert b"Compacted: about 1," in answer.out
    assert answer.err == b""
    text = talked.world.run("sessions", "compact", "--help").out.decode()
    assert "assent sessions compact add-login --json" in text


def test_f116_where_there_is_nothing_to_compact_it_says_so(talker: Talker) -> None:
    assert talker.world.no(1, "sessions", "compact")["error"] == "not_found"
    talker.script(turn("Hello."))
    talker.say("Greet")
    before = kinds(talker.world)
    found = talker.world.no(1, "sessions", "compact")
    assert (found["error"], found["next"]) == ("illegal_step", 'assent -r greet "what comes next"')
    assert "nothing to compact" in found["message"]
    assert kinds(talker.world) == before


def test_f116_a_session_in_use_elsewhere_is_left_alone(talked: Talker) -> None:
    world = talked.world
    session = world.ok("sessions", "show")["session"]
    locks = FileLocks(world.state / "assent" / "locks")
    with locks.hold(f"session-{session}", "somebody else"):
        found = world.no(1, "sessions", "compact")
    assert found["error"] == "busy"
    assert "compacted" not in kinds(world)


def test_f116_without_a_model_it_says_which_command_helps(talked: Talker) -> None:
    world = talked.world
    (world.root / "script.json").unlink()
    assert world.no(2, "sessions", "compact")["error"] == "usage"
    assert world.no(2, "sessions", "compact", "--model", "nobody/x")["error"] == "usage"
    talked.script(turn())
    assert world.ok("sessions", "compact", "--model", MODEL)["compactions"] == 1


def test_f116_a_question_that_waits_is_not_lost(talker: Talker) -> None:
    question = ("question", {"questions": [{"header": "Name", "question": "Which name?"}]})
    talker.script(turn(LONG, question), turn("Thanks."))
    talker.say("Ask me", "--ask-later")
    found = talker.world.no(1, "sessions", "compact")
    assert (found["error"], found["next"]) == ("illegal_step", "assent questions list")
    assert len(talker.world.ok("questions", "list")["questions"]) == 1


def test_f116_killed_in_the_middle_the_session_is_as_it_was(
    served: tuple[Talker, Server],
) -> None:
    talker, server = served
    world = talker.world
    assert world.run("-p", "Note this", "--model", "openai/m", stdin=LONG.encode()).code == 0
    before = kinds(world)
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        server._turns[:] = [Turn(Reply("Half of a summary"), "stall"), Turn(Reply("Noted."))]
        while server.arrived.acquire(blocking=False):
            pass
        process = forked_python.Popen(
            [*PROGRAM, "sessions", "compact", "--model", "openai/m"],
            cwd=world.root,
            env=world.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert server.arrived.acquire(timeout=PATIENCE)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == code
        assert kinds(world) == before
    answer = world.run("-p", "-c", "--model", "openai/m", "Go on")
    assert (answer.code, answer.out) == (0, b"Noted.\n")
    server._turns[:] = [Turn(Reply("Summed up."))]
    assert world.ok("sessions", "compact", "--model", "openai/m")["summary"] == "Summed up."


def test_f120_summaries_that_do_not_shrink_end_the_turn(served: tuple[Talker, Server]) -> None:
    talker, server = served
    server._turns[:] = [Turn(Reply(HUGE))]
    world = talker.world
    answer = world.run("-p", "Note this", "--model", "openai/m", "--json", stdin=HUGE.encode())
    row = answer.json
    assert (answer.code, row["error"], row["why"]) == (1, "overflow", "failed")
    assert "3 summaries were not shorter" in row["message"]
    assert " -c --model PROVIDER/MODEL" in row["next"]
    assert len(asked(server)) == 3
    assert kinds(world).count("compaction_rejected") == 3
    assert "compacted" not in kinds(world)
    # A model that can read it all goes on where the other could not.
    server._turns[:] = [Turn(Reply("Noted."))]
    assert world.run("-p", "-c", "--model", "openai/gpt-5").code == 0


def test_f120_on_request_too_and_no_message_is_replaced(served: tuple[Talker, Server]) -> None:
    talker, server = served
    world = talker.world
    world.run("-p", "Note this", "--model", "openai/m", stdin=LONG.encode())
    server._turns[:] = [Turn(Reply(HUGE))]
    found = world.no(1, "sessions", "compact", "--model", "openai/m")
    assert found["error"] == "overflow"
    assert "No message was replaced." in found["message"]
    assert found["next"] == 'assent -c -p "continue"'
    server._turns[:] = [Turn(Reply("Still there."))]
    world.run("-p", "-c", "--model", "openai/m", "Go on")
    assert LONG.strip() in str(asked(server)[-1]["messages"])


def test_f121_old_tool_results_are_pruned_before_the_summary(talker: Talker) -> None:
    world = talker.world
    names = [f"big{n}.txt" for n in range(6)]
    for name in names:  # 10,000 tokens and more
        (world.root / name).write_text(f"{name} 9abcdef0123456789abcde\n" * 1_400, "utf-8")
    looks = [turn("", ("read", {"path": name, "lines": "1-"})) for name in names]
    talker.script(*looks, turn("Read."), turn("Fine."))
    row = talker.json("Read it")
    assert row["why"] == "end", row
    done = world.ok("sessions", "compact")
    assert done["pruned"] == 3
    told = [each for each in kinds(world) if each in ("results_pruned", "compacted")]
    assert told == ["results_pruned", "compacted"]


def test_f123_the_third_compaction_is_noticed_everywhere(talked: Talker) -> None:
    world = talked.world
    for _ in range(2):
        assert world.ok("sessions", "compact")["notices"] == []
        talked.world.run("-p", "-c", "--model", MODEL, stdin=LONG.encode())
    answer = world.run("sessions", "compact")
    assert NOTICE in answer.err.decode()
    talked.script(*[turn("Fine.")] * 9)
    assert talked.say("-c", stdin=LONG.encode()).code == 0
    [notice] = world.ok("sessions", "compact")["notices"]
    assert notice.startswith("This session was compacted 4 times")


def test_f123_a_turn_tells_it_on_stderr_and_in_json(served: tuple[Talker, Server]) -> None:
    talker, server = served
    world = talker.world
    server._turns[:] = [Turn(Reply("Fine."))]
    rows = [
        world.run(
            "-p", *more, "--model", "openai/m", "--json", stdin=HUGE.encode()
        )
        for more in ((), ("-c",), ("-c",), ("-c",))
    ]  # fmt: skip
    assert [row.json["compactions"] for row in rows] == [1, 2, 3, 4]
    assert [len(row.json["notices"]) for row in rows] == [0, 0, 1, 1]
    assert rows[2].json["notices"][0].startswith(NOTICE)
    assert [NOTICE in row.err.decode() for row in rows] == [False, False, True, False]
    quiet = world.run("-p", "-c", "--model", "openai/gpt-5", "--json", "Short").json
    assert (quiet["compactions"], quiet["notices"]) == (4, [])
