"""Questions that were left open: nobody's silence answers them, and going on says what waits."""

import os
import signal

from tests.cli.scripts import Talker, turn, write
from tests.cli.terminal import Terminal

from assent.cli.goal.command import MESSAGE_KEPT

SCREEN = ("stdin", "stdout", "stderr")
HINT = b"free text as feedback (Enter: no, end the turn): "
MODEL = ("--model", "scripted:script.json")
WRITES = turn("May I?", write("hello.txt", "hello\n"))
RUNS = ("shell", {"command": "touch a.txt"}), ("shell", {"command": "touch b.txt"})
LATER = ("--mode", "ask", "--ask-later")


def open_ones(talker: Talker) -> list[str]:
    return [row["id"] for row in talker.world.ok("questions", "list")["questions"]]


def kinds(talker: Talker) -> list[str]:
    events = talker.world.ok("sessions", "export", "greet-me")["events"]
    return [row["kind"] for row in events]


def test_f94_what_was_left_open_stays_open_where_nobody_can_be_asked(talker: Talker) -> None:
    talker.script(WRITES, turn("I did."))
    assert talker.json("Greet me", *LATER, code=4)["why"] == "waiting"
    [question] = open_ones(talker)
    for line in (["-c", ""], ["-c", "Well?"], ["-r", "greet-me", ""]):
        ended = talker.json(*line, code=4)
        assert (ended["why"], ended["waiting"], ended["steps"]) == ("waiting", [question], 0)
        assert ended["message"] == "1 question is pending."
    assert kinds(talker).count("question_asked") == 1
    assert not {"question_answered", "call_ended"} & {*kinds(talker)}
    [row] = talker.world.ok("questions", "list")["questions"]
    talker.world.ok("questions", "answer", question, "yes", "--digest", row["digest"])
    assert talker.json("-c", "")["result"] == "I did."
    assert (talker.world.root / "hello.txt").read_bytes() == b"hello\n"


def test_a_message_that_waits_behind_a_question_is_kept_and_said_to_be(talker: Talker) -> None:
    talker.script(WRITES, turn("I did, and well."))
    asked = talker.world.run("-p", "Greet me", *LATER, *MODEL)
    assert asked.code == 4
    assert (asked.out + asked.err).count(b"questions list") == 1
    assert MESSAGE_KEPT.encode() not in asked.err
    assert MESSAGE_KEPT.encode() in talker.world.run("-c", "-p", "Well?", *MODEL).err
    assert MESSAGE_KEPT.encode() not in talker.world.run("-c", "-p", *MODEL).err
    [row] = talker.world.ok("questions", "list")["questions"]
    talker.world.ok("questions", "answer", row["id"], "yes", "--digest", row["digest"])
    assert talker.json("-c", "")["result"] == "I did, and well."


def test_f94_also_after_a_process_was_killed(talker: Talker) -> None:
    talker.script(WRITES, turn("I may not."))
    terminal = Terminal(talker.world, "Greet me", "--mode", "ask", *MODEL, shared=SCREEN)
    terminal.wait_for(HINT)
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.end()
    [question] = open_ones(talker)
    assert talker.json("-c", "", code=4)["waiting"] == [question]
    assert open_ones(talker) == [question]


def test_f94_the_file_changed_meanwhile_and_the_new_question_waits_as_well(talker: Talker) -> None:
    talker.script(WRITES, turn("I did."))
    talker.json("Greet me", *LATER, code=4)
    [old] = open_ones(talker)
    talker.world.put("hello.txt", b"hi\n")
    ended = talker.json("-c", "", code=4)
    [new] = ended["waiting"]
    assert (new != old, open_ones(talker)) == (True, [new])


def test_f95_how_many_are_open_is_said(talker: Talker) -> None:
    talker.script(turn("May I?", *RUNS), turn("I did."))
    ended = talker.json("Greet me", *LATER, code=4)
    assert ended["message"] == "2 questions are pending."
    first, second = talker.world.ok("questions", "list")["questions"]
    line = ("questions", "answer", first["id"], "yes", "--digest", first["digest"])
    row = talker.world.ok(*line)
    assert (row["open"], row["at_work"], row["next"]) == (1, False, "assent -r greet-me")
    text = talker.world.run("questions", "answer", second["id"], "--words", "Not b.txt").out
    assert text.splitlines() == [
        b"Answered: no, with feedback: Not b.txt",
        b"Next: assent -r greet-me",
    ]


def test_f95_where_the_session_is_at_work_it_goes_on_there(talker: Talker) -> None:
    talker.script(WRITES, turn("I did."))
    terminal = Terminal(talker.world, "Greet me", "--mode", "ask", *MODEL, shared=SCREEN)
    terminal.wait_for(HINT)
    [question] = open_ones(talker)
    text = talker.world.run("questions", "answer", question, "no", "--words", "Not now").out
    assert b"The session is running in another process and continues there." in text
    assert b"Next:" not in text
    terminal.wait_for(b"(command line): Not now.")
    assert terminal.end().code == 0


def test_a_number_that_is_not_there_is_asked_again(talker: Talker) -> None:
    talker.script(WRITES, turn("I did."))
    terminal = Terminal(talker.world, "Greet me", "--mode", "ask", *MODEL, shared=SCREEN)
    terminal.wait_for(HINT)
    terminal.type(b"9\n")
    terminal.wait_for(b"9 is not an option; enter 1 to 4.\r\ny, n, a number, or " + HINT)
    terminal.type(b"1\n")
    terminal.wait_for(b"I did.")
    assert terminal.end().code == 0


def test_f81_a_no_to_the_confirmation_says_that_nothing_is_remembered(talker: Talker) -> None:
    talker.script(WRITES, turn("I did."))
    terminal = Terminal(talker.world, "Greet me", "--mode", "ask", *MODEL, shared=SCREEN)
    terminal.wait_for(HINT)
    terminal.type(b"2\n")
    terminal.wait_for(b"y, n, or free text (Enter: no): ")
    terminal.type(b"n\n")
    terminal.wait_for(b"Nothing was remembered.\r\n")
    terminal.screen = terminal.screen.partition(b"Nothing was remembered.\r\n")[2]
    terminal.wait_for(HINT)
    terminal.type(b"y\n")
    terminal.wait_for(b"I did.")
    assert terminal.end().code == 0
    assert talker.world.ok("rules", "list")["grants"] == []


def test_ctrl_c_begins_a_new_line_and_tells_of_no_answer(talker: Talker) -> None:
    talker.script(WRITES, turn("I did."))
    terminal = Terminal(talker.world, "Greet me", "--mode", "ask", *MODEL, shared=SCREEN)
    terminal.wait_for(HINT)
    terminal.type(b"half an ans\x03")
    assert terminal.end().code == 130
    after = terminal.screen.partition(HINT)[2]
    assert b"^C\r\n" in after
    assert b"elsewhere" not in after


def test_a_script_is_shown_line_by_line_behind_a_bar(talker: Talker) -> None:
    script = 'set -e\nfor f in *; do\n  rm "$f"\ndone'
    talker.script(turn("May I?", ("shell", {"command": script})), turn("I did."))
    terminal = Terminal(talker.world, "Greet me", "--mode", "ask", *MODEL, shared=SCREEN)
    terminal.wait_for(HINT)
    bar = "│ ".encode()
    block = b"\r\n".join(bar + line.encode() for line in script.splitlines())
    assert block in terminal.screen
    assert b"Allow running this command?" in terminal.screen
    assert terminal.screen.count(b"isk: ") == 1
    terminal.type(b"\n")
    terminal.end()


def test_f82_a_yes_in_a_mode_of_ones_own_does_not_count_in_its_base(talker: Talker) -> None:
    world = talker.world
    config = world.config.read_text("utf-8")
    world.config.write_text(f'{config}\n[modes.careful]\nbase = "ask"\n', encoding="utf-8")
    talker.script(WRITES, turn("I did."))
    terminal = Terminal(world, "Greet me", "--mode", "careful", *MODEL, shared=SCREEN)
    terminal.wait_for(HINT)
    terminal.type(b"3\n")
    terminal.wait_for(b"y, n, or free text (Enter: no): ")
    assert b"for agent build in careful mode" in terminal.screen.replace(b"\r\n", b" ")
    terminal.type(b"y\n")
    terminal.wait_for(b"I did.")
    assert terminal.end().code == 0
    talker.script(turn("May I?", write("hello.txt", "hi\n")), turn("So."))
    assert talker.json("Again", "--mode", "ask")["questions"]
    assert (world.root / "hello.txt").read_bytes() == b"hello\n"
    assert not talker.json("And again", "--mode", "careful")["questions"]
    assert (world.root / "hello.txt").read_bytes() == b"hi\n"
