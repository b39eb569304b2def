"""Composition: what touches a path again becomes one operation, or is refused."""

import itertools
from collections.abc import Callable
from contextlib import nullcontext

import msgspec
import pytest
from tests.core.states import LINK, TOOL, A, B, C, D

from assent.core.errors import ImpossibleOperations, Refused
from assent.core.plan.draft import net_changes, refuse_similar_names, stage
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)

OWN = msgspec.structs.replace(A, mode=0o700)
FIRST: dict[str, tuple[FileOperation, FileState | None]] = {
    "create": (WriteFile(b"p", None, A), A),
    "replace": (WriteFile(b"p", A, B), B),
    "chmod": (WriteFile(b"p", A, TOOL), TOOL),
    "delete": (DeleteFile(b"p", A, 1), None),
    "move_from": (MoveFile(b"p", b"r", A, 1), None),
    "move_to": (MoveFile(b"q", b"p", A, 1), A),
    "link": (WriteFile(b"p", None, LINK), LINK),
}
# The second operation is staged against what the first one left; where that makes no sense (a
# link has no mode to change, a file that is gone cannot be replaced), against A or against nothing.
SECOND: dict[str, Callable[[FileState], FileOperation]] = {
    "create": lambda _: WriteFile(b"p", None, C),
    "replace": lambda now: WriteFile(b"p", now, C),
    "chmod": lambda now: _chmod(now if now.kind == "file" else A),
    "delete": lambda now: DeleteFile(b"p", now, 2),
    "move_from": lambda now: MoveFile(b"p", b"s", now, 2),
    "move_to": lambda _: MoveFile(b"t", b"p", D, 2),
    "link": lambda _: WriteFile(b"p", None, LINK),
}
COMPOSED: dict[tuple[str, str], tuple[FileOperation, ...]] = {
    ("create", "replace"): (WriteFile(b"p", None, C),),
    ("create", "chmod"): (WriteFile(b"p", None, OWN),),
    ("create", "delete"): (),
    ("create", "move_from"): (WriteFile(b"s", None, A),),
    ("replace", "replace"): (WriteFile(b"p", A, C),),
    ("replace", "chmod"): (WriteFile(b"p", A, msgspec.structs.replace(B, mode=0o700)),),
    ("replace", "delete"): (DeleteFile(b"p", A, 2),),
    ("replace", "move_from"): (DeleteFile(b"p", A, 2), WriteFile(b"s", None, B)),
    ("chmod", "replace"): (WriteFile(b"p", A, C),),
    ("chmod", "chmod"): (WriteFile(b"p", A, OWN),),
    ("chmod", "delete"): (DeleteFile(b"p", A, 2),),
    ("chmod", "move_from"): (DeleteFile(b"p", A, 2), WriteFile(b"s", None, TOOL)),
    ("delete", "create"): (WriteFile(b"p", A, C),),
    ("delete", "move_to"): (WriteFile(b"p", A, D), DeleteFile(b"t", D, 2)),
    ("delete", "link"): (WriteFile(b"p", A, LINK),),
    ("move_from", "create"): (WriteFile(b"p", A, C), WriteFile(b"r", None, A)),
    ("move_from", "move_to"): (
        WriteFile(b"p", A, D),
        WriteFile(b"r", None, A),
        DeleteFile(b"t", D, 2),
    ),
    ("move_from", "link"): (WriteFile(b"p", A, LINK), WriteFile(b"r", None, A)),
    ("move_to", "replace"): (DeleteFile(b"q", A, 1), WriteFile(b"p", None, C)),
    ("move_to", "chmod"): (DeleteFile(b"q", A, 1), WriteFile(b"p", None, OWN)),
    ("move_to", "delete"): (DeleteFile(b"q", A, 1),),
    ("move_to", "move_from"): (MoveFile(b"q", b"s", A, 1),),
    ("link", "replace"): (WriteFile(b"p", None, C),),
    ("link", "delete"): (),
    ("link", "move_from"): (WriteFile(b"s", None, LINK),),
}
PAIRS = list(itertools.product(FIRST, SECOND))


def _chmod(now: FileState) -> WriteFile:
    return WriteFile(b"p", now, msgspec.structs.replace(now, mode=0o700))


def pair(first: str, second: str) -> tuple[FileOperation, FileOperation]:
    op, now = FIRST[first]
    return op, SECOND[second](now or A)


@pytest.mark.parametrize(("first", "second"), [p for p in PAIRS if p in COMPOSED])
def test_a_second_operation_on_a_path_is_composed(first: str, second: str) -> None:
    assert stage((), pair(first, second)) == COMPOSED[first, second]


@pytest.mark.parametrize(("first", "second"), [p for p in PAIRS if p not in COMPOSED])
def test_a_second_operation_against_other_content_is_impossible(first: str, second: str) -> None:
    with pytest.raises(ImpossibleOperations, match=r"^p was staged based on different content\.$"):
        stage((), pair(first, second))


@pytest.mark.parametrize(
    "steps",
    [
        (WriteFile(b"p", A, B), WriteFile(b"p", B, A)),
        (WriteFile(b"p", A, TOOL), WriteFile(b"p", TOOL, A)),
        (DeleteFile(b"p", A), WriteFile(b"p", None, A)),
        (MoveFile(b"p", b"q", A), MoveFile(b"q", b"p", A)),
        (MoveFile(b"p", b"q", A), MoveFile(b"q", b"r", A), MoveFile(b"r", b"p", A)),
        (MoveFile(b"p", b"p", A), MoveFile(b"p", b"p", A)),
    ],
)
def test_what_comes_back_to_the_start_is_nothing(steps: tuple[FileOperation, ...]) -> None:
    assert stage((), steps) == ()


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        (  # two names exchange their contents by way of a third
            (MoveFile(b"p", b"t", A), MoveFile(b"q", b"p", B), MoveFile(b"t", b"q", A)),
            (WriteFile(b"p", A, B), WriteFile(b"q", B, A)),
        ),
        (  # what moved away and came again as a copy was only copied
            (MoveFile(b"p", b"q", A), WriteFile(b"p", None, A)),
            (WriteFile(b"q", None, A),),
        ),
        (  # two files of one content: the one that stays stays
            (MoveFile(b"p", b"q", A), MoveFile(b"r", b"p", A, 1)),
            (MoveFile(b"r", b"q", A, 1),),
        ),
        (  # without a move, equal contents are a coincidence
            (DeleteFile(b"p", A), WriteFile(b"q", None, A)),
            (DeleteFile(b"p", A), WriteFile(b"q", None, A)),
        ),
    ],
)
def test_longer_ways_are_shortened(
    steps: tuple[FileOperation, ...], wanted: tuple[FileOperation, ...]
) -> None:
    assert stage((), steps) == wanted


def test_what_is_changed_again_keeps_its_place_and_the_rest_its_order() -> None:
    draft = stage((), [WriteFile(b"%d" % n, None, A) for n in range(6)])
    again = stage(draft, [WriteFile(b"2", A, B), DeleteFile(b"4", A)])
    assert again == (draft[0], draft[1], WriteFile(b"2", None, B), draft[3], draft[5])


def test_composition_never_crosses_a_command() -> None:
    make = RunCommand((b"make",))
    create, change = WriteFile(b"p", None, A), WriteFile(b"p", A, B)
    assert stage((create, make), [change]) == (create, make, change)
    assert stage((create,), [make, change, make]) == (create, make, change, make)
    assert stage((create, make, change), [WriteFile(b"p", B, C)]) == (
        create,
        make,
        WriteFile(b"p", A, C),
    )


def test_net_is_what_the_last_segment_does() -> None:
    operations = (DeleteFile(b"a", A), RunCommand((b"x",)), MoveFile(b"p", b"q", B))
    assert net_changes(operations) == {b"p": (B, None), b"q": (None, B)}
    assert net_changes(operations[:2]) == {}


def test_staging_twenty_thousand_operations_takes_no_more_than_a_moment() -> None:
    creates: list[Operation] = [WriteFile(b"%d" % n, None, A) for n in range(20_000)]
    again = stage(stage((), creates), [WriteFile(b"%d" % n, A, B) for n in range(0, 20_000, 4)])
    assert len(again) == 20_000
    assert again[19_996] == WriteFile(b"19996", None, B)
    assert again[19_997:] == tuple(creates[19_997:])


def test_a_long_chain_of_moves_is_one_move() -> None:
    chain = stage((), [MoveFile(b"%d" % n, b"%d" % (n + 1), A) for n in range(2_000)])
    assert chain == (MoveFile(b"0", b"2000", A),)


def test_staging_twenty_thousand_commands_keeps_each_of_them() -> None:
    commands: list[Operation] = [RunCommand((b"%d" % n,)) for n in range(20_000)]
    assert stage((), commands) == tuple(commands)


@pytest.mark.parametrize(
    ("operations", "refused"),
    [
        ((WriteFile(b"a", None, A), WriteFile(b"A", None, B)), True),
        ((WriteFile(b"Src/a", None, A), WriteFile(b"src/b", None, B)), True),
        ((WriteFile(b"x/Src/a", None, A), MoveFile(b"q", b"x/src/b", B)), True),
        ((WriteFile("é".encode(), None, A), WriteFile("e\u0301".encode(), None, B)), True),
        ((WriteFile("É".encode(), None, A), WriteFile("e\u0301".encode(), None, B)), True),
        ((WriteFile(b"a", A, B), RunCommand((b"make",)), WriteFile(b"A", None, B)), True),
        ((WriteFile(b"a", A, B), RunCommand((b"make",)), MoveFile(b"a", b"A", B)), False),
        ((MoveFile(b"Src/a", b"src/a", A), MoveFile(b"Src/b", b"src/b", B)), False),
        ((DeleteFile(b"a", A), WriteFile(b"A", None, B)), False),
        ((WriteFile(b"x/a", None, A), WriteFile(b"y/A", None, B)), False),
        ((WriteFile(b"caf\xe9", None, A), WriteFile(b"caf\xe8", None, B)), False),
    ],
)
def test_names_that_differ_only_in_case_or_form_are_refused(
    operations: tuple[Operation, ...], refused: bool
) -> None:
    with pytest.raises(Refused, match="differ only") if refused else nullcontext():
        refuse_similar_names(operations)
