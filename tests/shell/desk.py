"""A desk: a scratch repository, a home with a canary in it, and four ways to run a line there.

As a planning agent with a sandbox and without one, as bash inside the sandbox with no judgement
of its text, and as bash with nothing to hold it, for comparison in a twin of the repository.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from tests.cli.harness import World, _environment
from tests.shell.scratch import build

from assent.core.errors import Refused
from assent.core.shell.process import (
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
)
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.profile.profile import ProfileBuilder, SandboxProfile
from assent.sandbox.read_only_shell import LocalReadOnlyShell
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.selftest.checker import SandboxChecker, bubblewrap_confinement
from assent.sandbox.status import find_bwrap

CANARY = "the canary's own words"
PATH = "/usr/local/bin:/usr/bin:/bin"  # the tester's own folders are not part of the test
TWIN = "another"  # as long as `project`, so that columns of output stay where they are
BRIEFLY = ProcessLimits(
    seconds=1
)  # some lines never end by themselves; what they do, they do at once


class Ran(NamedTuple):
    """How a line ended, and what it said."""

    code: int
    out: str
    err: str
    cut: str = ""


class Desk:
    """A workspace in a folder of its own; `state` may be shared by many desks."""

    def __init__(
        self, base: Path, state: Path, *, empty: bool = False, secret: bool = True
    ) -> None:
        self.world = World(base)
        self.root = self.world.root
        self._secret = secret
        if not empty:
            build(self.root, secret=secret)
        self.home = base / "home"
        self._state = state
        self.world.env |= {"XDG_STATE_HOME": str(state), "PATH": PATH}
        (self.home / "canary.txt").write_text(CANARY + "\n", encoding="utf-8")

    def run(self, line: str) -> Ran:
        """Runs a line through `assent shell run`; a refusal has its reason on stderr."""
        answer = self.world.run("shell", "run", "--json", "--", line)
        if not answer.out:
            return Ran(answer.code, "", answer.error["message"])
        said = answer.json
        assert said["exit_code"] == answer.code
        return Ran(answer.code, said["stdout"], said["stderr"])

    def run_without_sandbox(self, line: str) -> Ran:
        """Runs a line as on a machine that lacks bubblewrap."""
        with _environment(self.world.env):
            try:
                return _ran(self._bare_shell.run(line, os.fsencode(self.root)))
            except Refused as refused:
                return Ran(refused.exit, "", refused.message)

    def confined(self, line: str, limits: ProcessLimits = BRIEFLY) -> Ran:
        """Runs what bash makes of a line, inside the sandbox; like any argument, it ends at NUL.

        What it sees is found out once: whoever calls this watches that nothing changes.
        """
        tool = find_bwrap()
        assert tool is not None, "bubblewrap is not installed."
        program = Program((b"/bin/bash", b"-c", line.encode().partition(b"\0")[0]))
        run = BubblewrapRunner(lambda: self._profile, tool).run
        return _ran(run([program], os.fsencode(self.root), limits))

    def twin(self) -> Path:
        """Makes another workspace with the same content."""
        root = self.world.base / TWIN
        root.mkdir()
        return build(root, secret=self._secret)

    @cached_property
    def _bare_shell(self) -> LocalReadOnlyShell:
        lacking = SandboxStatus(SandboxState.NONE, "bubblewrap is not installed.")
        env = self.world.env
        confine = partial(bubblewrap_confinement, env)
        standings = SandboxChecker(self._state / "none", confine, lacking=lambda: lacking)
        return LocalReadOnlyShell(LocalProcessRunner(self._sight, standings, env))

    @cached_property
    def _profile(self) -> SandboxProfile:
        return self._sight.profile()

    @cached_property
    def _sight(self) -> ProfileBuilder:
        hidden = [os.fsencode(path) for path in (self._state, self.world.config.parent)]
        return ProfileBuilder(
            os.fsencode(self.root), os.fsencode(self.home), hidden, self.world.env
        )


def bash(line: str, root: Path, env: Mapping[str, str]) -> Ran:
    """Runs a line as a person would, with nothing to hold it."""
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=root,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=True,
        timeout=60,
    )
    return Ran(done.returncode, _text(done.stdout), _text(done.stderr))


def plain_environment(base: Path) -> dict[str, str]:
    """What bash gets: no person's settings, and `fd` by its own name where Debian renamed it."""
    (base / "home").mkdir(parents=True)
    (base / "fd").symlink_to("/usr/bin/fdfind")  # found last, so only where there is no other
    return {
        "PATH": f"{PATH}:{base}",
        "HOME": str(base / "home"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def _ran(parts: Iterable[OutputChunk | ProcessResult]) -> Ran:
    said: dict[bool, bytes] = {False: b"", True: b""}
    code, cut = -1, ""
    for part in parts:
        match part:
            case ProcessResult():
                code, cut = part.code, part.cut
            case OutputChunk():
                said[part.error] += part.content
    return Ran(code, _text(said[False]), _text(said[True]), cut)


def _text(stream: bytes) -> str:
    return stream.decode("utf-8", "replace")
