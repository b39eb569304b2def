"""A git index for masked files: what is tracked and hidden counts as unchanged.

Otherwise git would try to compare the masked file, and fail. The copy also marks it as left out of
the checkout, so that `git grep` does not look at what was added instead. The copy is shown in place
of the index; on disk nothing changes.
"""

import hashlib
import os
from collections.abc import Iterator
from typing import Final

import msgspec

from assent.core.paths import ancestors, is_inside
from assent.sandbox.profile.file_system import read_small_text
from assent.sandbox.profile.profile import SandboxProfile

MAX_INDEX_BYTES: Final = 64 << 20

_SIGNATURE: Final = b"DIRC"
_HEADER, _STAT, _FLAGS = 12, 40, 2
_UNCHANGED, _EXTENDED, _STAGE = 0x8000, 0x4000, 0x3000  # bits of an entry's flags
_LEFT_OUT: Final = 0x4000  # of the additional flags of an extended entry
_VERSIONS: Final = (2, 3, 4)
_EXTENDS: Final = 3  # from this version on there are extended entries
_COMPRESSED: Final = 4  # from this version on, a path gives only what differs from the one before
_HASHES: Final = ("sha1", "sha256")
_OFFSETS: Final = (b"EOIE", b"IEOT")  # extensions that tell where entries stand; git does without


def masked_indexes(profile: SandboxProfile) -> dict[bytes, bytes]:
    """Returns the index of the workspace's repository, by its path, if it must look different."""
    below = [mask for mask in profile.masks if is_inside(mask, profile.root)]
    path = _path(profile.root)
    if profile.writable or profile.opened or not below:
        return {}
    if not path or not profile.visible(path):
        return {}
    hidden = frozenset(mask[len(profile.root) + 1 :] for mask in below)
    changed = mark_unchanged(_content(path), hidden)
    return {path: changed} if changed else {}


def mark_unchanged(index: bytes, hidden: frozenset[bytes]) -> bytes:
    """Marks tracked files as unchanged that are hidden or below a hidden folder.

    Returns nothing if there are none, or if this index cannot be read.
    """
    kind = next((kind for kind in _HASHES if _is_whole(index, kind)), None)
    if kind is None:
        return b""
    size = hashlib.new(kind).digest_size
    try:
        body = _rewritten(index[:-size], hidden, size)
    except (ValueError, IndexError):
        return b""
    return body + hashlib.new(kind, body).digest() if body else b""


class _IndexEntry(msgspec.Struct, frozen=True):
    """Where an entry begins and ends, where its flags and its own path stand, and which it is."""

    start: int
    flags: int
    name: int
    end: int
    path: bytes


def _rewritten(index: bytes, hidden: frozenset[bytes], size: int) -> bytes:
    version = int.from_bytes(index[4:8], "big")
    parts, at, found = [], _HEADER, False
    for entry in _entries(index, size):
        whole = index[entry.start : entry.end]
        if _value(index, entry.flags) & _STAGE or not _is_hidden(entry.path, hidden):
            parts.append(whole)
        else:
            parts.append(_marked(index, entry, version))
            found = True
        at = entry.end
    head = index[:4] + max(version, _EXTENDS).to_bytes(4, "big") + index[8:_HEADER]
    return b"".join((head, *parts, _extensions(index[at:]))) if found else b""


def _is_hidden(path: bytes, hidden: frozenset[bytes]) -> bool:
    return path in hidden or not hidden.isdisjoint(ancestors(path))


def _marked(index: bytes, entry: _IndexEntry, version: int) -> bytes:
    """Returns an entry that is unchanged, and left out of the checkout."""
    value = _value(index, entry.flags)
    more = _value(index, entry.flags + _FLAGS) if value & _EXTENDED else 0
    flags = (value | _UNCHANGED | _EXTENDED, more | _LEFT_OUT)
    front = index[entry.start : entry.flags] + b"".join(f.to_bytes(_FLAGS, "big") for f in flags)
    if version >= _COMPRESSED:
        return front + index[entry.name : entry.end]
    made = front + entry.path
    return made + bytes(8 - len(made) % 8)  # one to eight, so that the next one is aligned


def _extensions(rest: bytes) -> bytes:
    """Returns what follows the entries, without what would be wrong now."""
    kept, at = b"", 0
    while at < len(rest):
        end = at + 8 + int.from_bytes(rest[at + 4 : at + 8], "big")
        kept += b"" if rest[at : at + 4] in _OFFSETS else rest[at:end]
        at = end
    return kept


def _entries(index: bytes, size: int) -> Iterator[_IndexEntry]:
    version = int.from_bytes(index[4:8], "big")
    at, path = _HEADER, b""
    for _ in range(int.from_bytes(index[8:12], "big")):
        flags = at + _STAT + size
        start = name = flags + _FLAGS * (2 if _value(index, flags) & _EXTENDED else 1)
        if version < _COMPRESSED:
            zero = index.index(b"\0", start)
            path = index[start:zero]
            end = at + (zero - at + 8) // 8 * 8
        else:
            dropped, start = _number(index, start)
            zero = index.index(b"\0", start)
            path = path[: len(path) - dropped] + index[start:zero]
            end = zero + 1
        yield _IndexEntry(at, flags, name, end, path)
        at = end


def _value(index: bytes, at: int) -> int:
    return int.from_bytes(index[at : at + _FLAGS], "big")


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
    named = read_small_text(mark).removeprefix(b"gitdir: ").rstrip(b"\n")
    return os.path.realpath(os.path.join(root, named, b"index")) if named else b""


def _content(path: bytes) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_INDEX_BYTES + 1)
    except OSError:
        return b""
    return content if len(content) <= MAX_INDEX_BYTES else b""
