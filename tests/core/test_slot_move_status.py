"""What the disk says about each motion: to do, done, or stopped by somebody else's change."""

import itertools
from collections.abc import Mapping

import pytest
from tests.core.states import TOOL, A, B, Z

from assent.core.run.slot_move import (
    ClearFolder,
    MoveFromSlot,
    MoveStatus,
    MoveToSlot,
    PathState,
    SlotMove,
    SwapWithSlot,
    backward_status,
    forward_status,
    involved_paths,
)

SIGNS: dict[str, PathState] = {"-": None, "/": "folder", "A": A, "B": B, "Z": Z, "x": TOOL}
WORDS = {"t": MoveStatus.TODO, "d": MoveStatus.DONE, "c": MoveStatus.CONFLICT}

TAKE = MoveToSlot(0, b"path", b"slot", A)
MOVED_TAKE = MoveToSlot(0, b"path", b"slot", A, b"other")
CLEAR = ClearFolder(0, b"path", b"slot")
PUT = MoveFromSlot(0, b"path", b"slot", A)
MOVED_PUT = MoveFromSlot(0, b"path", b"slot", A, b"other")
SWAP = SwapWithSlot(0, b"path", b"slot", A, B)

# Rows: what stands under the name. Columns: what lies in the slot. `x` is A with another mode.
FORWARD: list[tuple[SlotMove, str, str]] = [
    (TAKE, "-/AZ", """
          - / A Z
        - c c d c
        / c c d c
        A t c d c
        Z c c d c"""),
    (MOVED_TAKE, "-/Z", """
          - / A Z
        - c c d c
        / c c d c
        A t c d c
        Z c c d c"""),
    (MOVED_TAKE, "A", """
          - / A Z
        - d c d c
        / d c d c
        A t c d c
        Z d c d c"""),
    (CLEAR, "-", """
          - / Z
        - d d d
        / t d d
        Z c d d"""),
    (PUT, "-", """
          - / A Z
        - d t t t
        / d c c c
        A d c c c
        Z d c c c"""),
    (MOVED_PUT, "-/AZ", """
          - / A Z
        - d t t t
        / d c c c
        A d c c c
        Z d c c c"""),
    (SWAP, "-", """
          - / A B Z
        - c c d c c
        / c c d c c
        A c c d t c
        B c c d c c
        Z c c d c c"""),
]  # fmt: skip
BACKWARD: list[tuple[SlotMove, str, str]] = [
    *[(motion, others, """
          - / A Z
        - d t t t
        / d c c c
        A d c c c
        Z d c c c""") for motion, others in ((TAKE, "-"), (MOVED_TAKE, "-/AZ"))],
    (CLEAR, "-", """
          - / A Z
        - d t t t
        / d d d d
        A d c c c
        Z d c c c"""),
    (PUT, "-", """
          - / A Z x
        - d c d c d
        / c c d c d
        A t c d c d
        Z c c d c d"""),
    (MOVED_PUT, "-/Z", """
          - / A Z
        - d d d d
        / c d d d
        A t d d d
        Z c d d d"""),
    (MOVED_PUT, "A", """
          - / A Z
        - d d d d
        / d d d d
        A d d d d
        Z d d d d"""),
    (SWAP, "-", """
          - / A B Z
        - d t t d t
        / d c c d c
        A d c c d c
        B t t t d t
        Z d c c d c"""),
]  # fmt: skip

Case = tuple[SlotMove, dict[bytes, PathState], MoveStatus]


def cases(grids: list[tuple[SlotMove, str, str]]) -> list[Case]:
    """Reads the grids, each for every sign that may stand under the other name."""
    found: list[Case] = []
    for motion, others, grid in grids:
        columns, *rows = [line.split() for line in grid.strip().splitlines()]
        for other, (row, *words) in itertools.product(others, rows):
            for column, word in zip(columns, words, strict=True):
                seen = {b"path": SIGNS[row], b"slot": SIGNS[column], b"other": SIGNS[other]}
                found.append((motion, seen, WORDS[word]))
    return found


def test_going_forward_the_disk_decides() -> None:
    wrong = [case for case in cases(FORWARD) if forward_status(case[0], case[1]) is not case[2]]
    assert wrong == []


def test_going_backward_the_disk_decides() -> None:
    wrong = [case for case in cases(BACKWARD) if backward_status(case[0], case[1]) is not case[2]]
    assert wrong == []


MOTIONS = (TAKE, MOVED_TAKE, CLEAR, PUT, MOVED_PUT, SWAP)


def moved(motion: SlotMove, seen: Mapping[bytes, PathState]) -> dict[bytes, PathState]:
    """Does a motion, or reverses it: both exchange a name with a slot, one of them free or not."""
    return {**seen, b"path": seen[motion.slot], b"slot": seen[motion.path]}


@pytest.mark.parametrize("motion", MOTIONS, ids=lambda motion: type(motion).__name__)
def test_law_5_a_motion_that_was_done_is_seen_to_be_done_and_can_be_reversed(
    motion: SlotMove,
) -> None:
    starts = {
        MoveToSlot: {b"path": A, b"slot": None},
        ClearFolder: {b"path": "folder", b"slot": None},
        MoveFromSlot: {b"path": None, b"slot": A},
        SwapWithSlot: {b"path": A, b"slot": B},
    }
    start: dict[bytes, PathState] = {**starts[type(motion)], b"other": None}  # type: ignore[dict-item]
    assert (forward_status(motion, start), backward_status(motion, start)) == (
        MoveStatus.TODO,
        MoveStatus.DONE,
    )
    end = moved(motion, start)
    assert (forward_status(motion, end), backward_status(motion, end)) == (
        MoveStatus.DONE,
        MoveStatus.TODO,
    )
    assert moved(motion, end) == start


@pytest.mark.parametrize(
    ("motion", "wanted"),
    [
        (TAKE, (b"path", b"slot")),
        (MOVED_TAKE, (b"path", b"slot", b"other")),
        (CLEAR, (b"path", b"slot")),
        (PUT, (b"path", b"slot")),
        (MOVED_PUT, (b"path", b"slot", b"other")),
        (SWAP, (b"path", b"slot")),
    ],
)
def test_places_are_the_names_that_tell(motion: SlotMove, wanted: tuple[bytes, ...]) -> None:
    assert involved_paths(motion) == wanted
