"""Runs pipelines in bubblewrap: nothing is visible but what a profile shows."""

import os
import pwd
import re
import stat
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from assent.core.errors import Refused
from assent.core.paths import display_path, is_inside, parent
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
from assent.sandbox.runner.mount_points import MountPoints
from assent.sandbox.runner.pipeline import (
    PROGRAM_FOLDERS,
    ProcessPreparer,
    ProcessSpec,
    ProgramPaths,
    environment,
    run_pipeline,
)
from assent.sandbox.runner.resource_limits import (
    UsageCheck,
    confined_limit_exceeded,
    prlimit_prefix,
)
from assent.sandbox.runner.seccomp import is_supported, seccomp_filter
from assent.sandbox.runner.watchdog import start_watchdog
from assent.sandbox.status import find_bwrap

# Bind mounts: those that show a profile and nothing else, in the order they have to be made.


class PathKind(StrEnum):
    """The kind of a path."""

    FOLDER = "folder"
    FILE = "file"  # and everything else that is not a folder: a socket, a pipe, a device
    LINK = "link"
    MISSING = "missing"


class PathInfo(msgspec.Struct, frozen=True):
    """What a path is; `target` is the text of a symlink."""

    kind: PathKind
    target: bytes = b""


PathLookup = Callable[[bytes], PathInfo]
BwrapArguments = list[bytes]

MISSING = PathInfo(PathKind.MISSING)
MEBIBYTE = 1 << 20

# Folders of the program's own, in memory: size and mode. They end with the call.
_RUN, _SHARED = b"/run", b"/dev/shm"
_PRIVATE = {
    b"/tmp": (256, b"1777"),
    b"/var/tmp": (64, b"1777"),
    _RUN: (16, b"0755"),
    _SHARED: (64, b"1777"),
}
_HOME = (64, b"0700")

# A device on a mount that allows none cannot be opened at all, and needs no separate file.
_NOTHING = b"/dev/null"
_KEYS = (b"/proc/keys", b"/proc/key-users")  # names of the keys that the user's programs hold


def path_info(path: bytes) -> PathInfo:
    """Returns what a path is, without following a symlink at its end."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return MISSING
    if stat.S_ISLNK(mode):
        return PathInfo(PathKind.LINK, os.readlink(path))
    return PathInfo(PathKind.FOLDER if stat.S_ISDIR(mode) else PathKind.FILE)


def tmp_folder(profile: SandboxProfile) -> bytes:
    """Returns the folder for temporary files: never one that shows the workspace."""
    return _RUN if _in(b"/tmp", profile.root) else b"/tmp"


def bind_arguments(profile: SandboxProfile, look: PathLookup = path_info) -> BwrapArguments:
    """Returns bubblewrap's arguments for everything visible; masks come last."""
    entries = _entries(profile, look)
    arguments: BwrapArguments = []
    for path in sorted(entries):
        arguments += entries[path]
    arguments += _kept(profile, look)
    arguments += _opened(profile, look)
    visible = {path for path, made in entries.items() if _binds(made)}
    for mask in _masks(profile, visible, look):
        arguments += _hidden(mask, look(mask).kind)
    for path in _KEYS:
        arguments += _hidden(path, look(path).kind)
    _check_sources(profile, arguments)
    # /proc/sys asks for no capability: it trusts the user id of root, also in a user namespace.
    return [*arguments, *(a for path in (b"/proc", b"/dev", b"/") for a in _read_only(path))]


def mount_points(profile: SandboxProfile, look: PathLookup = path_info) -> tuple[bytes, ...]:
    """Returns where parts of a writable workspace are closed; a missing path needs a folder."""
    if not profile.writable:
        return ()
    return tuple(sorted({_standing(profile.root, path, look) for path in profile.kept}))


def _entries(profile: SandboxProfile, look: PathLookup) -> dict[bytes, BwrapArguments]:
    """Returns what is mounted where, without what another entry shows already."""
    root = profile.root or b"/"
    private = {**_PRIVATE, profile.home: _HOME}
    own = {
        path: _tmpfs(path, *size)
        for path, size in private.items()
        if path in (_RUN, _SHARED) or not _in(path, root)
    }
    fixed = {b"/proc": [b"--proc", b"/proc"], b"/dev": [b"--dev", b"/dev"]}
    chosen = {path: _shown(path, look(path)) for path in profile.shown}
    bound = [b"--bind" if profile.writable else b"--ro-bind", _source(profile, root), root]
    entries = {**own, **fixed, **{p: made for p, made in chosen.items() if made}, root: bound}
    kept = [path for path in entries if path == root or not _needless(path, entries, look)]
    return {path: entries[path] for path in kept}


def _source(profile: SandboxProfile, path: bytes) -> bytes:
    """Returns what to mount at a path of the workspace: the path itself, or its copy."""
    return profile.source + path[len(profile.root) :] if profile.source else path


def _check_sources(profile: SandboxProfile, arguments: BwrapArguments) -> None:
    """Makes sure that where a copy is shown, nothing of the real workspace can be written."""
    if not profile.source:
        return
    for option, source in pairwise(arguments):
        if option == b"--bind" and not is_inside(source, profile.source):
            raise Refused(f"{display_path(source)} would be writable; nothing was run.")


def _needless(path: bytes, entries: dict[bytes, BwrapArguments], look: PathLookup) -> bool:
    """Tells whether a bind further up shows the path, or lacks the folder to mount it on."""
    above = next((folder for folder in _above(path) if folder in entries), None)
    if above is None or not _binds(entries[above]):
        return False
    return _binds(entries[path]) or look(path).kind is not PathKind.FOLDER


def _binds(made: BwrapArguments) -> bool:
    return made[0] in (b"--ro-bind", b"--bind", b"--symlink")


def _shown(path: bytes, seen: PathInfo) -> BwrapArguments:
    match seen.kind:
        case PathKind.MISSING:
            return []
        case PathKind.LINK:
            return [b"--symlink", seen.target, path]
        case PathKind.FOLDER | PathKind.FILE:
            return [b"--ro-bind", path, path]


def _kept(profile: SandboxProfile, look: PathLookup) -> BwrapArguments:
    """Returns the mounts that keep parts of a writable workspace as they are.

    A folder above a mount could be renamed away with it, so each is mounted on itself.
    """
    if not profile.writable:
        return []
    masks = [path for path in profile.masks if _in(path, profile.root)]
    ends = {_standing(profile.root, path, look) for path in profile.kept}
    above = {f for path in (*ends, *masks) for f in _between(profile.root, path)}
    binds = [
        [b"--bind", _source(profile, path), path]
        for path in sorted(above)
        if look(path).kind is PathKind.FOLDER
    ]
    closed = [_closed(path, look(path).kind) for path in sorted(ends)]
    return [argument for made in (*binds, *closed) for argument in made]


def _opened(profile: SandboxProfile, look: PathLookup) -> BwrapArguments:
    """Returns the mounts that let git write in its own folders, but not in these parts of them."""
    opened = [[b"--bind", path, path] for path in profile.opened]
    sealed = [_closed(path, look(path).kind) for path in profile.sealed]
    return [argument for made in (*opened, *sealed) for argument in made]


def _closed(path: bytes, kind: PathKind) -> BwrapArguments:
    match kind:
        case PathKind.MISSING:
            return [b"--tmpfs", path, *_read_only(path)]
        case PathKind.LINK:
            text = f"{display_path(path)} is a symbolic link, which the sandbox cannot protect."
            raise Refused(text, "Replace it with a real file or folder.")
        case PathKind.FOLDER | PathKind.FILE:
            return [b"--ro-bind", path, path]


def _standing(root: bytes, path: bytes, look: PathLookup) -> bytes:
    """Returns the path, or the first one above it, from the root down, that is not a folder."""
    for folder in _between(root, path):
        if look(folder).kind is not PathKind.FOLDER:
            return folder
    return path


def _between(root: bytes, path: bytes) -> list[bytes]:
    """Returns the folders between the root and a path, without both, the highest first."""
    return [path for path in _above(path) if path != root and _in(path, root)][::-1]


def _masks(profile: SandboxProfile, visible: set[bytes], look: PathLookup) -> Iterator[bytes]:
    """Yields what has to be hidden, each under its real name, unless another mask hides it."""
    holding = {folder for path in visible for folder in (path, *_above(path))}
    masks = {_real(mask, look) for mask in profile.masks}
    for mask in sorted(masks):
        if not masks.isdisjoint(_above(mask)):
            continue
        if mask in holding or not visible.isdisjoint(_above(mask)):
            yield mask


def _real(path: bytes, look: PathLookup) -> bytes:
    return os.path.realpath(path) if look(path).kind is PathKind.LINK else path


def _hidden(path: bytes, kind: PathKind) -> BwrapArguments:
    match kind:
        case PathKind.FOLDER:
            return [*_tmpfs(path, 1, b"0000"), *_read_only(path)]
        case PathKind.FILE:
            return [b"--ro-bind", _NOTHING, path]
        case PathKind.LINK | PathKind.MISSING:
            return []


def _tmpfs(path: bytes, size: int, mode: bytes) -> BwrapArguments:
    return [b"--perms", mode, b"--size", b"%d" % (size * MEBIBYTE), b"--tmpfs", path]


def _above(path: bytes) -> Iterator[bytes]:
    """Yields the folders above a path, the nearest first, the root of everything last."""
    while path not in (b"", b"/"):
        path = parent(path) or b"/"
        yield path


def _read_only(path: bytes) -> BwrapArguments:
    return [b"--remount-ro", path]


def _in(path: bytes, folder: bytes) -> bool:
    return is_inside(path, folder.rstrip(b"/"))


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
    """Runs programs that see what the profile shows, and can change only what it allows.

    The profile is built at each call, because what has to be hidden may be new.
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
        self._enter: tuple[bytes, ...] = ()
        self._held: tuple[int, ...] = ()
        self._check: UsageCheck = confined_limit_exceeded

    def in_namespace(
        self, enter: Sequence[bytes], held: Sequence[int], check: UsageCheck
    ) -> "BubblewrapRunner":
        """Makes programs start by a command that enters a namespace, with other limits.

        What is `held` stays open until the last of them has surely ended.
        """
        self._enter, self._held, self._check = tuple(enter), tuple(held), check
        return self

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        """Runs a pipeline in a folder; each program has its own sandbox."""
        profile = self._profile()
        with ExitStack() as stack:
            held = stack.enter_context(self._points.active(mount_points(profile)))
            view = [*bind_arguments(profile), *_in_place(stack, masked_indexes(profile))]
            yield from run_pipeline(
                pipeline,
                self._prepare(profile, folder, limits, view, (*held, *self._held)),
                self._check,
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
        front = (*self._enter, *prlimit_prefix(limits), self._tool)
        paths = ProgramPaths(profile.home, tmp_folder(profile), self._folders, _user())
        # On the machine's network, a program could reach any listener on a socket without a file.
        code = seccomp_filter(
            os.uname().machine,
            writable=profile.writable or bool(profile.opened),
            unix=profile.writable and not profile.network,
        )

        def prepare(program: Program, briefly: ExitStack, throughout: ExitStack) -> ProcessSpec:
            report, status = _pipe(throughout, briefly)
            ends = BwrapDescriptors(_holding(code, briefly), status)
            told = bwrap_arguments(view, program, folder, paths, ends)
            if profile.network:
                told.remove(UNSHARE_NET)  # the first one; the program comes much later
            given = msgspec.structs.astuple(ends)
            # Killed while it sets itself up, bubblewrap can leave a child that waits for ever.
            watch = start_watchdog(throughout, held) if profile.writable or profile.opened else None
            return ProcessSpec((*front, *told), {}, b"/", given, report, watch)

        return prepare


def bwrap_arguments(
    view: Sequence[bytes],
    program: Program,
    folder: bytes,
    paths: ProgramPaths,
    ends: BwrapDescriptors,
) -> list[bytes]:
    """Returns bubblewrap's arguments: how to confine, what to show, and what to run where."""
    variables = environment(paths, program).items()
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
    """Returns the version that bubblewrap prints; empty if it prints none."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [tool, b"--version"], env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=10
        )
        if found := re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", done.stdout):
            return tuple(int(part) for part in found.groups(b"0"))
    return ()


def sandbox_unavailable() -> SandboxStatus | None:
    """Says why a sandbox is impossible here; None if only a test can tell."""
    tool = find_bwrap()
    if tool is None:
        return SandboxStatus(
            SandboxState.NONE, "bubblewrap is not installed.", "apt install bubblewrap"
        )
    if (found := bwrap_version(tool)) < MIN_VERSION:
        number = ".".join(map(str, found)) or "unknown"
        reason = f"bubblewrap {number} cannot block further namespaces; version 0.8 is required."
        return SandboxStatus(SandboxState.NONE, reason, "apt install bubblewrap")
    if not is_supported(machine := os.uname().machine):
        reason = (
            f"No system call filter exists for {machine}, and without one programs could read keys."
        )
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
