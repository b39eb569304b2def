"""Bundles: a plan with its contents and approvals, as a checked file (docs/bundle.md)."""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from assent.core.decoding import json_decoder
from assent.core.digest import pack, sha256
from assent.core.errors import AssentError, CorruptFile, ImpossibleOperations, Refused
from assent.core.paths import display_path, normalize
from assent.core.plan.approval import Approval
from assent.core.plan.draft import check_dependencies, segments, stage
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)
from assent.core.plan.plan import Plan, declared_reliance, declared_scope

MAX_SHOWN_BYTES = 8 << 20  # bytes of an old content that a diff would still show


class BundleOrigin(msgspec.Struct, frozen=True):
    """Who asks for the plan, signed with the key of the machine where it was made.

    `risks` are those that were found there, by operation: other machines do not have the files.
    """

    plan_id: str
    name: str
    session: str
    digest: str
    requested_at: str
    user: str
    key: str
    risks: tuple[tuple[str, ...], ...] = ()
    signature: str = ""


class Bundle(msgspec.Struct, frozen=True):
    """A portable plan with everything that is needed to review and apply it elsewhere."""

    origin: BundleOrigin
    plan: Plan
    contents: Mapping[str, bytes]
    approvals: tuple[Approval, ...] = ()

    def with_approval(self, approval: Approval) -> "Bundle":
        """Returns the same bundle with one more approval, which replaces others with its key."""
        others = [each for each in self.approvals if each.key != approval.key]
        return msgspec.structs.replace(self, approvals=(*others, approval))


def origin_bytes(origin: BundleOrigin) -> bytes:
    """Returns what the requester's signature covers: every field but the signature itself."""
    fields = (
        origin.plan_id,
        origin.name,
        origin.session,
        origin.digest,
        origin.requested_at,
        origin.user,
        origin.key,
    )
    risks = [pack(*[code.encode() for code in codes]) for codes in origin.risks]
    return pack(b"assent.bundle.1", *[field.encode() for field in fields], pack(*risks))


def required_contents(plan: Plan) -> dict[str, int]:
    """Returns the new contents that are needed to apply the plan, with their sizes."""
    written = [op.after for op in plan.operations if isinstance(op, WriteFile)]
    return {state.digest: state.size for state in written}


def review_contents(plan: Plan) -> dict[str, int]:
    """Returns the old contents that a review shows, with their sizes."""
    found = [state for op in plan.operations for state in _shown(op)]
    wanted = required_contents(plan)
    return {state.digest: state.size for state in found if state.digest not in wanted}


def _shown(op: Operation) -> list[FileState]:
    """A diff needs what a write or a removal replaces; of a rename, where a symlink leads."""
    match op:
        case RunCommand():
            return []
        case MoveFile(before=state):
            return [state] if state.kind == "link" and state.size <= MAX_SHOWN_BYTES else []
        case _:
            states = [before for _, before, _ in footprint(op)]
            return [state for state in states if state and state.size <= MAX_SHOWN_BYTES]


# Checks an imported plan by itself, before anything on disk is read.


DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")
ID_PATTERN = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")
MAX_TEXT = 1 << 20
_MODES = 0o7777
_LINK_MODE = 0o777


def check_imported_plan(plan: Plan) -> None:
    """Refuses a plan that this program would not have frozen."""
    if plan.workspace or plan.export or plan.is_text_only:
        raise CorruptFile("The file contains no portable plan with operations.")
    if len(plan.text) > MAX_TEXT:
        raise CorruptFile("The plan text is too long.")
    if not _follows_from_text(plan):
        raise CorruptFile("The plan's scope or the files it relies on do not match its text.")
    for op in plan.operations:
        _check_operation(op)
    if not _fits_together(plan.operations):
        raise CorruptFile("The plan's operations contradict each other.")


def named_paths(operations: Iterable[Operation]) -> list[bytes]:
    """Returns every path that operations name, each once, and the folders of commands."""
    touched = [path for op in operations for path, *_ in footprint(op)]
    return list(dict.fromkeys(touched))


def _fits_together(operations: Sequence[Operation]) -> bool:
    """Tells whether staging would have left them so: each path once between two commands."""
    try:
        check_dependencies(operations)
        return all(stage((), segment) == segment for segment in segments(operations))
    except ImpossibleOperations:
        return False


def _follows_from_text(plan: Plan) -> bool:
    try:
        declared = sorted(set(map(normalize, declared_reliance(plan.text))))
        scope = declared_scope(plan.text)
    except AssentError:
        return False
    relied_on = [file.path for file in plan.relied_on]
    sound = all(DIGEST_PATTERN.fullmatch(file.digest) for file in plan.relied_on)
    return scope == plan.scope and declared == relied_on and sound


def _check_operation(op: Operation) -> None:
    for path, *states in footprint(op):
        _check_path(path)
        if not path or not all(state is None or _is_possible_state(state) for state in states):
            raise CorruptFile(
                f"The file describes {display_path(path)} in a state that no file can have."
            )
    match op:
        case RunCommand(cwd=cwd, timeout=timeout):
            _check_path(cwd)
            if timeout < 1 or bool(op.argv) == bool(op.script):
                raise CorruptFile("The file contains a command that cannot run.")
        case DeleteFile(path, _, prune) | MoveFile(path, _, _, prune):
            if not 0 <= prune <= path.count(b"/"):
                raise CorruptFile(
                    f"The file removes more folders above {display_path(path)} than there are."
                )
        case _:
            pass


def _check_path(path: bytes) -> None:
    if normalize(path) != path:
        raise Refused(f"{display_path(path)} is not a plain path inside the workspace.")


def _is_possible_state(state: FileState) -> bool:
    mode = state.mode == _LINK_MODE if state.kind == "link" else 0 <= state.mode <= _MODES
    return bool(DIGEST_PATTERN.fullmatch(state.digest)) and state.size >= 0 and mode


# The bundle file format: JSON lines in one spelling only, bounded in size (docs/bundle.md).


MAX_FILE_BYTES = 128 << 20  # bytes of a file
MAX_CONTENT_BYTES = 256 << 20  # bytes of all contents in it, unpacked
_ZLIB_LEVEL = 6
OTHER_FORMAT = "The file has an unknown format or was written by a newer version."
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
_decoder: msgspec.json.Decoder[_BundleLine] = json_decoder(_BundleLine)


def bundle_bytes(bundle: Bundle) -> bytes:
    """Returns a bundle as a file's bytes; equal bundles give equal bytes."""
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
    """Returns one approval as the bytes of a small file."""
    return _spelled(_ApprovalLine(approval))


def read_bundle(content: bytes) -> Bundle:
    """Returns the bundle in a file; refuses one with a single wrong byte."""
    lines = _decoded_lines(content)
    head, plan = _line_at(lines, _HeadLine, 0), _line_at(lines, _PlanLine, 1)
    end = _line_at(lines, _EndLine, len(lines) - 1)
    between = lines[2:-1]
    packed = [line for line in between if isinstance(line, _ContentLine)]
    approvals = tuple(line.approval for line in between if isinstance(line, _ApprovalLine))
    if between != [*packed, *map(_ApprovalLine, approvals)]:
        raise CorruptFile("The lines of the file are out of order.")
    if end.sha256 != sha256(content[: -len(_spelled(end))]):
        raise CorruptFile("The checksum does not match: the file is incomplete or was changed.")
    _check_head(head.origin, plan.plan, approvals)
    contents = _contents(plan.plan, packed)
    return Bundle(head.origin, plan.plan, contents, approvals)


def read_approval(content: bytes) -> Approval:
    """Returns the approval in a small file."""
    return _line_at(_decoded_lines(content), _ApprovalLine, 0).approval


def _decoded_lines(content: bytes) -> list[_BundleLine]:
    if len(content) > MAX_FILE_BYTES:
        raise CorruptFile(f"The file is larger than {MAX_FILE_BYTES} bytes.")
    if b"\r" in content:
        raise CorruptFile(
            "The line endings of the file were converted. Git does that unless "
            ".gitattributes sets `-text` for it."
        )
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
        raise CorruptFile("A line of the file is not in its canonical form and may hide something.")
    return line


def _line_at(lines: Sequence[_BundleLine], kind: type[T], at: int) -> T:
    found = lines[at] if 0 <= at < len(lines) else None
    if not isinstance(found, kind):
        raise CorruptFile(OTHER_FORMAT)
    return found


def _check_head(origin: BundleOrigin, plan: Plan, approvals: Iterable[Approval]) -> None:
    check_imported_plan(plan)
    if origin.digest != plan.digest:
        raise CorruptFile("The plan in the file does not match its digest.")
    if not ID_PATTERN.fullmatch(origin.plan_id) or len(origin.risks) not in (
        0,
        len(plan.operations),
    ):
        raise CorruptFile("The description of the plan in the file does not match the plan.")
    names = [approval.id for approval in approvals]
    if len(set(names)) != len(names) or not all(map(ID_PATTERN.fullmatch, names)):
        raise CorruptFile("The file contains an approval twice, or one with an invalid ID.")


def _contents(plan: Plan, packed: Sequence[_ContentLine]) -> Mapping[str, bytes]:
    """Unpacks what the plan names and nothing else, and never more than was said before."""
    wanted = required_contents(plan) | review_contents(plan)
    sizes = {line.digest: line.size for line in packed}
    if [line.digest for line in packed] != sorted(sizes):
        raise CorruptFile("The file contains content twice or out of order.")
    if sizes.keys() != wanted.keys():
        raise CorruptFile(
            "The file lacks content that the plan needs, or contains content that it does not need."
        )
    if sizes != wanted:
        raise CorruptFile("Content in the file does not have the size that the plan states.")
    if sum(sizes.values()) > MAX_CONTENT_BYTES:
        raise CorruptFile(f"The contents of the file are larger than {MAX_CONTENT_BYTES} bytes.")
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
        raise CorruptFile(f"The content {line.digest[:12]}… in the file does not match its digest.")
    return content


def _spelled(line: _BundleLine) -> bytes:
    return msgspec.json.encode(line) + b"\n"
