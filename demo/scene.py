"""The stage of the demonstration: a throw-away repository, and what is said and done in it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROGRAMS = Path(sys.executable).parent
CONFIG = "[approve]\nwithout_terminal = true\n"


class Unexpected(Exception):
    """A step did not end as the story tells it."""


class Scene:
    """A folder with state and configuration of its own; every step is checked."""

    def __init__(self, home: Path, pause: float) -> None:
        self.root = home / "bakery"
        self.root.mkdir()
        self._pause = pause
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self._env = {
            **inherited,
            "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
            "PAGER": "cat",
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        config = home / "config" / "assent" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(CONFIG, encoding="utf-8")

    def say(self, text: str) -> None:
        """Tells what comes next, and leaves time to read it."""
        mark = "\x1b[1m{}\x1b[0m" if sys.stdout.isatty() else "{}"
        print("\n" + mark.format(f"# {text}"), flush=True)
        time.sleep(self._pause)

    def do(self, command: str, *, ends: int = 0) -> None:
        """Shows a command line, runs it, and requires the exit code that the story tells."""
        self.show(command)
        line = ["bash", "-o", "pipefail", "-c", command]
        code = subprocess.run(
            line, cwd=self.root, env=self._env, stdin=subprocess.DEVNULL, stderr=sys.stdout
        ).returncode
        self.require(code == ends, f"`{command}` ended with {code} instead of {ends}")
        if ends:
            print(f"(exit {code})", flush=True)
        time.sleep(self._pause)

    def start(self, command: str) -> "subprocess.Popen[bytes]":
        """Starts a command line without waiting for its end."""
        words = [str(PROGRAMS / "assent"), *command.split()[1:]]
        return subprocess.Popen(words, cwd=self.root, env=self._env, stdout=subprocess.DEVNULL)

    def ask(self, command: str) -> dict[str, Any]:
        """Runs a command with --json behind the scenes and returns its answer."""
        words = [str(PROGRAMS / "assent"), *command.split()[1:], "--json"]
        done = subprocess.run(words, cwd=self.root, env=self._env, capture_output=True)
        self.require(done.returncode == 0, f"`{command}` ended with {done.returncode}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def show(self, command: str) -> None:
        print(f"$ {command}", flush=True)
        time.sleep(self._pause)

    def note(self, text: str) -> None:
        """Says what was found on disk."""
        print(f"  {text}", flush=True)

    def require(self, held: bool, otherwise: str) -> None:
        """Stops the story if something is not as told."""
        if not held:
            raise Unexpected(otherwise)
