"""Commands of plans, end to end: reviewed, approved, run in the sandbox, shown, halted, gone on."""

import os
from time import monotonic, sleep
from typing import Any

import pytest
from tests.cli.harness import TICK_S, World
from tests.cli.terminal import PATIENCE, Terminal

from assent.executor.command import exit_text

KEY = "AKIA" + "IOSFODNN7EXAMPLZ"
WAYS = ("resume", "roll-back", "accept")
UPPER = "tr a-z A-Z < in.txt > out.txt && echo written"


def stage(world: World, script: str, *options: str) -> str:
    """Stages the writing of a file, something that runs on it, and the writing of another file."""
    world.write("in.txt", b"one\n")
    name = world.ok("stage", "run", *options, "--script", script)["operation"]["id"]
    world.write("more.txt", b"more\n")
    return str(name)


PUT_BACK = "Undo restores the contents, modes and links that it changed in the workspace."
NOT_COVERED = [
    "git-ignored files", "files over 16 MB", "owners", "extended attributes",
    "empty folders", "anything outside the workspace",
]  # fmt: skip


def results(answer: dict[str, Any]) -> list[tuple[str, int | None]]:
    return [(row["result"], row.get("exit")) for row in answer["operations"]]


def test_a_plan_with_a_command_is_reviewed_approved_and_built(planned: World) -> None:
    name = stage(planned, UPPER)
    review = planned.ok("review")
    row = review["operations"][1]
    assert (row["id"], row["kind"], row["script"]) == (name, "run", UPPER)
    assert (row["reversible"], row["risks"], row["diff"]) == ("reversible", [], None)
    assert row["remarks"] == [PUT_BACK]
    assert row["not_covered"] == NOT_COVERED
    text = planned.run("review").out.decode()
    title, _, risk, beside = text[text.index("2. run ") :].splitlines()[:4]
    assert title.endswith(" (reversible)")
    assert (row["risk"], risk) == ("medium", f"medium risk: {' '.join(row['reasons'])}")
    assert beside == f"not covered by undo: {', '.join(NOT_COVERED)}"
    assert b"out.txt" not in planned.files()
    answer = planned.build()
    assert (answer["outcome"], results(answer)) == (
        "done", [("done", None), ("done", 0), ("done", None)],
    )  # fmt: skip
    assert {path: what[2] for path, what in planned.files().items()} == {
        b"in.txt": b"one\n", b"out.txt": b"ONE\n", b"more.txt": b"more\n",
    }  # fmt: skip
    assert planned.undo().code == 0
    assert planned.files() == {}


def test_the_review_shows_the_whole_command_and_how_it_is_confined(planned: World) -> None:
    planned.ok(
        "stage", "run", "--no-sandbox", "--env", "K=v w", "--timeout", "5", "--script",
        "rm -r x\ncurl https://example.org/\x1b | sh",
    )  # fmt: skip
    planned.propose()
    text = planned.run("review").out.decode()
    for line in (
        "1. run rm -r x (2 lines) (irreversible)",
        "risks: deletes, irreversible, writes_outside, hidden_text, installs, network",
        "│ rm -r x",
        "│ curl https://example.org/<U+001B> | sh",
        "folder    .",
        "variable  K='v w'",
        "limits    5 s, 8 GiB memory, 1024 processes, 1 GiB output",
        "WITHOUT THE SANDBOX: it can do anything you can.",
        "Changes outside the workspace are neither recorded nor undone.",
    ):
        assert line in text.splitlines(), line
    assert "\x1b" not in text


def test_a_secret_in_a_command_is_a_risk_and_shown_as_it_is_hashed(planned: World) -> None:
    planned.ok("stage", "run", "--env", f"T={KEY}", "--", "true")
    review = planned.ok("review")["operations"][0]
    assert (review["risks"], review["env"]) == (["secret"], {"T": KEY})


def test_what_the_plan_does_not_declare_is_out_of_scope(planned: World) -> None:
    text = b"---\nscope: {commands: [make]}\n---\n# Do it\n"
    planned.ok("plan", "write", "-", stdin=text)
    planned.ok("stage", "run", "--", "make", "all")
    planned.ok("stage", "run", "--script", "make && touch a")
    operations = planned.ok("review")["operations"]
    assert [row["risks"] for row in operations] == [[], ["out_of_scope"]]


def test_a_failed_command_halts_and_says_what_was_done_and_the_ways_on(planned: World) -> None:
    stage(planned, f"echo {KEY}; echo half > half.txt; exit 3")
    planned.approve()
    answer = planned.run("build", "--json")
    assert answer.code == 6
    assert answer.json["outcome"] == "needs_you"
    assert results(answer.json) == [("done", None), ("failed", 3), ("not_started", None)]
    assert answer.json["next"] == [f"assent recover --{way}" for way in WAYS]
    for told in (answer.json, planned.run("recover", "--json").json):
        assert f"{exit_text(3)}." in told["notes"][0]
        assert [note for note in told["notes"] if KEY in note or "assent recover" in note] == []
    text = planned.run("recover").out.decode()
    for words in (
        "failed       run", "(exit 3)", "not_started  create  more.txt",
        "assent recover --resume: ", "assent recover --roll-back: ", "assent recover --accept: ",
    ):  # fmt: skip
        assert words in text, text
    assert KEY not in text
    back = planned.run("recover", "--roll-back", "--json")
    assert (back.code, back.json["outcome"]) == (1, "rolled_back")
    assert planned.files() == {}


def test_a_command_writes_nothing_outside_whatever_it_tries(planned: World) -> None:
    outside, home = planned.base / "outside.txt", planned.base / "home"
    stage(planned, f"echo x > {outside}; touch ~/x; rm -rf {planned.state}; echo safe > safe.txt")
    assert planned.ok("review")["operations"][1]["risks"] == ["deletes", "writes_outside"]
    assert planned.build()["outcome"] == "done"
    assert not outside.exists()
    assert list(home.iterdir()) == []
    assert b"safe.txt" in planned.files()
    assert planned.ok("status")["run"]["outcome"] == "done"


def test_what_a_command_says_is_shown_on_a_terminal(planned: World) -> None:
    stage(planned, f"echo hel''lo; echo {KEY} >&2; printf '\\033[2J\\n'")
    planned.approve()
    terminal = Terminal(planned, "build", shared=("stdout", "stderr"))
    answer = terminal.end()
    assert answer.code == 0, (answer, terminal.screen)
    shown, over, told = terminal.screen.decode().rpartition("\r\x1b[K")
    assert over
    assert "Done: all operations applied." in told
    before, _, after = shown.partition("[2/3] $ echo hel''lo; echo [masked: ")
    assert "[2/3] recording files before echo hel''lo; " in before
    assert "\r\n" in after.partition("  | hello\r\n")[0]
    assert "[2/3] checking what changed after echo hel''lo; " in after
    assert "  | <U+001B>[2J\r\n" in shown
    assert "  | [masked: " in shown
    assert KEY not in shown + told
    assert "  | " not in told


def test_with_json_nothing_but_the_answer_is_written(planned: World) -> None:
    planned.ok("stage", "run", "--script", "echo quiet")
    planned.approve()
    silent = planned.process("build", "--json")
    assert (silent.code, silent.err) == (0, b"")
    assert silent.json["operations"][0]["exit"] == 0
    assert b"  | " not in silent.out


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_an_interrupted_command_is_ended_and_waits_for_a_decision(
    planned: World, options: tuple[str, ...]
) -> None:
    stage(planned, "touch begun; echo begun; while :; do sleep 1; done; touch never")
    planned.approve()
    terminal = Terminal(planned, "build", *options, shared=() if options else ("stderr",))
    until = monotonic() + PATIENCE
    while not (planned.root / "begun").exists():
        assert monotonic() < until
        sleep(TICK_S)
    sleep(0.3)  # what a person sees has begun for us, too
    terminal.type(b"\x03")
    answer = terminal.end()
    assert answer.code == 130, (answer, terminal.screen)
    if options:
        assert results(answer.json)[1][0] in ("failed", "unknown")
    else:
        assert b"the command was interrupted" in answer.out
        assert b"assent recover --roll-back: " in answer.out
    assert planned.ok("status")["run"]["outcome"] == "needs_you"
    assert planned.run("recover", "--accept", "--json").code == 0
    assert (b"begun" in planned.files(), b"never" in planned.files()) == (True, False)


def test_a_file_is_moved_used_by_a_command_edited_and_put_back(planned: World) -> None:
    planned.put("m", b"moved\n")
    planned.put("old/gone", b"gone\n")
    before = planned.files()
    planned.ok("stage", "move", "m", "n")
    planned.ok("stage", "delete", "old")
    planned.ok("stage", "run", "--script", "cat n > seen; ls > names; mkdir made")
    planned.ok("stage", "edit", "n", "--find", "moved", "--put", "edited")
    planned.write("old", b"a file now\n")
    planned.ok("stage", "run", "--cwd", ".", "--", "cp", "n", "made/copy")
    assert planned.build()["outcome"] == "done"
    assert {path: what[2] for path, what in planned.files().items() if what[0] == "file"} == {
        b"made/copy": b"edited\n", b"n": b"edited\n", b"names": b"n\nnames\nseen\n",
        b"old": b"a file now\n", b"seen": b"moved\n",
    }  # fmt: skip
    assert planned.undo().code == 0
    assert planned.files() == before


def test_what_a_command_changed_under_a_later_segment_halts_and_keeps_it(planned: World) -> None:
    """The plan says what a file is when its segment begins; a command that made it another wins."""
    planned.put("a", b"one\n")
    planned.ok("stage", "run", "--script", "echo mine > a")
    planned.write("a", b"two\n")
    planned.approve()
    answer = planned.run("build", "--json")
    assert (answer.code, answer.json["outcome"]) == (6, "needs_you")
    assert results(answer.json) == [("done", 0), ("conflict", None)]
    assert planned.files()[b"a"][2] == b"mine\n"
    back = planned.run("recover", "--roll-back", "--json")
    assert back.json["outcome"] == "rolled_back"
    assert planned.files()[b"a"][2] == b"one\n"


@pytest.mark.parametrize("options", [(), ("--no-sandbox",)], ids=["confined", "unconfined"])
def test_a_file_may_grow_beyond_what_looking_around_may_write(
    planned: World, options: tuple[str, ...]
) -> None:
    """The file has no content but a few bytes at its end, so that it takes no room."""
    large = planned.root / "large.bin"
    large.touch()
    os.truncate(large, 2 << 30)
    planned.ok("stage", "run", *options, "--script", "echo more >> large.bin")
    assert planned.build()["outcome"] == "done"
    assert large.stat().st_size == (2 << 30) + 5


def test_a_command_that_a_signal_ended_is_told_as_such(planned: World) -> None:
    """It keeps a limit of its own, as a person's shell may."""
    stage(planned, "ulimit -f 1; exec head -c 4096 /dev/zero > grown.bin")
    planned.approve()
    answer = planned.run("build")
    assert answer.code == 6
    text = answer.out.decode()
    assert exit_text(153).endswith(" 153 (SIGXFSZ)")
    assert f"{exit_text(153)}." in text
    assert "(exit 153, SIGXFSZ)" in text
    assert planned.run("recover", "--json").json["operations"][1]["exit"] == 153
