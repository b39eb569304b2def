"""A forked program is the program: it does, says and leaves behind what a fresh start does."""

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from tests.cli.harness import PROGRAM, Answer, World, files_below
from tests.cli.scripts import MODEL, Talker, turn
from tests.cli.terminal import PROGRAM as TYPED
from tests.cli.terminal import Terminal
from tests.support import forked_python

PATIENCE = 60


class Forked(forked_python.Popen):
    """One that is forked from the first time on."""

    fresh = 0


KINDS: dict[str, Any] = {"fresh": subprocess.Popen, "forked": Forked}

# Everything that a process gets from outside or that Python sets when it begins.
FACTS = """
import gc, json, locale, os, resource, signal, sys, tempfile, threading, time
def stream(one):
    names = "name mode encoding errors newlines line_buffering write_through closed"
    facts = one and {name: repr(getattr(one, name)) for name in names.split()}
    return one and [facts, one.buffer.name, one.buffer.mode, type(one.buffer).__name__]
umask = os.umask(0)
number = os.open("/", os.O_RDONLY)  # the lowest that is free
facts = {
    "parent": os.getppid(), "leads": [os.getpid() in (os.getsid(0), os.getpgrp())],
    "argv": sys.argv, "orig": sys.orig_argv, "path": sys.path, "flags": str(sys.flags),
    "main": [__name__, repr(sys.modules["__main__"])], "exe": [sys.executable, sys.prefix],
    "env": sorted(map(repr, os.environb.items())), "umask": umask, "free": number,
    "open": sorted(os.listdir("/proc/self/fd")), "zone": [time.tzname, time.localtime(0)[3:5]],
    "signals": [repr(signal.getsignal(n)) for n in sorted(signal.valid_signals())],
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), "gc": gc.isenabled(),
    "streams": [stream(one) for one in (sys.stdin, sys.stdout, sys.stderr)],
    "same": [sys.stdin, sys.stdout, sys.stderr] == [sys.__stdin__, sys.__stdout__, sys.__stderr__],
    "encoding": [sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(), locale.setlocale(0)],
    "limits": [resource.getrlimit(n) for n in range(10)], "temporary": tempfile.gettempdir(),
    "threads": [one.name for one in threading.enumerate()], "thresholds": gc.get_threshold(),
    "thread": threading.main_thread().native_id == os.getpid() == threading.get_native_id(),
}
try:
    facts["folder"] = os.getcwd()
except FileNotFoundError:
    facts["folder"] = "deleted"
facts["status"] = [
    line for line in open("/proc/self/status")
    if line.startswith(("SigP", "SigB", "SigI", "SigC", "Shd", "Cap", "NoNew", "Sec", "Umask"))
]
print(json.dumps(facts))
"""
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "usual": {},
    "zone": {"TZ": "Asia/Kolkata"},
    "temporary": {"TMPDIR": "/var/tmp"},
    "no locale": {"LANG": ""},
    "C": {"LANG": "C"},
    "C by name": {"LC_ALL": "C"},
    "C for letters": {"LC_CTYPE": "C"},
    "unknown locale": {"LANG": "xx_YY.UTF-8"},
    "ascii": {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    "utf-8 mode": {"PYTHONUTF8": "1", "LC_ALL": "C"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
    "seed": {"PYTHONHASHSEED": "7"},
    "keyring": {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"},
    "bytes": {"ODD": "caf\udce9 \udcff", "NO_COLOR": "1", "EMPTY": ""},
}

# How a program may end, and what it does on the way.
ENDINGS = {
    "well": "print('said'); print('told', file=sys.stderr)",
    "code": "print('said'); sys.exit(3)",
    "none": "sys.exit(None)",
    "true": "sys.exit(True)",
    "negative": "sys.exit(-1)",
    "large": "sys.exit(256 + 5)",
    "words": "sys.exit('why')",
    "error": "raise ValueError('odd')",
    "interrupt": "print('said'); raise KeyboardInterrupt",
    "at once": "print('never'); os._exit(4)",
    "signal": "print('never'); os.kill(os.getpid(), signal.SIGTERM)",
    "abort": "os.abort()",
    "thread": "threading.Timer(0.2, print, ['late']).start(); sys.exit(2)",
    "daemon": "threading.Thread(target=time.sleep, args=[60], daemon=True).start(); sys.exit(2)",
    "handlers": "[atexit.register(print, n) for n in 'abc']; sys.exit(2)",
    "bad handler": "atexit.register(lambda: 1 / 0); sys.exit(2)",
    "exit in handler": "atexit.register(sys.exit, 5); sys.exit(2)",
    "output closed": "print('said', flush=True); sys.stdout.close(); sys.exit(2)",
    "no output": "sys.stdout = None; sys.exit(2)",
    "descriptor closed": "print('never'); os.close(1)",
    "full": "sys.stdout = open('/dev/full', 'w'); print('never')",
    "recursion": "f = lambda: f(); f()",
    "pthread_kill": "signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)",
    "input": "print(sys.stdin.read(), input.__name__)",
    "module": "import this",
}
IMPORTS = "import atexit, os, signal, sys, threading, time\n"


def ended(kind: str, line: list[str], **more: Any) -> Answer:
    """Runs a line of one kind to its end."""
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **more}
    with KINDS[kind](line, stderr=subprocess.PIPE, **more) as process:
        out, err = process.communicate(timeout=PATIENCE)
    return Answer(process.returncode, out or b"", _without_place(err))


def _without_place(err: bytes) -> bytes:
    """Takes the frames out of a traceback: below the program are those of whoever started it."""
    frames = rb"^  File .*\n(    .*\n)*|^  \[Previous line.*\n|0x[0-9a-f]+"
    return re.sub(frames, b"", err, flags=re.MULTILINE)


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


def facts(kind: str, **more: Any) -> dict[str, Any]:
    answer = ended(kind, python(FACTS, "a b", "ü", "--", "-x"), **more)
    assert answer.code == 0, answer
    return dict(json.loads(answer.out))


def started_by_a_server(process: subprocess.Popen[bytes]) -> bool:
    """Tells whether a process, which must be at work, has the command line of a server."""
    return b"serve" in Path(f"/proc/{process.pid}/cmdline").read_bytes()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_gets_what_a_fresh_start_gets(world: World, name: str) -> None:
    given: dict[str, Any] = {"cwd": world.root, "env": {**world.env, **ENVIRONMENTS[name]}}
    forked = facts("forked", **given)
    assert forked == facts("fresh", **given)
    assert forked["parent"] == os.getpid()


@contextmanager
def elsewhere(folder: Path) -> Iterator[None]:
    """Lets this process have another umask, folder and other signals for a while."""
    before = os.umask(0o027), os.getcwd(), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    os.chdir(folder)
    folder.rmdir()
    try:
        yield
    finally:
        os.umask(before[0])
        os.chdir(before[1])
        signal.signal(signal.SIGHUP, before[2])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})


def test_it_gets_from_its_parent_what_a_fresh_start_gets(world: World, tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir()
    for name in {"COLUMNS", "LINES"} - {*os.environ}:
        os.unsetenv(name)  # readline sets them behind the back of Python, once something loads it
    reader, writer = os.pipe()
    try:
        ways: list[dict[str, Any]] = [
            {"start_new_session": True},
            {"process_group": 0},
            {"umask": 0o077},
            {"pass_fds": [reader, writer]},
            {"stdin": None, "stdout": subprocess.PIPE},
            {"stdin": reader},
            {"env": None},
            {"bufsize": 0},
        ]
        forked = [facts("forked", **{"env": world.env, **way}) for way in ways]
        assert forked == [facts("fresh", **{"env": world.env, **way}) for way in ways]
        with elsewhere(folder):
            forked = [facts("forked", env=world.env)]
            assert forked == [facts("fresh", env=world.env)]
        assert forked[0]["folder"] == "deleted"
    finally:
        os.close(reader)
        os.close(writer)


def test_a_folder_that_is_missing_is_the_same_error(world: World) -> None:
    for popen in KINDS.values():
        with pytest.raises(FileNotFoundError, match="nowhere"):
            popen(python("pass"), cwd=world.root / "nowhere", env=world.env)


@pytest.mark.parametrize("name", ENDINGS)
def test_it_ends_as_a_fresh_start_does(world: World, name: str) -> None:
    line = python(IMPORTS + ENDINGS[name])
    given: dict[str, Any] = {"cwd": world.root, "env": world.env}
    fresh = ended("fresh", line, **given)
    assert ended("forked", line, **given) == fresh
    reader, writer = os.pipe()
    os.close(reader)
    try:
        fresh = ended("fresh", line, stdout=writer, **given)
        assert ended("forked", line, stdout=writer, **given) == fresh
    finally:
        os.close(writer)


def test_a_module_runs_as_one(world: World) -> None:
    (world.root / "some").mkdir()
    world.put("some/one.py", b"import sys; print(__name__, __file__, sys.argv, sys.path[0])")
    line = [sys.executable, "-m", "some.one", "a", "-b"]
    given: dict[str, Any] = {"cwd": world.root, "env": world.env}
    forked = ended("forked", line, **given)
    assert forked == ended("fresh", line, **given)
    assert forked.out


@pytest.mark.parametrize("number", [1, 2, 9, 10, 15], ids=lambda n: signal.Signals(n).name)
def test_a_signal_ends_it_as_it_ends_a_fresh_start(world: World, number: int) -> None:
    world.plan()
    told = []
    for kind, popen in KINDS.items():
        with popen(
            [*PROGRAM, "stage", "write", "a", "--from", "-"],
            cwd=world.root, env=world.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            process.stdin.write(bytes(8 << 20))  # more than anything between holds: it reads
            process.stdin.flush()
            assert started_by_a_server(process) is (kind == "forked")
            process.send_signal(number)
            process.wait(PATIENCE)
            told.append((process.returncode, process.stdout.read(), process.stderr.read()))
    assert told[0] == told[1]


def test_a_signal_at_the_very_first_moment_is_not_lost(world: World) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with Forked(
            python("import time; time.sleep(60)"), env=world.env, stderr=subprocess.PIPE
        ) as process:
            process.send_signal(number)
            assert process.wait(PATIENCE) == -number


def test_two_of_one_server_are_as_random_as_any(world: World) -> None:
    code = "import random, uuid, tempfile; print(random.random(), uuid.uuid4(), tempfile.mktemp())"
    told = [ended("forked", python(code), env=world.env).out.split() for _ in range(3)]
    assert len({word for words in told for word in words}) == 9


def test_who_asks_from_many_threads_gets_each_its_own(world: World) -> None:
    line = "import sys; print(sys.argv[1])"
    with ThreadPoolExecutor(8) as pool:
        asked = [str(number) for number in range(40)]
        answers = pool.map(lambda n: ended("forked", python(line, n), env=world.env), asked)
        assert [answer.out.decode().strip() for answer in answers] == asked


ASKER = """
import sys, time
from tests.support import forked_python as forked
forked.Popen.fresh = 0
work = forked.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env={"LANG": "C.UTF-8"})
(server,) = forked._servers.values()
print(server._process.pid, work.pid, flush=True)
time.sleep(60)
"""


def test_a_server_ends_with_whoever_uses_it(world: World) -> None:
    asker = subprocess.Popen(
        python(ASKER), cwd=forked_python.PROJECT, env=world.env, stdout=subprocess.PIPE
    )
    with asker:
        assert asker.stdout is not None
        server, work = map(int, asker.stdout.readline().split())
        watched = os.pidfd_open(server)
        asker.kill()
    try:
        assert select.select([watched], [], [], PATIENCE)[0]
    finally:
        os.close(watched)
        with suppress(ProcessLookupError):
            os.kill(work, signal.SIGKILL)


DIGEST = "the digest of the plan"


def lines(file: Path) -> list[tuple[list[str], bytes]]:
    """A life of a workspace: what is typed, and what comes from stdin."""
    model = ["--model", MODEL]
    return [
        (["--version"], b""),
        (["--help"], b""),
        (["nothing"], b""),
        (["status"], b""),
        (["init"], b""),
        (["plan", "new", "work", "--goal", "A goal ü"], b""),
        (["stage", "write", "a/ü.txt", "--from", "-"], b"content\n" * 9000),
        (["stage", "write", "../b", "--from", "-", "--json"], b"x"),
        (["stage", "run", "--", "touch", "made"], b""),
        (["stage", "list", "--json"], b""),
        (["diff"], b""),
        (["propose", "--json"], b""),
        (["review"], b""),
        (["approve"], b""),
        (["approve", "--digest", "0" * 64, "--json"], b""),
        (["status", "--json"], b""),
        (["build"], b""),
        (["approve", "--digest", DIGEST], b""),
        (["build", "--json"], b""),
        (["undo", "--dry-run"], b""),
        (["undo"], b""),
        (["recover"], b""),
        (["runs", "list"], b""),
        (["plan", "export", "work"], b""),
        (["rules", "list"], b""),
        (["modes", "list"], b""),
        (["trust", "list"], b""),
        (["keys", "list"], b""),
        (["mcp", "list"], b""),
        (["memory", "list"], b""),
        (["waiting", "--json"], b""),
        (["questions", "list"], b""),
        (["shell", "check", "ls | wc -l"], b""),
        (["shell", "run", "echo ü"], b""),
        (["models", "list", "--json"], b""),
        (["-p", "Hello", *model], b""),
        (["-p", *model, "--output-format", "stream-json"], b"from stdin"),
        (["-p", "Hello", *model, "--json"], b""),
        (["sessions", "list"], b""),
        (["log", "--json"], b""),
        (["log", "verify"], b""),
        (["verify", str(file)], b""),
        (["debug", "prompt"], b""),
    ]


# What differs from one time to the next: ids, digests, and numbers, which may be times.
CHANGES = re.compile(rb"(?<=blobs/)..|\b01[0-9a-z]{10,}|[0-9a-f]{8,}|\d+(\.\d+)?( ?m?s\b)?")


def lived(base: Path, kind: str) -> tuple[list[Any], list[Any], dict[bytes, Any]]:
    """Lives it in programs of one kind; returns what they said, and all that is there then."""
    rmtree(base, ignore_errors=True)
    world = World(base)
    Talker(world).script(*[turn("Good day.")] * 3)
    told: list[Any] = []
    digest = ""
    for line, stdin in lines(base / "none.json"):
        typed = [digest if word == DIGEST else word for word in line]
        with open(world.put("../stdin", stdin), "rb") as file:
            answer = ended(kind, [*PROGRAM, *typed], cwd=world.root, env=world.env, stdin=file)
        if line[0] == "propose":
            digest = answer.json["digest"]
        told.append((line, answer.code, *[CHANGES.sub(b"#", t).splitlines() for t in answer[1:]]))
    found = files_below(base)
    # What is remembered of a search depends on how long ago the folders changed.
    kept = {path: seen for path, seen in found.items() if b"/scans/" not in path}
    files = [(path, mode) for path, (kind, mode, _) in kept.items() if kind != "folder"]
    left = sorted((CHANGES.sub(b"#", path), mode) for path, mode in files)
    return told, left, world.files()


def test_whole_lives_are_the_same(tmp_path: Path) -> None:
    forked, fresh = (lived(tmp_path / "base", kind) for kind in ("forked", "fresh"))
    differ = [pair for pair in zip(forked[0], fresh[0], strict=True) if pair[0] != pair[1]]
    assert differ == []
    assert forked[1:] == fresh[1:]
    assert len(forked[1]) > len(forked[2]) > 1


@pytest.mark.parametrize(
    "environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"LANG": "C"}], ids=str
)
def test_a_terminal_is_its_own(world: World, environment: dict[str, str]) -> None:
    world.plan()
    world.write("a", b"a\n")
    digest = world.propose()
    shown = []
    for program in (TYPED, TYPED + "\n", TYPED):  # another one is started afresh
        terminal = Terminal(world, "approve", program=program, env=environment)
        answer = terminal.answer(b"no\r")
        shown.append((answer, CHANGES.sub(b"#", terminal.screen).splitlines()))
    assert shown[1] == shown[2]  # in the first, nothing was seen before
    assert digest[:8].encode() not in b"".join(shown[0][1])
