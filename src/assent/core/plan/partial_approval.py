"""Partial approval: which operations remain when a user excludes some, and why others go too."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from assent.core.errors import NotFound
from assent.core.paths import ancestors, casefolded, display_path
from assent.core.plan.draft import stage
from assent.core.plan.git_commit import is_commit
from assent.core.plan.operation import (
    FileState,
    Footprint,
    Operation,
    RunCommand,
    footprint,
    matching_operations,
)

StatesByPath: TypeAlias = dict[bytes, FileState | None]
OperationFootprint: TypeAlias = tuple[int, Footprint]  # of the operation with that index


class PartialPlan(msgspec.Struct, frozen=True):
    """The remaining operations of a plan; excluded and dependent ones are named by their index."""

    kept: tuple[Operation, ...]
    declined: tuple[int, ...]
    followed: tuple[tuple[int, str], ...] = ()  # with the reason, in words
    unsure: tuple[int, ...] = ()  # they stay, but may rest on what a declined command does


def chosen_operations(ids: Sequence[str], references: Iterable[str]) -> tuple[int, ...]:
    """Returns which operations references mean; each must name exactly one."""
    found = set()
    for reference in references:
        indexes = matching_operations(ids, reference)
        if len(indexes) != 1:
            raise NotFound(
                f"{reference!a} matches {len(indexes)} operations; it must match exactly one.",
                "assent review",
            )
        found.update(indexes)
    return tuple(sorted(found))


def partial_plan(operations: Sequence[Operation], declined: Collection[int]) -> PartialPlan:
    """Returns the operations without the excluded ones and those that depend on them.

    What an excluded command separated becomes one segment, with one operation for each path.
    """
    gone = dict.fromkeys(sorted(declined), "")
    touched = [(index, footprint(op)) for index, op in enumerate(operations)]
    planned = _before_all(touched)
    left = dict(planned)
    for group in _groups(operations, touched, gone):
        planned, left = _excluded(group, gone, planned, left)
    kept = [(index, op) for index, op in enumerate(operations) if index not in gone]
    commands = [index for index in declined if isinstance(operations[index], RunCommand)]
    unsure = [i for i, op in kept if commands and i > min(commands) and not is_commit(op)]
    followed = tuple((index, gone[index]) for index in sorted(gone) if index not in declined)
    stay = tuple(op for _, op in kept)
    composed = stage((), stay) if commands else stay
    return PartialPlan(composed, tuple(sorted(declined)), followed, tuple(unsure))


def _groups(
    operations: Sequence[Operation], touched: Sequence[OperationFootprint], gone: Collection[int]
) -> Iterator[list[OperationFootprint]]:
    """Yields what is done to files in each segment that the smaller plan will have."""
    group: list[OperationFootprint] = []
    for index, op in enumerate(operations):
        if not isinstance(op, RunCommand):
            group.append(touched[index])
        elif index not in gone:
            yield group
            group = []
    yield group


def _excluded(
    group: list[OperationFootprint], gone: dict[int, str], planned: StatesByPath, left: StatesByPath
) -> tuple[StatesByPath, StatesByPath]:
    """Finds what has to go until the rest holds together; returns what stands then, both ways."""
    while True:
        ends = _misfits(group, gone, planned, left)
        clashes = _clashes([(i, steps) for i, steps in group if i not in gone], *ends)
        if not clashes:
            return ends
        gone.update(clashes)


def _misfits(
    group: list[OperationFootprint], gone: dict[int, str], planned: StatesByPath, left: StatesByPath
) -> tuple[StatesByPath, StatesByPath]:
    """Drops operations that lack their basis; returns the final states, planned and kept."""
    planned, left = dict(planned), dict(left)
    touched: set[bytes] = set()
    for index, steps in group:
        for path, before, _ in steps if index not in gone else ():
            if left[path] != before and (path in touched or planned[path] == before):
                gone[index] = (
                    f"It depends on an excluded operation that changes {display_path(path)}."
                )
        after_it = {path: after for path, _, after in steps}
        planned |= after_it
        if index not in gone:
            left |= after_it
            touched.update(after_it)
    return planned, left


def _clashes(
    kept: Sequence[OperationFootprint], planned: StatesByPath, left: StatesByPath
) -> dict[int, str]:
    """Returns the operations whose new names are taken, as a file or as a folder."""
    puts = {
        path: index
        for index, steps in kept
        for path, _, after in steps
        if after is not None and left[path] is not None
    }
    staying = sorted(path for path, state in left.items() if state and planned[path] is None)
    if not staying:
        return _nested(puts)
    free = {path for path, state in left.items() if state is None and planned[path] is None}
    leaves = {i: [path for path, *_ in steps if path in free] for i, steps in kept}
    return {**_nested(puts), **_taken(puts, leaves, staying)}


def _taken(
    puts: Mapping[bytes, int], leaves: Mapping[int, list[bytes]], files: Iterable[bytes]
) -> dict[int, str]:
    """Finds names in the way that the whole plan would have freed; what goes leaves more of them.

    Case makes no difference: there are file systems where it does not.
    """
    named, below = defaultdict[bytes, list[bytes]](list), defaultdict[bytes, list[bytes]](list)
    for path in puts:
        low = casefolded(path)
        named[low].append(path)
        for above in ancestors(low):
            below[above].append(path)
    found, staying = dict[int, str](), deque(files)
    while staying:
        file = staying.popleft()
        for path, why in _in_the_way(file, named, below):
            if puts[path] not in found:
                found[puts[path]] = why
                staying += leaves[puts[path]]
    return found


def _in_the_way(
    file: bytes, named: Mapping[bytes, list[bytes]], below: Mapping[bytes, list[bytes]]
) -> Iterator[tuple[bytes, str]]:
    """Yields the new names that cannot be while a file stays, each with the reason."""
    low = casefolded(file)
    for path in named.get(low, ()):
        if path != file:
            yield path, _beside(path, file)
    for path in below.get(low, ()):
        yield path, _needs(path, file)
    for above in ancestors(low):
        for path in named.get(above, ()):
            yield path, _holds(path, file)


def _nested(puts: Mapping[bytes, int]) -> dict[int, str]:
    """Finds names that only a declined command could have kept from being file and folder."""
    found = {}
    for path, index in puts.items():
        for above in ancestors(path):
            if above in puts and puts[above] < index:
                found[index] = _needs(path, above)
            elif above in puts:
                found[puts[above]] = _holds(above, path)
    return found


def _needs(path: bytes, above: bytes) -> str:
    return f"{display_path(path)} needs a folder, but {display_path(above)} remains a file."


def _holds(path: bytes, file: bytes) -> str:
    return f"{display_path(path)} cannot replace a folder that still contains {display_path(file)}."


def _beside(path: bytes, file: bytes) -> str:
    return (
        f"{display_path(path)} would exist next to {display_path(file)}, which now remains; on "
        "case-insensitive file systems they are the same name."
    )


def _before_all(touched: Iterable[OperationFootprint]) -> StatesByPath:
    """Returns what the plan expects under each name before anything happens."""
    standing: StatesByPath = {}
    for _, steps in touched:
        for path, before, _ in steps:
            standing.setdefault(path, before)
    return standing
