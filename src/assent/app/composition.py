"""Opens an engine: its ports, with the rules, hooks and commands of its workspace."""

import os

import msgspec

from assent.app.engine import Engine
from assent.app.engine_ports import MOUNT_POINTS, folder_name, open_ports
from assent.app.plan_command_runner import LazyPlanCommandRunner
from assent.app.plan_rules import LazyPlanRules
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.config.paths import AppPaths
from assent.config.settings import Settings
from assent.planning.ports import NoHookRunner
from assent.ports import HookRunner, PlanCommandRunner


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
    rules = LazyPlanRules(root, here)

    def commander() -> PlanCommandRunner:  # most builds run no command, and never load it
        from assent.runs.plan_commands import LocalPlanCommandRunner

        return LocalPlanCommandRunner(rules.process(), doors.files, doors.blobs, place, rules)

    doors, place = open_ports(cwd, root, here, settings, LazyPlanCommandRunner(commander))
    hooks = _hooks(root, here, settings, place.user) if settings.hooks else NoHookRunner()
    doors = msgspec.structs.replace(doors, rules=rules, hooks=hooks)
    engine = Engine(doors, place)
    engine.swept = _swept(root, here)
    return engine


def _swept(root: bytes, here: AppPaths) -> tuple[bytes, ...]:
    """Removes the empty folders that a command left which was killed; returns what it removed."""
    folder = here.state / MOUNT_POINTS / folder_name(root)
    try:
        if not os.listdir(folder):
            return ()
    except OSError:
        return ()
    from assent.sandbox.runner.mount_points import MountPoints

    found = MountPoints(os.fspath(folder)).sweep()
    return tuple(path[len(root) :].lstrip(b"/") for path in found)


def _hooks(root: bytes, here: AppPaths, settings: Settings, user: str) -> HookRunner:
    """Returns hooks that are loaded with the first thing to hear, and where there are any."""
    from assent.app.lazy import LazyHookRunner

    def make() -> HookRunner:
        from assent.app.hooks import open_hooks

        return open_hooks(root, here, settings, user)

    return LazyHookRunner(make)


def may_approve_without_terminal(folder: str, *, lenient: bool = False) -> bool:
    """Tells whether the user's configuration lets a full digest approve without a question."""
    _, root = locate_workspace(folder)
    return load_settings(root, user_paths(), lenient=lenient).settings.approve.without_terminal
