"""Dependencies between the operations of a draft, within and across segments."""

from collections.abc import Iterable, Sequence

from assent.core.digest import operation_ids
from assent.core.errors import ImpossibleOperations
from assent.core.paths import display_path
from assent.core.plan.draft import stage
from assent.core.plan.operation import FileState, Operation, footprint

_SHORT = 12  # characters of an operation's id, as lists show it


def content_sources(operations: Iterable[Operation]) -> dict[FileState, bytes]:
    """Returns where on disk each content lies that a draft replaces, removes or moves."""
    seen: set[bytes] = set()
    found: dict[FileState, bytes] = {}
    for op in operations:
        for path, before, _ in footprint(op):
            if before is not None and path not in seen:
                found.setdefault(before, path)
            seen.add(path)
    return found


def check_dependencies(operations: Iterable[Operation]) -> None:
    """Refuses a draft in which an operation expects other content than an earlier one leaves."""
    left: dict[bytes, FileState | None] = {}
    for op in operations:
        for path, before, after in footprint(op):
            if left.get(path, before) != before:
                raise ImpossibleOperations(
                    f"{display_path(path)} was staged against other content.", "assent stage list"
                )
            left[path] = after


def without_operation(operations: Sequence[Operation], index: int) -> tuple[Operation, ...]:
    """Returns a draft without one operation; what a command kept apart is composed.

    Raises if an operation behind a command rests on what this one does.
    """
    paths = {path for path, *_ in footprint(operations[index])}
    for at in range(index + 1, len(operations)):
        met = [path for path, *_ in footprint(operations[at]) if path in paths]
        if met:
            raise ImpossibleOperations(
                f"What is staged for {display_path(met[0])} behind a command rests on this "
                "operation; remove that first.",
                f"assent stage remove {operation_ids(operations)[at][:_SHORT]}",
            )
    return stage((), [op for at, op in enumerate(operations) if at != index])
