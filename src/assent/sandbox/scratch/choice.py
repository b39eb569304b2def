"""The choice between backends of the scratch copy, as an earlier trial found it."""

import os
import stat
from contextlib import suppress
from hashlib import sha256
from typing import Final

import msgspec

from assent.core.decoding import decode_json
from assent.core.paths import is_inside
from assent.core.scratch import ScratchBackend
from assent.sandbox.profile.file_system import mounts, read_table
from assent.sandbox.status import cache_key, find_bwrap

CACHE: Final = b"backend.json"
MEMORY: Final = b"/dev/shm"  # where a container's disk cannot be the upper layer of an overlay
_LARGEST: Final = 1 << 16


class BackendChoice(msgspec.Struct, frozen=True):
    """The result of a trial: how, why, where, and whether in a user namespace."""

    backend: ScratchBackend
    user: bool = False


class CachedChoice(msgspec.Struct, frozen=True):
    """A stored choice, and everything that it depends on."""

    key: str
    choice: BackendChoice


class ScratchPlaces(msgspec.Struct, frozen=True):
    """Where copies may be: in the state directory, or in memory."""

    disk: bytes
    memory: bytes = b""

    def all(self) -> tuple[bytes, ...]:
        return (self.disk, self.memory) if self.memory else (self.disk,)


def scratch_places(state: bytes, workspace: str) -> ScratchPlaces:
    """Returns the folders for the copies of a workspace."""
    memory = MEMORY + b"/assent-%d/%s" % (os.geteuid(), workspace.encode())
    disk = state + b"/scratch/" + workspace.encode()
    return ScratchPlaces(disk, memory if _is_private_memory() else b"")


def _is_private_memory() -> bool:
    """Tells whether there is a folder in memory in which no other user can replace one of ours."""
    try:
        seen = os.lstat(MEMORY)
    except OSError:
        return False
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == 0 and bool(seen.st_mode & stat.S_ISVTX)


def mounts_below(root: bytes) -> tuple[bytes, ...]:
    """Returns the mount points inside a folder."""
    points = (mount.point for mount in mounts(read_table()))
    return tuple(sorted(point for point in points if point != root and is_inside(point, root)))


def choice_key(root: bytes, places: ScratchPlaces) -> str:
    """Returns a key for everything that a choice depends on."""
    seen = os.stat(root)
    above = os.path.dirname(os.path.dirname(places.disk))
    disk = os.stat(above).st_dev if os.path.isdir(above) else 0
    facts = (
        cache_key(find_bwrap() or b""), root, seen.st_dev, seen.st_ino, seen.st_uid,
        seen.st_gid, os.getegid(), disk, mounts_below(root), places,
    )  # fmt: skip
    return sha256(repr(facts).encode()).hexdigest()


def known_choice(root: bytes, places: ScratchPlaces) -> BackendChoice | None:
    """Returns the choice of an earlier trial, if it still counts; nothing is tried."""
    found = _read(places.disk + b"/" + CACHE)
    return found.choice if found and found.key == choice_key(root, places) else None


def keep_choice(root: bytes, places: ScratchPlaces, choice: BackendChoice) -> None:
    """Stores a choice; if that fails, the next process tries again."""
    _write(places.disk + b"/" + CACHE, CachedChoice(choice_key(root, places), choice))


def _read(path: bytes) -> CachedChoice | None:
    try:
        with open(path, "rb") as file:
            return decode_json(file.read(_LARGEST), CachedChoice)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None


def _write(path: bytes, choice: CachedChoice) -> None:
    young = path + b"." + os.urandom(8).hex().encode()
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            with open(os.open(young, flags, 0o600), "wb") as file:
                file.write(msgspec.json.encode(choice))
            os.replace(young, path)
        except OSError:
            os.unlink(young)
