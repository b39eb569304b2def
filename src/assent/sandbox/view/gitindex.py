"""Git's index as it has to look where files are masked: what is tracked and hidden is unchanged.

Otherwise git would want to compare the masked file, and fail on it. The copy is shown in place of
the index; on disk nothing changes.
"""

import hashlib
import os
from collections.abc import Iterator
from typing import Final

from assent.core.paths import ancestors, inside
from assent.sandbox.view.peek import text_of
from assent.sandbox.view.profile import Profile

LARGEST: Final = 64 << 20

_SIGNATURE: Final = b"DIRC"
_HEADER, _STAT, _FLAGS = 12, 40, 2
_UNCHANGED, _EXTENDED, _STAGE = 0x8000, 0x4000, 0x3000  # bits of an entry's flags
_VERSIONS: Final = (2, 3, 4)
_COMPRESSED: Final = 4  # from this version on, a path gives only what differs from the one before
_HASHES: Final = ("sha1", "sha256")


def indexes(profile: Profile) -> dict[bytes, bytes]:
    """Returns the index of the workspace's repository, by its path, if it must look different."""
    below = [mask for mask in profile.masks if inside(mask, profile.root)]
    path = _path(profile.root)
    if profile.writable or not below or not path or not profile.visible(path):
        return {}
    hidden = frozenset(mask[len(profile.root) + 1 :] for mask in below)
    changed = unchanged(_content(path), hidden)
    return {path: changed} if changed else {}


def unchanged(index: bytes, hidden: frozenset[bytes]) -> bytes:
    """Marks tracked files as unchanged that are hidden or lie below a hidden folder.

    Returns nothing if there are none, or if this is no index that can be read.
    """
    kind = next((kind for kind in _HASHES if _is_whole(index, kind)), None)
    if kind is None:
        return b""
    size = hashlib.new(kind).digest_size
    body = bytearray(index[:-size])
    try:
        found = [
            at
            for at, path in _entries(index, size)
            if path in hidden or not hidden.isdisjoint(ancestors(path))
        ]
    except (ValueError, IndexError):
        return b""
    for at in found:
        body[at] |= _UNCHANGED >> 8
    return bytes(body) + hashlib.new(kind, body).digest() if found else b""


def _entries(index: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Yields where the flags of each entry stand, and its path."""
    version = int.from_bytes(index[4:8], "big")
    at, path = _HEADER, b""
    for _ in range(int.from_bytes(index[8:12], "big")):
        flags = at + _STAT + size
        value = int.from_bytes(index[flags : flags + _FLAGS], "big")
        start = flags + _FLAGS + (_FLAGS if value & _EXTENDED else 0)
        if version < _COMPRESSED:
            end = index.index(b"\0", start)
            path = index[start:end]
            at += (end - at + 8) // 8 * 8  # one to eight zero bytes, so that the next is aligned
        else:
            dropped, start = _number(index, start)
            end = index.index(b"\0", start)
            path = path[: len(path) - dropped] + index[start:end]
            at = end + 1
        if not value & _STAGE:
            yield flags, path


def _number(index: bytes, at: int) -> tuple[int, int]:
    """Reads a number as git writes one: seven bits a byte, each longer form one further on."""
    value = index[at] & 0x7F
    while index[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (index[at] & 0x7F)
    return value, at + 1


def _is_whole(index: bytes, kind: str) -> bool:
    if index[:4] != _SIGNATURE or int.from_bytes(index[4:8], "big") not in _VERSIONS:
        return False
    size = hashlib.new(kind).digest_size
    return index[-size:] in (hashlib.new(kind, index[:-size]).digest(), bytes(size))


def _path(root: bytes) -> bytes:
    """Returns where the index lies: in `.git`, or in the folder that a file `.git` names."""
    mark = root + b"/.git"
    if os.path.isdir(mark):
        return os.path.realpath(mark + b"/index")
    named = text_of(mark).removeprefix(b"gitdir: ").rstrip(b"\n")
    return os.path.realpath(os.path.join(root, named, b"index")) if named else b""


def _content(path: bytes) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
    except OSError:
        return b""
    return content if len(content) <= LARGEST else b""
