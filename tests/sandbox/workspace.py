"""A workspace with a repository, beside files that are not its own, and commands that run there."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from tests.sandbox.profiles import Outcome, gathered

from assent.core.shell.process import CommandSpec, ProcessLimits, SandboxState, SandboxStatus
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.profile.profile import ProfileBuilder
from assent.sandbox.selftest.checker import SandboxChecker


class Known(SandboxChecker):
    """Stands as it is told, so that no test makes the whole self-test again."""

    def __init__(self, standing: SandboxStatus) -> None:
        self._told = standing

    def status(self) -> SandboxStatus:
        return self._told


class Room(msgspec.Struct, frozen=True):
    """`work` is the workspace in a base folder, `home` the person's, `state` Assent's."""

    base: Path
    hold: SandboxStatus = SandboxStatus(SandboxState.HELD)
    name: str = "work"
    only_reads: Callable[[str], bool] = lambda line: False

    @property
    def root(self) -> Path:
        return self.base / self.name

    def process(self, **variables: str) -> LocalProcessRunner:
        environment = {"PATH": os.defpath, "HOME": str(self.base / "home"), **variables}
        hidden = [os.fsencode(self.base / "state")]
        sight = ProfileBuilder(
            os.fsencode(self.root), os.fsencode(self.base / "home"), hidden, environment
        )
        return LocalProcessRunner(
            sight, Known(self.hold), environment, ["MY_MODEL"], only_reads=self.only_reads
        )

    def perform(self, line: str, *, confined: bool = True, **limits: float) -> Outcome:
        """Runs a line by the shell."""
        wanted = ProcessLimits(**{"seconds": 30, **limits})  # type: ignore[arg-type]
        root = os.fsencode(self.root)
        return gathered(
            self.process().run_command(CommandSpec(line), root, wanted, confined=confined)
        )

    def do(self, errand: CommandSpec, folder: str = "") -> Outcome:
        """Runs an errand in a folder of the workspace."""
        where = os.fsencode(self.root / folder)
        return gathered(self.process().run_command(errand, where, ProcessLimits(seconds=30)))


def furnished(base: Path) -> Room:
    """Makes the folders of a room, with a key and a secret in them."""
    for folder in ("work/.git/hooks", "work/.opencode", "home", "state"):
        (base / folder).mkdir(parents=True)
    (base / "state/key").write_text("the key\n", encoding="utf-8")
    (base / "work/.env").write_text("TOKEN=1\n", encoding="utf-8")
    return Room(base)
