"""Opens the rules that apply to plans; they are read again for each use."""

import os
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from assent.app.settings import load_settings
from assent.config.loader import LoadedSettings
from assent.config.paths import AppPaths
from assent.config.settings import Settings
from assent.core.errors import AssentError
from assent.core.permission.rule import CommandLimits, PathLimits, PermissionPolicy
from assent.ports import ProcessRunner


class SandboxRules(Protocol):
    """Rules that can be passed to a sandbox."""

    def command_limits(self, line: str) -> CommandLimits: ...

    def denials(self, paths: Iterable[bytes]) -> Mapping[bytes, str]: ...

    def path_limits(self) -> PathLimits | None:
        """Returns what they keep from every confined command; None if they keep nothing."""


class LazyPlanRules:
    """Implements ports.PlanRules; an unreadable rule file raises, so nothing runs (law 9)."""

    def __init__(self, root: bytes, here: AppPaths) -> None:
        self._root = root
        self._here = here
        self._known: tuple[PermissionPolicy, SandboxRules] | None = None

    def command_limits(self, line: str) -> CommandLimits:
        return self._now().command_limits(line)

    def denials(self, paths: Iterable[bytes], *, lenient: bool = False) -> Mapping[bytes, str]:
        return self._now(lenient=lenient).denials(paths)

    def process(self) -> ProcessRunner:
        """Returns what starts programs that hold to these rules; it is opened when first used."""
        from assent.app.lazy import LazyProcessRunner

        return LazyProcessRunner(os.fsdecode(self._root), self._fenced)

    def _fenced(self) -> ProcessRunner:
        from assent.app.shell import open_process_at

        process = open_process_at(os.fsdecode(self._root), self._here)
        fence = self._now().path_limits()
        return process.with_path_limits(fence) if fence else process

    def _now(self, *, lenient: bool = False) -> SandboxRules:
        """Reads the rules; where they are as they were, what was worked out for them stays."""
        from assent.app.rules import plan_rules

        try:
            policy = self._policy(load_settings(self._root, self._here, lenient=False))
        except AssentError:
            if not lenient:
                raise
            loaded = load_settings(self._root, self._here, lenient=True)
            policy = self._policy(msgspec.structs.replace(loaded, project=Settings()))
        known = self._known  # others may ask at the same time
        if known is None or known[0] != policy:
            known = self._known = (policy, plan_rules(policy))
        return known[1]

    def _policy(self, loaded: LoadedSettings) -> PermissionPolicy:
        from assent.app.rules import open_policy

        return open_policy(self._root, self._here, loaded)[0]
