"""Binary patches as git writes them: lines of base 85, deflated, a whole content or a delta."""

import zlib
from base64 import b85decode
from hashlib import sha1, sha256

from assent.core.errors import Refused
from assent.core.patch.file_patch import BinaryPatch

MAX_CONTENT_BYTES = 256 << 20  # bytes of a content that a patch may bring

_GROUP, _LETTERS = 4, 5  # so many bytes are so many letters
_DAMAGED = "its binary part is damaged"


def decoded_row(line: bytes) -> bytes:
    """Returns the bytes of one line; its first letter says how many there are."""
    count = line[0] - (64 if line[:1].isupper() else 70)
    try:
        found = b85decode(line[1:])
    except ValueError as error:
        raise Refused(f"{_DAMAGED}.") from error
    whole = len(line) % _LETTERS == 1 and 0 <= len(found) - count < _GROUP
    if not line[:1].isalpha() or not whole:
        raise Refused(f"{_DAMAGED}.")
    return found[:count]


def inflate_exactly(packed: bytes, size: int) -> bytes:
    """Returns what was deflated; refuses anything but exactly that many bytes."""
    if size > MAX_CONTENT_BYTES:
        raise Refused(f"it brings {size} bytes, and a patch may bring {MAX_CONTENT_BYTES}.")
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(packed, size + 1)
    except zlib.error as error:
        raise Refused(f"{_DAMAGED}.") from error
    if len(found) != size or not stream.eof:
        raise Refused(f"{_DAMAGED}.")
    return found


def rebuild_content(binary: BinaryPatch, before: bytes) -> bytes:
    """Returns the new content."""
    return binary.content if binary.kind == "literal" else _apply_delta(binary.content, before)


def blob_id(content: bytes, like: str) -> str:
    """Returns git's name of a content, by the hash that another name was made with."""
    title = b"blob %d\0" % len(content)
    if len(like) == sha256().digest_size * 2:
        return sha256(title + content).hexdigest()
    return sha1(title + content, usedforsecurity=False).hexdigest()


def is_full_id(identity: str) -> bool:
    """Tells whether a name of git's is given in full."""
    return len(identity) in (sha1(usedforsecurity=False).digest_size * 2, sha256().digest_size * 2)


def _apply_delta(delta: bytes, before: bytes) -> bytes:
    size, at = _delta_number(delta, 0)
    if size != len(before):
        raise Refused("its binary part was made for another content.")
    wanted, at = _delta_number(delta, at)
    made, length = [], 0
    while at < len(delta) and length <= min(wanted, MAX_CONTENT_BYTES):
        piece, at = _delta_piece(delta, at, before)
        made.append(piece)
        length += len(piece)
    if length != wanted or at != len(delta):
        raise Refused(f"{_DAMAGED}.")
    return b"".join(made)


def _delta_piece(delta: bytes, at: int, before: bytes) -> tuple[bytes, int]:
    """Returns what one instruction adds: bytes of its own, or some of the old content."""
    code, at = delta[at], at + 1
    if not code & 0x80:
        piece = delta[at : at + code]
        if not code or len(piece) != code:
            raise Refused(f"{_DAMAGED}.")
        return piece, at + code
    values = []
    for bits in (range(4), range(4, 7)):
        value = 0
        for place, bit in enumerate(bits):
            if code >> bit & 1:
                value |= _delta_byte(delta, at) << 8 * place
                at += 1
        values.append(value)
    start, count = values[0], values[1] or 0x10000
    if start + count > len(before):
        raise Refused(f"{_DAMAGED}.")
    return before[start : start + count], at


def _delta_number(delta: bytes, at: int) -> tuple[int, int]:
    value, shift, more = 0, 0, True
    while more:
        byte, at = _delta_byte(delta, at), at + 1
        value |= (byte & 0x7F) << shift
        shift, more = shift + 7, bool(byte & 0x80)
    return value, at


def _delta_byte(delta: bytes, at: int) -> int:
    if at >= len(delta):
        raise Refused(f"{_DAMAGED}.")
    return delta[at]
