"""Several undos of one run at once, and what status says of a run that is partly undone."""

import subprocess

from tests.cli.harness import PROGRAM, World
from tests.cli.test_undo_remainder import content, said
from tests.support import forked_python

SLOW = "sh -c 'echo undo >> log; sleep 0.5'"


def test_law_6_of_several_undos_at_once_only_one_runs_a_commands_undo(planned: World) -> None:
    planned.ok("stage", "run", "--undo", SLOW, "--script", "echo 1 > a")
    run = str(planned.build()["run"])
    digest = planned.ok("undo", "--dry-run")["digest"]
    started = [
        forked_python.Popen(
            [*PROGRAM, "undo", run, "--digest", digest],
            cwd=planned.root,
            env=planned.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    told = [process.communicate()[1].decode() for process in started]
    assert content(planned, "log") == b"undo\n"
    refused = [words for words in told if "meanwhile" in words]
    assert all(f"next: assent undo {run} --dry-run" in words for words in refused)


def test_law_8_status_says_that_a_run_is_partly_undone(world: World) -> None:
    world.plan()
    world.write("a", b"a")
    world.write("b", b"b")
    run = str(world.build()["run"])
    assert world.undo("--operation", "1").code == 0
    assert said(world, "status")[0] == f"Last run: {run[:12]} is done, then partly undone."
    assert world.ok("status")["run"]["partly_undone"] is True
    assert world.undo("--operation", "2").code == 0
    assert said(world, "status")[0] == f"Last run: {run[:12]} is done, then undone."
