"""A workspace that may be written: the self-test of it, and commands that really run there."""

import os
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.sandbox.leaky_sandboxes import ENVIRONMENT, real_tool, unconfined
from tests.sandbox.profiles import TIMES, Outcome, gathered, left_over, long_time, needs_bubblewrap
from tests.sandbox.workspace import Room, furnished

from assent.app.shell import only_reads
from assent.core.errors import Refused
from assent.core.shell.process import CommandSpec, ProcessLimits, SandboxState, SandboxStatus
from assent.sandbox.runner.unconfined import shell_program, user_environment
from assent.sandbox.selftest.checker import SandboxChecker, bubblewrap_confinement
from assent.sandbox.selftest.escape_tests import EscapeOutcome
from assent.sandbox.selftest.write_tests import WRITE_TESTS, run_write_tests


@needs_bubblewrap
def test_g13_a_writable_workspace_holds_everything_else() -> None:
    attempts = run_write_tests(bubblewrap_confinement(ENVIRONMENT, real_tool(), writable=True))
    assert {a.trial.name: a.proof for a in attempts} == dict.fromkeys(
        WRITE_TESTS, EscapeOutcome.HELD
    )


def test_g13_every_attempt_works_where_nothing_confines() -> None:
    attempts = run_write_tests(unconfined)
    assert {a.trial.name: a.proof for a in attempts} == dict.fromkeys(
        WRITE_TESTS, EscapeOutcome.LEAKED
    )


@needs_bubblewrap
def test_a_workspace_that_cannot_be_written_shows_nothing() -> None:
    attempts = run_write_tests(bubblewrap_confinement(ENVIRONMENT, real_tool()))
    assert {a.proof for a in attempts} == {EscapeOutcome.UNPROVEN}


@needs_bubblewrap
def test_g13_a_leak_of_the_writable_workspace_turns_everything_off(tmp_path: Path) -> None:
    confine = partial(bubblewrap_confinement, ENVIRONMENT)
    standing, _ = SandboxChecker(tmp_path, confine).with_writable(lambda _: unconfined).retest()
    assert standing.hold is SandboxState.OFF
    assert "change a file outside a writable workspace" in standing.reason


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return furnished(tmp_path)


def seen(base: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(base):
        yield from (str(Path(folder, name).relative_to(base)) for name in (*folders, *names))


@needs_bubblewrap
def test_f79_a_confined_command_writes_in_the_workspace_by_a_whole_shell(room: Room) -> None:
    line = 'for n in a b; do echo "$n" > "$n.txt"; done; cat *.txt | tee all; echo oops >&2; exit 3'
    assert room.perform(line) == Outcome(3, b"a\nb\n", b"oops\n")
    assert (room.root / "all").read_text(encoding="utf-8") == "a\nb\n"


@needs_bubblewrap
@pytest.mark.parametrize(
    "line",
    [
        "echo x > .git/config",
        "echo x > .git/hooks/pre-commit",
        "mv .git away",
        "rm -rf .git",
        "echo x > .opencode/assent.toml",
        "mv .opencode away",
        "echo x >> {base}/state/key",
        "echo x > .env",
    ],
)
def test_f79_a_confined_command_changes_nothing_that_is_not_the_workspaces(
    room: Room, line: str
) -> None:
    before = sorted(seen(room.base))
    assert room.perform(line.replace("{base}", str(room.base))).code != 0
    assert sorted(seen(room.base)) == before
    assert (room.root / ".env").read_text(encoding="utf-8") == "TOKEN=1\n"


@needs_bubblewrap
def test_g13_what_is_proven_to_only_read_gets_no_workspace_to_write(room: Room) -> None:
    (room.root / "a").write_text("one\n", encoding="utf-8")
    trusting = replace(room, only_reads=lambda line: True)  # as if a proof were wrong
    for errand in (CommandSpec("touch b"), CommandSpec("", (b"touch", b"b"))):
        assert trusting.do(errand).code != 0
    assert trusting.do(CommandSpec("cat a")).output == b"one\n"
    assert not (room.root / "b").exists()
    assert trusting.do(CommandSpec("touch b", environment=((b"X", b"1"),))).code == 0


@needs_bubblewrap
def test_g13_the_proof_is_the_command_classifiers(room: Room) -> None:
    asked: list[str] = []

    def proven(line: str) -> bool:
        asked.append(line)
        return only_reads(line)

    told = replace(room, only_reads=proven)
    assert told.do(CommandSpec("", (b"cat", b"no such file"))).code == 1
    assert told.do(CommandSpec("echo x > a && cat a")).output == b"x\n"
    assert asked == ["cat 'no such file'", "echo x > a && cat a"]
    assert list(map(only_reads, asked)) == [True, False]


@needs_bubblewrap
@pytest.mark.parametrize("place", ["..", "{base}/home", "/tmp", "/var/tmp"])
def test_f79_what_a_confined_command_writes_elsewhere_is_thrown_away(
    room: Room, place: str
) -> None:
    before = sorted(seen(room.base))
    name = f"{place.replace('{base}', str(room.base))}/assent-{room.base.name}"
    room.perform(f"echo x > {name}; echo here > inside")
    assert sorted(seen(room.base)) == sorted([*before, "work/inside"])
    assert not os.path.lexists(os.path.join(room.root, name))


@needs_bubblewrap
def test_f79_a_confined_command_reads_no_secret_and_reaches_nobody(room: Room) -> None:
    assert room.perform(f"cat {room.base}/state/key .env; env").output.count(b"the key") == 0
    assert b"TOKEN" not in room.perform("cat .env; cat < .env").output
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line = f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]}"
        assert room.perform(line).code != 0
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
        assert room.perform(line, confined=False).code == 0


@needs_bubblewrap
def test_a_command_is_ended_whole(room: Room) -> None:
    mark = long_time()
    for seconds in TIMES:
        found = room.perform(f"(sleep {mark} &) ; echo begun; sleep {mark}", seconds=seconds)
        assert (found.code, found.cut, left_over(mark)) == (124, "time", [])
        if found.output:
            break
    assert found.output == b"begun\n"


@needs_bubblewrap
def test_a_command_that_says_too_much_is_ended(room: Room) -> None:
    found = room.perform("yes", output=5000)
    assert (len(found.output), found.cut) == (5000, "output")


@pytest.mark.parametrize("hold", [SandboxState.NONE, SandboxState.OFF])
def test_without_a_sandbox_no_confined_command_runs(room: Room, hold: SandboxState) -> None:
    bare = Room(room.base, SandboxStatus(hold, "There is none.", "assent doctor"))
    with pytest.raises(Refused, match="There is none") as refused:
        bare.perform("echo x > made")
    assert refused.value.next == "assent doctor"
    assert not (room.root / "made").exists()
    assert bare.perform("echo x > made", confined=False).code == 0


def test_an_unconfined_command_has_the_persons_variables_without_keys(room: Room) -> None:
    variables = {"OPENAI_API_KEY": "k", "MY_MODEL": "k", "ASSENT_X": "k", "MINE": "yes"}
    line, root = "env; tty; :", os.fsencode(room.root)
    parts = room.process(**variables).run_command(
        CommandSpec(line), root, ProcessLimits(seconds=20), confined=False
    )
    told = gathered(parts).output.decode()
    assert "MINE=yes" in told
    assert "=k" not in told
    assert "not a tty" in told


def test_a_line_is_never_an_option_and_a_shell_reads_nothing_first() -> None:
    assert shell_program(b"/bin/bash", "-x").argv == (
        b"/bin/bash", b"--noprofile", b"--norc", b"-c", b"--", b"-x",
    )  # fmt: skip
    assert shell_program(b"/bin/sh", "ls").argv == (b"/bin/sh", b"-c", b"--", b"ls")
    assert b"BASH_ENV" not in user_environment({"BASH_ENV": "/x"})


def test_a_line_with_an_end_in_it_is_refused(room: Room) -> None:
    with pytest.raises(Refused, match="no shell can run it"):
        room.perform("echo a\0b", confined=False)
