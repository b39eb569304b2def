"""What a terminal is shown: colour, pages and progress, and none of it in a pipe."""

import re
from shutil import which

import pytest
from tests.cli.harness import World
from tests.cli.terminal import SEQUENCE, Terminal

SCREEN = ("stdin", "stdout")


@pytest.fixture
def long(world: World) -> World:
    """A plan whose review does not fit on a screen."""
    world.plan()
    world.write("a.txt", b"".join(b"line %d\n" % number for number in range(100)))
    return world


def test_a_long_review_is_paged(long: World) -> None:
    seen = long.base / "paged"
    pager = long.base / "pager"
    pager.write_text(f"#!/bin/sh\nexec tee {seen}\n", encoding="utf-8")
    pager.chmod(0o755)
    terminal = Terminal(long, "review", shared=SCREEN, env={"PAGER": str(pager)})
    assert terminal.end().code == 0
    paged = seen.read_bytes()
    assert paged.startswith(b"\x1b[1mPlan work\x1b[0m\n")
    assert b"line 99" in paged
    assert b"line 99" in terminal.screen


@pytest.mark.skipif(which("less") is None, reason="less is not installed")
def test_less_shows_colour_unless_the_person_has_other_wishes(long: World) -> None:
    for env, heading in (
        ({}, b"\x1b[1mPlan work"),
        ({"PAGER": "less -i"}, b"\x1b[1mPlan work"),
        ({"LESS": "-i"}, b"Plan work"),
        ({"LESS": "-iR"}, b"\x1b[1mPlan work"),
    ):
        terminal = Terminal(long, "review", shared=SCREEN, env=env)
        terminal.wait_for(b"Plan work")
        terminal.type(b"q")
        assert terminal.end().code == 0
        assert heading in terminal.screen
        assert b"ESC" not in terminal.screen


@pytest.mark.parametrize(("given", "wanted"), [({}, b"-R"), ({"LESS": "-FX"}, b"-FX")])
def test_a_pager_is_told_of_colour_and_not_against_the_persons_word(
    long: World, given: dict[str, str], wanted: bytes
) -> None:
    seen, pager = long.base / "less", long.base / "pager"
    pager.write_text(f'#!/bin/sh\nprintf %s "$LESS" > {seen}\nexec cat\n', encoding="utf-8")
    pager.chmod(0o755)
    terminal = Terminal(long, "review", shared=SCREEN, env={"PAGER": str(pager), **given})
    assert terminal.end().code == 0
    assert seen.read_bytes() == wanted


def test_lines_that_the_terminal_breaks_count_for_what_they_take(world: World) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=b"x" * 900 + b"\n" + b"y" * 900 + b"\n")
    seen, pager = world.base / "paged", world.base / "pager"
    pager.write_text(f"#!/bin/sh\nexec tee {seen}\n", encoding="utf-8")
    pager.chmod(0o755)
    terminal = Terminal(world, "review", shared=SCREEN, env={"PAGER": str(pager)})
    assert terminal.end().code == 0
    assert b"yyy" in seen.read_bytes()


def test_pager_cat_shows_everything(long: World) -> None:
    terminal = Terminal(long, "review", shared=SCREEN, env={"PAGER": "cat"})
    assert terminal.end().code == 0
    assert terminal.screen.count(b"+line ") == 100


def test_a_short_review_is_not_paged(world: World) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=b"# Short\n")
    terminal = Terminal(world, "review", shared=SCREEN, env={"PAGER": "false"})
    assert terminal.end().code == 0
    assert b"Short" in terminal.screen


def test_colour_repeats_what_the_signs_say(world: World) -> None:
    world.put("a.txt", b"old\n")
    world.plan()
    world.write("a.txt", b"new\n")
    colored = Terminal(world, "diff", shared=SCREEN)
    assert colored.end().code == 0
    assert b"\x1b[32m+new\x1b[0m" in colored.screen
    assert b"\x1b[31m-old\x1b[0m" in colored.screen
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = Terminal(world, "diff", shared=SCREEN, env=env)
        assert plain.end().code == 0
        assert b"\x1b" not in plain.screen
        assert b"+new" in plain.screen


def test_no_colour_and_no_pager_in_a_pipe(long: World) -> None:
    answer = long.process("review", env={"PAGER": "false"})
    assert answer.code == 0
    assert answer.out.count(b"+line ") == 100
    assert b"\x1b" not in answer.out


def test_build_shows_progress_on_a_terminal_only(world: World) -> None:
    world.plan()
    world.write("a.txt", b"a\n")
    world.approve()
    terminal = Terminal(world, "build", shared=("stderr",))
    answer = terminal.end()
    assert answer.code == 0
    assert b"do all renames: 0 of 1" in terminal.screen
    assert terminal.screen.endswith(b"\r\x1b[K")
    assert b"\x1b" not in answer.out

    undo = world.ok("undo", "--dry-run")["digest"]
    quiet = Terminal(world, "undo", "--digest", undo, "--json", shared=("stderr",))
    assert quiet.end().code == 0
    assert quiet.screen == b""


def test_a_refusal_clears_the_progress_line(world: World) -> None:
    world.plan()
    terminal = Terminal(world, "build", shared=("stderr",))
    assert terminal.end().code == 3
    assert terminal.screen.startswith(b"\r\x1b[Kassent: This plan is not approved")


def test_code_has_syntax_colours_and_the_same_text(world: World) -> None:
    world.put("a.py", b"x = 'one'\n")
    world.plan()
    world.ok("plan", "write", "-", stdin=b"# Plan\n\n```python\ndef f(): pass\n```\n")
    world.write("a.py", b"x = 'two'\n")
    for line in (("diff",), ("review",), ("plan", "show"), ("plan", "show", "--revision", "2")):
        colored = Terminal(world, *line, shared=SCREEN, env={"PAGER": "cat"})
        assert colored.end().code == 0
        word = b"two" if line == ("diff",) else b"def"
        assert re.search(rb"\x1b\[3[35]m(\x1b\[4m)?" + word, colored.screen), line
        plain = Terminal(world, *line, shared=SCREEN, env={"PAGER": "cat", "NO_COLOR": "1"})
        assert plain.end().code == 0
        assert SEQUENCE.sub(b"", colored.screen) == plain.screen
        assert b"\x1b" not in plain.screen
    changed = Terminal(world, "diff", shared=SCREEN)
    assert changed.end().code == 0
    assert b"\x1b[33m\x1b[4mtwo\x1b[0m" in changed.screen
    assert b"\x1b" not in world.process("review").out
