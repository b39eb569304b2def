"""Nothing that hides reaches the terminal: not from texts, files, names, notes or errors."""

import os
import re
import unicodedata

import pytest
from tests.cli.harness import World
from tests.cli.terminal import QUESTION, Terminal

# Colours, title, 8-bit controls, reordering, zero width, an early carriage return, fake lines.
EVIL = (
    "\x1b[2J\x1b]0;title\x07 \x9b31m \u202egnp.exe\u202c \u2066iso\u2069 zero\u200bwidth\u2060 "
    "\ufeffmark \u00adsoft tag\U000e0041 \x08\x08back \x7fdel \u2028separator "
)
RETURN = "harmless\rrm -rf / #\r\n"
TEXT = EVIL + RETURN
NAME = "\x1b[31m\u202egnp.\u200bexe\x9b\r\nassent: Done."
SGR = re.compile(r"\x1b\[[0-9;]*m")
SCREEN = ("stdin", "stdout", "stderr")

READING = [
    ["review"],
    ["diff"],
    ["diff", "--live"],
    ["stage", "list"],
    ["plan", "list"],
    ["plan", "list", "--all"],
    ["plan", "show"],
    ["plan", "history"],
    ["plan", "history", "--diff", "1", "2"],
    ["status"],
    ["log"],
    ["undo", "--dry-run"],
]


def harmless(shown: bytes, *, color: bool = False) -> None:
    """Checks the bytes: nothing but printing characters, line feeds and, in colour, our SGR."""
    text = shown.decode("utf-8")
    if color:
        text = SGR.sub("", text.replace("\r\n", "\n"))
    bad = {f"U+{ord(char):04X}" for char in text if hides(char)}
    assert not bad, bad


def hides(char: str) -> bool:
    return char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co")


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world where everything that can carry such characters does."""
    world = World(tmp_path_factory.mktemp("evil"))
    world.put(NAME, b"old\n")
    world.put("moved", b"moved\n")
    world.ok("plan", "new", "first", "--session", "tests", "--goal", TEXT)
    world.write("done.txt", TEXT.encode())
    world.write(NAME, TEXT.encode())
    world.build()
    world.plan("work")
    matter = "---\nscope: {files: ['\u202e*', '\x1b[1m']}\n---\n"
    world.ok("plan", "write", "-", stdin=(matter + TEXT).encode() + b"\xff\xc2\x9b")
    world.write("content.txt", TEXT.encode() + b"\xff\n")
    world.write(NAME + "2", b"x\n")
    world.ok("stage", "move", "--", "moved", NAME + "3")
    world.ok("stage", "write", "--link-to", NAME, "--", "link")
    digest = world.propose()
    world.ok("approve", "--digest", digest, "--note", TEXT)
    world.ok("reject", "--note", TEXT)
    world.approve()
    with world.text().open("ab") as file:
        file.write(TEXT.encode())
    return world


@pytest.mark.parametrize("line", READING, ids=" ".join)
def test_g17_in_a_pipe(evil: World, line: list[str]) -> None:
    answer = evil.run(*line)
    assert answer.code == 0
    assert answer.out
    harmless(answer.out)
    harmless(answer.err)


@pytest.mark.parametrize("line", [["review"], ["diff"], ["log"], ["stage", "list"]], ids=" ".join)
def test_g17_in_colour(evil: World, line: list[str]) -> None:
    terminal = Terminal(evil, *line, shared=SCREEN, env={"PAGER": "cat"})
    assert terminal.end().code == 0
    harmless(terminal.screen, color=True)
    if line in (["review"], ["diff"]):
        assert b"\x1b[32m" in terminal.screen


def test_g17_at_the_question(evil: World) -> None:
    text = evil.text()
    whole = text.read_bytes()
    text.write_bytes(whole.removesuffix(TEXT.encode()))
    terminal = Terminal(evil, "approve", "--no-input")
    assert terminal.end().code == 4
    asked = Terminal(evil, "approve")
    assert asked.answer(b"\n").code == 4
    text.write_bytes(whole)
    shown = asked.screen.partition(QUESTION)[0]
    assert b"<U+202E>" in shown
    harmless(shown, color=True)


ERRORS = [
    ["stage", "delete", "--", NAME + "missing"],
    ["stage", "edit", "--find", "nowhere", "--put", "y", "--", NAME],
    ["stage", "write", "--from", "-", "--", NAME + "/below"],
    ["stage", "write", "--from", "-", "--", "../" + NAME],
    ["stage", "write", "--from", "-", "--", ".git/" + NAME],
    ["stage", "write", "--from", NAME + "missing", "--", "x"],
    ["stage", "write", "--mode", NAME, "--", "x"],
    ["stage", "move", "--", "done.txt", NAME],
    ["stage", "remove", NAME],
    ["plan", "use", NAME],
    ["plan", "new", NAME],
    ["plan", "new", "x", "--session", NAME],
    ["plan", "write", NAME + "missing"],
    ["plan", "delete", "--session", NAME],
    ["status", "-C", NAME + "missing"],
    ["undo", NAME],
    ["approve", "--digest", NAME],
    ["build", "--plan", NAME],
    [NAME],
    ["--" + NAME],
    ["status", NAME],
]


@pytest.mark.parametrize("line", ERRORS, ids=lambda line: ascii(" ".join(line))[:40])
def test_errors_show_what_hides(evil: World, line: list[str]) -> None:
    answer = evil.run(*line)
    assert answer.code > 0
    harmless(answer.err)
    assert all(part.startswith((b"assent: ", b"  next: ")) for part in answer.err.splitlines())
    assert b"\n\nassent" not in answer.err


def test_drift_and_live_differences_show_what_hides(evil: World) -> None:
    refused = evil.run("build")
    assert refused.code == 5
    harmless(refused.err)
    evil.put(NAME + "2", b"in the way\n")
    text = evil.text()
    whole = text.read_bytes()
    text.write_bytes(whole.removesuffix(TEXT.encode()))
    drift = evil.run("build")
    text.write_bytes(whole)
    os.unlink(evil.at(NAME + "2"))
    assert drift.code == 5
    assert b"was created: a file." in drift.err
    harmless(drift.err)


def test_a_conflict_of_undo_shows_what_hides(evil: World) -> None:
    evil.put(NAME, b"mine\n")
    answer = evil.run("undo", "--dry-run")
    assert answer.code == 0
    assert b"  skipped: " in answer.out
    harmless(answer.out)


def test_g17_what_hides_is_a_risk(evil: World) -> None:
    rows = {row["path"]: row["risks"] for row in evil.ok("review")["operations"]}
    assert "hidden_text" in rows["content.txt"]
    assert "hidden_text" in rows[NAME + "2"]
    assert "hidden_text" in rows["moved"]


def test_json_holds_the_exact_text(evil: World) -> None:
    """Programs get what is there; only JSON's own escapes stand between."""
    answer = evil.run("review", "--json")
    assert re.search(rb"[\x00-\x09\x0b-\x1f]", answer.out) is None
    assert NAME + "2" in [row["path"] for row in answer.json["operations"]]
