"""Motions: which renames carry out a segment, in which order, and where their slots lie."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.states import LINK, NESTED, TOOL, TREES, A, B, C, D, Tree, applied, below
from tests.support.properties import examples

from assent.core.paths import ancestors
from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile, WriteFile
from assent.core.run.slot_move import (
    ClearFolder,
    MoveFromSlot,
    MoveStatus,
    MoveToSlot,
    PathState,
    SlotContent,
    SlotLayout,
    SlotMove,
    SwapWithSlot,
    backward_status,
    forward_status,
    needed_folders,
    prunable_folders,
    slot_contents,
    slot_moves,
)

PLAIN = SlotLayout("r")
STEPWISE = SlotLayout("r", exchanges=False)
COPIED = SlotLayout("r", beside=((b"m/to", b"m"),), copied=(0,))
S = b".opencode/assent/stage/r/"


@pytest.mark.parametrize(
    ("layout", "path", "wanted"),
    [
        (PLAIN, b"a", S + b"7.new"),
        (SlotLayout("r", beside=((b"b", b"x"),)), b"a", S + b"7.new"),
        (SlotLayout("r", beside=((b"a", b""),)), b"a", b".assent-r-7.new"),
        (SlotLayout("r", beside=((b"m/a/b", b"m"),)), b"m/a/b", b"m/.assent-r-7.new"),
    ],
)
def test_a_slot_lies_on_the_file_system_of_its_path(
    layout: SlotLayout, path: bytes, wanted: bytes
) -> None:
    assert layout.slot(7, "new", path) == wanted
    assert layout.folder == S[:-1]


@pytest.mark.parametrize(
    ("layout", "op", "wanted"),
    [
        (PLAIN, WriteFile(b"p", None, B), [MoveFromSlot(0, b"p", S + b"0.new", B)]),
        (PLAIN, WriteFile(b"p", A, B), [SwapWithSlot(0, b"p", S + b"0.new", A, B)]),
        (
            STEPWISE,
            WriteFile(b"p", A, B),
            [MoveToSlot(0, b"p", S + b"0.old", A), MoveFromSlot(0, b"p", S + b"0.new", B)],
        ),
        (  # beside the person's files an exchange would show the slot for a moment
            SlotLayout("r", beside=((b"m/p", b"m"),)),
            WriteFile(b"m/p", A, B),
            [
                MoveToSlot(0, b"m/p", b"m/.assent-r-0.old", A),
                MoveFromSlot(0, b"m/p", b"m/.assent-r-0.new", B),
            ],
        ),
        (PLAIN, DeleteFile(b"p", A, 1), [MoveToSlot(0, b"p", S + b"0.old", A)]),
        (
            PLAIN,
            MoveFile(b"p", b"q", A),
            [
                MoveToSlot(0, b"p", S + b"0.old", A, b"q"),
                MoveFromSlot(0, b"q", S + b"0.old", A, b"p"),
            ],
        ),
        (
            COPIED,
            MoveFile(b"p", b"m/to", A),
            [
                MoveToSlot(0, b"p", S + b"0.old", A),
                MoveFromSlot(0, b"m/to", b"m/.assent-r-0.new", A),
            ],
        ),
        (
            PLAIN,
            MoveFile(b"d/f", b"d", A),
            [
                MoveToSlot(0, b"d/f", S + b"0.old", A, b"d"),
                ClearFolder(0, b"d", S + b"0.folder"),
                MoveFromSlot(0, b"d", S + b"0.old", A, b"d/f"),
            ],
        ),
    ],
)
def test_an_operation_is_carried_out_by_these_motions(
    layout: SlotLayout, op: FileOperation, wanted: list[SlotMove]
) -> None:
    assert slot_moves([op], layout) == wanted


def test_all_names_are_freed_before_any_is_filled() -> None:
    operations: list[FileOperation] = [
        WriteFile(b"d", None, A),
        WriteFile(b"w", A, B),
        DeleteFile(b"d/f", C),
        MoveFile(b"x", b"y/z", D),
        DeleteFile(b"y", A),
    ]
    found = [(type(motion), motion.index, motion.path) for motion in slot_moves(operations, PLAIN)]
    assert found == [
        (MoveToSlot, 2, b"d/f"),
        (MoveToSlot, 3, b"x"),
        (MoveToSlot, 4, b"y"),
        (ClearFolder, 0, b"d"),
        (MoveFromSlot, 0, b"d"),
        (SwapWithSlot, 1, b"w"),
        (MoveFromSlot, 3, b"y/z"),
    ]


@pytest.mark.parametrize(
    ("layout", "op", "wanted"),
    [
        (PLAIN, WriteFile(b"p", None, B), [SlotContent(0, S + b"0.new", B, None)]),
        (PLAIN, WriteFile(b"p", A, TOOL), [SlotContent(0, S + b"0.new", TOOL, b"p")]),
        (PLAIN, WriteFile(b"p", None, LINK), [SlotContent(0, S + b"0.new", LINK, None)]),
        (PLAIN, DeleteFile(b"p", A), []),
        (PLAIN, MoveFile(b"p", b"q", A), []),
        (
            COPIED,
            MoveFile(b"p", b"m/to", A),
            [SlotContent(0, b"m/.assent-r-0.new", A, b"p", b"p")],
        ),
    ],
)
def test_new_content_waits_in_a_slot(
    layout: SlotLayout, op: FileOperation, wanted: list[SlotContent]
) -> None:
    assert slot_contents([op], slot_moves([op], layout)) == wanted


@pytest.mark.parametrize(
    ("operations", "wanted"),
    [
        ([WriteFile(b"f", None, A), DeleteFile(b"x/y", A)], []),
        ([WriteFile(b"a/b/f", None, A), WriteFile(b"a/g", B, A)], [b"a", b"a/b"]),
        ([MoveFile(b"x/y", b"a/b/f", A)], [b"a", b"a/b"]),
        ([WriteFile(b"a-b/f", None, A), WriteFile(b"a/b/f", None, A)], [b"a", b"a-b", b"a/b"]),
    ],
)
def test_needed_folders_come_outermost_first(
    operations: list[FileOperation], wanted: list[bytes]
) -> None:
    assert needed_folders(operations) == wanted


@pytest.mark.parametrize(
    ("operations", "wanted"),
    [
        ([WriteFile(b"a/b/f", A, B), DeleteFile(b"a/b/f", A)], []),
        ([DeleteFile(b"a/b/c/f", A, 2)], [b"a/b/c", b"a/b"]),
        ([DeleteFile(b"a/f", A, 9)], [b"a"]),
        ([DeleteFile(b"a/b/f", A, 1), MoveFile(b"a/g", b"h", A, 1)], [b"a/b", b"a"]),
    ],
)
def test_prunable_folders_come_innermost_first(
    operations: list[FileOperation], wanted: list[bytes]
) -> None:
    assert prunable_folders(operations) == wanted


trees = st.sampled_from(TREES)


@st.composite
def segments(draw: st.DrawFn) -> tuple[Tree, list[FileOperation], Tree]:
    """Two possible trees, and operations that lead from one to the other; some are moves."""
    start, end = draw(trees), draw(trees)
    gone = [name for name in NESTED if name in start and name not in end]
    come = [name for name in NESTED if name in end and name not in start]
    operations: list[FileOperation] = []
    for _ in range(min(len(gone), len(come), draw(st.integers(0, 2)))):
        source, to = gone.pop(), come.pop()
        end = {**end, to: start[source]}
        operations.append(MoveFile(source, to, start[source]))
    operations += [DeleteFile(name, start[name]) for name in gone]
    operations += [
        WriteFile(name, start.get(name), end[name])
        for name in end
        if (name in come or name in start) and start.get(name) != end[name]
    ]
    return start, draw(st.permutations(operations)), end


class Names:
    """A disk of names alone: a file needs a folder, and nothing is ever replaced."""

    def __init__(self, tree: Tree) -> None:
        self.seen: dict[bytes, PathState] = dict(tree)
        self.seen |= {above: "folder" for path in tree for above in ancestors(path)}

    def look(self, motion: SlotMove) -> dict[bytes, PathState]:
        other = getattr(motion, "to", None) or getattr(motion, "origin", None) or b""
        return {name: self.seen.get(name) for name in (motion.path, motion.slot, other)}

    def do(self, motion: SlotMove, *, back: bool = False) -> None:
        source, target = motion.path, motion.slot
        if isinstance(motion, SwapWithSlot):
            self.seen[source], self.seen[target] = self.seen[target], self.seen[source]
            return
        if isinstance(motion, MoveFromSlot) is not back:
            source, target = target, source
        assert target not in self.seen, f"{target!r} is not free"
        self.seen |= {above: "folder" for above in ancestors(target) if above not in self.seen}
        assert all(self.seen[above] == "folder" for above in ancestors(target))
        self.seen[target] = self.seen.pop(source)

    def remove_empty(self, folders: list[bytes]) -> None:
        for folder in reversed(folders):
            if self.seen.get(folder) == "folder" and not below(self.seen, folder):
                del self.seen[folder]

    @property
    def folders(self) -> list[bytes]:
        return [path for path, state in self.seen.items() if state == "folder"]

    @property
    def files(self) -> Tree:
        return {
            path: state
            for path, state in self.seen.items()
            if state is not None and state != "folder" and not path.startswith(b".opencode")
        }


@settings(max_examples=examples(40), deadline=None)
@given(segments(), st.booleans(), st.data())
def test_motions_lead_from_start_to_finish_and_back(
    segment: tuple[Tree, list[FileOperation], Tree], exchange: bool, choice: st.DataObject
) -> None:
    start, operations, end = segment
    layout = SlotLayout("r", exchanges=exchange)
    renames = slot_moves(operations, layout)
    names = Names(start)
    for fill in slot_contents(operations, slot_moves(operations, layout)):
        names.seen[fill.slot] = fill.after
    cut = choice.draw(st.integers(0, len(renames)))
    for motion in renames[:cut]:
        assert forward_status(motion, names.look(motion)) is MoveStatus.TODO
        names.do(motion)
    statuses = [forward_status(motion, names.look(motion)) for motion in renames[:cut]]
    assert statuses == [MoveStatus.DONE] * cut
    if cut == len(renames):
        assert names.files == end == applied(start, operations)
    made = [folder for folder in needed_folders(operations) if folder not in Names(start).folders]
    for motion in reversed(renames):
        if isinstance(motion, MoveToSlot | ClearFolder):
            names.remove_empty(made)
        wanted = MoveStatus.TODO if motion in renames[:cut] else MoveStatus.DONE
        assert backward_status(motion, names.look(motion)) is wanted
        if wanted is MoveStatus.TODO:
            names.do(motion, back=True)
    assert names.files == start
