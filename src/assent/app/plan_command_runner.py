"""Runs the commands of plans; loaded with the first one, as most builds have none."""

from collections.abc import Callable, Iterator
from functools import cached_property

from assent.core.plan.operation import RunCommand
from assent.core.run.workspace_changes import NO_FILES, FileStateChanges, WorkspaceChanges
from assent.core.shell.process import OutputChunk, ProcessResult, never_stopped
from assent.ports import PlanCommandRunner


class LazyPlanCommandRunner:
    """Implements ports.PlanCommandRunner; loads the sandbox with a plan's first command."""

    def __init__(self, make: Callable[[], PlanCommandRunner]) -> None:
        self._make = make
        self._stopped: Callable[[], bool] = never_stopped

    def check(self, command: RunCommand, meant: FileStateChanges = NO_FILES) -> None:
        self._real.check(command, meant)

    def check_allowed(self, command: RunCommand) -> None:
        self._real.check_allowed(command)

    def check_at_rest(self) -> None:
        self._real.check_at_rest()

    def clean_up(self, command: RunCommand, left: FileStateChanges) -> str:
        return self._real.clean_up(command, left)

    def record(self) -> str:
        return self._real.record()

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        return self._real.run(command, digest, left)

    def stop_when(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped

    def changes(self, before: str) -> WorkspaceChanges:
        return self._real.changes(before)

    @cached_property
    def _real(self) -> PlanCommandRunner:
        made = self._make()
        made.stop_when(lambda: self._stopped())
        return made
