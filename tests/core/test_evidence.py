"""Evidence as values: the DSSE encoding by its own example, and statements that contradict."""

import json
from base64 import b64encode

import pytest

from assent.core.digest import sha256
from assent.core.errors import CorruptFile
from assent.core.plan.approval import Approval, Approver
from assent.core.plan.operation import FileState, MoveFile, RunCommand, WriteFile
from assent.core.plan.plan import Plan
from assent.core.run.evidence import (
    PAYLOAD_TYPE,
    PLAN,
    EvidenceOperation,
    EvidencePath,
    UncoveredPath,
    envelope_bytes,
    evidence_approval,
    evidence_operation,
    journal_hash,
    open_envelope,
    pae,
    read_statement,
    statement_bytes,
    subject_of,
    uncovered_path,
)
from assent.core.run.journal import RecoveringEntry

A, B = (FileState(sha256(name), 1, 0o644) for name in (b"a", b"b"))
WRITTEN = (WriteFile(b"x", None, A),)
MADE = Plan(b"# P\n", WRITTEN)
YES = Approval(
    "id", "plan", MADE.content_hash, MADE.operations_hash, MADE.digest,
    Approver("ada", "terminal"), "", "2026", "", "k" * 64, "s" * 128,
)  # fmt: skip
NAMES = {
    "digest": MADE.digest,
    "content_hash": MADE.content_hash,
    "operations_hash": MADE.operations_hash,
}
FACTS = {
    "run": "r",
    "outcome": "done",
    "plan": NAMES,
    "approval": evidence_approval(YES),
}


FAILED = [evidence_operation("i", RunCommand((b"make",)), "failed")]


def test_g16_what_is_signed_has_kind_and_lengths() -> None:
    assert pae(b"hello world") == b"DSSEv1 28 application/vnd.in-toto+json 11 hello world"


def test_g16_an_envelope_is_opened_as_it_was_made() -> None:
    content = envelope_bytes(b"{}", "ab" * 32, "cd" * 64)
    assert open_envelope(content) == (b"{}", "ab" * 32, "cd" * 64)
    assert json.loads(content)["payloadType"] == PAYLOAD_TYPE


@pytest.mark.parametrize(
    "change",
    [
        {"payloadType": "text/plain"},
        {"payload": "no base64!"},
        {"signatures": []},
        {"signatures": [{"keyid": "", "sig": ""}] * 2},
        {"signatures": [{"keyid": "", "sig": "?"}]},
        {"signatures": None},
    ],
    ids=str,
)
def test_g16_another_envelope_is_none(change: dict[str, object]) -> None:
    envelope = json.loads(envelope_bytes(b"{}", "ab" * 32, "cd" * 64)) | change
    with pytest.raises(CorruptFile):
        open_envelope(json.dumps(envelope).encode())


def test_g16_the_subject_is_what_the_run_left() -> None:
    left = {b"x": B, b"\xff": A, b"y": None}
    assert subject_of(MADE, left) == [
        {"name": "x", "digest": {"sha256": B.digest}},
        {"name": "\\xff", "digest": {"sha256": A.digest}},
        {"name": PLAN, "digest": {"sha256": MADE.digest}},
    ]


def test_g16_operations_say_all_that_happened() -> None:
    moved = evidence_operation("i", MoveFile(b"z", b"\xff", A, 0), "done")
    assert [(each["path_hex"], each["before"], each["after"]) for each in moved["files"]] == [
        ("7a", {"kind": "file", "sha256": A.digest, "size": 1, "mode": "644"}, None),
        ("ff", None, {"kind": "file", "sha256": A.digest, "size": 1, "mode": "644"}),
    ]
    ran = evidence_operation("i", RunCommand((b"make",), network=True), "failed")
    assert (ran["argv"], ran["network"], ran["result"]) == (["make"], True, "failed")


def test_g16_the_journal_has_one_hash() -> None:
    one, other = (journal_hash([RecoveringEntry(way)]) for way in ("resume", "accept"))
    assert len({one, other, journal_hash([])}) == 3


def test_g16_a_statement_is_read_as_it_was_made() -> None:
    told = evidence_operation("i", WRITTEN[0], "done")
    facts = {**FACTS, "operations": [told], "not_covered": [uncovered_path(b"\xff", "why")]}
    payload = statement_bytes(subject_of(MADE, {b"x": A}), facts)
    found = read_statement(payload, "key")
    assert found.operations == (EvidenceOperation("i", "write", "done", (EvidencePath("x"),)),)
    assert found.uncovered == (UncoveredPath("\\xff", "why"),)
    assert (found.run, found.outcome, found.digest) == ("r", "done", MADE.digest)
    assert (found.approval, found.files, found.key) == (YES, (("x", A.digest),), "key")


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"[]", b"{}", b'{"predicate": 1}',
        statement_bytes([], FACTS),
        statement_bytes(subject_of(MADE, {}), {**FACTS, "plan": {}}),
        statement_bytes(subject_of(MADE, {}), {**FACTS, "approval": {}}),
        statement_bytes(subject_of(MADE, {}), {**FACTS, "plan": {**NAMES, "digest": "x"}}),
        statement_bytes(subject_of(MADE, {}), {**FACTS, "operations": FAILED}),
        statement_bytes(subject_of(MADE, {}), FACTS).replace(b"urn:assent:run:1", b"urn:other"),
        b64encode(b"x"),
    ],
)  # fmt: skip
def test_g16_a_statement_that_contradicts_itself_is_refused(payload: bytes) -> None:
    with pytest.raises(CorruptFile):
        read_statement(payload, "key")
