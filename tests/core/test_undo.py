"""Law 7: undo is a plan, made by inversion; what changed since is left alone and named."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.states import LINK, NESTED, TREES, A, B, C, Tree, Z, applied, below, is_possible
from tests.support.properties import examples

from assent.core.paths import ancestors
from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile, WriteFile, footprint
from assent.core.run.slot_move import PathState
from assent.core.undo import Inversion, UndoContext, invert, is_behind_link, undo_text


def look(tree: Tree, path: bytes) -> PathState:
    return tree.get(path) or ("folder" if below(tree, path) else None)


def inverted(
    operations: list[FileOperation],
    disk: Tree,
    made: tuple[bytes, ...] = (),
    empty: Mapping[bytes, PathState] | None = None,
) -> Inversion:
    """Inverts operations against a tree; `empty` adds folders that no file shows."""
    paths = [path for op in operations for path, *_ in footprint(op)]
    above = [folder for path in paths for folder in ancestors(path)]
    seen = {path: look(disk, path) for path in (*paths, *above)} | dict(empty or {})
    return invert(operations, made, UndoContext(seen, lambda folder: below(disk, folder)))


RUN: list[FileOperation] = [
    WriteFile(b"new/f", None, A),
    WriteFile(b"old", A, B),
    DeleteFile(b"gone", C),
    MoveFile(b"from", b"to", A),
]
START: Tree = {b"old": A, b"gone": C, b"from": A}
END = applied(START, RUN)


def test_law_7_a_run_is_taken_back_in_reverse_order() -> None:
    assert inverted(RUN, END, (b"new",)) == Inversion(
        (
            (3, MoveFile(b"to", b"from", A)),
            (2, WriteFile(b"gone", None, C)),
            (1, WriteFile(b"old", B, A)),
            (0, DeleteFile(b"new/f", A, 1)),
        ),
        (),
    )


def test_what_rules_deny_is_left_alone_and_told_apart_from_conflicts() -> None:
    disk = {**END, b"old": Z, b"gone": Z}
    seen = {path: look(disk, path) for op in RUN for path, *_ in footprint(op)}
    ground = UndoContext(
        seen, lambda folder: below(disk, folder), denied={1: "old: no", 3: "to: no"}
    )
    found = invert(RUN, (b"new",), ground)
    assert [index for index, _ in found.operations] == [0]
    assert found.denied == ((1, "old: no"), (3, "to: no"))
    assert found.conflicts == ((2, "gone changed after the run"),)
    assert [index for index, _ in found.skipped] == [1, 2, 3]
    text = undo_text("work", found, ["1", "2", "3", "4"]).decode()
    assert "## Skipped\n\n- old: no: operation 2\n- gone changed" in text


@pytest.mark.parametrize(
    ("change", "index", "reason"),
    [
        ({b"new/f": Z}, 0, "new/f changed after the run"),
        ({b"new/f": None}, 0, "new/f changed after the run"),
        ({b"old": Z}, 1, "old changed after the run"),
        ({b"old": None}, 1, "old changed after the run"),
        ({b"gone": Z}, 2, "gone changed after the run"),
        ({b"from": A}, 3, "from changed after the run"),
        ({b"to": Z}, 3, "to changed after the run"),
        ({b"to": None}, 3, "to changed after the run"),
        ({b"old": None, b"old/f": Z}, 1, "old changed after the run"),
        ({b"gone/f": Z}, 2, "gone/f is in the way"),
        ({b"from/f": Z}, 3, "from/f is in the way"),
    ],
)
def test_f142_what_changed_since_is_a_conflict_and_the_rest_is_taken_back(
    change: Mapping[bytes, PathState], index: int, reason: str
) -> None:
    disk = {path: state for path, state in {**END, **change}.items() if state is not None}
    found = inverted(RUN, disk, (b"new",))  # type: ignore[arg-type]
    assert found.conflicts == ((index, reason),)
    assert [n for n, _ in found.operations] == [n for n in (3, 2, 1, 0) if n != index]


def test_f142_the_last_copy_of_what_cannot_go_back_stays() -> None:
    """`f` moved to `g`, and something else took its name: who changed that keeps both."""
    run: list[FileOperation] = [WriteFile(b"f", A, B), WriteFile(b"g", None, A)]
    found = inverted(run, {b"f": Z, b"g": A})
    reasons = ((0, "f changed after the run"), (1, "g has the only copy of the old content of f"))
    assert found == Inversion((), reasons)
    assert inverted(run, {b"f": B, b"g": A}).conflicts == ()


def test_f142_halves_of_a_swap_stay_together() -> None:
    run: list[FileOperation] = [WriteFile(b"f", A, B), WriteFile(b"g", B, A)]
    found = inverted(run, {b"g": A})
    assert found.operations == ()
    assert found.conflicts[1] == (1, "g has the only copy of the old content of f")


def test_f142_what_is_kept_nowhere_is_named_and_the_rest_is_taken_back() -> None:
    run: list[FileOperation] = [WriteFile(b"f", A, B), WriteFile(b"o", None, C)]
    seen: dict[bytes, PathState] = {b"f": B, b"o": C}
    ground = UndoContext(seen, lambda folder: (), lambda digest: digest != A.digest)
    found = invert(run, (), ground)
    reason = "the old content of f was not kept"
    assert found == Inversion(((1, DeleteFile(b"o", C)),), ((0, reason),))


def test_f142_an_empty_folder_of_somebody_else_is_a_conflict_too() -> None:
    found = inverted(RUN, END, (b"new",), {b"gone": "folder"})
    assert found.conflicts == ((2, "gone is in the way"),)


def test_f142_a_file_where_the_folder_was_is_a_conflict_too() -> None:
    operations: list[FileOperation] = [DeleteFile(b"d/e/f", A, 2), WriteFile(b"g", A, B)]
    found = inverted(operations, {b"d": Z, b"g": B})
    assert found.conflicts == ((0, "d is in the way"),)
    assert found.operations == ((1, WriteFile(b"g", B, A)),)


def test_f142_a_symlink_of_somebody_else_is_in_the_way_and_one_of_the_run_goes() -> None:
    run: list[FileOperation] = [DeleteFile(b"d/e/f", A), WriteFile(b"d", None, LINK)]
    found = inverted(run, {b"d": LINK})
    assert found == Inversion(((1, DeleteFile(b"d", LINK)), (0, WriteFile(b"d/e/f", None, A))), ())
    reasons = ((0, "d is in the way"), (1, "d changed after the run"))
    assert inverted(run, {b"d": Z}) == Inversion((), reasons)


@pytest.mark.parametrize(
    ("path", "behind"), [(b"d", False), (b"d/f", True), (b"d/e/f", True), (b"o/f", False)]
)
def test_nothing_is_behind_a_symlink(path: bytes, behind: bool) -> None:
    seen: dict[bytes, PathState] = {b"d": LINK, b"d/e": None, b"o": A}
    assert is_behind_link(path, seen) == behind


FILE_TO_FOLDER: list[FileOperation] = [DeleteFile(b"d", A), WriteFile(b"d/f", None, B)]
FOLDER_TO_FILE: list[FileOperation] = [WriteFile(b"d", None, B), DeleteFile(b"d/e/f", A)]
UP: list[FileOperation] = [MoveFile(b"d/f", b"d", A)]


@pytest.mark.parametrize(
    ("operations", "start", "made"),
    [
        (FILE_TO_FOLDER, {b"d": A}, (b"d",)),
        (FOLDER_TO_FILE, {b"d/e/f": A}, ()),
        (UP, {b"d/f": A}, ()),
    ],
)
def test_law_7_a_name_becomes_a_file_or_a_folder_again(
    operations: list[FileOperation], start: Tree, made: tuple[bytes, ...]
) -> None:
    end = applied(start, operations)
    found = inverted(operations, end, made)
    assert found.conflicts == ()
    assert applied(end, [op for _, op in found.operations]) == start


def test_f142_a_file_cannot_come_back_where_a_folder_of_the_run_is_used_by_now() -> None:
    disk = {b"d/f": B, b"d/mine": Z}
    found = inverted(FILE_TO_FOLDER, disk, (b"d",))
    assert found.conflicts == ((0, "d/mine is in the way"),)
    assert found.operations == ((1, DeleteFile(b"d/f", B, 1)),)


def test_f142_a_conflict_can_bring_others_along() -> None:
    changed_inside = inverted(FILE_TO_FOLDER, {b"d/f": Z}, (b"d",))
    assert changed_inside.conflicts == (
        (0, "d/f is in the way"),
        (1, "d/f changed after the run"),
    )
    changed_file = inverted(FOLDER_TO_FILE, {b"d": Z})
    assert changed_file.conflicts == (
        (0, "d changed after the run"),
        (1, "d is in the way"),
    )


trees = st.sampled_from(TREES)


@st.composite
def stories(draw: st.DrawFn) -> tuple[Tree, list[FileOperation], Tree]:
    """A tree, a run over it, and the tree as somebody left it later."""
    start, end = draw(trees), draw(trees)
    operations: list[FileOperation] = [
        DeleteFile(name, start[name]) for name in NESTED if name in start and name not in end
    ]
    operations += [
        WriteFile(name, start.get(name), end[name])
        for name in NESTED
        if name in end and end[name] != start.get(name)
    ]
    later = dict(end)
    for path in draw(st.lists(st.sampled_from((*NESTED, b"b/z/q", b"a/w")), max_size=3)):
        blocked = any(above in later for above in ancestors(path))
        later = {p: s for p, s in later.items() if p != path and p not in below(later, path)}
        if not blocked and draw(st.booleans()):
            later[path] = Z
    return start, draw(st.permutations(operations)), later


@settings(max_examples=examples(50), deadline=None)
@given(stories())
def test_law_7_undo_restores_what_it_can_and_touches_nothing_else(
    story: tuple[Tree, list[FileOperation], Tree],
) -> None:
    start, operations, disk = story
    found = inverted(operations, disk)
    back = applied(disk, [op for _, op in found.operations])
    taken = {path for _, op in found.operations for path, *_ in footprint(op)}
    assert {path: back.get(path) for path in taken} == {path: start.get(path) for path in taken}
    assert {p: s for p, s in back.items() if p not in taken} == {
        p: s for p, s in disk.items() if p not in taken
    }
    assert sorted([n for n, _ in found.operations] + [n for n, _ in found.conflicts]) == list(
        range(len(operations))
    )
    assert is_possible(back)


IDS = ("id0", "id1", "id2", "id3")


def test_law_7_the_text_of_an_undo_plan_names_operations_and_what_is_left() -> None:
    found = inverted(RUN, {**END, b"old": Z})
    assert undo_text("add_login", found, IDS).decode() == (
        "# Undo add_login\n\n## Goal\n\nUndo this run.\n\n## Changes\n\n- to and from: restore to "
        "before operation id3\n- gone: restore to before operation id2\n- new/f: restore to "
        "before operation id0\n\n## Skipped\n\n- old changed after the run: operation id1\n"
    )


def test_what_several_operations_came_to_is_named_by_the_run() -> None:
    found = inverted(RUN, {**END, b"old": Z})
    text = undo_text("add_login", found, ("", "", "id2", "id3")).decode()
    assert "- gone: restore to before operation id2\n" in text
    assert "- new/f: restore to before this run\n" in text
    assert text.endswith("- old changed after the run\n")
    assert "- new/f: restore to before these runs\n" in (
        undo_text("add_login", found, ("", "", "id2", "id3"), runs=2).decode()
    )


def test_law_7_the_same_run_and_disk_give_the_same_text() -> None:
    texts = {undo_text("x", inverted(RUN, dict(END)), IDS) for _ in range(3)}
    assert len(texts) == 1
    assert b"Skipped" not in texts.pop()


def test_a_name_that_is_not_utf8_is_spelled_out() -> None:
    operations: list[FileOperation] = [WriteFile(b"\xff", None, A)]
    text = undo_text("x", inverted(operations, {b"\xff": Z}), IDS)
    assert text.endswith(b"- \\xff changed after the run: operation id0\n")
