"""The program under record: a person's machine in a folder, and command lines typed there.

It is started by the name that it is installed under and by nothing else of the package, so that the
record stays what it is when everything inside gets another name.
"""

import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.metadata import entry_points
from pathlib import Path
from shlex import join
from typing import Any, Literal, NamedTuple

from tests.record.shape import by_kind, shape
from tests.support import forked_python

COMMAND = "assent"
ENTRY, *_ = entry_points(group="console_scripts", name=COMMAND)
MODULE, FUNCTION = ENTRY.value.split(":")
PROCESS = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # if it is ignored
    f"from {MODULE} import {FUNCTION}; {FUNCTION}()"
)

NOBODY = "http://127.0.0.1:9/v1"  # where no model answers
ALONE = dict.fromkeys(("OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL"), NOBODY)
TRUSTING = "[approve]\nwithout_terminal = true\n"  # a full digest is a yes
PATIENCE = 100

NAMES = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b"), "<id>"),
)

# Members of an answer that tell of the machine; only a chapter that needs its sandbox has them.
OF_THE_MACHINE = frozenset({"shell", "scratch"})

Form = Literal["text", "json", "stream-json"]


class NoSandbox(Exception):
    """A chapter cannot be told on this machine, which has no sandbox for commands."""


class Said(NamedTuple):
    """What a command line left behind."""

    code: int
    out: bytes
    err: bytes

    def content(self) -> Any:
        """Returns what a caller reads: one object, the lines of a stream, or the refusal."""
        rows = _rows(self.out) or _rows(self.err)
        return rows[0] if len(rows) == 1 else rows


class Machine:
    """A workspace with state and configuration of its own."""

    def __init__(self, base: Path, config: str = TRUSTING) -> None:
        self.base = base
        self.root = base / "project"
        self.config = base / "config" / COMMAND / "config.toml"
        for folder in (self.root, self.config.parent, base / "home"):
            folder.mkdir(parents=True)
        self.config.write_text(config, encoding="utf-8")
        self.env = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "HOME": str(base / "home"),
            "XDG_STATE_HOME": str(base / "state"),
            "XDG_CONFIG_HOME": str(base / "config"),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
            **ALONE,
        }

    def put(self, path: str, content: str) -> None:
        """Makes a file in the workspace, and its folders."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")

    def script(self, *turns: dict[str, Any], **children: list[dict[str, Any]]) -> None:
        """Says what the model answers, from the first request of a session on."""
        script = {"turns": turns, "children": children}
        (self.base / "script.json").write_text(json.dumps(script), encoding="utf-8")

    @property
    def model(self) -> str:
        """The name of the model that the script is."""
        return f"scripted:{self.base / 'script.json'}"

    def git(self, *arguments: str) -> None:
        """Runs git in the workspace."""
        line = ["git", *arguments]
        subprocess.run(line, cwd=self.root, env=self.env, capture_output=True, check=True)

    def run(self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Said:
        """Runs a command line in this process, from its entry to its exit code."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "12")
        line = [COMMAND, "-C", str(self.root), *arguments]
        environment = {**self.env, **(env or {})}
        with _process(line, environment, stdin), redirect_stdout(out), redirect_stderr(err):
            try:
                ENTRY.load()()
                code = 0
            except SystemExit as exit:
                code = exit.code if isinstance(exit.code, int) else 0
        return Said(code, *[stream.detach().getvalue() for stream in (out, err)])

    def do(self, *arguments: str, code: int = 0, stdin: str = "") -> Any:
        """Does what the story needs and does not tell, and returns the answer."""
        said = self.run(*in_form(arguments, "json"), stdin=stdin)
        assert said.code == code, f"{arguments} ended with {said.code} and not {code}: {said}"
        return said.content()

    def interrupted(self, *arguments: str, feed: int = 0, until: str = "") -> Said:
        """Runs a command line as a process of its own and presses Ctrl-C in the middle.

        That is when it has read all but the last 64 KiB of `feed` bytes from stdin, or has written
        a line with `until` in it.
        """
        process = forked_python.Popen(
            [sys.executable, "-c", PROCESS, *arguments],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if process.stdin is not None:
            process.stdin.write(bytes(feed))
        heard = b""
        while until.encode() not in heard:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate(timeout=PATIENCE)
            heard += line
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        return Said(process.returncode, heard + out, err)


class Record:
    """The steps of a chapter: what was typed, and what of the answer is a promise."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.machine = self.another("here")
        self.hidden = OF_THE_MACHINE
        self.steps: dict[str, dict[str, Any]] = {}

    def another(self, name: str, config: str = TRUSTING) -> Machine:
        """Returns a machine that shares nothing with the others."""
        return Machine(self.base / name, config)

    def __call__(
        self,
        name: str,
        *arguments: str,
        code: int = 0,
        stdin: str = "",
        form: Form = "json",
        env: Mapping[str, str] | None = None,
        on: Machine | None = None,
    ) -> Any:
        """Types a command line, records it under a name, and returns what it answered."""
        line = in_form(arguments, form)
        said = (on or self.machine).run(*line, stdin=stdin, env=env)
        return self.keep(name, line, said, code)

    def keep(self, name: str, line: list[str], said: Said, code: int) -> Any:
        """Records what was said, under a name that no other step of the chapter has."""
        assert name not in self.steps, f"two steps are called {name}"
        self.steps[name] = {
            "line": join([COMMAND, *map(self._named, line)]),
            "exit": said.code,
            "stdout": _shown(said.out, self.hidden),
            "stderr": _shown(said.err, self.hidden),
        }
        assert said.code == code, f"{name} ended with {said.code} and not {code}: {said}"
        return said.content()

    def _named(self, word: str) -> str:
        named = word.replace(str(self.base), "<base>")
        for pattern, name in NAMES:
            named = pattern.sub(name, named)
        return named


def in_form(arguments: tuple[str, ...], form: Form) -> list[str]:
    """Returns a line with the option for the form of its answer, before any `--`."""
    options = {"text": [], "json": ["--json"], "stream-json": ["--output-format", "stream-json"]}
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:end], *options[form], *arguments[end:]]


def _rows(text: bytes) -> list[Any]:
    """Returns the values on the lines of what was written; none if it is not JSON."""
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return []


def _shown(text: bytes, hidden: frozenset[str]) -> Any:
    """Returns the shape of what was written: nothing, words, one object, or a stream of lines."""
    rows = [{key: row[key] for key in row if key not in hidden} for row in _rows(text)]
    if not rows:
        return "text" if text else "nothing"
    if len(rows) == 1:
        return shape(rows[0]).shown()
    if not all(isinstance(row, dict) and "kind" in row for row in rows):
        return {"lines": shape(rows).shown()}
    kinds = [row["kind"] for row in rows]
    order = [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]
    return {"order": order, "lines": by_kind(rows).shown()}


@contextmanager
def _process(line: list[str], environment: Mapping[str, str], stdin: str) -> Iterator[None]:
    """Makes this process one that was started with this line, and takes all of it back."""
    before = dict(os.environ), sys.argv, sys.stdin, gc.get_threshold(), gc.freeze
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, sys.stdin = line, io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    gc.freeze = int  # it is for a process that ends, and this one has garbage to collect later on
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before[0])
        sys.argv, sys.stdin = before[1:3]
        gc.set_threshold(*before[3])
        gc.freeze = before[4]
