"""Law 6 on the command line: the program is killed while a command without a sandbox runs."""

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.cli.harness import PROGRAM, World
from tests.cli.scripts import MODEL, Talker, turn
from tests.support import forked_python

from assent.core.session.transcript import LOST_PLANNING
from assent.sandbox.runner.bubblewrap import sandbox_unavailable

PATIENCE = 60
FREE = '\n[shell]\nunconfined = true\n[permission]\nbash = "allow"\n'


@contextmanager
def killed(world: World, *words: str, by: signal.Signals = signal.SIGKILL) -> Iterator[None]:
    """The program, ended by a signal once its command has said its number; it must be gone, too."""
    with forked_python.Popen(
        [*PROGRAM, *words],
        cwd=world.root,
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        command = os.pidfd_open(number(world))
        process.send_signal(by)
        process.wait(PATIENCE)
        ended, _, _ = select.select([command], [], [], PATIENCE)
        os.close(command)
    assert ended, "the command outlived its starter"
    yield


def number(world: World) -> int:
    """Returns the number of the command's process, which it says itself."""
    fifo = os.open(world.base / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        said, _, _ = select.select([fifo], [], [], PATIENCE)
        assert said, "no command has begun"
        return int(os.read(fifo, 100))
    finally:
        os.close(fifo)


def script(world: World) -> str:
    """A script that changes a file, says its number, and never ends by itself.

    It waits without a process of its own for that, which could be the last of them to go.
    """
    fifo, never = world.base / "fifo", world.base / "never"
    os.mkfifo(fifo)
    os.mkfifo(never)
    text = f"echo c > f1; echo $$ > {fifo}; read line < {never}; echo late > late\n"
    (world.root / "go.sh").write_text(text, encoding="utf-8")
    return "go.sh"


def approved(world: World) -> None:
    world.ok("plan", "new", "work", "--goal", "A goal")
    world.ok("stage", "run", "--no-sandbox", "--", "sh", script(world))
    digest = world.ok("propose")["digest"]
    world.ok("approve", "--digest", digest)


def test_law_6_a_roll_back_right_after_a_crash_first_names_what_it_would_put_back(
    world: World,
) -> None:
    (world.root / "f3").write_text("old", encoding="utf-8")
    approved(world)
    with killed(world, "build"):
        (world.root / "f3").write_text("mine", encoding="utf-8")
        (world.root / "mine").write_text("mine", encoding="utf-8")
    answer = world.run("recover", "--roll-back")
    told = answer.out.decode()
    assert answer.code == 6
    assert "assumed to be its work: f1, f3, mine." in told
    assert "Copy what you want to keep first." in told
    assert "--roll-back was not applied. Review the changes first, then run it again." in told
    assert {path.name for path in world.root.iterdir()} >= {"f1", "f3", "mine"}
    assert (world.root / "f3").read_text("utf-8") == "mine"
    assert world.run("recover", "--roll-back").code == 1
    assert (world.root / "f3").read_text("utf-8") == "old"
    assert not (world.root / "mine").exists()


def test_law_6_who_accepts_right_after_a_crash_is_told_whose_work_an_undo_would_take(
    world: World,
) -> None:
    (world.root / "f3").write_text("old", encoding="utf-8")
    approved(world)
    with killed(world, "build"):
        (world.root / "f3").write_text("mine", encoding="utf-8")
        (world.root / "mine").write_text("mine", encoding="utf-8")
    told = world.run("recover", "--accept").out.decode()
    assert "Changed since that command started, assumed to be its work: f1, f3, mine." in told
    assert "An undo reverts all of these files, including changes of your own" in " ".join(
        told.split()
    )
    (note,) = world.ok("undo", "--dry-run")["notes"]
    assert note.endswith(
        "f1, f3, mine. Its end was not recorded, so some of these changes may be your own."
    )
    shown = " ".join(world.run("undo", "--dry-run").out.decode().split())
    assert note in shown


def test_law_6_resume_right_after_a_crash_runs_nothing_a_second_time(world: World) -> None:
    approved(world)
    with killed(world, "build"):
        pass
    answer = world.run("recover", "--resume")
    assert answer.code == 6
    assert "--resume was not applied" in answer.out.decode()
    assert world.run("recover", "--accept").code == 0


def test_a_closed_terminal_ends_a_command_in_good_order(world: World) -> None:
    approved(world)
    with killed(world, "build", by=signal.SIGHUP):
        pass
    told = world.run("recover").out.decode()
    assert "the command was interrupted" in told
    assert "Changed since that command started, assumed to be its work: f1." in told


@pytest.mark.parametrize("verb", ["undo", "undo --dry-run", "recover", "runs list"])
def test_law_6_a_session_s_command_that_was_cut_off_can_be_undone(
    talker: Talker, verb: str
) -> None:
    world = talker.world
    world.config.write_text(world.config.read_text("utf-8") + FREE, encoding="utf-8")
    (world.root / "f1").write_text("old\n", encoding="utf-8")
    talker.script(turn("", ("shell", {"command": f"sh {script(world)}"})), turn("Done."))
    with killed(world, "-p", "--model", MODEL, "--mode", "auto-edit", "Go"):
        assert (world.root / "f1").read_text("utf-8") == "c\n"
    told = world.run(*verb.split()).err.decode()
    assert "Files changed since it started, assumed to be its work: f1." in told
    [row] = world.ok("runs", "list")["runs"]
    assert row["operations"] == 1
    digest = world.ok("undo", "--dry-run")["digest"]
    world.ok("undo", "--digest", digest)
    assert (world.root / "f1").read_text("utf-8") == "old\n"


def test_a_run_that_is_at_work_is_not_called_interrupted(world: World) -> None:
    approved(world)
    with forked_python.Popen(
        [*PROGRAM, "build"], cwd=world.root, env=world.env, stdout=subprocess.DEVNULL
    ) as process:
        number(world)
        row = world.ok("status")["run"]
        told = world.run("status").out.decode()
        process.kill()
    assert row["outcome"] is None
    assert row["running"].endswith(f"(process {process.pid})")
    assert f"Run {str(row['run'])[:12]} in progress" in told
    assert "was interrupted" not in told
    assert "running" not in world.ok("status")["run"]
    assert "A run was interrupted" in world.run("status").out.decode()


def test_f14_a_planning_command_that_a_crash_interrupted_says_so_when_the_session_goes_on(
    world: World,
) -> None:
    """Nothing real changed, so there is nothing to recover, and the copy can be used again."""
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)
    talker = Talker(world)
    line = "echo begun; echo x > made.txt; sleep 600"
    talker.script(
        turn("", ("shell", {"command": line, "keep": True})),
        turn("", ("shell", {"command": "ls made.txt; true > y"})),
        turn("Done."),
    )
    words = ("-p", "Go", "--model", MODEL, "--output-format", "stream-json")
    with forked_python.Popen(
        [*PROGRAM, *words], cwd=world.root, env=world.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        while '"begun' not in (row := process.stdout.readline().decode()):
            assert row, "it ended by itself"
        process.kill()
        process.wait(PATIENCE)
    assert not (world.root / "made.txt").exists()
    rows = talker.stream("-c", "Go on")
    lost, ran = [one["body"]["result"] for one in rows if one["kind"] == "call_ended"]
    assert (lost["text"], lost["failed"]) == (LOST_PLANNING, True)
    assert "nothing real changed" in ran["text"]
    assert world.ok("plan", "list")["plans"] == []
