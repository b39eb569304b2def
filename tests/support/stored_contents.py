"""Looks into a blob store without its code, and stores a content the way that a test needs."""

import struct
from hashlib import sha256
from pathlib import Path

MARK = b"\xa5blob\r\n\x01"
RECORD = struct.Struct(">8s32sIQ")
NAME_BYTES = RECORD.size + 16  # of the first record


def small_records(root: Path) -> list[tuple[str, bytes]]:
    """Returns the digests in the file of small contents, and their whole records."""
    path = root / "small"
    held = path.read_bytes() if path.exists() else b""
    found, at = [], 0
    while at < len(held):
        mark, raw, size, _ = RECORD.unpack_from(held, at)
        assert mark == MARK
        end = at + RECORD.size + size
        found.append((raw.hex(), held[at:end]))
        at = end
    return found[1:]  # the first one is the name of the file


def stored_contents(root: Path) -> set[bytes]:
    """Returns every content of a store that is in no pack, as it is there."""
    alone = {path.read_bytes() for path in root.glob("??/*") if path.is_file()}
    return alone | {record[RECORD.size :] for _, record in small_records(root)}


def store_alone(root: Path, digest: str) -> Path:
    """Gives a small content a file of its own, as earlier versions did; returns its path."""
    path = root / digest[:2] / digest[2:]
    records = dict(small_records(root))
    if digest in records:
        content = records.pop(digest)[RECORD.size :]
        assert sha256(content).hexdigest() == digest
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(content)
        held = (root / "small").read_bytes()
        (root / "small").write_bytes(held[:NAME_BYTES] + b"".join(records.values()))
    return path
