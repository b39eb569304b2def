"""Ports that load their implementation when first used; most turns need none of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import msgspec

from assent.config.front_matter import Reader
from assent.core.permission.rule import PathLimits
from assent.core.shell.process import (
    MIN_SECONDS,
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxStatus,
)
from assent.ports import (
    FetchResponse,
    HookResults,
    HookRunner,
    PageFetcher,
    ProcessRunner,
    ReadOnlyShell,
)


class PathLimitedProcessRunner(ProcessRunner, Protocol):
    """Starts programs, and can restrict them to path rules."""

    def with_path_limits(self, fence: PathLimits) -> ProcessRunner:
        """Returns what starts programs that hold to these rules, too."""


class LazyProcessRunner:
    """Implements ports.ProcessRunner; loads the sandbox with the first call."""

    def __init__(self, folder: str, make: Callable[[], ProcessRunner] | None = None) -> None:
        self._folder = folder
        self._make = make

    def with_path_limits(self, fence: PathLimits) -> "LazyProcessRunner":
        """Returns what starts programs that hold to these rules, too; both share one sandbox."""
        return LazyProcessRunner(self._folder, lambda: self._local.with_path_limits(fence))

    def sandbox_status(self) -> SandboxStatus:
        return self._real.sandbox_status()

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        return self._real.program(names, own=own)

    def visible(self, path: bytes) -> bool:
        return self._real.visible(path)

    def hidden_below(self, folder: bytes) -> bytes | None:
        return self._real.hidden_below(folder)

    def still_running(self) -> str:
        return self._real.still_running()

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        return self._real.entries(folder)

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        return self._real.run(pipeline, folder, limits)

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        return self._real.run_command(errand, folder, limits, confined=confined)

    @cached_property
    def _real(self) -> ProcessRunner:
        return self._make() if self._make else self._local

    @cached_property
    def _local(self) -> PathLimitedProcessRunner:
        from assent.app.shell import open_process

        return open_process(self._folder)


class LazyReadOnlyShell:
    """Implements ports.ReadOnlyShell; loads the read-only shell with the first call."""

    def __init__(
        self,
        process: ProcessRunner,
        within: bytes,
        fence: PathLimits | None = None,
        left: Callable[[], float | None] = lambda: None,
    ) -> None:
        """`left` tells how many seconds a turn still has; no command outlasts it."""
        self._process = process
        self._within = within
        self._fence = fence
        self._left = left

    def run(
        self, text: str, folder: bytes, limits: ProcessLimits | None = None
    ) -> Iterator[OutputChunk | ProcessResult]:
        limits, left = limits or ProcessLimits(), self._left()
        if left is not None:
            seconds = min(limits.seconds, max(left, MIN_SECONDS))
            limits = msgspec.structs.replace(limits, seconds=seconds)
        return self._real.run(text, folder, limits)

    @cached_property
    def _real(self) -> ReadOnlyShell:
        from assent.agent.read_only_shell import LocalReadOnlyShell as ReadOnly

        return ReadOnly(self._process, self._within, self._fence)


def only_reads(text: str) -> bool:
    """Tells whether a command line can do nothing but look; loads its tables with the first."""
    from assent.agent import read_only_shell

    return read_only_shell.only_reads(text)


class LazyHookRunner:
    """Implements ports.HookRunner; loads what starts programs with the first event."""

    def __init__(self, make: Callable[[], HookRunner]) -> None:
        self._make = make

    def fire(self, on: str, facts: Mapping[str, Any]) -> HookResults:
        return self._real.fire(on, facts)

    @cached_property
    def _real(self) -> HookRunner:
        return self._make()


class LazyPageFetcher:
    """Implements ports.PageFetcher; loads the client with the first call."""

    def __init__(self, make: Callable[[], PageFetcher]) -> None:
        self._make = make

    def get(self, url: str, limit: int, allowed: Callable[[str], bool]) -> FetchResponse:
        return self._real.get(url, limit, allowed)

    @cached_property
    def _real(self) -> PageFetcher:
        return self._make()


def lazy_yaml() -> Reader:
    """Loads the reader of front matter with the first file that has some."""
    from assent.config.front_matter_yaml import read_yaml

    return read_yaml
