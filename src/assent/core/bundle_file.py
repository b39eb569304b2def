"""The bundle as a file: lines of JSON in one spelling only, bounded in size (docs/bundle.md)."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from assent.core.approval import Approval
from assent.core.bundle import Bundle, Origin, helpful, needed
from assent.core.digest import sha256
from assent.core.errors import Damaged
from assent.core.foreign import DIGEST, ID, check_foreign
from assent.core.plan import Plan

LARGEST = 128 << 20  # bytes of a file
MOST = 256 << 20  # bytes of all contents in it, unpacked
LEVEL = 6
OTHER = "It is no file of this kind, or of a later version."
T = TypeVar("T")


class _Head(msgspec.Struct, frozen=True, tag="bundle.1", tag_field="line"):
    origin: Origin


class _Plan(msgspec.Struct, frozen=True, tag="plan", tag_field="line"):
    plan: Plan


class _Content(msgspec.Struct, frozen=True, tag="content", tag_field="line"):
    digest: str
    size: int
    zlib: bytes


class _Approval(msgspec.Struct, frozen=True, tag="approval.1", tag_field="line"):
    approval: Approval


class _End(msgspec.Struct, frozen=True, tag="end", tag_field="line"):
    sha256: str


_Line: TypeAlias = _Head | _Plan | _Content | _Approval | _End
_decoder: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)


def bundle_bytes(bundle: Bundle) -> bytes:
    """Returns the file that holds a bundle; equal bundles make equal files."""
    contents = [
        _Content(digest, len(content), zlib.compress(content, LEVEL))
        for digest, content in sorted(bundle.contents.items())
    ]
    lines: list[_Line] = [
        _Head(bundle.origin),
        _Plan(bundle.plan),
        *contents,
        *map(_Approval, bundle.approvals),
    ]
    body = b"".join(map(_spelled, lines))
    return body + _spelled(_End(sha256(body)))


def approval_bytes(approval: Approval) -> bytes:
    """Returns the small file that holds one approval."""
    return _spelled(_Approval(approval))


def read_bundle(content: bytes) -> Bundle:
    """Returns the bundle that a file holds; refuses one with a single byte out of place."""
    lines = _lines(content)
    head, plan = _one(lines, _Head, 0), _one(lines, _Plan, 1)
    end = _one(lines, _End, len(lines) - 1)
    between = lines[2:-1]
    packed = [line for line in between if isinstance(line, _Content)]
    approvals = tuple(line.approval for line in between if isinstance(line, _Approval))
    if between != [*packed, *map(_Approval, approvals)]:
        raise Damaged("Its lines are out of order.")
    if end.sha256 != sha256(content[: -len(_spelled(end))]):
        raise Damaged("Its checksum does not fit: it was cut, or changed on its way.")
    _check_head(head.origin, plan.plan, approvals)
    contents = _contents(plan.plan, packed)
    return Bundle(head.origin, plan.plan, contents, approvals)


def read_approval(content: bytes) -> Approval:
    """Returns the approval that a small file holds."""
    return _one(_lines(content), _Approval, 0).approval


def _lines(content: bytes) -> list[_Line]:
    if len(content) > LARGEST:
        raise Damaged(f"It is larger than {LARGEST} bytes.")
    if b"\r" in content:
        raise Damaged("Its line ends were rewritten; git does that unless told `-text`.")
    if not content.endswith(b"\n"):
        raise Damaged(OTHER)
    return [_line(text) for text in content[:-1].split(b"\n")]


def _line(text: bytes) -> _Line:
    """Reads a line and spells it again: what comes out differently was not written by us."""
    try:
        line = _decoder.decode(text)
        same = _spelled(line) == text + b"\n"
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Damaged(OTHER) from None
    if not same:
        raise Damaged("A line of it is spelled in a way that hides something.")
    return line


def _one(lines: Sequence[_Line], kind: type[T], at: int) -> T:
    found = lines[at] if 0 <= at < len(lines) else None
    if not isinstance(found, kind):
        raise Damaged(OTHER)
    return found


def _check_head(origin: Origin, plan: Plan, approvals: Iterable[Approval]) -> None:
    check_foreign(plan)
    if origin.digest != plan.digest:
        raise Damaged("The plan in it is not the one that its digest names.")
    if not ID.fullmatch(origin.plan_id) or len(origin.risks) not in (0, len(plan.operations)):
        raise Damaged("What it says about the plan does not fit the plan.")
    names = [approval.id for approval in approvals]
    if len(set(names)) != len(names) or not all(map(ID.fullmatch, names)):
        raise Damaged("It holds an approval twice, or one without a proper id.")


def _contents(plan: Plan, packed: Sequence[_Content]) -> Mapping[str, bytes]:
    """Unpacks what the plan names and nothing else, and never more than was said before."""
    wanted = needed(plan) | helpful(plan)
    sizes = {line.digest: line.size for line in packed}
    if [line.digest for line in packed] != sorted(sizes):
        raise Damaged("It holds a content twice, or out of order.")
    if sizes.keys() != wanted.keys():
        raise Damaged("It lacks a content that the plan names, or brings one that it does not.")
    if sizes != wanted:
        raise Damaged("A content of it has another size than the plan says.")
    if sum(sizes.values()) > MOST:
        raise Damaged(f"Its contents are larger than {MOST} bytes.")
    return {line.digest: _unpacked(line) for line in packed}


def _unpacked(line: _Content) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(line.zlib, line.size + 1)
        whole = unpacking.eof and not unpacking.unused_data and not unpacking.unconsumed_tail
    except zlib.error:
        whole, content = False, b""
    named = DIGEST.fullmatch(line.digest) and sha256(content) == line.digest
    if not whole or not named:
        raise Damaged(f"The content {line.digest[:12]}… in it is not what its name says.")
    return content


def _spelled(line: _Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"
