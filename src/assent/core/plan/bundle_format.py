"""The bundle file format: JSON lines in one spelling only, bounded in size (docs/bundle.md)."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from assent.core.digest import sha256
from assent.core.errors import CorruptFile
from assent.core.plan.approval import Approval
from assent.core.plan.bundle import Bundle, BundleOrigin, required_contents, review_contents
from assent.core.plan.import_check import DIGEST_PATTERN, ID_PATTERN, check_imported_plan
from assent.core.plan.plan import Plan

MAX_FILE_BYTES = 128 << 20  # bytes of a file
MAX_CONTENT_BYTES = 256 << 20  # bytes of all contents in it, unpacked
_ZLIB_LEVEL = 6
OTHER_FORMAT = "It is no file of this kind, or of a later version."
T = TypeVar("T")


class _HeadLine(msgspec.Struct, frozen=True, tag="bundle.1", tag_field="line"):
    origin: BundleOrigin


class _PlanLine(msgspec.Struct, frozen=True, tag="plan", tag_field="line"):
    plan: Plan


class _ContentLine(msgspec.Struct, frozen=True, tag="content", tag_field="line"):
    digest: str
    size: int
    zlib: bytes


class _ApprovalLine(msgspec.Struct, frozen=True, tag="approval.1", tag_field="line"):
    approval: Approval


class _EndLine(msgspec.Struct, frozen=True, tag="end", tag_field="line"):
    sha256: str


_BundleLine: TypeAlias = _HeadLine | _PlanLine | _ContentLine | _ApprovalLine | _EndLine
_decoder: msgspec.json.Decoder[_BundleLine] = msgspec.json.Decoder(_BundleLine)


def bundle_bytes(bundle: Bundle) -> bytes:
    """Returns the file that holds a bundle; equal bundles make equal files."""
    contents = [
        _ContentLine(digest, len(content), zlib.compress(content, _ZLIB_LEVEL))
        for digest, content in sorted(bundle.contents.items())
    ]
    lines: list[_BundleLine] = [
        _HeadLine(bundle.origin),
        _PlanLine(bundle.plan),
        *contents,
        *map(_ApprovalLine, bundle.approvals),
    ]
    body = b"".join(map(_spelled, lines))
    return body + _spelled(_EndLine(sha256(body)))


def approval_bytes(approval: Approval) -> bytes:
    """Returns the small file that holds one approval."""
    return _spelled(_ApprovalLine(approval))


def read_bundle(content: bytes) -> Bundle:
    """Returns the bundle that a file holds; refuses one with a single byte out of place."""
    lines = _decoded_lines(content)
    head, plan = _line_at(lines, _HeadLine, 0), _line_at(lines, _PlanLine, 1)
    end = _line_at(lines, _EndLine, len(lines) - 1)
    between = lines[2:-1]
    packed = [line for line in between if isinstance(line, _ContentLine)]
    approvals = tuple(line.approval for line in between if isinstance(line, _ApprovalLine))
    if between != [*packed, *map(_ApprovalLine, approvals)]:
        raise CorruptFile("Its lines are out of order.")
    if end.sha256 != sha256(content[: -len(_spelled(end))]):
        raise CorruptFile("Its checksum does not fit: it was cut, or changed on its way.")
    _check_head(head.origin, plan.plan, approvals)
    contents = _contents(plan.plan, packed)
    return Bundle(head.origin, plan.plan, contents, approvals)


def read_approval(content: bytes) -> Approval:
    """Returns the approval that a small file holds."""
    return _line_at(_decoded_lines(content), _ApprovalLine, 0).approval


def _decoded_lines(content: bytes) -> list[_BundleLine]:
    if len(content) > MAX_FILE_BYTES:
        raise CorruptFile(f"It is larger than {MAX_FILE_BYTES} bytes.")
    if b"\r" in content:
        raise CorruptFile("Its line ends were rewritten; git does that unless told `-text`.")
    if not content.endswith(b"\n"):
        raise CorruptFile(OTHER_FORMAT)
    return [_decoded_line(text) for text in content[:-1].split(b"\n")]


def _decoded_line(text: bytes) -> _BundleLine:
    """Reads a line and spells it again: what comes out differently was not written by us."""
    try:
        line = _decoder.decode(text)
        same = _spelled(line) == text + b"\n"
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise CorruptFile(OTHER_FORMAT) from None
    if not same:
        raise CorruptFile("A line of it is spelled in a way that hides something.")
    return line


def _line_at(lines: Sequence[_BundleLine], kind: type[T], at: int) -> T:
    found = lines[at] if 0 <= at < len(lines) else None
    if not isinstance(found, kind):
        raise CorruptFile(OTHER_FORMAT)
    return found


def _check_head(origin: BundleOrigin, plan: Plan, approvals: Iterable[Approval]) -> None:
    check_imported_plan(plan)
    if origin.digest != plan.digest:
        raise CorruptFile("The plan in it is not the one that its digest names.")
    if not ID_PATTERN.fullmatch(origin.plan_id) or len(origin.risks) not in (
        0,
        len(plan.operations),
    ):
        raise CorruptFile("What it says about the plan does not fit the plan.")
    names = [approval.id for approval in approvals]
    if len(set(names)) != len(names) or not all(map(ID_PATTERN.fullmatch, names)):
        raise CorruptFile("It holds an approval twice, or one without a proper id.")


def _contents(plan: Plan, packed: Sequence[_ContentLine]) -> Mapping[str, bytes]:
    """Unpacks what the plan names and nothing else, and never more than was said before."""
    wanted = required_contents(plan) | review_contents(plan)
    sizes = {line.digest: line.size for line in packed}
    if [line.digest for line in packed] != sorted(sizes):
        raise CorruptFile("It holds a content twice, or out of order.")
    if sizes.keys() != wanted.keys():
        raise CorruptFile("It lacks a content that the plan names, or brings one that it does not.")
    if sizes != wanted:
        raise CorruptFile("A content of it has another size than the plan says.")
    if sum(sizes.values()) > MAX_CONTENT_BYTES:
        raise CorruptFile(f"Its contents are larger than {MAX_CONTENT_BYTES} bytes.")
    return {line.digest: _unpacked(line) for line in packed}


def _unpacked(line: _ContentLine) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(line.zlib, line.size + 1)
        whole = unpacking.eof and not unpacking.unused_data and not unpacking.unconsumed_tail
    except zlib.error:
        whole, content = False, b""
    named = DIGEST_PATTERN.fullmatch(line.digest) and sha256(content) == line.digest
    if not whole or not named:
        raise CorruptFile(f"The content {line.digest[:12]}… in it is not what its name says.")
    return content


def _spelled(line: _BundleLine) -> bytes:
    return msgspec.json.encode(line) + b"\n"
