"""Composes an engine: chooses the concrete class for each port.

The rules, hooks and commands of the engine's workspace are part of it.
"""

import os
from collections.abc import Callable, Iterator
from functools import cached_property

import msgspec

from assent.app.engine import Engine
from assent.app.ports import PlanRulesReader, open_ports, remove_leftover_folders
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.config.paths import AppPaths
from assent.config.settings import Settings
from assent.core.plan.operation import RunCommand
from assent.core.run.workspace_changes import (
    NO_FILES,
    FileStateChanges,
    WorkspaceChanges,
)
from assent.core.shell.process import (
    OutputChunk,
    ProcessResult,
    never_stopped,
)
from assent.planning.ports import NoHookRunner
from assent.ports import HookRunner, PlanCommandRunner, ProcessRunner

# Runs the commands of plans; loaded with the first one, as most builds have none.


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


def open_engine(folder: str, *, lenient: bool = False) -> tuple[Engine, tuple[str, ...]]:
    """Opens the engine for the workspace around a folder, with what a person should know.

    Leniently, a project's configuration that cannot be used is a warning and no error.
    """
    return open_engine_at(folder, user_paths(), lenient=lenient)


def open_engine_at(
    folder: str, here: AppPaths, *, lenient: bool = False
) -> tuple[Engine, tuple[str, ...]]:
    """Opens the engine with state and configuration at given places."""
    cwd, root = locate_workspace(folder)
    loaded = load_settings(root, here, lenient=lenient)
    return engine_of(cwd, root, here, loaded.settings), loaded.warnings


def engine_of(cwd: bytes, root: bytes, here: AppPaths, settings: Settings) -> Engine:
    """Puts an engine together: for a person in the folder `cwd` of the workspace `root`."""
    rules = PlanRulesReader(root, here)

    def commander() -> PlanCommandRunner:  # most builds run no command, and never load it
        from assent.app.shell import open_process_at
        from assent.runs.plan_commands import LocalPlanCommandRunner

        process, fence = open_process_at(os.fsdecode(root), here), rules.path_limits()
        fenced: ProcessRunner = process.with_path_limits(fence) if fence else process
        return LocalPlanCommandRunner(fenced, doors.files, doors.blobs, place, rules)

    doors, place = open_ports(cwd, root, here, settings, LazyPlanCommandRunner(commander), rules)
    hooks = _hooks(root, here, settings, place.user) if settings.hooks else NoHookRunner()
    doors = msgspec.structs.replace(doors, hooks=hooks)
    engine = Engine(doors, place)
    engine.swept = remove_leftover_folders(root, here)
    return engine


def _hooks(root: bytes, here: AppPaths, settings: Settings, user: str) -> HookRunner:
    """Returns hooks that are loaded with the first thing to hear, and where there are any."""
    from assent.app.lazy import LazyHookRunner

    def make() -> HookRunner:
        from assent.app.shell import open_hooks

        return open_hooks(root, here, settings, user)

    return LazyHookRunner(make)


def may_approve_without_terminal(folder: str, *, lenient: bool = False) -> bool:
    """Tells whether the user's configuration lets a full digest approve without a question."""
    _, root = locate_workspace(folder)
    return load_settings(root, user_paths(), lenient=lenient).settings.approve.without_terminal


# Verifies the whole event log of the person on this machine.
