"""Law 2: the digest is the name. Equal plans have one; any changed field gives another."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.states import LINK, TOOL, A, B, C, D

from assent.core.digest import canonical_bytes, operation_id, operation_ids, pack
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.core.plan.plan import Plan, ReliedOnFile, Scope

OPERATIONS: tuple[Operation, ...] = (
    WriteFile(b"new", None, A),
    WriteFile(b"old", B, TOOL),
    WriteFile(b"link", C, LINK),
    DeleteFile(b"gone/file", D, 1),
    MoveFile(b"from/here", b"to/there", A, 1),
    RunCommand((b"make", b"test"), b"", b"sub", ((b"K", b"v"), (b"L", b"w")), 60, False, (b"un",)),
    RunCommand((), b"make test"),
)
PLAN = Plan(
    b"# Text\n",
    OPERATIONS,
    Scope(("src/*", "docs/*"), ("make", "ls")),
    (ReliedOnFile(b"one", A.digest), ReliedOnFile(b"two", B.digest)),
    "workspace",
)


def changed(value: Any) -> Iterator[Any]:
    """Yields values that differ from a value in one place, at every place there is."""
    match value:
        case None:
            yield A
        case bool():
            yield not value
        case int():
            yield value + 1
        case str() | bytes():
            yield from _changed_text(value)
        case tuple():
            yield from _changed_items(value)
        case _:
            yield from _changed_fields(value)


def _changed_text(text: Any) -> list[Any]:
    letter: Any = "x" if isinstance(text, str) else b"x"
    return [text + letter, letter + text, *[text[1:] for _ in text[:1]]]


def _changed_items(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for at, item in enumerate(items):
        before, after = items[:at], items[at + 1 :]
        yield (*before, *after)
        yield (*before, item, item, *after)
        yield (*before, *after[:1], item, *after[1:])
        yield from ((*before, other, *after) for other in changed(item))
    if all(isinstance(item, bytes) for item in items):
        yield (*items, b"")
        yield (b" ".join((b"more", *items)),)


def _changed_fields(value: Any) -> Iterator[Any]:
    for field in msgspec.structs.fields(value):
        now = getattr(value, field.name)
        for other in OTHERS.get(field.name, changed)(now):
            yield msgspec.structs.replace(value, **{field.name: other})


def _other_kind(kind: str) -> list[str]:
    return ["link" if kind == "file" else "file"]


def _other_before(state: FileState | None) -> list[FileState | None]:
    return [*changed(state), *[None for _ in [state] if state]]


def _other_variables(env: tuple[tuple[bytes, bytes], ...]) -> Iterator[Any]:
    yield (*env, (b"x", b""))
    for at, (key, value) in enumerate(env):
        left, right = env[:at], env[at + 1 :]
        yield (*left, *right)
        yield (*left, (key, value), (key, value), *right)
        others = [*[(k, value) for k in changed(key)], *[(key, v) for v in changed(value)]]
        shifted = [(key + value, b""), (b"", key + value), (value, key)]
        yield from ((*left, other, *right) for other in (*others, *shifted))


OTHERS: dict[str, Callable[[Any], Iterable[Any]]] = {
    "kind": _other_kind,
    "before": _other_before,
    "env": _other_variables,
}


def is_sorted_alike(one: Plan, other: Plan) -> bool:
    """The order of relied-on files says nothing, so it is not part of the name."""
    unordered = msgspec.structs.replace(other, relied_on=one.relied_on)
    return sorted(one.relied_on) == sorted(other.relied_on) and unordered == one


def test_law_2_any_changed_field_changes_the_digest() -> None:
    others = {plan for plan in changed(PLAN) if not is_sorted_alike(PLAN, plan)}
    digests = {plan.digest for plan in others}
    assert len(others) > 150
    assert PLAN.digest not in digests
    # Two plans share a digest only where they differ in the order of relied-on files.
    assert len(digests) == len(
        {msgspec.structs.replace(p, relied_on=tuple(sorted(p.relied_on))) for p in others}
    )


def test_f47_any_changed_field_of_an_operation_changes_the_operations_hash() -> None:
    others = set(_changed_items(OPERATIONS)) - {OPERATIONS}
    hashes = {Plan(b"", operations).operations_hash for operations in others}
    assert Plan(b"", OPERATIONS).operations_hash not in hashes
    assert len(hashes) == len(others) > 130


def test_f47_any_other_order_of_operations_is_another_plan() -> None:
    orders = list(itertools.permutations(OPERATIONS[:5]))
    assert len({Plan(b"", order).digest for order in orders}) == len(orders) == 120


def test_g1_equal_plans_have_equal_digests() -> None:
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(PLAN), type=Plan)
    assert again is not PLAN
    assert (again, again.digest) == (PLAN, PLAN.digest)


def test_g1_the_order_of_relied_on_files_says_nothing() -> None:
    turned = msgspec.structs.replace(PLAN, relied_on=PLAN.relied_on[::-1])
    assert turned.digest == PLAN.digest


def test_g1_the_name_of_a_plan_never_changes() -> None:
    assert PLAN.content_hash == "48d23d19d06c325d6d7cc187a4324c42b20ecdd53cb918d858bb8f2f289e3ce5"
    assert (
        PLAN.operations_hash == "7594a5d14fc619ad4714044e5ff480014ed1ac672337670ce078d9639459f11b"
    )
    assert PLAN.digest == "c9383e722fe6c6de30e5087d9916a9d1b76e129dfac5f3ca715a02fb2d80f1e9"


def unpacked(packed: bytes) -> list[bytes]:
    fields = []
    while packed:
        end = 8 + int.from_bytes(packed[:8], "big")
        fields.append(packed[8:end])
        packed = packed[end:]
    return fields


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=9), max_size=5))
def test_pack_can_be_taken_apart_so_no_two_lists_are_alike(fields: list[bytes]) -> None:
    assert unpacked(pack(*fields)) == fields


STATE = pack(b"file", A.digest.encode(), b"1", b"644")


@pytest.mark.parametrize(
    ("op", "fields"),
    [
        (WriteFile(b"p", None, A), (b"write", b"p", b"", STATE)),
        (WriteFile(b"p", A, A), (b"write", b"p", STATE, STATE)),
        (DeleteFile(b"p", A, 2), (b"delete", b"p", STATE, b"2")),
        (MoveFile(b"p", b"q", A), (b"move", b"p", b"q", STATE, b"0")),
        (RunCommand((b"a", b"b")), (b"run", pack(b"a", b"b"), b"", b"", b"", b"120", b"0", b"")),
        (
            RunCommand((), b"s", b"d", ((b"K", b"v"),), 9, True, (b"u",)),
            (b"run", b"", b"s", b"d", pack(pack(b"K", b"v")), b"9", b"1", pack(b"u")),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_form_of_an_operation_is_the_documented_one(
    op: Operation, fields: tuple[bytes, ...]
) -> None:
    assert canonical_bytes(op) == pack(*fields)


def test_the_length_of_a_field_is_eight_bytes_big_end_first() -> None:
    assert pack(b"ab", b"") == b"\0\0\0\0\0\0\0\2ab" + b"\0" * 8


def test_equal_commands_are_told_apart_by_their_ordinal() -> None:
    test = RunCommand((b"make", b"test"))
    first, other, second, third = operation_ids([test, WriteFile(b"f", None, A), test, test])
    assert len({first, other, second, third}) == 4
    assert operation_ids([test, test]) == (first, second)
    assert (operation_id(test), operation_id(test, 1), operation_id(test, 2)) == (
        first, second, third,
    )  # fmt: skip


NUMBERS = st.lists(st.integers(0, len(OPERATIONS) - 1), max_size=6)


@settings(max_examples=30, deadline=None)
@given(NUMBERS, st.integers(0, len(OPERATIONS) - 1), NUMBERS)
def test_an_id_does_not_depend_on_its_neighbours(
    before: list[int], number: int, after: list[int]
) -> None:
    others = [OPERATIONS[n] for n in before if n != number]
    wanted = OPERATIONS[number]
    ids = operation_ids([*others, wanted, *[OPERATIONS[n] for n in after]])
    assert ids[len(others)] == operation_ids([wanted])[0]


def test_a_file_state_has_no_field_that_the_digest_forgets() -> None:
    plain = WriteFile(b"p", None, A)
    others = [WriteFile(b"p", None, state) for state in changed(A) if isinstance(state, FileState)]
    assert canonical_bytes(plain) not in {canonical_bytes(op) for op in others}
    assert {field.name for field in msgspec.structs.fields(FileState)} == {
        "digest", "size", "mode", "kind",
    }  # fmt: skip


def test_law_2_a_plan_made_from_another_does_not_inherit_its_name() -> None:
    named = (PLAN.content_hash, PLAN.operations_hash, PLAN.ids, PLAN.digest)
    other = msgspec.structs.replace(PLAN, text=b"other", operations=OPERATIONS[1:])
    for mine, theirs in zip(
        (other.content_hash, other.operations_hash, other.ids, other.digest), named, strict=True
    ):
        assert mine != theirs
    with pytest.raises(AttributeError):
        other.digest = PLAN.digest
