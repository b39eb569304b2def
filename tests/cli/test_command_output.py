"""What commands of a plan say where nobody watches: on stdout, as it comes, and nothing else."""

import os
import subprocess

from tests.cli.harness import PROGRAM, World
from tests.cli.scripts import MODEL, PRESENT, Talker, turn
from tests.cli.terminal import Terminal
from tests.support import forked_python

from assent.cli.output import output_failed

KEY = "AKIA" + "IOSFODNN7EXAMPLZ"
TEXT = '---\nscope:\n  files: ["*"]\n  commands: [mkdir]\n---\n# Make it\n\nMake a folder.\n'
MAKES = ("shell", {"command": "mkdir -v made"})


def approved(world: World, *scripts: str) -> None:
    for script in scripts:
        world.ok("stage", "run", "--script", script)
    world.approve()


def building(world: World, stdout: int, stderr: int | None = None) -> subprocess.Popen[bytes]:
    return forked_python.Popen(
        [*PROGRAM, "build"],
        cwd=world.root,
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def test_it_comes_in_order_and_shows_what_hides(planned: World) -> None:
    approved(planned, f"echo {KEY} >&2; printf '\\033[2J\\n'", "printf 'no '; printf end; exit 3")
    answer = planned.process("build")
    assert (answer.code, answer.err) == (6, b"")
    first, *said = answer.out.decode().splitlines()
    assert first.startswith("[1/2] $ echo [masked: ")
    assert sorted(said[:2]) == ["  | <U+001B>[2J", "  | [masked: AWS access key]"]
    assert said[2:4] == ["[2/2] $ printf 'no '; printf end; exit 3", "  | no end"]
    assert said[4].startswith("Stopped: the run needs your decision.")
    assert b"\x1b" not in answer.out
    assert KEY.encode() not in answer.out


def test_it_comes_while_the_command_runs(planned: World) -> None:
    """The command waits until somebody has read what it said."""
    approved(planned, "echo begun; until [ -e go ]; do sleep 0.02; done; echo over")
    work = building(planned, stdout=subprocess.PIPE)
    assert work.stdout is not None
    with work:
        heard = [work.stdout.readline(), work.stdout.readline()]
        assert heard[1] == b"  | begun\n"
        planned.put("go")
        rest = work.stdout.read()
    assert rest.startswith(b"  | over\nDone")
    assert work.returncode == 0


def test_a_command_that_says_nothing_is_left_to_the_answer(planned: World) -> None:
    approved(planned, "true", "echo hi", "true")
    lines = planned.process("build").out.decode().splitlines()
    assert lines[:3] == ["[2/3] $ echo hi", "  | hi", "Done: all operations applied."]


def test_with_a_terminal_beside_it_goes_to_stdout_alone(planned: World) -> None:
    approved(planned, "echo hel''lo")
    terminal = Terminal(planned, "build", shared=("stderr",))
    answer = terminal.end()
    assert answer.code == 0, (answer, terminal.screen)
    assert answer.out.startswith(b"[1/1] $ echo hel''lo\n  | hello\nDone")
    assert b"[1/1] $ echo hel''lo" in terminal.screen
    assert terminal.screen.endswith(b"\r\x1b[K")
    assert b"hello" not in terminal.screen
    assert b"\n" not in terminal.screen


def test_a_reader_that_went_away_ends_no_run(planned: World) -> None:
    approved(planned, "until [ -e go ]; do sleep 0.02; done; seq 100000; echo x > done.txt")
    reader, writer = os.pipe()
    work = building(planned, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    os.close(reader)
    planned.put("go")
    _, said = work.communicate(timeout=60)
    assert (work.returncode, said) == (0, b"")
    assert planned.ok("status")["run"]["outcome"] == "done"
    assert b"done.txt" in planned.files()


def test_a_full_disk_under_the_log_ends_no_run_and_is_told(planned: World) -> None:
    approved(planned, "seq 100000; echo x > done.txt")
    full = os.open("/dev/full", os.O_WRONLY)
    work = building(planned, stdout=full, stderr=subprocess.PIPE)
    os.close(full)
    _, said = work.communicate(timeout=60)
    assert work.returncode == 1
    run = planned.ok("status")["run"]
    assert run["outcome"] == "done"
    assert output_failed("No space left on device", run).message.encode() in said
    assert b"done.txt" in planned.files()


def test_a_build_by_a_model_tells_it_too(planned: World) -> None:
    talker = Talker(planned)
    config = planned.config.read_text("utf-8") + '[permission.bash]\n"mkdir *" = "allow"\n'
    planned.config.write_text(config, encoding="utf-8")
    talker.script(
        turn("A plan.", ("write_plan", {"text": TEXT})),
        turn("Here.", PRESENT),
        turn("Making.", MAKES),
        turn("All done."),
    )
    digest = talker.json("Make it", code=3)["digest"]
    planned.ok("approve", "--digest", digest)
    answer = planned.process("build", "--model", MODEL)
    assert answer.code == 0, answer
    said, _, rest = answer.out.decode().partition("  | mkdir: created directory 'made'\n")
    assert "Making." in said
    assert "All done." in rest
