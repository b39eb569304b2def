"""Bundles as values: which contents travel, what a signature covers, what fits together."""

import msgspec
import pytest

from assent.core.digest import sha256
from assent.core.errors import CorruptFile
from assent.core.plan.approval import Approval, Approver
from assent.core.plan.bundle import (
    MAX_SHOWN_BYTES,
    Bundle,
    BundleOrigin,
    approval_bytes,
    bundle_bytes,
    origin_bytes,
    read_approval,
    read_bundle,
    required_contents,
    review_contents,
)
from assent.core.plan.operation import (
    DeleteFile,
    FileKind,
    FileState,
    MoveFile,
    RunCommand,
    WriteFile,
)
from assent.core.plan.plan import Plan

ID = "0" * 26
ORIGIN = BundleOrigin(ID, "work", "tests", "d" * 64, "2026", "ada", "k" * 64, ((), ("deletes",)))
YES = Approval(ID, ID, "c" * 64, "o" * 64, "d" * 64, Approver("ada", "terminal"), "", "2026")


def state(content: bytes, kind: FileKind = "file") -> FileState:
    mode = 0o777 if kind == "link" else 0o644
    return FileState(sha256(content), len(content), mode, kind)


A, B, C, D, E = (state(name) for name in (b"a", b"b", b"c", b"d", b"e"))
LINK = state(b"target", "link")
LARGE = FileState("f" * 64, MAX_SHOWN_BYTES + 1, 0o644)


def test_g14_new_contents_travel_and_the_old_ones_that_are_shown() -> None:
    plan = Plan(
        b"",
        (
            WriteFile(b"a", A, B),
            WriteFile(b"b", None, C),
            DeleteFile(b"d", D, 0),
            MoveFile(b"e", b"f", E, 0),
            MoveFile(b"g", b"h", LINK, 0),
            RunCommand((b"make",)),
            WriteFile(b"a", B, LARGE),
            DeleteFile(b"i", LARGE, 0),
        ),
    )
    assert required_contents(plan) == {B.digest: 1, C.digest: 1, LARGE.digest: LARGE.size}
    assert review_contents(plan) == {A.digest: 1, D.digest: 1, LINK.digest: 6}


def test_g14_an_old_content_that_is_too_large_to_show_stays_behind() -> None:
    assert review_contents(Plan(b"", (DeleteFile(b"i", LARGE, 0),))) == {}


@pytest.mark.parametrize(
    "field", [name for name in BundleOrigin.__struct_fields__ if name != "signature"]
)
def test_g14_every_field_of_a_request_is_signed(field: str) -> None:
    other: object = ((), ("deletes", "")) if field == "risks" else "other"
    changed = msgspec.structs.replace(ORIGIN, **{field: other})
    assert origin_bytes(changed) != origin_bytes(ORIGIN)
    assert origin_bytes(msgspec.structs.replace(ORIGIN, signature="x")) == origin_bytes(ORIGIN)


def test_an_approval_is_attached_once() -> None:
    bundle = Bundle(ORIGIN, Plan(b"", ()), {})
    once = bundle.with_approval(YES)
    assert (once.approvals, once.with_approval(YES)) == ((YES,), once)


def test_an_approval_has_a_file_of_its_own() -> None:
    assert read_approval(approval_bytes(YES)) == YES
    for content in (b"", b"{}\n", approval_bytes(YES)[:-1], b" " + approval_bytes(YES)):
        with pytest.raises(CorruptFile):
            read_approval(content)


def bundle() -> Bundle:
    plan = Plan(b"# P\n", (WriteFile(b"a", None, A), WriteFile(b"b", None, B)))
    asked = msgspec.structs.replace(ORIGIN, digest=plan.digest)
    return Bundle(asked, plan, {B.digest: b"b", A.digest: b"a"}, (YES,))


def test_g14_a_file_holds_the_bundle_and_is_spelled_in_one_way() -> None:
    content = bundle_bytes(bundle())
    assert read_bundle(content) == bundle()
    assert bundle_bytes(read_bundle(content)) == content


@pytest.mark.parametrize(
    "change",
    [
        {"contents": {A.digest: b"a"}},
        {"contents": {A.digest: b"a", B.digest: b"b", C.digest: b"c"}},
        {"contents": {A.digest: b"a", B.digest: b"c"}},
        {"contents": {A.digest: b"a", B.digest: b"bb"}},
        {"approvals": (YES, YES)},
        {"approvals": (msgspec.structs.replace(YES, id="../x"),)},
        {"origin": msgspec.structs.replace(ORIGIN, digest="e" * 64)},
        {"origin": msgspec.structs.replace(bundle().origin, risks=((),))},
        {"origin": msgspec.structs.replace(bundle().origin, plan_id=ID + "0")},
    ],
    ids=str,
)
def test_g14_what_does_not_fit_together_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(CorruptFile):
        read_bundle(bundle_bytes(msgspec.structs.replace(bundle(), **change)))
