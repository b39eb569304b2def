"""Opens what starts programs: the read-only shell of plan mode, its sandbox, and hooks.

The sandbox includes its self-test.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assent.app.engine import Engine
from assent.app.ports import (
    MOUNT_POINTS,
    PlanRulesReader,
    folder_name,
    open_ports,
    scan_cache,
)
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.config.paths import AppPaths
from assent.config.settings import Settings
from assent.core.hook import Hook
from assent.core.llm import PROVIDERS
from assent.core.permission.rule import PathLimits
from assent.ports import ProcessRunner

if TYPE_CHECKING:
    from assent.sandbox.hooks import LocalHookRunner
    from assent.sandbox.process_runner import LocalProcessRunner
    from assent.sandbox.read_only_shell import LocalReadOnlyShell
    from assent.sandbox.selftest.canaries import DecoyPlan, SelfTestPaths
    from assent.sandbox.selftest.checker import SandboxChecker


def open_shell(folder: str) -> "LocalReadOnlyShell":
    """Opens the read-only shell for the workspace around a folder; it needs no store."""
    here = user_paths()
    return open_shell_at(folder, here, here.state)


def open_shell_at(folder: str, here: AppPaths, known: Path) -> "LocalReadOnlyShell":
    """Opens the shell with given folders; self-test results are stored in the folder `known`.

    What rules of the user or the project hide from commands is hidden from these, too.
    """
    _, root = locate_workspace(folder)
    process, fence = (
        _process(folder, here, known, os.environ),
        PlanRulesReader(root, here).path_limits(),
    )
    return read_only_shell(
        process.with_path_limits(fence) if fence else process, fence=fence, root=root
    )


def manual_rules(folder: str) -> PlanRulesReader:
    """Returns what rules of the user and the project deny to every command that Assent runs."""
    return PlanRulesReader(locate_workspace(folder)[1], user_paths())


def read_only_shell(
    process: ProcessRunner,
    within: bytes = b"",
    fence: PathLimits | None = None,
    left: Callable[[], float | None] = lambda: None,
    root: bytes = b"",
) -> "LocalReadOnlyShell":
    """Returns the shell of planning over what starts programs; its tables are loaded now."""
    from assent.sandbox.read_only_shell import LocalReadOnlyShell

    return LocalReadOnlyShell(process, within, fence, left, root)


def only_reads(text: str) -> bool:
    """Tells whether a command line can do nothing but look; its tables are loaded now."""
    from assent.sandbox.read_only_shell import only_reads

    return only_reads(text)


def open_process(folder: str) -> "LocalProcessRunner":
    """Opens the process runner for the workspace around a folder."""
    return open_process_at(folder, user_paths())


def open_process_at(folder: str, here: AppPaths) -> "LocalProcessRunner":
    """Opens the process runner, with state and configuration in given folders."""
    return _process(folder, here, here.state, with_ripgrep(os.environ))


def with_ripgrep(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Returns an environment whose PATH also has our own programs, if only they have ripgrep."""
    from assent.sandbox.profile.toolchains import PROGRAMS

    own, path = os.path.dirname(sys.executable), environment.get("PATH", os.defpath)
    places = [*map(os.fsdecode, PROGRAMS), *path.split(os.pathsep)]
    if any(os.access(os.path.join(place, "rg"), os.X_OK) for place in places):
        return environment
    return {**environment, "PATH": os.pathsep.join((path, own))}


def open_scratch_process(
    root: bytes, here: AppPaths, known: Path, settings: Settings
) -> "LocalProcessRunner":
    """Opens the process runner of scratch copies: it also shows caches of package managers."""
    from assent.sandbox.scratch.caches import cache_folders

    home, environment = os.fsencode(Path.home()), with_ripgrep(os.environ)
    caches = cache_folders(home, environment)
    more = _absolute(settings.scratch.read)
    return _process(os.fsdecode(root), here, known, environment, more, caches)


def _process(
    folder: str,
    here: AppPaths,
    known: Path,
    environment: Mapping[str, str],
    more: Sequence[bytes] = (),
    caches: Sequence[bytes] = (),
) -> "LocalProcessRunner":
    from assent.sandbox.process_runner import LocalProcessRunner
    from assent.sandbox.profile.profile import ProfileBuilder
    from assent.sandbox.runner.mount_points import MountPoints
    from assent.sandbox.runner.watchdog import CommandLocks

    _, root = locate_workspace(folder)
    hidden = [os.fsencode(path) for path in (here.state, here.config, here.file)]
    settings = load_settings(root, here, lenient=True).settings
    home, show = os.fsencode(Path.home()), shown_paths(settings)
    known_scans = scan_cache(root, here)
    sight = ProfileBuilder(root, home, hidden, environment, (*show, *more), known_scans, caches)
    standings = sandbox_checker_at(known)
    providers = settings.providers
    keys = [provider.key_env for provider in providers.values() if provider.key_env]
    marks = CommandLocks(os.fspath(known / "running" / folder_name(root)))
    points = MountPoints(os.fspath(known / MOUNT_POINTS / folder_name(root)))
    runner = LocalProcessRunner(sight, standings, environment, keys, only_reads=only_reads)
    return runner.with_command_locks(marks, points)


def shown_paths(settings: Settings) -> list[bytes]:
    """Returns what the user chose to show to commands (`sandbox.show`), as absolute paths."""
    return _absolute(settings.sandbox.show)


def _absolute(paths: Iterable[str]) -> list[bytes]:
    return [os.fsencode(os.path.normpath(Path(path).expanduser())) for path in paths]


def sandbox_checker_at(state: Path) -> "SandboxChecker":
    """Returns the checker of the sandbox, also for commands that may write the workspace."""
    from assent.sandbox.selftest.checker import SandboxChecker, bubblewrap_confinement

    confine = partial(bubblewrap_confinement, os.environ)
    return SandboxChecker(state, confine, make_decoy_plan).with_writable(
        partial(confine, writable=True)
    )


def make_decoy_plan(paths: "SelfTestPaths") -> "DecoyPlan":
    """Proposes a plan in a scratch workspace where its digest by itself would approve it."""
    from assent.sandbox.selftest.canaries import DecoyPlan

    here = AppPaths(paths.state, paths.config)
    engine = _bare_engine(str(paths.root), here)
    record = engine.plans.new("bait", "self-test", "A plan without approval")
    record = engine.drafts.write(record, b"approved.txt", [b"approved\n"], None).record
    record = engine.approvals.propose(record)
    # The first signature creates the key, which must exist for the self-test to look for it.
    engine.approvals.sign(record.plan_id, engine.plans.repository().plan(record), "", "none")
    engine.close()

    def approved() -> bool:
        engine = _bare_engine(str(paths.root), here)
        try:
            return engine.approvals.is_approved(engine.plans.find(record.plan_id))
        finally:
            engine.close()

    variables = {
        "HOME": str(paths.home),
        "PATH": "/usr/bin:/bin",
        "XDG_STATE_HOME": str(paths.state.parent),
        "XDG_CONFIG_HOME": str(paths.config.parent),
    }
    return DecoyPlan(record.digest, variables, approved)


def _bare_engine(folder: str, here: AppPaths) -> Engine:
    """Opens an engine that runs no command and reads no rules: it can only ask for approval."""
    cwd, root = locate_workspace(folder)
    settings = load_settings(root, here, lenient=False).settings
    return Engine(*open_ports(cwd, root, here, settings))


# Opens the configured hooks, with the user's environment but without API keys.


def open_hooks(root: bytes, here: AppPaths, settings: Settings, user: str) -> "LocalHookRunner":
    """Returns the configured hooks; the sandbox is checked when the first confined one runs."""
    from assent.sandbox.hooks import HookEnvironment, LocalHookRunner

    hooks = [Hook(*msgspec.structs.astuple(each)) for each in settings.hooks]
    site = HookEnvironment(root, user, without_api_keys(os.environ, settings))
    return LocalHookRunner(hooks, site, cache(partial(open_process_at, os.fsdecode(root), here)))


def without_api_keys(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Returns an environment without the variables that contain provider keys."""
    keys = {name for provider in PROVIDERS for name in provider.keys}
    keys |= {each.key_env for each in settings.providers.values()}
    return {name: value for name, value in environment.items() if name not in keys}
