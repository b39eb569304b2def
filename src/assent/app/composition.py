"""Composes an engine: chooses the concrete class for each port.

The rules, hooks and commands of the engine's workspace are part of it.
"""

import os
from typing import TYPE_CHECKING

import msgspec

from assent.app.engine import Engine
from assent.app.ports import (
    PlanRulesReader,
    open_ports,
    remove_leftover_folders,
    snapshot_cache,
)
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.app.shell import open_hooks, open_process_at
from assent.config.loader import LoadedSettings
from assent.config.paths import AppPaths
from assent.planning.ports import NoHookRunner, VerificationConfig, WorkspaceConfig
from assent.ports import BlobStore, PlanCommandRunner, ProcessRunner, WorkspaceFiles

if TYPE_CHECKING:
    from assent.core.permission.rule import PathLimits
    from assent.ports.scratch import ScratchCopy


def open_engine(folder: str, *, lenient: bool = False) -> tuple[Engine, tuple[str, ...]]:
    """Opens the engine for the workspace around a folder, with warnings for the user.

    With `lenient`, an unusable project configuration is a warning, not an error.
    """
    return open_engine_at(folder, user_paths(), lenient=lenient)


def open_engine_at(
    folder: str, here: AppPaths, *, lenient: bool = False
) -> tuple[Engine, tuple[str, ...]]:
    """Opens the engine with state and configuration in given folders."""
    cwd, root = locate_workspace(folder)
    loaded = load_settings(root, here, lenient=lenient)
    return engine_of(cwd, root, here, loaded), loaded.warnings


def _verification(loaded: LoadedSettings) -> VerificationConfig:
    """Returns who says how plans are verified; a file that others could write is a project's."""
    own, project = loaded.settings.verify.commands, loaded.project.verify.commands
    required = loaded.settings.approve.require_rehearsal
    return (
        VerificationConfig(own, project, required)
        if loaded.own
        else VerificationConfig((), own or project, required)
    )


def engine_of(cwd: bytes, root: bytes, here: AppPaths, loaded: LoadedSettings) -> Engine:
    """Creates an engine for a user in folder `cwd` of workspace `root`."""
    rules, settings = PlanRulesReader(root, here), loaded.settings

    def open_process() -> ProcessRunner:  # most builds run no command
        process, fence = open_process_at(os.fsdecode(root), here), rules.path_limits()
        return process.with_path_limits(fence) if fence else process

    def open_commander(
        files: WorkspaceFiles, blobs: BlobStore, config: WorkspaceConfig
    ) -> PlanCommandRunner:
        from assent.runs.plan_commands import LocalPlanCommandRunner

        cache = snapshot_cache(root, here)
        return LocalPlanCommandRunner(open_process, files, blobs, config, rules=rules, cache=cache)

    def open_copy(name: str, hidden: "PathLimits | None" = None, /) -> "ScratchCopy":
        from assent.app.scratch import open_scratch_at

        fence = hidden if hidden is not None else rules.path_limits()
        return open_scratch_at(os.fsdecode(root), here, here.state).open(name, fence=fence)

    ports, config = open_ports(cwd, root, here, settings, rules, open_commander)
    hooks = open_hooks(root, here, settings, config.user) if settings.hooks else NoHookRunner()
    ports = msgspec.structs.replace(ports, hooks=hooks, open_scratch=open_copy)
    config = msgspec.structs.replace(config, verification=_verification(loaded))
    engine = Engine(ports, config)
    engine.swept = remove_leftover_folders(root, here)
    return engine


def may_approve_without_terminal(folder: str, *, lenient: bool = False) -> bool:
    """Tells whether the user's configuration lets a full digest approve without a question."""
    _, root = locate_workspace(folder)
    return load_settings(root, user_paths(), lenient=lenient).settings.approve.without_terminal
