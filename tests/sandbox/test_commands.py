"""Errands: words without a shell, variables, stdin, the network, and how all of it ends."""

import os
import socket
from pathlib import Path

import pytest
from tests.sandbox.profiles import TIMES, Outcome, gathered, left_over, long_time, needs_bubblewrap
from tests.sandbox.workspace import Room, furnished

from assent.core.errors import Refused
from assent.core.shell.process import (
    CommandSpec,
    ProcessLimits,
    ProcessResult,
    SandboxState,
    SandboxStatus,
)

PYTHON = b"/usr/bin/python3"
needs_python = pytest.mark.skipif(not os.path.exists(PYTHON), reason="no Python of the system's")


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return furnished(tmp_path)


@needs_bubblewrap
def test_words_run_without_a_shell(room: Room) -> None:
    words = (b"printf", b"%s|", b"$HOME", b"*", b"a b", b"; ls", b"\xff\n")
    assert room.do(CommandSpec(argv=words)) == Outcome(0, b"$HOME|*|a b|; ls|\xff\n|", b"")


@needs_bubblewrap
def test_a_program_of_the_workspace_is_named_by_its_path(room: Room) -> None:
    (room.root / "tools").mkdir()
    program = room.root / "tools/run"
    program.write_text("#!/bin/sh\npwd; cat\n", encoding="utf-8")
    program.chmod(0o755)
    found = room.do(CommandSpec(argv=(b"./run",), stdin=b"given\n"), "tools")
    assert found == Outcome(0, f"{room.root}/tools\ngiven\n".encode(), b"")


@needs_bubblewrap
def test_a_program_that_is_not_there_did_not_start(room: Room) -> None:
    found = room.do(CommandSpec(argv=(b"no-such-program",)))
    assert (found.code, found.cut, b"no-such-program" in found.errors) == (126, "start", True)


@needs_bubblewrap
def test_a_command_gets_its_variables_and_none_of_the_persons(room: Room) -> None:
    errand = CommandSpec("echo $GREETING $MINE $HOME", environment=((b"GREETING", b"hello \xff"),))
    assert room.do(errand).output == b"hello \xff " + os.fsencode(room.base / "home") + b"\n"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (b"PATH", b".", "controls which programs run"),
        (b"LD_PRELOAD", b"./x.so", "controls which programs run"),
        (b"HOME", b".", "controls which programs run"),
        (b"BASH_ENV", b"./x", "controls which programs run"),
        (b"ASSENT_X", b"1", "controls which programs run"),
        (b"A=B", b"1", "not a valid variable name"),
        (b"", b"1", "not a valid variable name"),
        (b"A", b"\0", "null byte"),
    ],
)
@pytest.mark.parametrize("profile", ["workspace", "unconfined"])
def test_variables_that_protect_are_not_given(
    room: Room, name: bytes, value: bytes, why: str, profile: str
) -> None:
    errand = CommandSpec("true", environment=((name, value),), profile=profile)  # type: ignore[arg-type]
    with pytest.raises(Refused, match=why):
        room.do(errand)


@pytest.mark.parametrize(
    "errand",
    [
        CommandSpec(),
        CommandSpec("ls", (b"ls",)),
        CommandSpec(argv=(b"",)),
        CommandSpec(argv=(b"ls", b"a\0b")),
    ],
)
def test_what_no_program_can_be_given_is_refused(room: Room, errand: CommandSpec) -> None:
    with pytest.raises(Refused, match="did not run"):
        room.do(errand)


def test_an_unconfined_errand_needs_no_sandbox(room: Room) -> None:
    bare = Room(room.base, SandboxStatus(SandboxState.NONE, "There is none."))
    errand = CommandSpec(argv=(b"sh", b"-c", b"echo $A > made"), environment=((b"A", b"b"),))
    with pytest.raises(Refused, match="There is none"):
        bare.do(errand)
    free = CommandSpec("", errand.argv, errand.environment, "unconfined")
    assert bare.do(free) == Outcome(0, b"", b"")
    assert (room.root / "made").read_text(encoding="utf-8") == "b\n"


@needs_bubblewrap
def test_only_a_command_that_says_so_has_the_network(room: Room) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line = f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]}; echo hello >&3"
        assert room.do(CommandSpec(line)).code != 0
        assert room.do(CommandSpec(line, network=True)) == Outcome(0, b"", b"")
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(100) == b"hello\n"


@needs_bubblewrap
def test_the_network_comes_with_names_and_certificates_and_nothing_else(room: Room) -> None:
    names = [name for name in ("resolv.conf", "hosts") if os.path.isfile(f"/etc/{name}")]
    line = (
        "cat /etc/hosts /etc/resolv.conf > /dev/null && echo read; cat .env; echo x > .git/config"
    )
    found = room.do(CommandSpec(line, network=True))
    assert (b"read" in found.output) == (len(names) == 2)
    assert found.code != 0
    assert b"TOKEN" not in found.output
    assert os.listdir(room.root / ".git") == ["hooks"]


_TRIES = """
import socket, sys
def tried(make):
    try:
        make()
    except OSError as error:
        return error.errno
    return "made"
print(tried(lambda: socket.socket(socket.AF_UNIX)))
print(tried(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)))
print(tried(lambda: socket.socketpair()))
print(tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)))
print(tried(lambda: socket.socket(17, socket.SOCK_RAW)))
print(tried(lambda: socket.socket(40)))
"""


@needs_bubblewrap
@needs_python
def test_g13_with_the_network_no_unix_socket_and_no_raw_one_can_be_had(room: Room) -> None:
    """Sockets without a file are in the network namespace: the session bus, X, containers."""
    words = (PYTHON, b"-c", _TRIES.encode())
    *_, packet, machine = room.do(CommandSpec(argv=words, network=True)).output.splitlines()
    told = room.do(CommandSpec(argv=words, network=True)).output.splitlines()
    assert told == [b"97", b"1", b"made", b"1", packet, machine]
    assert (packet, machine) == (b"97", b"97")
    assert room.do(CommandSpec(argv=words)).output.splitlines()[0] == b"made"


@needs_bubblewrap
def test_closing_it_ends_the_whole_group(room: Room) -> None:
    mark = long_time()
    line = f"(setsid sleep {mark} &); sleep {mark} & echo begun; wait"
    parts = room.process().run_command(
        CommandSpec(line), os.fsencode(room.root), ProcessLimits(seconds=60)
    )
    assert not isinstance(next(parts), ProcessResult)
    parts.close()  # type: ignore[attr-defined]
    assert left_over(mark) == []


PROFILES = [pytest.param("workspace", marks=needs_bubblewrap), "unconfined"]
# A child of a child: nobody but the group knows of it once its parent is gone.
BACKGROUND = "sh -c 'sleep {mark} & echo begun; wait' & wait"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_command_that_runs_too_long_ends_with_all_it_started(room: Room, profile: str) -> None:
    mark = long_time()
    errand = CommandSpec(BACKGROUND.format(mark=mark), profile=profile)  # type: ignore[arg-type]
    where = os.fsencode(room.root)
    for seconds in TIMES:
        found = gathered(room.process().run_command(errand, where, ProcessLimits(seconds=seconds)))
        assert (found.cut, left_over(mark)) == ("time", [])
        if found.output:
            break
    assert found.output == b"begun\n"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_command_that_is_closed_ends_with_all_it_started(room: Room, profile: str) -> None:
    mark = long_time()
    errand = CommandSpec(BACKGROUND.format(mark=mark), profile=profile)  # type: ignore[arg-type]
    parts = room.process().run_command(errand, os.fsencode(room.root), ProcessLimits(seconds=60))
    assert not isinstance(next(parts), ProcessResult)
    parts.close()  # type: ignore[attr-defined]
    assert left_over(mark) == []
