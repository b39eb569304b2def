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
from assent.sandbox.running.binding import bindings, mount_points, scratch
from assent.sandbox.running.environment import FOLDERS, Place, environment
from assent.sandbox.running.mountpoints import MountPoints
from assent.sandbox.running.pipeline import Command, Prepare, run
from assent.sandbox.running.rlimits import capped
from assent.sandbox.running.seccomp import filter_for, known
from assent.sandbox.running.tether import watched
from assent.sandbox.running.tool import find_tool
from assent.sandbox.running.watch import confined
from assent.sandbox.view.gitindex import indexes
from assent.sandbox.view.profile import Profile

OLDEST: Final = (0, 8)  # the first that can forbid further user namespaces

ALONE: Final = b"--unshare-net"
ALWAYS: Final = (
    b"--unshare-user",
    ALONE,
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


class Ends(msgspec.Struct, frozen=True):
    """Descriptors for bubblewrap: where it reads the filter, and where it reports."""

    seccomp: int
    status: int


class Bubblewrap:
    """Runs programs that can look at what the profile shows, and can change nothing else.

    The profile is asked for at each call, because what has to be hidden may just have been made.
    """

    def __init__(
        self,
        profile: Callable[[], Profile],
        tool: bytes,
        folders: Sequence[bytes] = FOLDERS,
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
            view = [*bindings(profile), *_in_place(stack, indexes(profile))]
            yield from run(
                pipeline, self._prepare(profile, folder, limits, view, held), confined, limits
            )

    def _prepare(
        self,
        profile: Profile,
        folder: bytes,
        limits: ProcessLimits,
        view: Sequence[bytes],
        held: Sequence[int],
    ) -> Prepare:
        """Returns what makes bubblewrap's command of a program; `held` says that one goes on."""
        front = (*capped(limits), self._tool)
        place = Place(profile.home, scratch(profile), self._folders, _user())
        # Who shares the machine's network could talk to whoever listens on a socket without a file.
        code = filter_for(
            os.uname().machine,
            writable=profile.writable or bool(profile.opened),
            unix=profile.writable and not profile.network,
        )

        def prepare(program: Program, briefly: ExitStack, throughout: ExitStack) -> Command:
            report, status = _pipe(throughout, briefly)
            ends = Ends(_holding(code, briefly), status)
            told = arguments(view, program, folder, place, ends)
            if profile.network:
                told.remove(ALONE)  # the first; what is run comes far behind
            given = msgspec.structs.astuple(ends)
            # Killed while it sets itself up, bubblewrap can leave a child that waits for ever.
            watch = watched(throughout, held) if profile.writable or profile.opened else None
            return Command((*front, *told), {}, b"/", given, report, watch)

        return prepare


def arguments(
    view: Sequence[bytes], program: Program, folder: bytes, place: Place, ends: Ends
) -> list[bytes]:
    """Returns what bubblewrap is told: how to confine, what to show, and what to run where."""
    variables = environment(place, program).items()
    return [
        *ALWAYS,
        *(b"--seccomp", b"%d" % ends.seccomp),
        *(b"--json-status-fd", b"%d" % ends.status),
        *(argument for variable in variables for argument in (b"--setenv", *variable)),
        *view,
        *(b"--chdir", folder, b"--"),
        *program.argv,
    ]


def version(tool: bytes) -> tuple[int, ...]:
    """Returns the version that bubblewrap tells; empty if it tells none."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [tool, b"--version"], env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=10
        )
        if found := re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", done.stdout):
            return tuple(int(part) for part in found.groups(b"0"))
    return ()


def lacking() -> SandboxStatus | None:
    """Tells why there can be no sandbox here; None if only trying it can tell."""
    tool = find_tool()
    if tool is None:
        return SandboxStatus(
            SandboxState.NONE, "bubblewrap is not installed.", "apt install bubblewrap"
        )
    if (found := version(tool)) < OLDEST:
        number = ".".join(map(str, found)) or "unknown"
        reason = f"bubblewrap {number} cannot forbid further namespaces; 0.8 can."
        return SandboxStatus(SandboxState.NONE, reason, "apt install bubblewrap")
    if not known(machine := os.uname().machine):
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
