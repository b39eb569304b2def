"""The draft: operations being staged, composed per segment, what depends on what, and its edits."""

from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import Final, TypeAlias

import msgspec

from assent.core.decoding import json_decoder
from assent.core.digest import canonical_bytes, operation_ids, pack, sha256
from assent.core.errors import ImpossibleOperations, Refused, StoreError
from assent.core.event import DraftEdited
from assent.core.paths import ancestors, display_path, one_line, parent, similarity_key
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)

OTHER_BASE = "was staged based on different content."
DRAFT_MISMATCH = (
    "The stored draft does not match its changes, so it was not used. Nothing was changed."
)

NetChanges: TypeAlias = dict[bytes, tuple[FileState | None, FileState | None]]


def segments(operations: Iterable[Operation]) -> list[tuple[Operation, ...]]:
    """Splits operations at commands; each command is a separate segment."""
    found: list[list[Operation]] = [[]]
    for op in operations:
        if isinstance(op, RunCommand):
            found += [[op], []]
        else:
            found[-1].append(op)
    return [tuple(segment) for segment in found if segment]


def stage(operations: Iterable[Operation], added: Iterable[Operation]) -> tuple[Operation, ...]:
    """Adds operations to a draft; those on the same path are composed with earlier ones."""
    earlier, current = _last_segment(tuple(operations))
    settled, segment = list(earlier), _DraftSegment(current)
    for op in added:
        if isinstance(op, RunCommand):
            settled += (*segment.operations(), op)
            segment = _DraftSegment(())
        else:
            segment.add(op)
    return (*settled, *segment.operations())


def net_changes(operations: Iterable[Operation]) -> NetChanges:
    """Returns the net effect of the last segment on each path."""
    return {
        path: (before, after)
        for op in _last_segment(tuple(operations))[1]
        for path, before, after in footprint(op)
    }


def refuse_similar_names(operations: Iterable[Operation]) -> None:
    """Refuses names, of files or folders, that differ only in case or Unicode form.

    What no longer exists at the end does not count, so a move may change only the case.
    """
    left = {path: after for op in operations for path, _, after in footprint(op)}
    seen: set[bytes] = set()
    known: dict[bytes, bytes] = {}
    for path in [path for path, after in left.items() if after is not None]:
        each = path
        while each and each not in seen:
            seen.add(each)
            other = known.setdefault(similarity_key(each), each)
            if parent(other) == parent(each) and other != each:
                raise _too_alike(other, each)
            each = parent(each)


def _too_alike(one: bytes, other: bytes) -> Refused:
    told, names = "case or Unicode form", [display_path(one), display_path(other)]
    if names[0].casefold() != names[1].casefold():  # they would look the same
        names = [name.encode("unicode_escape").decode() for name in names]
    first, second = [one_line(name.encode()) for name in names]
    return Refused(
        f"{first} and {second} differ only in {told}. Some file systems treat them as the same "
        "name, so a plan cannot contain both. Nothing was changed.",
        "assent stage list",
    )


def check_tree(
    operations: Iterable[Operation],
    is_file: Callable[[bytes], bool],
    files_below: Callable[[bytes], Iterable[bytes]],
) -> None:
    """Refuses a segment in which one name would be both a file and a folder.

    What earlier segments delete is gone; what they write may be gone, too, because of a command.
    """
    gone: set[bytes] = set()
    for segment in segments(operations):
        changes = net_changes(segment)
        gone = gone - changes.keys() | {p for p, (_, after) in changes.items() if after is None}
        check_paths(changes.keys() - gone, gone.__contains__, is_file, files_below)


def check_paths(
    kept: Set[bytes],
    is_gone: Callable[[bytes], bool],
    is_file: Callable[[bytes], bool],
    files_below: Callable[[bytes], Iterable[bytes]],
) -> None:
    """Refuses paths to be written that need a file's name for a folder, or a folder's for a file.

    `is_gone` tells what the draft deletes, and the other two what is on disk.
    """
    in_the_way: dict[bytes, bool] = {}
    for path in sorted(kept):
        folders = ancestors(path)
        # Where a file or symlink goes, nothing lies below its name.
        free = next((at for at in reversed(range(len(folders))) if is_gone(folders[at])), -1) + 1
        for at, above in enumerate(folders):
            if above not in in_the_way:
                in_the_way[above] = above in kept or (at >= free and is_file(above))
            if in_the_way[above]:
                raise ImpossibleOperations(
                    f"{display_path(path)} needs a folder, but {display_path(above)} is a file.",
                    f"assent stage delete {display_path(above)}",
                )
        left = [] if free else [file for file in files_below(path) if not is_gone(file)]
        if left:
            raise ImpossibleOperations(
                f"{display_path(path)} is a folder that contains {display_path(left[0])} "
                f"({len(left)} in total); a file cannot replace it.",
                f"assent stage delete {display_path(path)}",
            )


def _last_segment(
    operations: tuple[Operation, ...],
) -> tuple[tuple[Operation, ...], tuple[FileOperation, ...]]:
    current: list[FileOperation] = []
    for op in reversed(operations):
        if isinstance(op, RunCommand):
            break
        current.append(op)
    return operations[: len(operations) - len(current)], tuple(reversed(current))


class _DraftSegment:
    """File operations in order, with the owner of each path, so that staging stays linear."""

    def __init__(self, operations: Iterable[FileOperation]) -> None:
        self._ops: dict[int, FileOperation] = {}
        self._owner: dict[bytes, int] = {}
        self._next = 0
        for op in operations:
            self._append(op)

    def operations(self) -> tuple[FileOperation, ...]:
        return tuple(self._ops.values())

    def add(self, op: FileOperation) -> None:
        owners = sorted({self._owner[path] for path, *_ in footprint(op) if path in self._owner})
        group = [*[self._ops[owner] for owner in owners], op]
        for path, *_ in [step for merged in group for step in footprint(merged)]:
            self._owner.pop(path, None)
        merged = composed(group) if owners else group
        for owner, each in zip(owners, merged, strict=False):
            self._put(owner, each)  # what is changed again keeps its place
        for owner in owners[len(merged) :]:
            del self._ops[owner]
        for each in merged[len(owners) :]:
            self._append(each)

    def _append(self, op: FileOperation) -> None:
        self._put(self._next, op)
        self._next += 1

    def _put(self, key: int, op: FileOperation) -> None:
        self._ops[key] = op
        for path, *_ in footprint(op):
            self._owner[path] = key


def composed(group: list[FileOperation]) -> list[FileOperation]:
    """Returns the fewest operations that do what the group does one after another."""
    changes: NetChanges = {}
    prune: dict[bytes, int] = {}
    for op in group:
        if not isinstance(op, WriteFile):
            prune[op.path] = max(op.prune, prune.get(op.path, 0))
        for path, before, after in footprint(op):
            first, last = changes.get(path, (before, before))
            if last != before:
                raise ImpossibleOperations(f"{display_path(path)} {OTHER_BASE}")
            changes[path] = (first, after)
    moves = _moves(changes) if any(isinstance(op, MoveFile) for op in group) else {}
    return _operations(changes, moves, prune)


def _moves(changes: NetChanges) -> dict[bytes, bytes]:
    """Pairs each new name with the old name that the same content left."""
    left = {p: before for p, (before, after) in changes.items() if after is None}
    pairs: dict[bytes, bytes] = {}
    for to, (before, after) in changes.items():
        if before is not None or after is None:
            continue
        source = next((p for p, state in left.items() if state == after), None)
        if source is not None:
            pairs[to] = source
            del left[source]
    return pairs


def _operations(
    changes: NetChanges, moves: dict[bytes, bytes], prune: dict[bytes, int]
) -> list[FileOperation]:
    fewest: list[FileOperation] = []
    for path, (before, after) in changes.items():
        if before == after or path in moves.values():
            continue
        if after is None and before is not None:
            fewest.append(DeleteFile(path, before, prune.get(path, 0)))
        elif after is not None and path in moves:
            source = moves[path]
            fewest.append(MoveFile(source, path, after, prune.get(source, 0)))
        elif after is not None:
            fewest.append(WriteFile(path, before, after))
    return fewest


# Dependencies between the operations of a draft, within and across segments.


_SHORT = 12  # characters of an operation's id, as lists show it


def content_sources(operations: Iterable[Operation]) -> dict[FileState, bytes]:
    """Returns where on disk each content is that a draft replaces, removes or moves."""
    seen: set[bytes] = set()
    found: dict[FileState, bytes] = {}
    for op in operations:
        for path, before, _ in footprint(op):
            if before is not None and path not in seen:
                found.setdefault(before, path)
            seen.add(path)
    return found


def check_dependencies(operations: Iterable[Operation]) -> None:
    """Refuses a draft in which an operation expects other content than an earlier one produces."""
    left: dict[bytes, FileState | None] = {}
    for op in operations:
        for path, before, after in footprint(op):
            if left.get(path, before) != before:
                raise ImpossibleOperations(
                    f"{display_path(path)} {OTHER_BASE}",
                    "assent stage list",
                )
            left[path] = after


def dependent_operations(operations: Sequence[Operation], places: Set[int]) -> dict[int, list[int]]:
    """Returns which of these places cannot leave a draft, each with later places that rest on it.

    Between two commands no operation rests on another: they are composed. Across a command, one on
    the same path expects what the earlier one leaves.
    """
    paths: dict[bytes, list[int]] = {}
    for at, op in enumerate(operations):
        for path, *_ in footprint(op):
            paths.setdefault(path, []).append(at)
    leaving, found = set(places), dict[int, list[int]]()
    while True:
        # What has to stay may itself rest on an earlier one that was to leave.
        stuck = {at: _later(operations, paths, at, leaving) for at in leaving}
        stuck = {at: later for at, later in stuck.items() if later}
        if not stuck:
            return dict(sorted(found.items()))
        found |= stuck
        leaving -= stuck.keys()


def _later(
    operations: Sequence[Operation], paths: dict[bytes, list[int]], at: int, leaving: Set[int]
) -> list[int]:
    touched = [paths[path] for path, *_ in footprint(operations[at])]
    return sorted({later for of in touched for later in of if later > at and later not in leaving})


def without_operations(
    operations: Sequence[Operation], places: Collection[int]
) -> tuple[Operation, ...]:
    """Returns a draft without some operations; segments that they separated are composed.

    Raises if an operation after a command depends on one of them, and is to stay.
    """
    stuck = dependent_operations(operations, frozenset(places))
    for at, later in stuck.items():
        paths = {path for path, *_ in footprint(operations[at])}
        met = [path for path, *_ in footprint(operations[later[0]]) if path in paths]
        raise ImpossibleOperations(
            f"An operation on {display_path(met[0])} after a command depends on this one; "
            "remove that one first.",
            f"assent stage remove {operation_ids(operations)[later[0]][:_SHORT]}",
        )
    return stage((), [op for at, op in enumerate(operations) if at not in places])


# Edits of a draft: how one version follows from the one before, and when it is stored whole.
#
# A version that is stored whole is a blob and named by its digest. An edit says which operations of
# the version before leave, which are added, and where those stand then; it names the result after
# all of it. Commands that stay at the end of a draft are its last operations, and are counted.


SMALLEST: Final = 64  # operations that come and go before a small draft is stored whole again

decode_draft = json_decoder(tuple[Operation, ...]).decode


class DraftEdit(msgspec.Struct, frozen=True):
    """How one version of a draft follows from another."""

    cut: tuple[int, ...] = ()  # places in the one before whose operations leave
    put: tuple[Operation, ...] = ()  # what is added
    places: tuple[int, ...] = ()  # where that stands in the new one; empty: at its end
    at_end: int = 0  # commands that stay last in the new one


def draft_edit(
    before: tuple[Operation, ...], after: tuple[Operation, ...], at_end: int = 0
) -> DraftEdit:
    """Returns the edit that makes one draft of another, whose last `at_end` commands stay last."""
    size, most = len(before), len(after)
    if before == after[:size]:  # nearly always, and compared without a step for each operation
        return DraftEdit((), after[size:], (), at_end)
    start, shorter = 0, min(size, most)
    while start < shorter and before[start] is after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[size - 1 - end] is after[most - 1 - end]:
        end += 1
    where: dict[Operation, list[int]] = {}
    for at in range(most - end - 1, start - 1, -1):
        where.setdefault(after[at], []).append(at)
    cut, new, last = list[int](), set(range(start, most - end)), start - 1
    for at in range(start, size - end):
        places = where.get(before[at], [])
        while places and places[-1] <= last:
            places.pop()
        if places:
            last = places.pop()
            new.discard(last)
        else:
            cut.append(at)
    spots = tuple(sorted(new))
    at_last = spots == tuple(range(most - len(spots), most))
    put = tuple([after[at] for at in spots])
    return DraftEdit(tuple(cut), put, () if at_last else spots, at_end)


def draft_name(before: str, edit: DraftEdit) -> str:
    """Returns the name of the version that an edit makes of the one with the name `before`."""
    cut = pack(*[b"%d" % at for at in edit.cut])
    put = map(canonical_bytes, edit.put)
    if not edit.places and not edit.at_end:
        return sha256(pack(b"assent.draft.1", before.encode(), cut, *put))
    places = pack(*[b"%d" % at for at in edit.places])
    at_end = b"%d" % edit.at_end
    return sha256(pack(b"assent.draft.2", before.encode(), cut, places, at_end, *put))


def fold_edits(
    name: str, operations: Iterable[Operation], edits: Iterable[DraftEdited]
) -> tuple[Operation, ...]:
    """Returns a draft after edits; refuses edits that do not follow from each other."""
    draft = list(operations)
    for event in edits:
        edit = DraftEdit(event.cut, event.added, event.places or (), event.at_end or 0)
        name = draft_name(name, edit)
        if name != event.draft or not _fits(edit.cut, len(draft)) or not _applied(draft, edit):
            raise StoreError(
                DRAFT_MISMATCH,
                "assent log --verify",
            )
    return tuple(draft)


def _applied(draft: list[Operation], edit: DraftEdit) -> bool:
    """Applies an edit; tells whether it fits."""
    for at in reversed(edit.cut):
        del draft[at]
    if edit.places:
        if len(edit.places) != len(edit.put) or not _fits(edit.places, len(draft) + len(edit.put)):
            return False
        for at, op in zip(edit.places, edit.put, strict=True):
            draft.insert(at, op)
    else:
        draft += edit.put
    last = draft[len(draft) - edit.at_end :] if 0 <= edit.at_end <= len(draft) else [None]
    return all(isinstance(op, RunCommand) for op in last)


def still_at_end(operations: Sequence[Operation], was: Sequence[Operation], at_end: int) -> int:
    """Returns how many commands stay last in a draft that was made of another one."""
    held = set(was[len(was) - at_end :]) if at_end else set()
    count = 0
    for op in reversed(operations):
        if op not in held:
            break
        count += 1
    return min(count, at_end)


def is_due_whole(whole: int, changed: int, cut: int, added: int, size: int) -> bool:
    """Tells whether the next version is stored whole instead of as an edit.

    `whole` operations were stored whole last, and `changed` came or went since. To wait until twice
    as many have changed as were stored keeps what all whole versions take, and what has to be read
    for one, in proportion to the draft.
    """
    now = cut + added
    return changed + now >= max(SMALLEST, 2 * whole) or now > max(SMALLEST, size)


def _fits(cut: Sequence[int], size: int) -> bool:
    """Tells whether these are places of a draft, in order and each once."""
    return all(a < b for a, b in zip((-1, *cut), (*cut, size), strict=True))
