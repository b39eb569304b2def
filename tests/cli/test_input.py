"""What a person names to be read: regular files, stdin and /dev/fd/N, of bounded size."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.cli.harness import PROGRAM, TRUSTING, Answer, World
from tests.support import forked_python

from assent.llm.scripted import NOT_REGULAR

ONE_MB = f"{TRUSTING}[stage]\nmax_file_mb = 1\n"
READERS = (
    ("stage", "write", "a.txt", "--from"),
    ("stage", "patch"),
    ("stage", "run", "--script"),
    ("plan", "write"),
    ("review",),
    ("approve",),
    ("modes", "import", "--yes"),
)


@pytest.fixture
def world(world: World) -> World:
    world.plan()
    return world


def reading(reader: tuple[str, ...], path: str) -> list[str]:
    """The command line that reads a file; a script is named with an @."""
    return [*reader, f"@{path}" if reader[-1] == "--script" else path]


def is_clean(world: World) -> bool:
    """Tells whether nothing was staged, and no temporary content lies about."""
    left = list((world.state / "assent" / "blobs" / "tmp").glob("*"))
    return not left and world.ok("stage", "list")["operations"] == []


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: " ".join(reader[:2]))
def test_fifos_devices_folders_and_sockets_are_refused(
    world: World, tmp_path: Path, reader: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(world.root / "pipe.assent")
    (world.root / "link.assent").symlink_to("pipe.assent")
    monkeypatch.chdir(world.root)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.assent")
    kinds = {
        "pipe.assent": "a named pipe",
        "link.assent": "a named pipe",
        "socket.assent": "a socket",
        "/dev/zero": "a device",
        "/dev/null": "a device",
    }
    for name, kind in kinds.items():
        path = name if name.startswith("/") else str(world.root / name)
        answer = world.process("-C", str(world.root), *reading(reader, path), "--json")
        assert (answer.code, answer.error["error"]) == (7, "refused"), (name, answer)
        assert f"is {kind}; only regular files" in answer.error["message"]
    answer = world.process("-C", str(world.root), *reading(reader, str(world.root)), "--json")
    assert (answer.code, "Is a directory" in answer.error["message"]) == (1, True), answer
    assert is_clean(world)


def test_process_substitution_and_descriptors_are_read(world: World) -> None:
    program = " ".join(f"'{word}'" for word in PROGRAM)
    lines = [
        f"{program} stage write a --from <(printf one)",
        f"{program} stage write b --from /dev/fd/7 7<<<two",
        f"printf three | {program} stage write c --from /dev/stdin",
        f"printf four | {program} stage write d --from /dev/fd/0",
        f"printf five | {program} stage write e --from -",
    ]
    for line in lines:
        done = world.start(["bash", "-c", line])
        assert done.code == 0, done
    assert len(world.ok("stage", "list")["operations"]) == 5
    world.build()
    found = {name: content for name, (_, _, content) in world.files().items()}
    assert found == {b"a": b"one", b"b": b"two\n", b"c": b"three", b"d": b"four", b"e": b"five"}


def test_a_descriptor_that_nobody_passed_on_is_none(world: World) -> None:
    answers = [world.process("stage", "write", "a", "--from", f"/dev/fd/{n}") for n in range(3, 9)]
    assert {answer.code for answer in answers} == {1}
    assert all(b"Bad file descriptor. Nothing was changed." in answer.err for answer in answers)
    assert is_clean(world)


@pytest.mark.parametrize(
    "line",
    [
        "yes | {} stage write a --from -",
        "{} stage write a --from - < /dev/zero",
        "{} stage write a --from <(yes)",
        "{} stage patch - < /dev/zero",
        "yes | {} stage patch -",
        "head -c 1048577 /dev/zero > big; {} stage write a --from big",
        "head -c 1048577 /dev/zero > big; {} stage patch big",
        "mkdir -p ../copy; head -c 1048577 /dev/zero > ../copy/big; {} stage from ../copy",
    ],
)
def test_what_is_read_is_bounded_and_leaves_nothing(world: World, line: str) -> None:
    world.config.write_text(ONE_MB, encoding="utf-8")
    program = " ".join(f"'{word}'" for word in PROGRAM)
    done = world.start(["bash", "-c", line.replace("{}", program)])
    assert done.code == 7, done
    assert b"larger than 1 MB" in done.err
    assert b"stage.max_file_mb" in done.err
    assert is_clean(world)


def test_as_much_as_the_limit_is_staged(world: World) -> None:
    world.config.write_text(ONE_MB, encoding="utf-8")
    (world.root / "full").write_bytes(bytes(1 << 20))
    assert world.run("stage", "write", "a", "--from", "full").code == 0
    assert world.run("stage", "write", "b", "--from", "-", stdin=bytes(1 << 20)).code == 0


def test_a_project_cannot_raise_the_limit(world: World) -> None:
    world.put(".opencode/assent.toml", b"[stage]\nmax_file_mb = 4096\n")
    world.config.write_text(ONE_MB, encoding="utf-8")
    assert world.run("stage", "write", "b", "--from", "-", stdin=bytes((1 << 20) + 1)).code != 0
    (world.root / ".opencode" / "assent.toml").unlink()
    assert is_clean(world)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_reading_leaves_nothing(world: World, number: signal.Signals) -> None:
    with forked_python.Popen(
        [*PROGRAM, "stage", "write", "a", "--from", "-"],
        cwd=world.root, env=world.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stderr
        # As much as its buffers hold was read when all of this could be written; then it waits.
        process.stdin.write(bytes(8 << 20))
        process.stdin.flush()
        assert list((world.state / "assent" / "blobs" / "tmp").glob("*"))
        process.send_signal(number)
        told = process.stderr.read()
    assert process.returncode == 130
    assert b"Interrupted" in told
    assert is_clean(world)


def test_a_refusal_after_reading_leaves_nothing(world: World) -> None:
    world.put("file", b"here")
    answer = world.run("stage", "write", "file/below", "--from", "-", stdin=bytes(3 << 20))
    assert answer.code == 1, answer
    assert is_clean(world)


def test_a_script_of_a_model_that_is_a_pipe_is_refused(world: World) -> None:
    os.mkfifo(world.root / "pipe")
    answer: Answer = world.process("-p", "--model", "scripted:pipe", "Hello")
    assert answer.code == 2, answer
    assert f"The script scripted:pipe {NOT_REGULAR}".encode() in answer.err
