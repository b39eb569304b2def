"""The draft with what staging asks about it, kept up to date at the cost of what changes.

Every answer here is careful: where an index cannot tell that a change is fine, the check of the
whole draft (`core/plan/draft.py`) decides, and says what is wrong.
"""

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from itertools import islice
from typing import Final, TypeAlias, TypeVar

import msgspec

from assent.core.digest import operation_id, operation_ids
from assent.core.paths import ancestors, casefolded, parent, similarity_key
from assent.core.plan.draft import (
    DraftEdit,
    check_dependencies,
    check_paths,
    check_tree,
    composed,
    draft_edit,
    stage,
    without_operations,
)
from assent.core.plan.operation import (
    FileOperation,
    FileState,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)

_UNTOUCHED: Final = object()  # a path that the draft does not name

_PAIR: Final = 2

Key = TypeVar("Key")
Counts: TypeAlias = dict[bytes, int]
NamedOperation: TypeAlias = tuple[str, Operation]


class DraftIndex:
    """Operations by increasing keys, and what they do to paths. A change is a new index."""

    def __init__(self, operations: Iterable[Operation] = (), at_end: int = 0) -> None:
        """The last `at_end` operations are commands that stay behind what is staged later."""
        self._ops: dict[int, Operation] = {}
        self._ids: dict[int, str] = {}
        self._equal: dict[str, int] = {}  # how often an operation occurs, by its first id
        self._next = 0
        self._start = 0  # the first key of the last segment
        self._owner: dict[bytes, int] = {}  # of a path in the last segment
        self._settled: dict[bytes, FileState | None] = {}  # what earlier segments leave
        self.drafted: dict[bytes, FileState | None] = {}  # what all of it leaves
        self.made: Counts = {}  # folders that it makes, with the files in them
        self.pruned: Counts = {}  # folders that go if it leaves them empty
        self.coming: Counts = {}  # paths that an operation writes
        self.going: Counts = {}  # paths that an operation removes
        self._alike: dict[bytes, int] = {}  # names that exist in the end, by what they share
        self._cases: dict[bytes, int] = {}  # paths of the last segment, by what they share
        self._links = 0
        self._clashes = 0  # of names that exist in the end
        self._twice = 0  # paths of one segment that differ in case alone
        self._odd = False  # whether operations of one segment share a path, or do not follow
        # Paths that the last change touched; None: all of them, as far as anyone knows.
        self._touched: set[bytes] | None = None
        every = tuple(operations)
        known = every[: len(every) - at_end]
        self._last: tuple[Operation, ...] = every[len(known) :]
        for op, name in zip(known, operation_ids(known), strict=True):
            self._append(op, name)
        if len(set(known)) != len(known):
            for first in (operation_id(op) for op in known):
                self._equal[first] = self._equal.get(first, 0) + 1
        else:
            self._equal = dict.fromkeys(self._ids.values(), 1)
        self._touched = None

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """The operations, in order."""
        return (*self._ops.values(), *self._last)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Their ids."""
        if self._last and self._has_equals:
            return operation_ids(self.operations)
        return (*self._ids.values(), *operation_ids(self._last))

    @property
    def at_end(self) -> int:
        """How many of the last operations are commands that stay last."""
        return len(self._last)

    @property
    def has_links(self) -> bool:
        """Whether an operation touches a symlink."""
        return self._links > 0

    @property
    def has_similar_names(self) -> bool:
        """Whether names may exist in the end that differ only in case or Unicode form."""
        return self._clashes > 0

    @property
    def has_case_pairs(self) -> bool:
        """Whether operations between two commands may touch paths that differ in case alone."""
        return self._twice > 0 or self._odd

    def staged(self, added: Iterable[Operation]) -> "DraftIndex":
        """Returns the draft with operations added, composed with earlier ones on the same path.

        Commands that stay at the end come after them.
        """
        more = tuple(added)
        if self._odd:
            return self._staged_whole(more)
        new = self._copy()
        for op in more:
            if isinstance(op, RunCommand):
                new._append(op)
            else:
                new._compose(op)
            if new._odd:
                return self._staged_whole(more)
        return new

    def staged_at_end(self, commands: Iterable[RunCommand]) -> "DraftIndex":
        """Returns the draft with commands added that stay behind what is staged later."""
        new = self._copy()
        new._last = (*self._last, *commands)
        return new

    def without(self, places: Collection[int]) -> "DraftIndex":
        """Returns the draft without some operations; raises if a later one depends on them."""
        count = len(self._ops)
        kept = tuple([op for at, op in enumerate(self._last, count) if at not in places])
        own = [at for at in places if at < count]
        keys = [next(islice(self._ops, at, None)) for at in own]
        if self._odd or any(
            key < self._start or isinstance(self._ops[key], RunCommand) for key in keys
        ):
            left = without_operations(tuple(self._ops.values()), own)
            return DraftIndex((*left, *kept), len(kept))
        new = self._copy()
        for key in keys:
            new._drop(key)
        new._last = kept
        return new

    def _staged_whole(self, more: tuple[Operation, ...]) -> "DraftIndex":
        staged = stage(tuple(self._ops.values()), more)
        return DraftIndex((*staged, *self._last), self.at_end)

    def change_from(self, before: "DraftIndex") -> "DraftChange":
        """Returns how this draft follows from another one."""
        edit = draft_edit(before.operations, self.operations, self.at_end)
        if not self._has_equals and not before._has_equals:
            old = tuple([before.ids[at] for at in edit.cut])
            count = len(self.ids)
            new = tuple([self.ids[at] for at in edit.places or range(count - len(edit.put), count)])
            fresh = tuple(zip(new, edit.put, strict=True))
            gone = tuple(zip(old, [before.operations[at] for at in edit.cut], strict=True))
        else:  # an id also counts equal operations, so that others may get another one
            old, new = before.ids, self.ids
            fresh = tuple(zip(new, self.operations, strict=True))
            gone = tuple(zip(old, before.operations, strict=True))
        known, left = set(old), set(new)
        added = tuple([pair for pair in fresh if pair[0] not in known])
        removed = tuple([pair for pair in gone if pair[0] not in left])
        return DraftChange(edit, added, removed)

    @property
    def _has_equals(self) -> bool:
        """Whether an operation occurs twice, so that ids count."""
        last = [operation_id(op) for op in self._last]
        repeated = len(set(last)) < len(last) or any(map(self._equal.__contains__, last))
        return repeated or len(self._equal) < len(self._ids)

    def check(
        self,
        before: "DraftIndex",
        is_file: Callable[[bytes], bool],
        files_below: Callable[[bytes], Iterable[bytes]],
    ) -> None:
        """Refuses a draft that contradicts itself; of the files, asks about what is new in it."""
        if self._odd:
            check_dependencies(self.operations)
        if self._touched is None or self._odd or self._is_in_the_way(before, self._touched):
            check_tree(self.operations, is_file, files_below)
            return
        own = self._touched & self._owner.keys()
        fresh = {path for path in own if self.drafted[path] is not None}
        check_paths(fresh, self._is_gone, is_file, files_below)

    def is_changed_before(self, path: bytes | None) -> bool:
        """Tells whether an earlier segment already changes a file, or it is not known which."""
        return path is None or self._odd or path in self._settled

    def _is_in_the_way(self, before: "DraftIndex", touched: set[bytes]) -> bool:
        """Tells whether paths of one change may conflict with others of the draft."""
        for path in touched:
            kept = self.drafted.get(path) is not None
            back = before._is_gone(path) and not self._is_gone(path)
            if not kept and not back:
                continue  # a name that nothing takes is in nobody's way
            if path in self.made or any(map(self.drafted.get, ancestors(path))):
                return True
        return False

    def _is_gone(self, path: bytes) -> bool:
        return self.drafted.get(path, _UNTOUCHED) is None

    def _copy(self) -> "DraftIndex":
        new = DraftIndex.__new__(DraftIndex)
        for name, value in self.__dict__.items():
            if name not in ("operations", "ids"):  # those that are worked out once
                shared = name == "_settled"  # it is replaced, never changed
                new.__dict__[name] = value if shared or type(value) is not dict else value.copy()
        new._touched = set()
        return new

    def _compose(self, op: FileOperation) -> None:
        owners = {self._owner[path] for path, *_ in footprint(op) if path in self._owner}
        group = [self._ops[key] for key in sorted(owners)]
        if not group:
            self._append(op)
            return
        merged = composed([*[each for each in group if not isinstance(each, RunCommand)], op])
        keys = sorted(owners)
        for key in keys[len(merged) :]:
            self._drop(key)
        for key in keys[: len(merged)]:
            self._forget(key)
        for key, each in zip(keys, merged, strict=False):
            self._put(key, each)  # what is changed again keeps its place
        for each in merged[len(keys) :]:
            self._append(each)

    def _append(self, op: Operation, name: str = "") -> None:
        self._next += 1
        self._put(self._next - 1, op, name)

    def _put(self, key: int, op: Operation, name: str = "") -> None:
        self._ops[key] = op
        self._ids[key] = name or self._named(op)
        if isinstance(op, RunCommand):
            self._end_segment()
            return
        for path, before, after in footprint(op):
            if path in self._owner or self._settled.get(path, before) != before:
                self._odd = True
            self._owner[path] = key
            self._set(path, after)
            _count(self.coming if after is not None else self.going, path, 1)
            self._twice += _count(self._cases, casefolded(path), 1) == _PAIR
        self._count_more(op, 1)

    def _drop(self, key: int) -> None:
        self._forget(key)
        op = self._ops.pop(key)
        del self._ids[key]
        if self._equal.get(operation_id(op)):
            self._ids = dict(zip(self._ops, operation_ids(self._ops.values()), strict=True))

    def _forget(self, key: int) -> None:
        """Takes out what an operation does; it keeps its place."""
        op = self._ops[key]
        _count(self._equal, operation_id(op), -1)
        for path, _, after in footprint(op):
            del self._owner[path]
            if path in self._settled:
                self._set(path, self._settled[path])
            else:
                self._unset(path)
            _count(self.coming if after is not None else self.going, path, -1)
            self._twice -= _count(self._cases, casefolded(path), -1) == _PAIR - 1
        self._count_more(op, -1)

    def _named(self, op: Operation) -> str:
        """Returns the id of one more operation, which counts those that are equal to it."""
        first = operation_id(op)
        number = _count(self._equal, first, 1)
        return first if number == 1 else operation_id(op, number - 1)

    def _end_segment(self) -> None:
        if self._touched:
            self._touched = None  # of a segment that is over by now
        self._settled = dict(self.drafted)
        self._owner = {}
        self._start = self._next
        self._cases = {}  # pairs in a segment that is over keep being counted

    def _count_more(self, op: Operation, by: int) -> None:
        """Counts what few operations have: symlinks, and folders to remove."""
        for _, before, after in footprint(op):
            if "link" in (before and before.kind, after and after.kind):
                self._links += by
        if not isinstance(op, WriteFile | RunCommand) and op.prune:
            folder = parent(op.path)
            for above in [folder, *ancestors(folder)][: op.prune] if folder else ():
                _count(self.pruned, above, by)

    def _set(self, path: bytes, after: FileState | None) -> None:
        was = self.drafted.get(path) is not None
        self.drafted[path] = after
        if self._touched is not None:
            self._touched.add(path)
        if was != (after is not None):
            self._exists(path, 1 if after is not None else -1)

    def _unset(self, path: bytes) -> None:
        was = self.drafted.pop(path) is not None
        if self._touched is not None:
            self._touched.add(path)
        if was:
            self._exists(path, -1)

    def _exists(self, path: bytes, by: int) -> None:
        """Notes that a file is there in the end, or is not any more, and so are its folders."""
        if path not in self.made:
            self._name(path, by)
        for folder in ancestors(path):
            count = _count(self.made, folder, by)
            if count == max(by, 0) and self.drafted.get(folder) is None:
                self._name(folder, by)

    def _name(self, name: bytes, by: int) -> None:
        count = _count(self._alike, similarity_key(name), by)
        self._clashes += by * (count == (_PAIR if by > 0 else _PAIR - 1))


def _count(counts: dict[Key, int], key: Key, by: int) -> int:
    """Adds to a count and returns it; none is kept of what is not there."""
    count = counts.get(key, 0) + by
    if count:
        counts[key] = count
    else:
        counts.pop(key, None)
    return count


class DraftChange(msgspec.Struct, frozen=True):
    """How one version of a draft follows from another: as an edit, and as operations with ids."""

    edit: DraftEdit
    added: tuple[NamedOperation, ...]  # what is new
    gone: tuple[NamedOperation, ...]  # what is not in it any more

    @property
    def removed(self) -> tuple[str, ...]:
        """The ids that are gone."""
        return tuple([name for name, _ in self.gone])

    @property
    def changed(self) -> dict[str, str]:
        """By new id, the one of the operation about the same path that it replaces."""
        about: dict[bytes, str] = {}
        for name, op in self.gone:
            about |= {path: name for path, *_ in footprint(op) if path not in about}
        found: dict[str, str] = {}
        for name, op in self.added:
            was = [about[path] for path, *_ in footprint(op) if path in about]
            if was and was[0] not in found.values():
                found[name] = was[0]
        return found


class Draft:
    """One version of a plan's draft, and how far it is from the last one that is stored whole."""

    def __init__(
        self,
        name: str,
        operations: tuple[Operation, ...],
        whole: int = 0,
        changed: int = 0,
        index: DraftIndex | None = None,
        at_end: int = 0,
    ) -> None:
        self.name = name
        self.operations = operations
        self.whole = whole  # operations in the version that is stored whole
        self.changed = changed  # operations that came and went since
        self.at_end = at_end  # commands that stay behind what is staged later
        self._index = index

    @property
    def index(self) -> DraftIndex:
        """The same operations with what staging asks about them."""
        if self._index is None:
            self._index = DraftIndex(self.operations, self.at_end)
        return self._index
