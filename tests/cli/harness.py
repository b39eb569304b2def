"""A small world for black-box tests: a workspace, state and configuration of its own."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from select import PIPE_BUF
from shutil import rmtree
from typing import Any, NamedTuple

import msgspec
from tests.support import forked_python
from tests.support.sandbox_status import remember_sandbox

from assent.cli.entry import run
from assent.sandbox.status import TOOLS, find_bwrap

PROGRAM = (sys.executable, "-c", "from assent.cli import main; main()")
# Who is root reads every file, unless CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH are given up: by
# this process, and for all that it starts.
GIVE_UP = """
import ctypes, struct
libc = ctypes.CDLL(None)
head, sets = struct.pack("Ii", 0x20080522, 0), (ctypes.c_uint32 * 6)()
given_up = [libc.prctl(24, one, 0, 0, 0) for one in (1, 2)] + [libc.capget(head, sets)]
sets[:3] = [low & ~0b110 for low in sets[:3]]
assert [*given_up, libc.capset(head, sets)] == [0] * 4
"""
UNPRIVILEGED = (*PROGRAM[:2], GIVE_UP + PROGRAM[2]) if os.geteuid() == 0 else PROGRAM
TICK_S = 0.005  # between two looks at what another process does: a busy wait would slow it down
TRUSTING = "[approve]\nwithout_terminal = true\n"

Found = tuple[str, int, bytes]  # kind, mode, content or target


class Answer(NamedTuple):
    """What a command line left behind."""

    code: int
    out: bytes
    err: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        return _one_object(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The one object on stderr of a command that was refused; stdout must be empty."""
        assert self.out == b"", self
        found = _one_object(self.err)
        assert found.keys() - {"options", "changed"} == {"error", "message", "next"}, found
        return found


class World:
    """A workspace in a temporary folder, and the command line that works on it."""

    def __init__(self, base: Path, config: str = TRUSTING) -> None:
        self.base = base
        self.root = base / "project"
        self.root.mkdir(parents=True)
        self.state = base / "state"
        self.config = base / "config" / "assent" / "config.toml"
        self.config.parent.mkdir(parents=True)
        self.config.write_text(config, encoding="utf-8")
        (base / "home").mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "HOME": str(base / "home"),
            "XDG_STATE_HOME": str(self.state),
            "XDG_CONFIG_HOME": str(base / "config"),
        }
        remember_sandbox(self.state / "assent")

    def on_a_fresh_machine(self) -> "World":
        """Has nothing be known of the sandbox yet, nor anything kept."""
        rmtree(self.state, ignore_errors=True)
        return self

    def run(self, *arguments: str, stdin: bytes = b"", folder: Path | None = None) -> Answer:
        """Runs a command line in this process, as if typed in the workspace."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "12")
        line = ["-C", str(folder or self.root), *arguments]
        with _environment(self.env), _stdin(stdin), redirect_stdout(out), redirect_stderr(err):
            code = run(line)
        return Answer(code, *[_written(stream) for stream in (out, err)])

    def ok(self, *arguments: str, stdin: bytes = b"") -> dict[str, Any]:
        """Runs a command that must succeed, and returns its answer."""
        answer = self.run(*_as_json(arguments), stdin=stdin)
        assert answer.code == 0, answer
        return answer.json

    def no(self, code: int, *arguments: str, stdin: bytes = b"") -> dict[str, Any]:
        """Runs a command that must be refused with this exit code, and returns the error."""
        answer = self.run(*_as_json(arguments), stdin=stdin)
        assert answer.code == code, answer
        return answer.error

    def process(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Answer:
        """Runs the real program in a process of its own, without a terminal."""
        return self.start([*PROGRAM, *arguments], stdin, env, folder, forked_python.run)

    def unprivileged(self, *arguments: str) -> Answer:
        """Runs the real program as somebody whom the modes of files keep out."""
        return self.start([*UNPRIVILEGED, *arguments], run=forked_python.run)

    def start(
        self,
        line: Sequence[str | bytes],
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
        run: Callable[..., subprocess.CompletedProcess[bytes]] = subprocess.run,
    ) -> Answer:
        """Runs any program in this world."""
        with _piped(stdin) as given:
            done = run(
                line,
                cwd=folder or self.root,
                env={**self.env, **(env or {})},
                **given,
                capture_output=True,
                start_new_session=True,
                check=False,
                timeout=100,
            )
        return Answer(done.returncode, done.stdout, done.stderr)

    def plan(self, name: str = "work", goal: str = "A goal") -> dict[str, Any]:
        return self.ok("plan", "new", name, "--session", "tests", "--goal", goal)

    def write(self, path: str, content: bytes, *options: str) -> dict[str, Any]:
        """Stages a file's new content."""
        return self.ok("stage", "write", "--from", "-", *options, "--", path, stdin=content)

    def propose(self) -> str:
        return str(self.ok("propose")["digest"])

    def approve(self) -> str:
        """Proposes the current plan and approves it by its digest."""
        digest = self.propose()
        self.ok("approve", "--digest", digest)
        return digest

    def build(self) -> dict[str, Any]:
        """Proposes, approves and builds the current plan."""
        self.approve()
        return self.ok("build")

    def undo(self, *arguments: str) -> Answer:
        """Undoes a run by the digest of its undo plan."""
        digest = self.ok("undo", *arguments, "--dry-run")["digest"]
        return self.run("undo", *arguments, "--digest", digest, "--json")

    def put(self, path: str | bytes, content: bytes = b"", mode: int = 0o644) -> bytes:
        """Makes a file in the workspace, and its folders."""
        full = self.at(path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content)
        os.chmod(full, mode)
        return full

    def link(self, path: str | bytes, target: str | bytes) -> None:
        full = self.at(path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        os.symlink(os.fsencode(target), full)

    def at(self, path: str | bytes) -> bytes:
        return os.path.join(os.fsencode(self.root), os.fsencode(path))

    def files(self) -> dict[bytes, Found]:
        """Everything in the workspace that is not git's or Assent's."""
        return files_below(self.root, but=(b".git", b".opencode"))

    def text(self) -> Path:
        """The Markdown file of the current plan."""
        return self.root / str(self.ok("plan", "show")["path"])

    def git(self, *arguments: str) -> bytes:
        """Runs git in the workspace as somebody without a configuration."""
        who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in WHO}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={**self.env, **who, "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            check=True,
        )
        return done.stdout


def unsandboxed(world: World, *arguments: str) -> Answer:
    """Runs the real program where there is no bubblewrap: an empty file lies over it."""
    line = [*PROGRAM, *arguments]
    if tool := find_bwrap():
        masks = [w for t in TOOLS if os.path.exists(t) for w in (b"--ro-bind", b"/dev/null", t)]
        line = [tool, "--dev-bind", "/", "/", *masks, "--", *line]  # type: ignore[list-item]
    return world.start(line)


WHO = ("NAME", "EMAIL")


def files_below(top: Path, but: tuple[bytes, ...] = ()) -> dict[bytes, Found]:
    """Everything below a folder, by its path there, except what lies in some of its folders."""
    start = os.fsencode(top)
    found: dict[bytes, Found] = {}
    for folder, folders, names in os.walk(start):
        folders[:] = [name for name in folders if folder != start or name not in but]
        for name in [*folders, *names]:
            full = os.path.join(folder, name)
            found[full[len(start) + 1 :]] = _found(full)
    return found


def _as_json(arguments: tuple[str, ...]) -> list[str]:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:end], "--json", *arguments[end:]]


def _found(full: bytes) -> Found:
    mode = os.lstat(full).st_mode & 0o7777
    if os.path.islink(full):
        return "link", 0o777, os.readlink(full)
    if os.path.isdir(full):
        return "folder", 0, b""
    with open(full, "rb") as file:
        return "file", mode, file.read()


def _one_object(text: bytes) -> dict[str, Any]:
    assert text.endswith(b"\n"), text
    assert text.count(b"\n") == 1, text
    return msgspec.json.decode(text, type=dict[str, Any])


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    return stream.buffer.getvalue()  # type: ignore[attr-defined, no-any-return]


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    _become(before, wanted)
    try:
        yield
    finally:
        _become(dict(os.environ), before)


def _become(now: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Changes those variables of this process that differ; most commands take no longer."""
    for name in now.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in wanted.items() if now.get(name) != value})


@contextmanager
def _piped(content: bytes) -> Iterator[dict[str, Any]]:
    """A pipe to read from, filled before anybody reads: nobody has to wait for this process."""
    if len(content) > PIPE_BUF:
        yield {"input": content}
        return
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    try:
        yield {"stdin": reader}
    finally:
        os.close(reader)


@contextmanager
def _stdin(content: bytes) -> Iterator[None]:
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(content), "utf-8")
    try:
        yield
    finally:
        sys.stdin = before
