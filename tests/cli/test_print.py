"""`assent -p` in text: what is said, staged, asked and ended, with scripted models."""

import os
import re

import msgspec
import pytest
from tests.cli.harness import PROGRAM, World
from tests.cli.scripts import MODEL, PLAN_TEXT, PLANS, PRESENT, WRITE_PLAN, Talker, turn, write
from tests.llm.server import Turn, serving
from tests.llm.wire_responses import Reply
from tests.support import forked_python

from assent.agent.loop.loop import step_limit_text
from assent.cli.goal.result import DRAFT_LEFT

ESCAPE = bytes([27]).decode()
APPROVE = re.compile(rb"^Approve: assent -C \S+ (approve --digest ([0-9a-f]{64}) --build)$", re.M)
WORDS = ("question", {"questions": [{"header": "Name", "question": "What name?"}]})


def test_words_are_printed_and_exit_with_0(talker: Talker) -> None:
    talker.script(turn("Two\nlines."))
    answer = talker.say("What is this?")
    assert (answer.code, answer.out, answer.err) == (0, b"Two\nlines.\n", b"")


def test_a_plan_ends_with_3_its_digest_and_the_command_that_approves(talker: Talker) -> None:
    talker.script(*PLANS)
    answer = talker.say("Greet")
    assert answer.code == 3
    assert answer.out.startswith(
        b"I will greet.\nHere it is.\n\nPlan ready for review: 1 operation"
    )
    found = APPROVE.search(answer.out)
    assert found
    assert b" review\n" in answer.out
    assert b"reject --note 'WHY', then assent" in answer.out
    assert talker.world.files().keys() == {b"script.json"}

    done = talker.world.run(*found[1].decode().split())
    assert done.code == 0
    assert (talker.world.root / "hello.txt").read_bytes() == b"hello\n"


def test_a_turn_that_ends_with_words_is_0_and_its_draft_is_named(talker: Talker) -> None:
    talker.script(turn("Begun.", WRITE_PLAN), turn("More tomorrow."), turn("Just words."))
    answer = talker.say("Greet")
    assert (answer.code, answer.out) == (0, b"Begun.\nMore tomorrow.\n")
    assert f"{DRAFT_LEFT}: 0 operations, text in .opencode/".encode() in answer.err
    assert b" propose\n" in answer.err
    later = talker.say("-c", "And now?")
    assert (later.code, later.out) == (0, b"Just words.\n")


def test_outside_plan_mode_done_is_0(talker: Talker) -> None:
    talker.script(turn("Doing it.", write("hello.txt", "hello\n")), turn("Done."))
    answer = talker.say("Greet", "--mode", "auto-edit")
    assert (answer.code, answer.out) == (0, b"Doing it.\nDone.\n")
    assert (talker.world.root / "hello.txt").read_bytes() == b"hello\n"


def test_f41_nobody_to_ask_is_a_no(talker: Talker) -> None:
    talker.script(turn("May I?", write("hello.txt", "hello\n")), turn("I may not."))
    answer = talker.say("Greet", "--mode", "ask")
    assert (answer.code, answer.out) == (0, b"May I?\nI may not.\n")
    assert not (talker.world.root / "hello.txt").exists()


def test_f5_the_first_call_of_a_writer_is_staged_and_changes_nothing(talker: Talker) -> None:
    talker.script(turn("", write("hello.txt", "hello\n")), turn("Staged."))
    assert talker.say("Greet", "--mode", "plan").code == 0
    assert talker.world.files().keys() == {b"script.json"}
    assert [row["path"] for row in talker.world.ok("stage", "list")["operations"]] == ["hello.txt"]


def test_f5_the_settings_decide_the_mode_of_a_new_session(talker: Talker) -> None:
    talker.script(turn("", write("hello.txt", "hello\n")), turn("Tried."), turn("More."))
    assert talker.json("Greet")["mode"] == "plan"
    talker.world.config.write_text('mode = "ask"\n', encoding="utf-8")
    row = talker.json("Greet again")
    assert (row["mode"], row["agent"], row["state"]) == ("ask", "build", "IDLE")
    assert not (talker.world.root / "hello.txt").exists()


def test_f32_an_open_question_is_shown_and_answered_by_going_on(talker: Talker) -> None:
    talker.script(turn("Hm.", WORDS), turn("I need to know."), turn("Ada it is."))
    answer = talker.say("Greet")
    assert answer.code == 4
    asked = "\nThe model asks about Name:\n│ What name?\nAnswer: assent -C "
    assert asked in answer.out.decode()
    assert talker.say("-c", "Ada").out == b"Ada it is.\n"


def test_f3_a_slash_command_changes_the_stored_mode_and_asks_no_model(talker: Talker) -> None:
    talker.script(turn("Hello."), turn("Again."))
    first = talker.json("Greet")
    assert first["mode"] == "plan"
    changed = talker.world.run("-c", "-p", "/mode ask")
    assert (changed.code, changed.err) == (0, b"")
    assert changed.out == b"Mode ask, session greet.\n"
    again = talker.json("-c", "More")
    assert (again["mode"], again["result"], again["session"]) == ("ask", "Again.", first["session"])
    modes = [("/plan", "plan"), ("/plan off", "ask"), ("/mode yolo", "yolo"), ("/plan", "plan")]
    for words, mode in modes:
        told = talker.world.ok("-c", "-p", words)
        assert told == {"session": first["session"], "slug": "greet", "mode": mode}


def test_f3_an_unknown_slash_command_lists_those_that_exist(talker: Talker) -> None:
    error = talker.world.no(2, "-p", "/nonsense")
    assert "/mode plan|ask|auto-edit|yolo" in error["message"]
    assert talker.world.no(1, "-c", "-p", "/plan")["error"] == "not_found"


def test_the_mode_on_the_command_line_is_stored(talker: Talker) -> None:
    talker.script(turn("One."), turn("Two."), turn("Three."))
    assert talker.json("Greet")["mode"] == "plan"
    assert talker.json("-c", "--mode", "ask", "More")["mode"] == "ask"
    assert talker.json("-c", "More")["mode"] == "ask"


def test_a_rejection_is_gone_on_with_without_a_word(talker: Talker) -> None:
    talker.script(*PLANS, turn("Then I shout.", write("hello.txt", "HELLO\n")), turn("", PRESENT))
    assert talker.say("Greet").code == 3
    talker.world.ok("reject", "--note", "Shout, please")
    answer = talker.say("-c")
    assert answer.code == 3, answer
    assert answer.out.startswith(b"Then I shout.\n")
    nothing = talker.say("-c")
    assert nothing.code == 2
    assert b"Session greet has nothing to continue; say what to do next." in nothing.err


def test_stdin_is_context_below_the_text(talker: Talker) -> None:
    with serving(Turn(Reply("I see."))) as server:
        talker.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        line = ("-p", "Why?", "--model", "openai/m")
        answer = talker.world.run(*line, stdin=b"caf\xe9\n")
        assert (answer.code, answer.out) == (0, b"I see.\n")
        asked = [heard for heard in server.heard if b"From stdin" in heard.body]
        assert b"Why?\\n\\nFrom stdin:\\n```\\ncaf\\\\xe9\\n```" in asked[0].body


def test_stdin_alone_is_the_text(talker: Talker) -> None:
    talker.script(turn("Yes."))
    assert talker.json(stdin=b"Is it?")["slug"] == "is-it"
    assert talker.world.no(2, "-p", "--model", "scripted:script.json")["error"] == "usage"


def test_more_than_a_mebibyte_of_stdin_is_cut_with_a_note(talker: Talker) -> None:
    talker.script(turn("Long."))
    assert talker.say("Read", stdin=b"x" * ((1 << 20) + 5)).code == 0
    export = talker.world.run("sessions", "export", "read", "--json").out
    assert b"(Truncated: these are the first 1,048,576 bytes.)" in export
    assert b"x" * (1 << 20) in export
    assert b"x" * ((1 << 20) + 1) not in export


def test_what_would_steer_a_terminal_is_written_out(talker: Talker) -> None:
    talker.script(turn(f"{ESCAPE}[2JHello"))
    answer = talker.say("Greet")
    assert answer.out == b"<U+001B>[2JHello\n"
    talker.script(turn(f"{ESCAPE}[2JHello"))
    assert talker.json("Greet")["result"] == f"{ESCAPE}[2JHello"


def test_past_the_end_of_a_script_is_1_and_says_how_to_go_on(talker: Talker) -> None:
    talker.script(turn("Look.", ("read", {"path": "script.json"})))
    answer = talker.say("Greet")
    assert (answer.code, answer.out) == (1, b"Look.\n")
    assert b"kept" in answer.err
    assert b"next: " in answer.err
    talker.script(turn("Look."), turn("Not given."), turn("Back again."))
    assert talker.say("-c").out == b"Back again.\n"


def test_no_model_is_2(talker: Talker) -> None:
    answer = talker.world.run("-p", "Greet")
    assert (answer.code, answer.out) == (2, b"")
    assert b"ANTHROPIC_API_KEY" in answer.err
    assert talker.world.run("-p", "Greet", "--model", "nonsense").code == 2


def test_f42_no_tool_approves(talker: Talker) -> None:
    names = ("approve", "assent_approve", "build", "exit_plan_mode_approve", "propose")
    tries = [(name, {"digest": "0" * 64}) for name in names]
    talker.script(PLANS[0], turn("Let me.", *tries), PLANS[1])
    assert talker.say("Greet").code == 3
    plan = talker.world.ok("plan", "show")
    assert (plan["state"], plan["approved"]) == ("AWAITING_APPROVAL", False)


def test_a_turn_limit_sums_up_and_says_why(talker: Talker) -> None:
    look = ("read", {"path": "script.json"})
    talker.script(turn("One.", look), turn("Summary."), turn("Going on."))
    row = talker.json("Greet", "--max-turns", "2", code=1)
    assert (row["why"], row["result"], row["steps"]) == ("limit", "Summary.", 2)
    assert row["error"] == "limit"
    assert row["message"].startswith(step_limit_text(2))
    assert talker.say("-c").out.startswith(b"Going on.\n")


def test_a_session_is_resumed_by_id_start_or_slug(talker: Talker) -> None:
    talker.script(turn("One."), turn("Two."), turn("Three."), turn("Four."))
    first = talker.json("Greet")["session"]
    talker.json("Another thing")
    for ref, said in ((first, "Two."), (first[:-2], "Three."), ("greet", "Four.")):
        row = talker.json("-r", ref, "More")
        assert (row["session"], row["result"]) == (first, said)
    assert talker.world.no(1, "-p", "-r", "nowhere", "More")["error"] == "not_found"


def test_the_session_of_a_plan_goes_on_and_a_plan_without_one_is_taken_up(talker: Talker) -> None:
    talker.script(*PLANS, turn("Which?"))
    planned = talker.json("Greet", code=3)
    mine = talker.world.plan("mine")["plan_id"]
    again = talker.json("--plan", planned["plan_id"], "Why so?")
    assert again["session"] == planned["session"]
    talker.script(turn("I took it up.", WRITE_PLAN), turn("Done."))
    taken = talker.json("--plan", mine, "Go")
    assert (taken["plan_id"], taken["state"]) == (mine, "DRAFTING")
    assert taken["draft"].endswith("PLAN_mine.md")
    assert talker.world.text().read_text("utf-8") == PLAN_TEXT


@pytest.mark.parametrize("line", [["bulid"], ["sttaus", "--json"]], ids=" ".join)
def test_a_mistyped_command_is_no_goal(world: World, line: list[str]) -> None:
    answer = world.run(*line)
    assert (answer.code, answer.out) == (2, b"")
    assert b"Did you mean " in answer.err


def test_a_closed_pipe_is_no_failure(talker: Talker) -> None:
    talker.script(turn("x" * 100_000), turn("y"))
    line = f"{' '.join(PROGRAM_LINE)} | head -c 1"
    answer = talker.world.start(["bash", "-c", f"set -o pipefail; {line}", PROGRAM[0]])
    assert (answer.code, answer.out, answer.err) == (0, b"x", b"")


def test_a_folder_elsewhere_is_in_every_command(talker: Talker) -> None:
    talker.script(*PLANS)
    row = talker.json("Greet", code=3)
    assert row["next"].startswith(f"assent -C {talker.world.root} approve --digest {row['digest']}")
    assert msgspec.json.encode(row["next"])


PROGRAM_LINE = (
    '"$0"', "-c", "'from assent.cli import main; main()'",
    "-p", "Go", "--model", "scripted:script.json",
)  # fmt: skip


def test_a_pipe_that_nobody_closes_is_not_waited_for(talker: Talker) -> None:
    talker.script(turn("Hello."))
    reader, writer = os.pipe()
    try:
        done = forked_python.run(
            [*PROGRAM, "-p", "Hi there", "--model", MODEL],
            cwd=talker.world.root,
            env=talker.world.env,
            stdin=reader,
            capture_output=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert (done.returncode, done.stdout) == (0, b"Hello.\n")
    assert b"No input on stdin after 3 seconds" in done.stderr
