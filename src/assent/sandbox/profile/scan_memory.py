"""Scan memory: what was found in folders, as one process leaves it to the next."""

import sys
import unicodedata
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from assent import __version__
from assent.core.decoding import msgpack_decoder
from assent.core.permission.sensitive_paths import AGENT_FILES, SECRET_FILES, SECRET_FOLDERS


class FileStamp(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The properties of a file or folder that change whenever it changes."""

    device: int
    inode: int
    modified: int
    changed: int


class ScannedFolder(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What matters in one folder, by its names; for `doubtful` files the content decides.

    Those come with the row of `SECRET_FILES` whose marks to look for; whether they were found is
    not remembered here. A symlink with a secret's name is in `links`: what it points to is the
    secret; its row is -1 if the name alone decides.
    """

    stamp: FileStamp
    entries: int = 0  # how many names were looked at
    folders: tuple[bytes, ...] = ()
    secrets: tuple[bytes, ...] = ()
    links: tuple[tuple[bytes, int], ...] = ()
    doubtful: tuple[tuple[bytes, int], ...] = ()


class ScanMemory(msgspec.Struct, frozen=True, array_like=True):
    """Folders by their paths, by which rules they were searched, and when the last one was."""

    version: int
    about: bytes
    at: int
    folders: dict[bytes, ScannedFolder]


# To be raised with every change of what a ScannedFolder means, or of the code that makes one.
MEMORY_VERSION: Final = 1

_ROWS: Final = range(-1, len(SECRET_FILES))
_decode = msgpack_decoder(ScanMemory).decode


def scan_rules(kind: bytes) -> bytes:
    """Identifies what decides about names: with other tables, a search would find other things."""
    tables = (SECRET_FILES, sorted(SECRET_FOLDERS), AGENT_FILES)
    code = (__version__, sys.version_info[:3], unicodedata.unidata_version)
    return sha256(repr((kind, code, tables)).encode()).digest()


def encode_memory(about: bytes, at: int, folders: Mapping[bytes, ScannedFolder]) -> bytes:
    return msgspec.msgpack.encode(ScanMemory(MEMORY_VERSION, about, at, dict(folders)))


def decode_memory(content: bytes, about: bytes, now: int) -> dict[bytes, ScannedFolder]:
    """Decodes what is remembered; nothing if it is odd, foreign, or the clock was set back."""
    try:
        memory = _decode(content)
    except msgspec.MsgspecError:
        return {}
    if (memory.version, memory.about) != (MEMORY_VERSION, about) or memory.at > now:
        return {}
    return memory.folders if all(map(_is_whole, memory.folders.values())) else {}


def _is_whole(seen: ScannedFolder) -> bool:
    """Tells whether the rows that are named exist."""
    rows = (*seen.links, *seen.doubtful)
    return not rows or all(row in _ROWS for _, row in rows)
