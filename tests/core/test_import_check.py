"""Plans made elsewhere: only what this program itself would have frozen is looked at further."""

import msgspec
import pytest

from assent.core.digest import sha256
from assent.core.errors import AssentError, CorruptFile, Refused
from assent.core.plan.bundle import check_imported_plan, named_paths
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.core.plan.plan import Plan, ReliedOnFile, Scope

A, B = (FileState(sha256(name), 1, 0o644) for name in (b"a", b"b"))
LINK = FileState(A.digest, 1, 0o777, "link")
TEXT = b"---\nscope:\n  files: [src/*]\nrelies_on: [b, ./a]\n---\n# P\n"
RESTS = (ReliedOnFile(b"a", A.digest), ReliedOnFile(b"b", B.digest))
PLAN = Plan(TEXT, (WriteFile(b"x", None, A),), Scope(("src/*",)), RESTS)

GOOD: dict[str, tuple[Operation, ...]] = {
    "every kind": (
        WriteFile(b"x", A, B),
        DeleteFile(b"d/y", A, 1),
        MoveFile(b"e/f/z", b"w", LINK, 2),
        RunCommand((b"make",), cwd=b"d"),
        RunCommand((), b"make"),
    ),
    "again behind a command": (
        WriteFile(b"x", None, A),
        RunCommand((b"make",)),
        WriteFile(b"x", A, B),
    ),
}
BAD: dict[str, tuple[Operation, ...]] = {
    "twice": (WriteFile(b"x", None, A), WriteFile(b"x", A, B)),
    "other content behind a command": (
        WriteFile(b"x", None, A),
        RunCommand((b"make",)),
        WriteFile(b"x", B, A),
    ),
    "against other content": (WriteFile(b"x", None, A), WriteFile(b"x", B, A)),
    "a digest": (WriteFile(b"x", None, FileState("A" * 64, 1, 0o644)),),
    "a negative size": (WriteFile(b"x", None, FileState(A.digest, -1, 0o644)),),
    "a mode": (WriteFile(b"x", None, FileState(A.digest, 1, 0o10000)),),
    "a negative mode": (WriteFile(b"x", None, FileState(A.digest, 1, -1)),),
    "a link's mode": (WriteFile(b"x", None, FileState(A.digest, 1, 0o644, "link")),),
    "the root": (WriteFile(b"", None, A),),
    "more folders": (DeleteFile(b"d/y", A, 2),),
    "fewer folders": (DeleteFile(b"d/y", A, -1),),
    "more folders of a move": (MoveFile(b"y", b"z", A, 1),),
    "no words": (RunCommand(()),),
    "words twice": (RunCommand((b"a",), b"a"),),
    "no time": (RunCommand((b"a",), timeout=0),),
    "a folder outside": (RunCommand((b"a",), cwd=b".."),),
    "nothing": (),
}


@pytest.mark.parametrize("operations", GOOD.values(), ids=GOOD)
def test_g14_what_could_have_been_frozen_passes(operations: tuple[Operation, ...]) -> None:
    check_imported_plan(msgspec.structs.replace(PLAN, operations=operations))


@pytest.mark.parametrize("operations", BAD.values(), ids=BAD)
def test_g14_what_could_not_is_refused(operations: tuple[Operation, ...]) -> None:
    with pytest.raises(AssentError) as refused:
        check_imported_plan(msgspec.structs.replace(PLAN, operations=operations))
    assert refused.value.exit == 7


@pytest.mark.parametrize(
    "change",
    [
        {"workspace": "w"},
        {"export": b"x"},
        {"scope": Scope()},
        {"scope": Scope(("*",))},
        {"relied_on": RESTS[:1]},
        {"relied_on": RESTS[::-1]},
        {"relied_on": (*RESTS, ReliedOnFile(b"c", A.digest))},
        {"relied_on": (ReliedOnFile(b"a", "x"), RESTS[1])},
        {"text": b"---\nscope: broken\n---\n"},
        {"text": b"x" * ((1 << 20) + 1)},
    ],
    ids=str,
)
def test_g14_a_plan_says_what_its_text_says(change: dict[str, object]) -> None:
    check_imported_plan(PLAN)
    with pytest.raises(CorruptFile):
        check_imported_plan(msgspec.structs.replace(PLAN, **change))


@pytest.mark.parametrize("path", [b"../x", b"/x", b"a/./x", b"a//x", b"x/", b"a\0x"])
def test_g14_paths_are_plain(path: bytes) -> None:
    for op in (WriteFile(path, None, A), DeleteFile(path, A), MoveFile(b"x", path, A)):
        with pytest.raises(Refused):
            check_imported_plan(msgspec.structs.replace(PLAN, operations=(op,)))


def test_every_path_is_named_once() -> None:
    operations = (WriteFile(b"x", None, A), MoveFile(b"y", b"z", A), WriteFile(b"x", A, B))
    assert named_paths(operations) == [b"x", b"y", b"z"]
