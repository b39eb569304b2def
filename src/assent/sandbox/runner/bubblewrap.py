"""Runs pipelines in a sandbox made by bubblewrap: nothing is visible but what a profile shows."""

import os
import pwd
import re
import subprocess
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import msgspec

from assent.core.shell.process import (
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
)
from assent.sandbox.profile.git_index import masked_indexes
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.runner.bind_mounts import bind_arguments, mount_points, tmp_folder
from assent.sandbox.runner.bwrap_program import find_bwrap
from assent.sandbox.runner.environment import PROGRAM_FOLDERS, ProgramPaths, environment
from assent.sandbox.runner.mount_points import MountPoints
from assent.sandbox.runner.pipeline import ProcessPreparer, ProcessSpec, run_pipeline
from assent.sandbox.runner.resource_usage import confined_limit_exceeded
from assent.sandbox.runner.rlimits import prlimit_prefix
from assent.sandbox.runner.seccomp import is_supported, seccomp_filter
from assent.sandbox.runner.watchdog import start_watchdog

MIN_VERSION: Final = (0, 8)  # the first that can forbid further user namespaces

UNSHARE_NET: Final = b"--unshare-net"
NAMESPACE_OPTIONS: Final = (
    b"--unshare-user",
    UNSHARE_NET,
    b"--unshare-pid",
    b"--unshare-ipc",
    b"--unshare-uts",
    b"--unshare-cgroup",
    b"--disable-userns",
    b"--cap-drop",
    b"ALL",
    b"--new-session",
    b"--die-with-parent",
    b"--clearenv",
    b"--hostname",
    b"sandbox",
)


class BwrapDescriptors(msgspec.Struct, frozen=True):
    """Descriptors for bubblewrap: where it reads the filter, and where it reports."""

    seccomp: int
    status: int


class BubblewrapRunner:
    """Runs programs that can look at what the profile shows, and can change nothing else.

    The profile is asked for at each call, because what has to be hidden may just have been made.
    """

    def __init__(
        self,
        profile: Callable[[], SandboxProfile],
        tool: bytes,
        folders: Sequence[bytes] = PROGRAM_FOLDERS,
        points: MountPoints | None = None,
    ) -> None:
        self._profile, self._tool, self._folders = profile, tool, folders
        self._points = points or MountPoints()

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        """Runs a pipeline in a folder; each program has a sandbox of its own."""
        profile = self._profile()
        with ExitStack() as stack:
            held = stack.enter_context(self._points.active(mount_points(profile)))
            view = [*bind_arguments(profile), *_in_place(stack, masked_indexes(profile))]
            yield from run_pipeline(
                pipeline,
                self._prepare(profile, folder, limits, view, held),
                confined_limit_exceeded,
                limits,
            )

    def _prepare(
        self,
        profile: SandboxProfile,
        folder: bytes,
        limits: ProcessLimits,
        view: Sequence[bytes],
        held: Sequence[int],
    ) -> ProcessPreparer:
        """Returns what makes bubblewrap's command of a program; `held` says that one goes on."""
        front = (*prlimit_prefix(limits), self._tool)
        place = ProgramPaths(profile.home, tmp_folder(profile), self._folders, _user())
        # Who shares the machine's network could talk to whoever listens on a socket without a file.
        code = seccomp_filter(
            os.uname().machine,
            writable=profile.writable or bool(profile.opened),
            unix=profile.writable and not profile.network,
        )

        def prepare(program: Program, briefly: ExitStack, throughout: ExitStack) -> ProcessSpec:
            report, status = _pipe(throughout, briefly)
            ends = BwrapDescriptors(_holding(code, briefly), status)
            told = bwrap_arguments(view, program, folder, place, ends)
            if profile.network:
                told.remove(UNSHARE_NET)  # the first; what is run comes far behind
            given = msgspec.structs.astuple(ends)
            # Killed while it sets itself up, bubblewrap can leave a child that waits for ever.
            watch = start_watchdog(throughout, held) if profile.writable or profile.opened else None
            return ProcessSpec((*front, *told), {}, b"/", given, report, watch)

        return prepare


def bwrap_arguments(
    view: Sequence[bytes],
    program: Program,
    folder: bytes,
    place: ProgramPaths,
    ends: BwrapDescriptors,
) -> list[bytes]:
    """Returns what bubblewrap is told: how to confine, what to show, and what to run where."""
    variables = environment(place, program).items()
    return [
        *NAMESPACE_OPTIONS,
        *(b"--seccomp", b"%d" % ends.seccomp),
        *(b"--json-status-fd", b"%d" % ends.status),
        *(argument for variable in variables for argument in (b"--setenv", *variable)),
        *view,
        *(b"--chdir", folder, b"--"),
        *program.argv,
    ]


def bwrap_version(tool: bytes) -> tuple[int, ...]:
    """Returns the version that bubblewrap tells; empty if it tells none."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [tool, b"--version"], env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=10
        )
        if found := re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", done.stdout):
            return tuple(int(part) for part in found.groups(b"0"))
    return ()


def sandbox_unavailable() -> SandboxStatus | None:
    """Tells why there can be no sandbox here; None if only trying it can tell."""
    tool = find_bwrap()
    if tool is None:
        return SandboxStatus(
            SandboxState.NONE, "bubblewrap is not installed.", "apt install bubblewrap"
        )
    if (found := bwrap_version(tool)) < MIN_VERSION:
        number = ".".join(map(str, found)) or "unknown"
        reason = f"bubblewrap {number} cannot forbid further namespaces; 0.8 can."
        return SandboxStatus(SandboxState.NONE, reason, "apt install bubblewrap")
    if not is_supported(machine := os.uname().machine):
        reason = f"There is no system call filter for {machine}, and without one keys can be read."
        return SandboxStatus(SandboxState.NONE, reason)
    return None


def _holding(content: bytes, stack: ExitStack) -> int:
    """Returns a descriptor from which the content can be read, once."""
    reader, writer = os.pipe()
    stack.callback(os.close, reader)
    with open(writer, "wb") as file:
        file.write(content)
    return reader


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    reader, writer = os.pipe()
    reading.callback(os.close, reader)
    writing.callback(os.close, writer)
    return reader, writer


def _in_place(stack: ExitStack, contents: Mapping[bytes, bytes]) -> list[bytes]:
    """Returns the mounts that show other contents in place of some files."""
    if not contents:
        return []
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assent-")))
    mounts: list[bytes] = []
    for number, (path, content) in enumerate(contents.items()):
        copy = folder / str(number)
        copy.write_bytes(content)
        mounts += (b"--ro-bind", os.fsencode(copy), path)
    return mounts


def _user() -> bytes:
    try:
        return os.fsencode(pwd.getpwuid(os.getuid()).pw_name)
    except KeyError:
        return b"nobody"
