"""Values are frozen: nothing that is hashed, stored or shown can change behind anybody's back."""

import importlib
import pkgutil

import msgspec
import pytest
from tests.core.states import A

import assent.core
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)

MODULES = [
    importlib.import_module(f"assent.core.{m.name}")
    for m in pkgutil.iter_modules(assent.core.__path__)
]
STRUCTS = [
    kind
    for module in MODULES
    for kind in vars(module).values()
    if isinstance(kind, type)
    and issubclass(kind, msgspec.Struct)
    and kind.__module__ == module.__name__
]


def test_every_value_of_the_core_is_frozen() -> None:
    assert len(STRUCTS) > 40
    assert [kind.__name__ for kind in STRUCTS if not kind.__struct_config__.frozen] == []


@pytest.mark.parametrize("kind", [FileState, WriteFile, DeleteFile, MoveFile, RunCommand])
def test_an_operation_with_a_field_that_we_do_not_know_is_no_operation_of_ours(
    kind: type[msgspec.Struct],
) -> None:
    assert kind.__struct_config__.forbid_unknown_fields


def test_an_operation_says_only_what_is_unusual() -> None:
    command = RunCommand((b"make",))
    assert (DeleteFile(b"p", A).prune, MoveFile(b"p", b"q", A).prune) == (0, 0)
    assert (command.timeout, command.network, command.undo) == (120, False, ())
    assert FileState("d", 1, 0o644).kind == "file"


@pytest.mark.parametrize(
    "op",
    [
        WriteFile(b"\xff", None, A),
        DeleteFile(b"p", A, 1),
        MoveFile(b"p", b"q", A),
        RunCommand((b"x",)),
    ],
)
def test_an_operation_survives_being_written_down(op: Operation) -> None:
    assert msgspec.json.decode(msgspec.json.encode(op), type=Operation) == op
