"""`--quiet`: neither progress nor notes on stderr, before a command and after it; errors stay."""

import pytest
from tests.cli.harness import World
from tests.cli.scripts import MODEL, Talker, turn, write
from tests.cli.terminal import Terminal

OPTIONS = ("-q", "--quiet")
GOAL = ("-p", "--model", MODEL, "--mode", "auto-edit", "Greet")


@pytest.fixture
def talker(world: World) -> Talker:
    found = Talker(world)
    found.script(turn("", write("hello.txt", "hello\n")), turn("It is written."))
    return found


@pytest.mark.parametrize("option", OPTIONS)
def test_a_goal_says_nothing_on_stderr(talker: Talker, option: str) -> None:
    plain = talker.world.run(*GOAL)
    (talker.world.root / "hello.txt").unlink()
    quiet = talker.world.run(option, *GOAL)
    assert b"hello.txt" in plain.err
    assert (quiet.code, quiet.out, quiet.err) == (0, plain.out, b"")


def test_a_goal_on_a_terminal_shows_what_the_model_says_alone(talker: Talker) -> None:
    streams = ("stdin", "stdout", "stderr")
    terminal = Terminal(talker.world, *GOAL, "--quiet", shared=streams)
    answer = terminal.end()
    assert answer.code == 0
    assert terminal.screen.strip().splitlines()[0] == b"It is written."
    assert b"hello.txt" not in terminal.screen


@pytest.mark.parametrize("option", OPTIONS)
def test_what_a_command_prints_on_the_way_is_not_shown(world: World, option: str) -> None:
    world.plan()
    rest = ("--", "sh", "-c", "echo hi; echo hello > hello.txt")
    loud = world.run("stage", "result", *rest)
    assert (loud.code, loud.err) == (0, b"hi\n")
    for line in ((option, "stage", "result", *rest), ("stage", "result", option, *rest)):
        answer = world.run(*line)
        assert (answer.code, answer.err) == (0, b"")


@pytest.mark.parametrize("line", [("-q", "review"), ("review", "--quiet"), ("-q", "no-such")])
def test_errors_stay(world: World, line: tuple[str, ...]) -> None:
    answer = world.run(*line)
    assert answer.code != 0
    assert answer.err.startswith(b"assent: ")
    assert b"next: " in answer.err


def test_json_stays_as_it_is(world: World) -> None:
    assert world.ok("-q", "status") == world.ok("status", "--quiet") == world.ok("status")
