"""Evidence: what a run did and who approved it, as an in-toto statement in a DSSE envelope."""

from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from assent.core.decoding import decode_json
from assent.core.digest import pack, sha256
from assent.core.errors import CorruptFile
from assent.core.paths import display_path
from assent.core.plan.approval import Approval
from assent.core.plan.operation import FileState, Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.run.journal import JournalEntry, OperationResult

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:assent:run:1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_BYTES = 64 << 20
DONE, ACCEPTED = "done", "accepted"  # all was applied; a person took what stood instead
PLAN = "assent://plan"  # the subject that is not a file: no path has two slashes


class DsseSignature(msgspec.Struct, frozen=True):
    """One signature of an envelope: the public key in hex, the signature in base64."""

    keyid: str
    sig: str


class DsseEnvelope(msgspec.Struct, frozen=True):
    """A DSSE envelope, as https://github.com/secure-systems-lab/dsse describes it."""

    payloadType: str
    payload: str
    signatures: tuple[DsseSignature, ...]


class Statement(msgspec.Struct, frozen=True):
    """What was read out of an envelope whose signature verified."""

    run: str
    outcome: str
    digest: str
    approval: Approval
    files: tuple[tuple[str, str], ...]
    key: str
    operations: tuple["EvidenceOperation", ...] = ()
    uncovered: tuple["UncoveredPath", ...] = ()


class EvidencePath(msgspec.Struct, frozen=True):
    """A path that an operation is about, as a statement shows it."""

    path: str


class EvidenceOperation(msgspec.Struct, frozen=True):
    """What a statement says of one operation: what it was, and what became of it."""

    id: str
    kind: str
    result: str
    files: tuple[EvidencePath, ...] = ()
    argv: tuple[str, ...] = ()
    script: str = ""


class UncoveredPath(msgspec.Struct, frozen=True):
    """A path that the run or its command changed and whose content the evidence does not cover."""

    path: str
    why: str


class _PlanDigests(msgspec.Struct, frozen=True):
    digest: str
    content_hash: str
    operations_hash: str


class _EvidencePredicate(msgspec.Struct, frozen=True):
    run: str
    outcome: str
    plan: _PlanDigests
    approval: Approval
    operations: tuple[EvidenceOperation, ...] = ()
    not_covered: tuple[UncoveredPath, ...] = ()


class _SubjectDigest(msgspec.Struct, frozen=True):
    sha256: str


class _EvidenceSubject(msgspec.Struct, frozen=True):
    name: str
    digest: _SubjectDigest


class _InTotoStatement(
    msgspec.Struct, frozen=True, rename={"kind": "_type", "about": "predicateType"}
):
    kind: str
    subject: tuple[_EvidenceSubject, ...]
    about: str
    predicate: _EvidencePredicate


def statement_bytes(subject: Sequence[Mapping[str, Any]], predicate: Mapping[str, Any]) -> bytes:
    """Returns a statement as JSON in one canonical form."""
    return msgspec.json.encode(
        {
            "_type": STATEMENT_TYPE,
            "subject": list(subject),
            "predicateType": PREDICATE_TYPE,
            "predicate": dict(predicate),
        }
    )


def pae(payload: bytes) -> bytes:
    """Returns what a DSSE signature covers: the kind of a payload and the payload, with lengths."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def envelope_bytes(payload: bytes, key: str, signature: str) -> bytes:
    """Returns the bytes of a signed statement's file; the signature is given in hex."""
    sig = b64encode(bytes.fromhex(signature)).decode()
    made = DsseEnvelope(PAYLOAD_TYPE, b64encode(payload).decode(), (DsseSignature(key, sig),))
    return msgspec.json.encode(made) + b"\n"


def open_envelope(content: bytes) -> tuple[bytes, str, str]:
    """Returns payload, key and signature (hex) of an envelope; nothing is verified yet."""
    try:
        envelope = decode_json(content, DsseEnvelope)
        payload = b64decode(envelope.payload, validate=True)
        signatures = [
            (each.keyid, b64decode(each.sig, validate=True)) for each in envelope.signatures
        ]
    except (msgspec.MsgspecError, BadBase64, ValueError, RecursionError):
        raise CorruptFile("The file is not a DSSE envelope.") from None
    if envelope.payloadType != PAYLOAD_TYPE or len(signatures) != 1:
        raise CorruptFile("The file is not an in-toto statement with one signature.")
    key, signature = signatures[0]
    return payload, key, signature.hex()


def subject_of(plan: Plan, left: Mapping[bytes, FileState | None]) -> list[dict[str, Any]]:
    """Returns every file as the run left it, by its SHA-256, and the plan by its digest."""
    files = [
        {"name": display_path(path), "digest": {"sha256": state.digest}}
        for path, state in sorted(left.items())
        if state is not None
    ]
    return [*files, {"name": PLAN, "digest": {"sha256": plan.digest}}]


def evidence_operation(id: str, op: Operation, result: OperationResult) -> dict[str, Any]:
    """Returns an operation with everything that its id depends on, as text without base64."""
    fact: dict[str, Any] = {"id": id, "kind": str(op.__struct_config__.tag), "result": result}
    if isinstance(op, RunCommand):
        fact |= {
            "argv": [display_path(word) for word in op.argv],
            "script": display_path(op.script),
        }
        fact |= {"cwd": display_path(op.cwd), "network": op.network, "profile": op.profile}
        return fact
    changes = [
        {
            "path": display_path(path),
            "path_hex": path.hex(),
            "before": _state(a),
            "after": _state(b),
        }
        for path, a, b in footprint(op)
    ]
    return {**fact, "files": changes}


def uncovered_path(path: bytes, why: str) -> dict[str, Any]:
    """Returns a path that changed but is not a subject, and why."""
    return {"path": display_path(path), "path_hex": path.hex(), "why": why}


def evidence_approval(approval: Approval) -> dict[str, Any]:
    """Returns an approval with everything that its own signature covers."""
    found: dict[str, Any] = msgspec.to_builtins(approval)
    return found


def journal_hash(entries: Iterable[JournalEntry]) -> str:
    """Returns one hash over the journal entries of a run."""
    return sha256(pack(b"assent.journal.1", *map(msgspec.json.encode, entries)))


def read_statement(payload: bytes, key: str) -> Statement:
    """Returns what a statement says; refuses one whose parts contradict each other."""
    try:
        found = decode_json(payload, _InTotoStatement)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise CorruptFile("The file is not evidence of a run.") from None
    said, yes = found.predicate, found.predicate.approval
    named = _PlanDigests(yes.digest, yes.content_hash, yes.operations_hash)
    subjects = [(each.name, each.digest.sha256) for each in found.subject]
    kinds = (found.kind, found.about)
    if (
        kinds != (STATEMENT_TYPE, PREDICATE_TYPE)
        or named != said.plan
        or (PLAN, yes.digest) not in subjects
    ):
        raise CorruptFile("The plan, the approval and the subject in the file do not match.")
    if said.outcome == DONE and any(each.result != DONE for each in said.operations):
        raise CorruptFile(
            "The file says that everything was done, but lists an operation that was not."
        )
    files = tuple(pair for pair in subjects if pair[0] != PLAN)
    return Statement(
        said.run, said.outcome, yes.digest, yes, files, key, said.operations, said.not_covered
    )


def _state(state: FileState | None) -> dict[str, Any] | None:
    if state is None:
        return None
    return {
        "kind": state.kind,
        "sha256": state.digest,
        "size": state.size,
        "mode": f"{state.mode:o}",
    }
