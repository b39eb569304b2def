"""The way back: everything that is recorded comes back, and nobody else's change is lost."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.core.states import A, B

from assent.core.paths import ancestors
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    RunCommand,
    WriteFile,
    footprint,
)
from assent.core.run.journal import PathConflict
from assent.core.run.rollback import (
    BEHIND_SYMLINK,
    CHANGED_AFTER_RUN,
    CHANGED_DURING_RUN,
    UNREADABLE,
    RunFileChange,
    command_rollback,
    file_rollback,
)
from assent.core.run.slot_move import PathState
from assent.core.run.state import Rollback
from assent.core.undo import NOT_A_FILE, only_copy_text

C = FileState("c" * 64, 3, 0o644)
FOREIGN = FileState("f" * 64, 4, 0o600)
PATHS = (b"p", b"q", b"r/s")
Disk = dict[bytes, FileState]


def back_of(traces: Sequence[RunFileChange], disk: Disk, made: Sequence[bytes] = ()) -> Rollback:
    touched = {path for trace in traces for path, *_ in footprint(trace.operation)}
    touched |= {above for path in touched for above in ancestors(path)}
    seen: dict[bytes, PathState] = {path: disk.get(path) for path in touched}
    return file_rollback(traces, made, seen, lambda digest: True)


def apply(disk: Disk, operations: Sequence[object]) -> Disk:
    """Applies operations, each of which must find what it expects."""
    after = dict(disk)
    for op in operations:
        assert isinstance(op, FileOperation)
        for path, before, _ in footprint(op):
            assert disk.get(path) == before
        for path, _, state in footprint(op):
            after.pop(path, None)
            if state is not None:
                after[path] = state
    return after


def written(path: bytes, before: FileState | None, after: FileState | None) -> FileOperation | None:
    if after == before:
        return None
    if after is None:
        assert before is not None
        return DeleteFile(path, before)
    return WriteFile(path, before, after)


STATES = st.sampled_from([None, A, B, C])
DEEDS = st.lists(st.tuples(st.sampled_from(PATHS), STATES, st.booleans()), max_size=12)
STARTS = st.fixed_dictionaries(dict.fromkeys(PATHS, STATES))


def happened(
    start: dict[bytes, FileState | None], deeds: Sequence[tuple[bytes, FileState | None, bool]]
) -> tuple[Disk, list[RunFileChange], set[bytes]]:
    """Lets a run and somebody else write in turns; returns the disk, the traces, foreign paths."""
    disk = {path: state for path, state in start.items() if state}
    traces: list[RunFileChange] = []
    foreign = set()
    for number, (path, state, own) in enumerate(deeds):
        target = state if own else FOREIGN
        op = written(path, disk.get(path), target)
        if op is None:
            continue
        if own:
            traces.append(RunFileChange(number, op))
        else:
            foreign.add(path)
        disk = apply(disk, [op])
    return disk, traces, foreign


@given(STARTS, DEEDS)
def test_without_anybody_else_everything_comes_back(
    start: dict[bytes, FileState | None], deeds: list[tuple[bytes, FileState | None, bool]]
) -> None:
    disk, traces, _ = happened(start, [(path, state, True) for path, state, _ in deeds])
    back = back_of(traces, disk)
    assert back.left == ()
    assert apply(disk, back.operations) == {p: state for p, state in start.items() if state}
    assert back_of(traces, apply(disk, back.operations)).operations == ()


@given(STARTS, DEEDS)
def test_what_somebody_else_wrote_last_or_in_between_is_never_lost(
    start: dict[bytes, FileState | None], deeds: list[tuple[bytes, FileState | None, bool]]
) -> None:
    disk, traces, foreign = happened(start, deeds)
    back = back_of(traces, disk)
    after = apply(disk, back.operations)
    touched = {path for trace in traces for path, *_ in footprint(trace.operation)}
    held = {
        conflict.path
        for conflict in back.left
        if "has the only copy of the old content of" in conflict.reason
    }
    lost = {start[path] for path in foreign | held if after.get(path) != start[path]}
    for path in PATHS:
        if path in held:
            assert after[path] == disk[path]
            assert {after[path].digest}.issubset(state.digest for state in lost if state)
        elif path not in foreign:
            assert after.get(path) == start[path]
        elif disk.get(path) == FOREIGN:
            assert after[path] == FOREIGN
    stuck = {conflict.path for conflict in back.left}
    assert {path for path in touched - stuck if after.get(path) != start[path]} <= foreign
    again = back_of(traces, after)
    assert again.operations == (), "a second time there is nothing left that could go back"


def test_what_changed_since_is_left_and_named_with_every_operation_about_it() -> None:
    traces = [RunFileChange(0, WriteFile(b"p", None, A)), RunFileChange(3, WriteFile(b"p", A, B))]
    back = back_of(traces, {b"p": FOREIGN})
    assert back == Rollback(
        (),
        (),
        (),
        (
            PathConflict(0, b"p", b"", CHANGED_AFTER_RUN),
            PathConflict(3, b"p", b"", CHANGED_AFTER_RUN),
        ),
    )


def test_behind_somebody_else_s_change_only_what_came_after_it_goes_back() -> None:
    traces = [
        RunFileChange(0, WriteFile(b"p", A, B)),
        RunFileChange(1, WriteFile(b"p", FOREIGN, C)),
    ]
    back = back_of(traces, {b"p": C})
    assert back == Rollback(
        (WriteFile(b"p", C, FOREIGN),),
        ((1,),),
        (),
        (PathConflict(0, b"p", b"", CHANGED_DURING_RUN),),
    )


def test_where_a_content_stood_twice_the_later_time_counts() -> None:
    traces = [
        RunFileChange(0, WriteFile(b"p", A, B)),
        RunFileChange(1, WriteFile(b"p", FOREIGN, B)),
    ]
    back = back_of(traces, {b"p": B})
    assert back == Rollback(
        (WriteFile(b"p", B, FOREIGN),),
        ((1,),),
        (),
        (PathConflict(0, b"p", b"", CHANGED_DURING_RUN),),
    )


def test_a_file_that_somebody_took_away_comes_back_because_it_is_in_nobody_s_way() -> None:
    back = back_of([RunFileChange(0, WriteFile(b"p", A, B))], {})
    assert back == Rollback((WriteFile(b"p", None, A),), ((0,),))


def test_a_content_that_went_to_another_name_is_moved_back() -> None:
    traces = [
        RunFileChange(0, MoveFile(b"p", b"d/q", A)),
        RunFileChange(1, DeleteFile(b"x", B)),
        RunFileChange(1, WriteFile(b"y", None, B)),
    ]
    back = back_of(traces, {b"d/q": A, b"y": B}, (b"d",))
    assert set(back.operations) == {MoveFile(b"d/q", b"p", A, 1), MoveFile(b"y", b"x", B)}
    assert sorted(back.about) == [(0,), (1,)]


def test_what_compensated_commands_did_is_left_to_their_undo() -> None:
    traces = [
        RunFileChange(0, WriteFile(b"p", A, B), True),
        RunFileChange(0, WriteFile(b"q", A, B), True),
        RunFileChange(1, WriteFile(b"q", B, C)),
    ]
    assert back_of(traces, {b"p": FOREIGN, b"q": C}) == Rollback((WriteFile(b"q", C, B),), ((1,),))
    assert back_of(traces, {b"p": B, b"q": A}) == Rollback()


def test_undo_commands_come_newest_first() -> None:
    one, two = (
        RunCommand((b"up",), undo=(b"down",)),
        RunCommand((b"in",), b"", b"d", undo=(b"out",)),
    )
    assert command_rollback([(1, one), (4, two)]) == Rollback(
        (RunCommand((b"out",), b"", b"d"), RunCommand((b"down",))), ((4,), (1,))
    )


def test_the_last_copy_of_what_cannot_go_back_stays() -> None:
    """A command moved `p` to `q`, and somebody else has put something in the old place."""
    traces = [RunFileChange(0, DeleteFile(b"p", A)), RunFileChange(0, WriteFile(b"q", None, A))]
    found = back_of(traces, {b"p": FOREIGN, b"q": A})
    assert found.operations == ()
    reasons = [(conflict.path, conflict.reason) for conflict in found.left]
    assert reasons == [
        (b"p", CHANGED_AFTER_RUN),
        (b"q", only_copy_text(b"q", b"p")),
    ]


def test_a_folder_that_became_a_symlink_comes_back() -> None:
    link = FileState("1" * 64, 5, 0o777, "link")
    traces = [
        RunFileChange(0, DeleteFile(b"r/s", A)),
        RunFileChange(0, WriteFile(b"q/s", None, A)),
        RunFileChange(0, WriteFile(b"r", None, link)),
    ]
    found = back_of(traces, {b"r": link, b"q/s": A}, (b"q",))
    assert (found.left, set(found.operations)) == (
        (), {MoveFile(b"q/s", b"r/s", A, 1), DeleteFile(b"r", link)},
    )  # fmt: skip
    other = FileState("2" * 64, 5, 0o777, "link")
    left = back_of(traces, {b"r": other, b"q/s": A}, (b"q",))
    assert left.operations == ()
    assert {c.path: c.reason for c in left.left} == {
        b"r": CHANGED_AFTER_RUN, b"r/s": "r is in the way",
    }  # fmt: skip


def test_what_somebody_put_behind_a_symlink_of_theirs_is_not_back() -> None:
    """The folder was moved away, and a symlink leads there: the file is not gone."""
    link = FileState("1" * 64, 5, 0o777, "link")
    new = RunFileChange(0, WriteFile(b"r/s", None, A))
    assert back_of([new], {b"r": link}) == Rollback(
        left=(PathConflict(0, b"r/s", b"", BEHIND_SYMLINK),)
    )
    replaced = [RunFileChange(0, DeleteFile(b"r", link)), new]
    assert back_of(replaced, {b"r": link}) == Rollback(), "the symlink was there before"


def test_while_something_odd_stands_there_it_is_left_and_then_comes_back() -> None:
    gone = [RunFileChange(0, DeleteFile(b"p", A))]
    assert back_of(gone, {b"p": NOT_A_FILE}) == Rollback(
        left=(PathConflict(0, b"p", b"", UNREADABLE),)
    )
    assert back_of(gone, {}).operations == (WriteFile(b"p", None, A),)
