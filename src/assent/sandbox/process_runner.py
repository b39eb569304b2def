"""Runs programs on this machine: in the sandbox where it works, else without one."""

import os
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from shlex import join
from threading import Lock
from typing import Self, TypeGuard

import msgspec

from assent.core.errors import Refused, without_sandbox
from assent.core.paths import is_inside, one_line
from assent.core.permission.rule import PathLimits
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
)
from assent.sandbox.profile.file_system import outermost_paths, symlink_chain
from assent.sandbox.profile.profile import (
    ProfileBuilder,
    SandboxProfile,
    in_copy,
    with_commit_access,
    with_network,
)
from assent.sandbox.profile.programs import ProgramFinder
from assent.sandbox.profile.toolchains import path_folders
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.runner.git_config import (
    ARGUMENTS,
    commit_environment,
    git_config_environment,
    git_config_files,
)
from assent.sandbox.runner.mount_points import MountPoints
from assent.sandbox.runner.pipeline import PROGRAM_FOLDERS
from assent.sandbox.runner.unconfined import (
    SHELLS,
    NoSandboxRunner,
    UnconfinedRunner,
    command_program,
    user_environment,
)
from assent.sandbox.runner.watchdog import CommandLocks
from assent.sandbox.selftest.checker import SandboxChecker
from assent.sandbox.status import find_bwrap
from assent.sandbox.visibility import Visibility

# Calls that only read run side by side; testing the sandbox and looking around is for one alone.
_ALONE = Lock()


def _is_never_sure(line: str) -> bool:
    return False


class LocalProcessRunner:
    """Implements ProcessRunner for one workspace. Keep it for later calls: it remembers scans."""

    def __init__(
        self,
        sight: ProfileBuilder,
        standings: SandboxChecker,
        environment: Mapping[str, str],
        withheld: Collection[str] = (),
        fence: PathLimits | None = None,
        only_reads: Callable[[str], bool] = _is_never_sure,
    ) -> None:
        """`only_reads` is the command classifier's proof that a line changes nothing."""
        self._sight = sight
        self._standings = standings
        self._environment = environment
        self._withheld = withheld  # variables that no command gets to see, such as keys of models
        self._fence = fence
        self._only_reads = only_reads
        self._marks: CommandLocks | None = None
        self._points: MountPoints | None = None
        self._profile: SandboxProfile | None = None

    def with_path_limits(self, fence: PathLimits) -> "LocalProcessRunner":
        """Returns a runner whose programs also obey these path limits."""
        made = LocalProcessRunner(
            self._sight,
            self._standings,
            self._environment,
            self._withheld,
            fence,
            self._only_reads,
        )
        return made.with_command_locks(self._marks, self._points)

    def with_command_locks(
        self, marks: CommandLocks | None, points: MountPoints | None = None
    ) -> Self:
        """Makes commands record what may outlive this process.

        Without a sandbox: a lock that shows whether they are alive. With one: the mount points that
        were created for them.
        """
        self._marks, self._points = marks, points
        return self

    def still_running(self) -> str:
        """Names running processes of commands whose starter died, or returns an empty string."""
        return self._marks.still_running() if self._marks else ""

    def sandbox_status(self) -> SandboxStatus:
        """Tells whether the sandbox works, and rescans everything for this call."""
        with _ALONE:
            self._profile = None
            return self._standings.status()

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        return ProgramFinder(self._seen(), self._environment).find(names, own=own)

    def home(self) -> bytes:
        return self._seen().home

    def visible(self, path: bytes) -> bool:
        return self._seen().visible(path)

    def hidden_below(self, folder: bytes) -> bytes | None:
        return self._seen().hidden_below(folder)

    def chosen_paths(self) -> dict[bytes, str]:
        """Returns what the user chose to show, and why each is not shown; empty if it is."""
        return self._sight.chosen()

    def chosen(self) -> tuple[bytes, ...]:
        return self._seen().chosen

    def visibility_notes(self, line: str, folder: bytes) -> tuple[str, ...]:
        return Visibility(self._seen(), self._environment, self._folders()).notes(line, folder)

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        if not self.visible(folder):
            return {}
        try:
            with os.scandir(folder) as found:
                return {entry.name: entry.is_dir() for entry in found}
        except OSError:
            return {}

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        with _ALONE:
            standing = self._standings.status()
        if standing.hold is SandboxState.OFF:  # law 9: a caller that forgot to ask gets none either
            raise without_sandbox(f"No program can run: {standing.reason}", standing.next)
        if standing.hold is SandboxState.NONE:
            return NoSandboxRunner().run(pipeline, folder, limits)
        return self._confined().run(pipeline, folder, limits)

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a command; all but an unconfined one only in a working sandbox (law 9)."""
        free = not confined or errand.profile == "unconfined"
        standing = self.sandbox_status()
        if not free and standing.hold is not SandboxState.HELD:
            raise without_sandbox(
                f"The command did not run: it needs a sandbox. {standing.reason}", standing.next
            )
        program = command_program(errand, None if errand.argv else self.program(SHELLS))
        if free:
            own = user_environment(self._environment, self._withheld)
            return UnconfinedRunner(own, self._marks).run(program, folder, limits)
        if errand.profile == "commit":
            profile = with_commit_access(self._sight.profile(fence=self._fence))
            return self._written(self._as_the_person(program), folder, limits, profile)
        profile = self._sight.profile(writable=not self._changes_nothing(errand), fence=self._fence)
        if errand.network:
            profile = with_network(profile)
        line = errand.line or join([os.fsdecode(word) for word in errand.argv])
        return self._explained(self._written(program, folder, limits, profile), line, folder)

    def copy_profile(self, source: bytes, gone: Sequence[bytes] = ()) -> SandboxProfile:
        """Returns what a command sees in a copy of the workspace; see `profile.in_copy`."""
        return in_copy(self._seen(), source, gone)

    def run_in_copy(
        self,
        errand: CommandSpec,
        folder: bytes,
        limits: ProcessLimits,
        profile: SandboxProfile,
        runs: Callable[[BubblewrapRunner], BubblewrapRunner],
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        """Runs a command in a copy, only in a working sandbox (law 9)."""
        with _ALONE:
            standing = self._standings.status()
        if standing.hold is not SandboxState.HELD or errand.profile != "workspace":
            raise without_sandbox(
                f"The command did not run: it needs a sandbox. {standing.reason}", standing.next
            )
        if not profile.source:
            raise Refused("The command did not run: there is no copy of the workspace.")
        program = command_program(errand, None if errand.argv else self.program(SHELLS))
        seen = with_network(profile) if errand.network else profile
        runner = runs(BubblewrapRunner(lambda: seen, _bubblewrap(), self._folders()))
        line = errand.line or join([os.fsdecode(word) for word in errand.argv])
        with closing(runner.run((program,), folder, limits)) as parts:
            yield from self._explained(parts, line, folder)

    def run_read_only(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a command that can change nothing, only in a working sandbox (law 9).

        What is hidden from it was searched by the last call of `sandbox_status`.
        """
        with _ALONE:
            standing = self._standings.status()
        if standing.hold is not SandboxState.HELD or errand.profile != "workspace":
            raise without_sandbox(
                f"The command did not run: it needs a sandbox. {standing.reason}", standing.next
            )
        seen = self._seen()
        shell = ProgramFinder(seen, self._environment).find(SHELLS)
        program = command_program(errand, None if errand.argv else shell)
        runner = BubblewrapRunner(lambda: seen, _bubblewrap(), self._folders(seen))
        return runner.run((program,), folder, limits)

    def _explained(
        self, parts: Iterator[OutputChunk | ProcessResult], line: str, folder: bytes
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Says after a command that failed what it could not see, and how the user can show it."""
        for part in parts:
            if isinstance(part, ProcessResult) and part.code and not part.cut:
                for note in self.visibility_notes(line, folder):
                    yield OutputChunk(f"assent: {note}\n".encode(), error=True)
            yield part

    def _changes_nothing(self, errand: CommandSpec) -> bool:
        """Tells whether a command is proven to only read, so that it needs nothing to write to."""
        words = [os.fsdecode(word) for word in errand.argv]
        return not errand.environment and self._only_reads(join(words) if words else errand.line)

    def runner_with_paths(self, paths: Sequence[bytes]) -> BubblewrapRunner:
        """Returns a runner whose programs also see these files; Refused without a sandbox."""
        standing = self.sandbox_status()
        tool = find_bwrap()
        if standing.hold is not SandboxState.HELD or tool is None:
            raise Refused(f"No sandbox available. {standing.reason}".strip(), standing.next)
        seen = self._seen()
        ways = [
            step for path in paths for step in symlink_chain(path) if not is_inside(step, seen.root)
        ]
        profile = msgspec.structs.replace(seen, shown=outermost_paths((*seen.shown, *ways)))
        if hidden := [path for path in paths if not profile.visible(path)]:
            raise Refused(f"{one_line(hidden[0])} is hidden from programs in the sandbox.")
        return BubblewrapRunner(lambda: profile, tool, self._folders())

    def _confined(self) -> BubblewrapRunner:
        return BubblewrapRunner(self._seen, _bubblewrap(), self._folders())

    def _written(
        self, program: Program, folder: bytes, limits: ProcessLimits, profile: SandboxProfile
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        """Runs a program that may write where the profile says, and nowhere else."""
        runner = BubblewrapRunner(lambda: profile, _bubblewrap(), self._folders(), self._points)
        with closing(runner.run((program,), folder, limits)) as parts:
            for part in parts:
                if isinstance(part, ProcessResult):
                    yield msgspec.structs.replace(part, closed=profile.closed())
                else:
                    yield part

    def _as_the_person(self, program: Program) -> Program:
        """Returns a git that knows who the user is, and runs none of their programs."""
        git = self.program(("git",))
        if git is None:
            raise Refused("Git not found; nothing can be committed.")
        seen = self._seen()
        files = git_config_files(seen.home, self._environment)
        looks = Program((git, *ARGUMENTS), git_config_environment(self._environment))
        parts = self.runner_with_paths(files).run((looks,), seen.root, ProcessLimits(seconds=10))
        listed = b"".join(part.content for part in parts if _is_output(part))
        told = commit_environment(listed, self._environment)
        return msgspec.structs.replace(program, environment=(*program.environment, *told))

    def _folders(self, seen: SandboxProfile | None = None) -> list[bytes]:
        """Returns PATH inside the sandbox: the user's visible folders, then the system's."""
        seen = seen or self._seen()
        own = [
            path
            for path in path_folders(self._environment)
            if seen.visible(path) and not is_inside(os.path.realpath(path), seen.root)
        ]
        return list(dict.fromkeys((*own, *PROGRAM_FOLDERS)))

    def _seen(self) -> SandboxProfile:
        with _ALONE:
            profile = self._profile or self._sight.profile(fence=self._fence)
            self._profile = profile
        return profile


def _is_output(part: OutputChunk | ProcessResult) -> TypeGuard[OutputChunk]:
    return isinstance(part, OutputChunk) and not part.error


def _bubblewrap() -> bytes:
    tool = find_bwrap()
    if tool is None:
        raise Refused("No program can run: bubblewrap is no longer installed.", "assent doctor")
    return tool
