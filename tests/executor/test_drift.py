"""F45 and F66: before the first write the disk must look as the plan saw it."""

from errno import EACCES

import pytest
from tests.executor.file_writers import WatchedHands, failing

from assent.core.digest import sha256
from assent.core.errors import Drift, StoreError
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.core.plan.plan import Plan, ReliedOnFile
from assent.core.run.slot_move import PathState
from assent.executor.drift import (
    FILES_CHANGED,
    Expected,
    PathDrift,
    change_text,
    check_blobs,
    check_disk,
    drifted_paths,
    first_segment_files,
    state_text,
)
from assent.ports import MAX_WHOLE_READ
from assent.store.memory import MemoryBlobStore
from assent.testing.memory_workspace import MemoryFileWriter, MemoryNode

OLD, NEW, OTHER = MemoryNode(b"old"), MemoryNode(b"new!"), MemoryNode(b"other", 0o600)
LINK = MemoryNode(b"to/it", 0o777, "link")
TOOL = MemoryNode(b"old", 0o755)

FOUND_OLD = f"a file, mode 644, 3 bytes, content {sha256(b'old')[:12]}…"
FOUND_OTHER = f"a file, mode 600, 5 bytes, content {sha256(b'other')[:12]}…"
FOUND_TOOL = f"a file, mode 755, 3 bytes, content {sha256(b'old')[:12]}…"
FOUND_LINK = f"a symlink 5 bytes, content {sha256(b'to/it')[:12]}…"

CREATE = WriteFile(b"d/p", None, NEW.state)
REPLACE = WriteFile(b"d/p", OLD.state, NEW.state)
DELETE = DeleteFile(b"d/p", OLD.state)
MOVE = MoveFile(b"d/p", b"e/q", OLD.state)


def found(files: dict[bytes, MemoryNode], *operations: FileOperation) -> list[PathDrift]:
    return list(drifted_paths(Plan(b"", operations), operations, MemoryFileWriter(files)))


@pytest.mark.parametrize("op", [REPLACE, DELETE, MOVE], ids=["replace", "delete", "move"])
@pytest.mark.parametrize(
    ("files", "seen"),
    [
        ({}, "nothing"),
        ({b"d/p": OTHER}, FOUND_OTHER),
        ({b"d/p": TOOL}, FOUND_TOOL),
        ({b"d/p": LINK}, FOUND_LINK),
        ({b"d/p/x": OLD}, "a folder"),
    ],
)
def test_f66_a_file_that_changed_is_named_with_what_was_expected_and_found(
    op: FileOperation, files: dict[bytes, MemoryNode], seen: str
) -> None:
    assert found({b"d/p": OLD, b"e/x": OLD}, op) == []
    assert found({b"e/x": OLD, **files}, op) == [PathDrift(b"d/p", FOUND_OLD, seen)]


@pytest.mark.parametrize(("op", "path"), [(CREATE, b"d/p"), (MOVE, b"e/q")], ids=["create", "move"])
@pytest.mark.parametrize(
    ("there", "seen"), [(OLD, FOUND_OLD), (LINK, FOUND_LINK)], ids=["file", "link"]
)
def test_f66_a_name_that_is_taken_by_now_is_named(
    op: FileOperation, path: bytes, there: MemoryNode, seen: str
) -> None:
    files = {path: there} if op is CREATE else {b"d/p": OLD, path: there}
    assert found(files, op) == [PathDrift(path, "nothing", seen)]


def test_f66_a_parent_that_moved_or_became_a_symlink_is_named() -> None:
    assert found({b"d": LINK}, CREATE) == [PathDrift(b"d", "a folder", FOUND_LINK)]
    assert found({b"d": OLD}, CREATE) == [PathDrift(b"d", "a folder", FOUND_OLD)]
    assert found({b"d": LINK}, REPLACE) == [
        PathDrift(b"d/p", FOUND_OLD, "nothing"),
        PathDrift(b"d", "a folder", FOUND_LINK),
    ]
    assert found({b"moved/p": OLD}, DELETE) == [PathDrift(b"d/p", FOUND_OLD, "nothing")]


def test_a_folder_may_stand_where_the_plan_empties_it() -> None:
    frees = DeleteFile(b"d/p/x", OLD.state)
    assert found({b"d/p/x": OLD}, CREATE, frees) == []
    assert found({b"d/p/y": OLD}, CREATE) == [PathDrift(b"d/p", "nothing", "a folder")]
    stays = WriteFile(b"d/p/x", OLD.state, NEW.state)
    assert found({b"d/p/x": OLD}, CREATE, stays) == [PathDrift(b"d/p", "nothing", "a folder")]
    assert found({b"d/p": OTHER}, CREATE, frees) == [
        PathDrift(b"d/p", "nothing", FOUND_OTHER),
        PathDrift(b"d/p/x", FOUND_OLD, "nothing"),
    ]


def test_a_file_may_stand_where_the_plan_needs_a_folder_and_removes_it() -> None:
    assert found({b"d": OLD}, DeleteFile(b"d", OLD.state), CREATE) == []
    assert found({b"d": OLD}, MoveFile(b"d", b"d/p", OLD.state)) == []
    stays = WriteFile(b"d", OLD.state, NEW.state)
    assert found({b"d": OLD}, stays, CREATE) == [PathDrift(b"d", "a folder", FOUND_OLD)]


@pytest.mark.parametrize(
    ("there", "differs"),
    [(OLD, False), (OTHER, True), (TOOL, True), (None, False)],
    ids=["itself", "another file", "another mode", "nothing"],
)
def test_where_case_is_ignored_a_file_can_change_the_case_of_its_name(
    there: MemoryNode | None, differs: bool
) -> None:
    files = {b"readme": OLD} if there is None else {b"readme": OLD, b"README": there}
    move = MoveFile(b"readme", b"README", OLD.state)
    assert bool(found(files, move)) is differs
    assert found(files | {b"other": OLD}, MoveFile(b"readme", b"other", OLD.state)) != []


@pytest.mark.parametrize(
    ("there", "seen"),
    [
        (OTHER, FOUND_OTHER),
        (None, "nothing"),
        (TOOL, ""),
        (MemoryNode(b"old", 0o777, "link"), ""),
    ],
)
def test_g8_a_file_that_the_plan_relies_on_must_have_its_content(
    there: MemoryNode | None, seen: str
) -> None:
    plan = Plan(b"", (), relied_on=(ReliedOnFile(b"r", OLD.state.digest),))
    disk = MemoryFileWriter({b"r": there} if there else {})
    expected = f"content {OLD.state.digest[:12]}…"
    wanted = [PathDrift(b"r", expected, seen)] if seen else []
    assert list(drifted_paths(plan, (), disk)) == wanted


RELIED_ON = ReliedOnFile(b"r", OLD.state.digest)
LONGER = MemoryNode(b"x" * 2000).state
CHANGES: list[tuple[Expected, PathState | str, str]] = [
    (OLD.state, None, "was deleted"),
    (OLD.state, "folder", "is a folder now"),
    (OLD.state, LINK.state, "is a symlink now"),
    (LINK.state, OLD.state, "is a file now"),
    (OLD.state, TOOL.state, "changed: mode 755 instead of 644"),
    (OLD.state, OTHER.state, "changed: 5 bytes instead of 3, mode 600 instead of 644"),
    (LONGER, OLD.state, "changed: 3 bytes instead of 2,000"),
    (OLD.state, MemoryNode(b"odd").state, "changed: other content of the same size"),
    (LINK.state, MemoryNode(b"away", 0o777, "link").state, "changed: another target"),
    (OLD.state, "an unreadable path (EACCES)", "is an unreadable path (EACCES) now"),
    (None, OLD.state, "was created: a file"),
    (None, LINK.state, "was created: a symlink"),
    (None, "folder", "is a folder now"),
    ("folder", OLD.state, "is a file now, and no folder"),
    (RELIED_ON, OTHER.state, "changed: other content"),
    (RELIED_ON, None, "was deleted"),
]


@pytest.mark.parametrize(("before", "seen", "told"), CHANGES, ids=[told for *_, told in CHANGES])
def test_a_change_is_told_in_words_without_digests(
    before: Expected, seen: PathState | str, told: str
) -> None:
    assert change_text(before, seen) == told


def test_g8_a_folder_is_no_file_to_rely_on() -> None:
    plan = Plan(b"", (), relied_on=(ReliedOnFile(b"r", OLD.state.digest),))
    assert [d.found for d in drifted_paths(plan, (), MemoryFileWriter({b"r/x": OLD}))] == [
        "a folder"
    ]


def test_what_cannot_be_read_is_a_difference_and_the_others_are_still_looked_at() -> None:
    hands = WatchedHands({b"d/p": OLD, b"gone": OTHER})
    hands.before.append(failing(EACCES, lambda call: b"d/p" in call.names))
    operations: tuple[FileOperation, ...] = (REPLACE, DeleteFile(b"gone", OLD.state))
    assert list(drifted_paths(Plan(b"", operations), operations, hands)) == [
        PathDrift(b"d/p", FOUND_OLD, f"an unreadable path (E{EACCES})"),
        PathDrift(b"gone", FOUND_OLD, FOUND_OTHER),
    ]


def test_f45_the_refusal_names_every_file_in_one_message() -> None:
    operations: tuple[FileOperation, ...] = (REPLACE, WriteFile(b"\xff", None, NEW.state))
    with pytest.raises(Drift) as caught:
        check_disk(Plan(b"", operations), operations, MemoryFileWriter({b"\xff": OLD}))
    assert caught.value.message == (f"{FILES_CHANGED} d/p was deleted. \\xff was created: a file.")
    assert caught.value.rows["changed"] == [
        {"path": "d/p", "expected": FOUND_OLD, "found": "nothing"},
        {"path": "\\xff", "expected": "nothing", "found": FOUND_OLD},
    ]
    assert caught.value.next == "assent rebase"


@pytest.mark.parametrize(("count", "more"), [(19, ""), (20, ""), (21, " And 1 more.")])
def test_f45_a_long_list_of_differences_is_cut(count: int, more: str) -> None:
    operations = tuple(DeleteFile(b"%02d" % n, OLD.state) for n in range(count))
    with pytest.raises(Drift) as caught:
        check_disk(Plan(b"", operations), operations, MemoryFileWriter({}))
    named = min(count, 20)
    assert caught.value.message.count("was deleted") == named == len(caught.value.rows["changed"])
    last = f"{named - 1} was deleted.{more}"
    assert caught.value.message.endswith(last)


def test_a_disk_as_the_plan_saw_it_is_no_reason_to_refuse() -> None:
    operations = (REPLACE, DeleteFile(b"x", LINK.state))
    check_disk(Plan(b"", operations), operations, MemoryFileWriter({b"d/p": OLD, b"x": LINK}))


def test_words_are_told_as_they_are() -> None:
    assert state_text("words") == "words"


def test_the_first_files_of_a_plan_are_those_before_the_command_that_follows_them() -> None:
    make = RunCommand((b"make",))
    operations: tuple[Operation, ...] = (REPLACE, make, CREATE)
    assert first_segment_files(Plan(b"", operations)) == (REPLACE,)
    assert first_segment_files(Plan(b"", (make, make, REPLACE, MOVE, make))) == (REPLACE, MOVE)
    assert first_segment_files(Plan(b"", (REPLACE, MOVE))) == (REPLACE, MOVE)
    assert first_segment_files(Plan(b"", (make,))) == ()


@pytest.mark.parametrize(
    ("op", "kept", "missing"),
    [
        (CREATE, (NEW,), ""),
        (CREATE, (), "d/p"),
        (REPLACE, (OLD, NEW), ""),
        (REPLACE, (NEW,), "d/p"),
        (REPLACE, (OLD,), "d/p"),
        (DELETE, (OLD,), ""),
        (DELETE, (), "d/p"),
        (MOVE, (), ""),
    ],
)
def test_law_7_nothing_starts_unless_old_and_new_content_are_kept(
    op: FileOperation, kept: tuple[MemoryNode, ...], missing: str
) -> None:
    blobs = MemoryBlobStore()
    for node in kept:
        blobs.keep([node.content])
    if not missing:
        check_blobs([op], blobs)
        return
    with pytest.raises(StoreError) as caught:
        check_blobs([op], blobs)
    assert caught.value.message == "The stored content of d/p is missing. Nothing was changed."


LARGE = MemoryNode(b"x" * (MAX_WHOLE_READ + 1))


@pytest.mark.parametrize("old", [OLD, LARGE], ids=["small", "large"])
def test_law_7_nothing_starts_if_kept_old_content_is_damaged(old: MemoryNode) -> None:
    operations = (WriteFile(b"p", old.state, NEW.state), DeleteFile(b"p", old.state))
    blobs = MemoryBlobStore()
    for node in (old, NEW):
        blobs.keep([node.content])
    check_blobs(operations, blobs)
    blobs.contents[old.state.digest] = b"rotten"
    for op in operations:
        with pytest.raises(StoreError, match="damaged"):
            check_blobs([op], blobs)
