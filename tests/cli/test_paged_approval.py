"""`approve` of a long plan: through a pager, and then the question about its digest."""

import os
import signal
from pathlib import Path
from shutil import which

import pytest
from tests.cli.harness import World
from tests.cli.terminal import QUESTION, Terminal

SCREEN = ("stdin", "stdout")
needs_less = pytest.mark.skipif(which("less") is None, reason="less is not installed")


@pytest.fixture
def long(world: World) -> World:
    """A plan whose review does not fit on a screen."""
    world.plan()
    world.write("a.txt", b"".join(b"line %d\n" % number for number in range(5000)))
    return world


def script(world: World, *lines: str, folder: Path | None = None) -> str:
    """Writes a pager outside of the workspace, and returns its path."""
    path = (folder or world.base) / "pager"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def readings(world: World) -> int:
    return sum(event["kind"] == "review_shown" for event in world.ok("log")["events"])


def not_asked(world: World, terminal: Terminal) -> bytes:
    """Checks that a command ended without a question and without an approval."""
    answer = terminal.end()
    assert answer.code == 4, terminal.screen
    assert QUESTION not in terminal.screen
    assert world.ok("status")["plan"]["state"] == "AWAITING_APPROVAL"
    kinds = {event["kind"] for event in world.ok("log")["events"]}
    assert not {kind for kind in kinds if "approved" in kind or "declined" in kind}
    return answer.err


@needs_less
def test_g32_a_long_review_is_paged_and_the_question_names_the_digest_again(long: World) -> None:
    digest = long.propose()
    terminal = Terminal(long, "approve", shared=SCREEN)
    terminal.wait_for(b"Plan work")
    terminal.type(b"G")
    terminal.wait_for(b"line 4999")
    assert QUESTION not in terminal.screen
    terminal.type(b"q")
    terminal.wait_for(QUESTION)
    after = terminal.screen.partition(b"\x1b[?1049l")[2] or terminal.screen
    assert after.count(digest.encode()) >= 1
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    assert long.ok("review")["approved"] is True
    assert long.ok("build")["outcome"] == "done"


def test_another_answer_after_the_pager_approves_nothing(long: World) -> None:
    long.propose()
    terminal = Terminal(long, "approve", shared=SCREEN, env={"PAGER": "cat"})
    assert terminal.answer(b"yes\n").code == 4
    assert long.ok("review")["approved"] is False
    assert readings(long) == 0  # how far it was read is not known


@needs_less
def test_an_interrupted_pager_is_ended_and_asks_nothing(long: World) -> None:
    long.propose()
    terminal = Terminal(long, "approve", shared=SCREEN)
    before = terminal.settings
    terminal.wait_for(b"Plan work")
    terminal.type(b"\x03")
    err = not_asked(long, terminal)
    assert b"The pager was interrupted" in err
    assert terminal.settings == before


def test_a_terminal_that_a_pager_leaves_changed_is_restored(long: World) -> None:
    long.propose()
    pager = script(long, "stty -echo -icanon </dev/tty", "cat >/dev/null", "echo gone >/dev/tty",
                   "kill -KILL $$")  # fmt: skip
    terminal = Terminal(long, "approve", shared=SCREEN, env={"PAGER": pager})
    before = terminal.settings
    terminal.wait_for(b"gone")
    err = not_asked(long, terminal)
    assert terminal.settings == before
    assert f"ended by signal {signal.SIGKILL.value}".encode() in err


@pytest.mark.parametrize("code", [1, 2, 127])
def test_a_pager_that_fails_asks_nothing(long: World, code: int) -> None:
    digest = long.propose()
    pager = script(long, "cat >/dev/null", f"exit {code}")
    terminal = Terminal(long, "approve", shared=SCREEN, env={"PAGER": pager})
    err = not_asked(long, terminal)
    assert f"failed with exit code {code}".encode() in err
    assert f"PAGER=cat assent approve --digest {digest}".encode() in err


def test_a_pager_in_the_workspace_is_never_started(long: World) -> None:
    long.propose()
    seen = long.base / "seen"
    inside = script(long, f"touch {seen}", "cat", folder=long.root)
    terminal = Terminal(long, "approve", shared=SCREEN, env={"PAGER": inside})
    assert b"in the workspace" in not_asked(long, terminal)
    looked = Terminal(long, "review", shared=SCREEN, env={"PAGER": inside})
    assert looked.end().code == 0
    assert b"line 4999" in looked.screen
    assert not seen.exists()


def test_a_less_that_an_agent_put_on_the_path_is_passed_over(long: World) -> None:
    long.propose()
    seen, folder = long.base / "seen", long.root / "bin"
    folder.mkdir()
    os.rename(script(long, f"touch {seen}", "cat", folder=folder), folder / "less")
    env = {"PATH": f"{folder}{os.pathsep}{long.env['PATH']}", "TERM": "xterm"}
    terminal = Terminal(long, "approve", shared=SCREEN, env=env)
    terminal.wait_for(b"Plan work")
    terminal.type(b"q")
    terminal.answer(b"no\n")
    assert not seen.exists()


def test_a_pager_that_is_closed_early_leads_to_the_question(long: World) -> None:
    digest = long.propose()
    pager = script(long, "head -n 1")
    terminal = Terminal(long, "approve", shared=SCREEN, env={"PAGER": pager})
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    assert b"line 4999" not in terminal.screen
    assert long.ok("review")["approved"] is True


@pytest.mark.parametrize("shared", [("stdin",), ("stdout",), ()])
def test_without_a_whole_terminal_nothing_is_paged(long: World, shared: tuple[str, ...]) -> None:
    digest = long.propose()
    terminal = Terminal(long, "approve", shared=shared, env={"PAGER": "false"})
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    assert b"line 4999" in terminal.screen


def test_a_short_review_is_asked_about_at_once(world: World) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=b"# Short\n")
    digest = world.propose()
    terminal = Terminal(world, "approve", shared=SCREEN, env={"PAGER": "false"})
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0


def test_undo_of_a_long_run_is_paged(long: World) -> None:
    long.approve()
    assert long.ok("build")["outcome"] == "done"
    pager = script(long, "exit 3")
    terminal = Terminal(long, "undo", shared=SCREEN, env={"PAGER": pager})
    answer = terminal.end()
    assert answer.code == 4
    assert b"failed with exit code 3" in answer.err
    assert b"next: PAGER=cat assent undo " in answer.err
    assert len(long.files()) == 1


def test_a_bundle_that_is_long_is_paged_before_its_question(long: World) -> None:
    long.ok("propose", "--portable", "--out", "../plan.json")
    pager = script(long, "exit 3")
    terminal = Terminal(long, "approve", "../plan.json", shared=SCREEN, env={"PAGER": pager})
    answer = terminal.end()
    assert answer.code == 4, terminal.screen
    assert QUESTION not in terminal.screen
    assert b"PAGER=cat assent approve ../plan.json --digest " in answer.err
