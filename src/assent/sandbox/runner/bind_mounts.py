"""Bind mounts: those that show a profile and nothing else, in the order they have to be made."""

import os
import stat
from collections.abc import Callable, Iterator
from enum import StrEnum

import msgspec

from assent.core.errors import Refused
from assent.core.paths import display_path, is_inside, parent
from assent.sandbox.profile.profile import SandboxProfile


class PathKind(StrEnum):
    """What stands under a name."""

    FOLDER = "folder"
    FILE = "file"  # and whatever else is no folder: a socket, a pipe, a device
    LINK = "link"
    MISSING = "missing"


class PathInfo(msgspec.Struct, frozen=True):
    """What a look at a path found; `target` is the text of a symlink."""

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

# A device on a mount that allows none cannot be opened by anybody, and needs no file of its own.
_NOTHING = b"/dev/null"
_KEYS = (b"/proc/keys", b"/proc/key-users")  # names of the keys that the person's programs hold


def path_info(path: bytes) -> PathInfo:
    """Looks at a path itself, following no symlink at its end."""
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
    """Returns bubblewrap's arguments for all that is visible; what hides comes last."""
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
    # /proc/sys asks for no capability: it trusts the user id of root, also in a user namespace.
    return [*arguments, *(a for path in (b"/proc", b"/dev", b"/") for a in _read_only(path))]


def mount_points(profile: SandboxProfile, look: PathLookup = path_info) -> tuple[bytes, ...]:
    """Returns where parts of a writable workspace are closed; what is missing needs a folder."""
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
    bound = [b"--bind" if profile.writable else b"--ro-bind", root, root]
    entries = {**own, **fixed, **{p: made for p, made in chosen.items() if made}, root: bound}
    kept = [path for path in entries if path == root or not _needless(path, entries, look)]
    return {path: entries[path] for path in kept}


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
        [b"--bind", path, path] for path in sorted(above) if look(path).kind is PathKind.FOLDER
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
            text = f"{display_path(path)} is a symbolic link, which no sandbox can keep as it is."
            raise Refused(text, "Put a real file or folder there.")
        case PathKind.FOLDER | PathKind.FILE:
            return [b"--ro-bind", path, path]


def _standing(root: bytes, path: bytes, look: PathLookup) -> bytes:
    """Returns the path, or the first one above it, from the root down, that is no folder."""
    for folder in _between(root, path):
        if look(folder).kind is not PathKind.FOLDER:
            return folder
    return path


def _between(root: bytes, path: bytes) -> list[bytes]:
    """Returns the folders between the root and a path, without both, the highest first."""
    return [path for path in _above(path) if path != root and _in(path, root)][::-1]


def _masks(profile: SandboxProfile, visible: set[bytes], look: PathLookup) -> Iterator[bytes]:
    """Yields what has to be hidden, each under its real name, without what a mask hides already."""
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
