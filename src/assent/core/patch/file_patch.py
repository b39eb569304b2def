"""File patches: what a patch says about a file, and what it makes of the file's content."""

import zlib
from base64 import b85decode
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import sha1, sha256
from itertools import accumulate, islice
from typing import Literal, TypeAlias

import msgspec

from assent.core.errors import NoMatch, Refused
from assent.core.paths import one_line
from assent.core.plan.operation import FileState

PatchKind: TypeAlias = Literal["change", "create", "delete", "rename", "copy"]


class Hunk(msgspec.Struct, frozen=True, gc=False):
    """Lines to find and their replacement, with their line ends, counted from 1.

    `lead` and `trail` are the numbers of context lines before and after the change.
    """

    old_start: int
    old: tuple[bytes, ...]
    new_start: int
    new: tuple[bytes, ...]
    lead: int = 0
    trail: int = 0

    @property
    def reversed(self) -> "Hunk":
        """The hunk that reverts this one."""
        return Hunk(self.new_start, self.new, self.old_start, self.old, self.lead, self.trail)


class BinaryPatch(msgspec.Struct, frozen=True, gc=False):
    """A whole content, or a delta that makes it from the old one."""

    kind: Literal["literal", "delta"]
    content: bytes


class FilePatch(msgspec.Struct, frozen=True, gc=False):
    """The changes to one file. `old` and `new` are the same unless it is renamed or copied.

    `ids` are git's ids of the contents before and after, maybe shortened. Files of one `group`
    apply to the same tree; the next group applies to the tree that results.
    """

    how: PatchKind
    old: bytes
    new: bytes
    line: int  # of the patch
    old_mode: int | None = None
    new_mode: int | None = None
    hunks: tuple[Hunk, ...] = ()
    binary: BinaryPatch | None = None
    ids: tuple[str, str] = ("", "")
    unsure: bool = False  # whether it makes the file, or changes an empty one
    group: int = 0


# File modes as git sees them: only whether a file is executable counts.


MODE_FILE, MODE_LINK, MODE_TYPE = 0o100000, 0o120000, 0o170000
MODE_PLAIN, MODE_EXECUTABLE = 0o644, 0o755  # all that git knows of modes


def is_executable(mode: int) -> bool:
    """Tells whether its owner can run a file."""
    return bool(mode & 0o100)


def with_executable(mode: int, wanted: bool) -> int:
    """Returns a mode in which everyone who may read a file may also run it, or no one may."""
    if is_executable(mode) == wanted:
        return mode
    return mode | (mode & 0o444) >> 2 if wanted else mode & ~0o111


def git_mode(mode: int) -> int:
    """Returns what a mode in a patch means: a type and, for a file, no more rights than git gives.

    Fewer rights are kept, because Assent's own diffs name them. A mode in which the owner cannot
    read the file is taken as one of git's two.
    """
    if mode & MODE_TYPE != MODE_FILE:
        return mode & MODE_TYPE
    full = MODE_EXECUTABLE if is_executable(mode) else MODE_PLAIN
    return MODE_FILE | (mode & full if mode & 0o400 else full)


# Binary patches as git writes them: lines of base 85, deflated, a whole content or a delta.


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
        raise Refused(f"it contains {size} bytes; the limit is {MAX_CONTENT_BYTES}.")
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
    """Returns git's id of a content, with the hash function that another id was made with."""
    title = b"blob %d\0" % len(content)
    if len(like) == sha256().digest_size * 2:
        return sha256(title + content).hexdigest()
    return sha1(title + content, usedforsecurity=False).hexdigest()


def is_full_id(identity: str) -> bool:
    """Tells whether a git id is given in full."""
    return len(identity) in (sha1(usedforsecurity=False).digest_size * 2, sha256().digest_size * 2)


def _apply_delta(delta: bytes, before: bytes) -> bytes:
    size, at = _delta_number(delta, 0)
    if size != len(before):
        raise Refused("its binary part was made for different content.")
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
    """Returns what one instruction adds: its own bytes, or some of the old content."""
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


# Checks a file patch against the file it applies to: its kind, mode and binary content.


_THINGS = {"link": "a symlink", "file": "a file"}


def is_link(file: FilePatch, before: FileState | None) -> bool:
    """Tells whether a file becomes a symlink, or stays one."""
    if file.new_mode is not None:
        return _kind_of_mode(file.new_mode) == "link"
    return before is not None and before.kind == "link"


def check_kind(file: FilePatch, before: FileState) -> None:
    """Refuses to change a symlink as a file, a file as a symlink, and one into the other.

    Git writes the last kind as two changes: a deletion and a new file.
    """
    if file.old_mode is not None and _kind_of_mode(file.old_mode) != before.kind:
        thing = _THINGS[before.kind]
        raise NoMatch(f"it is {thing} here, but the patch expects something else.")
    if file.how == "delete" or file.new_mode is None:
        return
    if _kind_of_mode(file.new_mode) != before.kind:
        old, new = _THINGS[before.kind], _THINGS[_kind_of_mode(file.new_mode)]
        raise NoMatch(f"it is {old} here, and a mode change cannot turn it into {new}.")


def check_target(content: bytes) -> None:
    """Refuses a symlink that could not be created."""
    if not content or b"\0" in content:
        raise NoMatch("it is a symlink, but the patch names no target.")


def target_mode(file: FilePatch, before: FileState | None) -> int:
    """Returns the new mode, with no more rights than git gives; of its two, only x counts."""
    bits = None if file.new_mode is None else git_mode(file.new_mode) & ~MODE_TYPE
    if before is None or before.kind == "link":
        return MODE_PLAIN if bits is None else bits
    if bits is None or file.old_mode == file.new_mode:
        return before.mode
    if bits in (MODE_PLAIN, MODE_EXECUTABLE):
        return with_executable(before.mode, bits == MODE_EXECUTABLE)
    return bits


def _kind_of_mode(mode: int) -> Literal["file", "link"]:
    return "link" if mode & MODE_TYPE == MODE_LINK else "file"


def binary_content(file: FilePatch, old: bytes, *, fresh: bool) -> bytes:
    """Rebuilds a binary content; the old and the new content must match their ids."""
    assert file.binary is not None
    was, becomes = file.ids
    if not is_full_id(was) or not is_full_id(becomes):
        raise Refused("a binary patch needs the full IDs of both contents on its index line.")
    now = blob_id(old, was)
    if now == becomes and file.how == "change":
        return old
    if not fresh and now != was:
        raise NoMatch(f"its content is {now[:12]}…, but the binary patch was made for {was[:12]}….")
    made = rebuild_content(file.binary, old)
    if file.how != "delete" and blob_id(made, becomes) != becomes:
        raise Refused("its binary part is damaged: the result does not match its ID.")
    return made


# Applies the hunks of a patch to a content, and tells where each of them fits.


_LONGEST = 120  # characters of a line in a message


class AppliedHunks(msgspec.Struct, frozen=True):
    """A content with the hunks applied; `moved` are those found at another place than stated.

    Each of these is a hunk's number and how many lines further down it was found.
    """

    content: bytes
    moved: tuple[tuple[int, int], ...] = ()


def apply_hunks(content: bytes, hunks: Sequence[Hunk]) -> AppliedHunks:
    """Applies hunks; all their lines must be at the stated place, or at exactly one other."""
    text = _LineText(content)
    made: list[bytes] = []
    moved = []
    cursor, shift = 0, 0
    for number, hunk in enumerate(hunks, 1):
        stated = _stated(hunk)
        at = _place(text, hunk, stated + shift, cursor)
        if at is None:
            raise NoMatch(_misfit(text, hunk, number, stated + shift))
        shift = at - stated
        moved += [(number, shift)] if shift else []
        made += (*text.lines[cursor:at], *hunk.new)
        cursor = at + len(hunk.old)
    return AppliedHunks(b"".join([*made, *text.lines[cursor:]]), tuple(moved))


def is_applied(content: bytes, hunks: Sequence[Hunk]) -> bool:
    """Tells whether a content already is what the hunks would make, each at its stated place."""
    text = _LineText(content)
    return all(_fits(text, hunk.reversed, _stated(hunk.reversed)) for hunk in hunks)


def split_lines(content: bytes) -> list[bytes]:
    """Splits at line feeds only; each line keeps its own."""
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


class _LineText:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.lines = split_lines(content)
        self._starts: list[int] = []

    @property
    def starts(self) -> list[int]:
        """Where each line begins, and where the last one ends."""
        if not self._starts:
            self._starts = [0, *accumulate(map(len, self.lines))]
        return self._starts

    def places(self, wanted: bytes, line: int) -> Iterator[int]:
        """Yields every line from one on at which some whole lines stand."""
        start = self.starts[line]
        if not start and self._is_whole(wanted, 0):
            yield 0
        at = self.content.find(b"\n" + wanted, max(start - 1, 0))
        while at >= 0:
            if self._is_whole(wanted, at + 1):
                yield bisect_left(self.starts, at + 1)
            at = self.content.find(b"\n" + wanted, at + 1)

    def _is_whole(self, wanted: bytes, at: int) -> bool:
        """Tells whether some lines stand at an offset, the last of them to its end."""
        whole = wanted.endswith(b"\n") or at + len(wanted) == len(self.content)
        return whole and self.content.startswith(wanted, at)


def _stated(hunk: Hunk) -> int:
    """Returns the index of the line that a hunk says it begins at; an empty one names the last."""
    return max(hunk.old_start - 1, 0) if hunk.old else hunk.old_start


def _place(text: _LineText, hunk: Hunk, stated: int, cursor: int) -> int | None:
    if stated >= cursor and _fits(text, hunk, stated):
        return stated
    if not hunk.old or _is_anchored(hunk):
        at = max(len(text.lines) - len(hunk.old), 0) if hunk.lead else 0
        return at if at >= cursor and _fits(text, hunk, at) else None
    fitting = list(islice(text.places(b"".join(hunk.old), cursor), 2))
    return fitting[0] if len(fitting) == 1 else None


def _fits(text: _LineText, hunk: Hunk, at: int) -> bool:
    if not hunk.old:
        return not text.lines  # without a line of context it could stand anywhere
    if _is_anchored(hunk) and at != (len(text.lines) - len(hunk.old) if hunk.lead else 0):
        return False
    return text.lines[at : at + len(hunk.old)] == list(hunk.old)


def _is_anchored(hunk: Hunk) -> bool:
    """Context on one side alone says that the file begins, or ends, on the other."""
    if hunk.lead:
        return not hunk.trail
    return bool(hunk.trail) and hunk.old_start <= 1


def misfit_text(number: int, where: str) -> str:
    """Returns that a hunk does not apply; `where` begins with the number of a line."""
    return f"hunk {number} does not apply at line {where}"


def _misfit(text: _LineText, hunk: Hunk, number: int, stated: int) -> str:
    if not hunk.old:
        words = "has no context lines, and the file is not empty"
        return f"hunk {number} {words}; create the patch with context."
    if not _is_anchored(hunk) and len(list(islice(text.places(b"".join(hunk.old), 0), 2))) > 1:
        several = "and its lines occur in several other places."
        return f"{misfit_text(number, str(stated + 1))}, {several}"
    told = misfit_text(number, _first_other(text, hunk, stated))
    if is_applied(text.content, (hunk,)):
        told += " It seems to be applied already."
    return told


def _first_other(text: _LineText, hunk: Hunk, stated: int) -> str:
    """Says which line is the first that is not as expected."""
    for at, expected in enumerate(hunk.old, stated):
        found = text.lines[at] if 0 <= at < len(text.lines) else None
        if found != expected:
            there = "the end of the file" if found is None else _told(found)
            return f"{at + 1}: expected {_told(expected)}, found {there}."
    edge = "end" if hunk.lead else "beginning"
    return f"{stated + 1}: expected the {edge} of the file."


def _told(line: bytes) -> str:
    words = one_line(line.removesuffix(b"\n"))
    more = "…" if len(words) > _LONGEST else ""
    end = "" if line.endswith(b"\n") else " without a newline"
    return f"`{words[:_LONGEST]}{more}`{end}"
