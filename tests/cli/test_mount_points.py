"""Folders that hold a place while a model's command runs: gone after any end, also after a kill."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import msgspec
import pytest
from tests.cli.harness import PROGRAM, TICK_S, World
from tests.cli.scripts import MODEL, Talker, turn
from tests.sandbox.profiles import needs_bubblewrap
from tests.support import forked_python

from assent.core.permission.sensitive_paths import RESERVED_PATHS

PATIENCE = 60
PLACES = {os.fsdecode(name) for name in RESERVED_PATHS}
GONE = "Removed empty folders left by a killed command: "

pytestmark = needs_bubblewrap


@contextmanager
def running(world: World, before: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """A session whose model runs a command that has begun, and does not end by itself."""
    world.git("init", "-q")
    world.put("go.sh", before.encode())  # the gate reads the line, and no file that it names
    line = "sh go.sh; echo on > begun; sleep 1000"
    Talker(world).script(turn("S", ("shell", {"command": line})), turn("ok"))
    words = ("-p", "slow goal", "--mode", "yolo", "--model", MODEL)
    with forked_python.Popen(
        [*PROGRAM, *words],
        cwd=world.root,
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            while not (world.root / "begun").exists():
                assert process.poll() is None, "no command has begun"
                sleep(TICK_S)
            yield process
        finally:
            process.kill()


def killed(world: World) -> None:
    with running(world) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    assert standing(world) == PLACES


def quick(world: World) -> None:
    """Has the model of later sessions say one word."""
    world.put("script.json", msgspec.json.encode({"turns": [turn("ok")]}))


def standing(world: World) -> set[str]:
    return PLACES & set(os.listdir(world.root))


def recorded(world: World) -> list[Path]:
    return [path for path in world.state.glob("assent/mountpoints/*/*") if path.is_file()]


def test_recover_removes_what_a_killed_command_left_and_says_so(world: World) -> None:
    killed(world)
    answer = world.process("recover")
    said = " ".join(answer.out.decode().split())
    assert said.startswith(f"{GONE}{', '.join(sorted(PLACES))}.")
    assert "Nothing to do." not in said
    assert "Removed" not in answer.err.decode()
    assert standing(world) == set()
    assert recorded(world) == []
    assert b"Removed" not in world.process("recover").out


def test_recover_names_them_in_json(world: World) -> None:
    killed(world)
    assert world.ok("recover")["removed"] == sorted(PLACES)
    assert "removed" not in world.ok("recover")


@pytest.mark.parametrize("line", [("status",), ("plan", "new", "x"), ("sessions", "list")])
def test_any_other_command_removes_them_too_and_says_so(
    world: World, line: tuple[str, ...]
) -> None:
    killed(world)
    answer = world.process(*line)
    assert answer.code == 0
    assert GONE in answer.err.decode()
    assert standing(world) == set()


def test_the_next_session_removes_them_and_warns_of_nothing_else(world: World) -> None:
    killed(world)
    quick(world)
    answer = world.process("-p", "hello there", "--mode", "yolo", "--model", MODEL)
    assert answer.code == 0
    assert GONE in answer.err.decode()
    assert "cannot be read" not in answer.err.decode()
    assert standing(world) == set()


def test_what_a_person_put_there_meanwhile_stays(world: World) -> None:
    killed(world)
    (world.root / ".claude" / "mine").write_text("mine", encoding="utf-8")
    (world.root / "opencode.json").rmdir()
    (world.root / "opencode.json").write_text("{}", encoding="utf-8")
    (world.root / ".roo").rmdir()
    (world.root / ".roo").mkdir()
    removed = world.ok("recover")["removed"]
    assert standing(world) == {".claude", "opencode.json", ".roo"}
    assert set(removed) == PLACES - standing(world)
    world.ok("status")
    assert standing(world) == {".claude", "opencode.json", ".roo"}


def test_while_it_runs_nobody_removes_them_nothing_is_made_and_nobody_is_warned(
    world: World,
) -> None:
    attempt = "mkdir -p .claude/x; echo x > opencode.json; rmdir .mcp.json; mv .roo roo\n"
    with running(world, attempt):
        assert standing(world) == PLACES
        for line in (("rules", "list"), ("trust", "list"), ("status",)):
            answer = world.process(*line)
            assert "opencode.json" not in answer.err.decode(), answer
            assert "Removed" not in answer.err.decode()
        quick(world)
        answer = world.process("-p", "hello there", "--mode", "plan", "--model", MODEL)
        assert (answer.code, answer.err) == (0, b""), answer
        assert standing(world) == PLACES
        assert all(os.listdir(world.root / name) == [] for name in PLACES)
        assert not (world.root / "roo").exists()


def test_status_says_that_it_runs_and_who_runs_it(world: World) -> None:
    with running(world) as process:
        said = " ".join(world.process("status").out.decode().split())
        session = world.ok("sessions", "list")["sessions"][0]["slug"]
        holder = f"session {session} (process {process.pid})"
        assert f"Running now ({holder}): sh go.sh; echo on > begun; sleep 1000" in said
        assert "its result is unknown" not in said
        assert "Check the files" not in said
        assert world.ok("status")["command"]["running"] == holder
        process.kill()
        process.wait(PATIENCE)
        said = " ".join(world.process("status").out.decode().split())
        assert "its result is unknown: sh go.sh; echo on > begun; sleep 1000" in said
        assert world.ok("status")["command"]["running"] is None
