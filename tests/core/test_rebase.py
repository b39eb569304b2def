"""What becomes of operations on files that changed: a table, and what must always hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.digest import sha256
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    WriteFile,
    footprint,
)
from assent.core.plan.rebase import (
    MAX_MERGE_BYTES,
    RebaseConflict,
    RebasedOperation,
    rebase_operation,
)

BASE = b"".join(b"%d\n" % n for n in range(20))
OURS = BASE.replace(b"5\n", b"ours\n", 1)
THEIRS = BASE.replace(b"18\n", b"theirs\n")
BOTH = OURS.replace(b"18\n", b"theirs\n")
TEXTS = (BASE, OURS, THEIRS, BOTH, b"", b"other\n", b"\0")


def state(content: bytes, mode: int = 0o644) -> FileState:
    return FileState(sha256(content), len(content), mode)


def link(target: bytes) -> FileState:
    return FileState(sha256(target), len(target), 0o777, "link")


CONTENTS = {sha256(content): content for content in TEXTS}
BASED, OURED, THEIRED = state(BASE), state(OURS), state(THEIRS)
EXECUTABLE, HIDDEN = state(BASE, 0o755), state(BASE, 0o600)
WRITE = WriteFile(b"f", BASED, OURED)
Files = dict[bytes, FileState | str]


def result(op: FileOperation, files: Files) -> RebasedOperation | RebaseConflict:
    seen = {path: "folder" if found == "folder" else found for path, found in files.items()}
    return rebase_operation(
        op,
        lambda path: seen.get(path),  # type: ignore[arg-type, return-value]
        lambda _, found: CONTENTS[found.digest],
    )


@pytest.mark.parametrize(
    ("op", "files", "becomes"),
    [
        (WRITE, {b"f": BASED}, WRITE),
        (WRITE, {b"f": OURED}, None),
        (WRITE, {b"f": state(BOTH)}, None),
        (WRITE, {b"f": THEIRED}, WriteFile(b"f", THEIRED, state(BOTH))),
        (WRITE, {b"f": EXECUTABLE}, WriteFile(b"f", EXECUTABLE, state(OURS, 0o755))),
        (WRITE, {b"f": state(OURS, 0o755)}, None),
        (
            WriteFile(b"f", BASED, state(BASE, 0o600)),
            {b"f": THEIRED},
            WriteFile(b"f", THEIRED, state(THEIRS, 0o600)),
        ),
        (WriteFile(b"f", None, OURED), {b"f": OURED}, None),
        (
            WriteFile(b"f", None, OURED),
            {b"f": state(OURS, 0o755)},
            WriteFile(b"f", state(OURS, 0o755), OURED),
        ),
        (WriteFile(b"f", link(b"a"), link(b"b")), {b"f": link(b"b")}, None),
        (DeleteFile(b"f", BASED, 2), {}, None),
        (DeleteFile(b"f", BASED, 2), {b"f": HIDDEN}, DeleteFile(b"f", HIDDEN, 2)),
        (MoveFile(b"f", b"g", BASED, 1), {b"f": THEIRED}, MoveFile(b"f", b"g", THEIRED, 1)),
        (MoveFile(b"f", b"g", BASED), {b"g": BASED}, None),
        (
            MoveFile(b"f", b"F", BASED),
            {b"f": THEIRED, b"F": THEIRED},
            MoveFile(b"f", b"F", THEIRED),
        ),
    ],
)  # fmt: skip
def test_g8_what_still_fits(op: FileOperation, files: Files, becomes: FileOperation | None) -> None:
    found = result(op, files)
    assert isinstance(found, RebasedOperation)
    assert found.op == becomes


@pytest.mark.parametrize(
    ("op", "files", "path"),
    [
        (WRITE, {}, b"f"),
        (WRITE, {b"f": "folder"}, b"f"),
        (WRITE, {b"f": state(b"other\n")}, b"f"),
        (WRITE, {b"f": state(b"\0")}, b"f"),
        (WRITE, {b"f": link(b"x")}, b"f"),
        (WRITE, {b"f": FileState("0" * 64, MAX_MERGE_BYTES + 1, 0o644)}, b"f"),
        (WriteFile(b"f", BASED, state(BASE, 0o755)), {b"f": state(BASE, 0o600)}, b"f"),
        (WriteFile(b"f", None, OURED), {b"f": THEIRED}, b"f"),
        (WriteFile(b"f", link(b"a"), link(b"b")), {b"f": link(b"c")}, b"f"),
        (DeleteFile(b"f", BASED), {b"f": THEIRED}, b"f"),
        (DeleteFile(b"f", BASED), {b"f": "folder"}, b"f"),
        (MoveFile(b"f", b"g", BASED), {}, b"f"),
        (MoveFile(b"f", b"g", BASED), {b"f": "folder"}, b"f"),
        (MoveFile(b"f", b"g", BASED), {b"f": BASED, b"g": THEIRED}, b"g"),
        (MoveFile(b"f", b"g", BASED), {b"f": link(b"x")}, b"f"),
    ],
)
def test_g8_what_does_not(op: FileOperation, files: Files, path: bytes) -> None:
    found = result(op, files)
    assert isinstance(found, RebaseConflict)
    assert found.path == path


states = st.builds(state, st.sampled_from(TEXTS), st.sampled_from((0o644, 0o755, 0o600)))


@given(st.none() | states, states, st.none() | states)
def test_g8_what_is_carried_over_rests_on_the_files_as_they_are(
    before: FileState | None, after: FileState, now: FileState | None
) -> None:
    op = WriteFile(b"f", before, after)
    found = result(op, {} if now is None else {b"f": now})
    if now == before:
        assert found == RebasedOperation(op)
    if isinstance(found, RebasedOperation) and found.op is not None:
        assert footprint(found.op)[0][1] == now
        made = found.content if found.content is not None else CONTENTS[after.digest]
        if isinstance(found.op, WriteFile) and found.op.after.digest not in CONTENTS:
            assert found.op.after.digest == sha256(made)
