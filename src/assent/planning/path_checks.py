"""What a plan may not touch: git's own folders, two names of one file, and what rules deny."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from assent.core.errors import ImpossibleOperations, Refused
from assent.core.paths import ancestors, base_name, casefolded, display_path, one_line, parent
from assent.core.permission.rule import CommandLimits
from assent.core.plan.draft import segments
from assent.core.plan.operation import (
    FileState,
    Operation,
    RunCommand,
    command_line_text,
    footprint,
    inverse,
)
from assent.core.text.hidden_chars import visible_line
from assent.planning.ports import Ports
from assent.ports import PlanRules, WorkspaceFiles
from assent.render.rows import operation_brief

# Case-insensitive file systems: which names are the same file in this workspace.


class FilenameCase:
    """Names as they are in the workspace. A name that is found but not listed is another's.

    Names to be created cannot be found yet: for them, a folder is tested with a name it has.
    """

    def __init__(
        self, files: WorkspaceFiles, drafted: Mapping[bytes, FileState | None] | None = None
    ) -> None:
        self._files = files
        self._drafted = drafted or {}
        self._listed: dict[bytes, frozenset[bytes]] = {}
        self._known: dict[bytes, dict[bytes, list[bytes]]] = {}
        self._coming: dict[bytes, set[bytes]] = {}
        for path in self._drafted:
            for each in (path, *ancestors(path)):
                self._coming.setdefault(parent(each), set()).add(base_name(each))

    def name_on_disk(self, folder: bytes, other: bytes) -> bytes:
        """Returns how a name from elsewhere is spelled here: as in the draft, or else on disk."""
        found = self._names_like(folder, other)
        ranked = sorted(
            found, key=lambda each: (self._rank(joined_path(folder, each)), each != other)
        )
        return next((each for each in ranked if self.is_one(folder, each, other)), other)

    def path_on_disk(self, path: bytes) -> bytes:
        """Returns how a path is spelled here, name by name."""
        found = b""
        for each in path.split(b"/"):
            found = joined_path(found, self.name_on_disk(found, each))
        return found

    def is_same(self, one: bytes, other: bytes) -> bool:
        """Tells whether two paths are, or would be, one file."""
        if casefolded(one) != casefolded(other):
            return False
        folder = b""
        for each, twin in zip(one.split(b"/"), other.split(b"/"), strict=True):
            if not self.is_one(folder, each, twin):
                return False
            folder = joined_path(folder, each)
        return True

    def refuse_own(self, path: bytes, to: bytes) -> None:
        """Refuses a new name that is the file itself: deleting the old name would lose it."""
        if path != to and self.is_same(path, to):
            raise ImpossibleOperations(
                f"{one_line(to)} and {one_line(path)} are the same file here, so the move is not "
                "possible. Nothing was staged.",
                f"assent stage move {display_path(path)} OTHER",
            )

    def is_one(self, folder: bytes, one: bytes, other: bytes) -> bool:
        """Tells whether two names in a folder are, or would be, one file."""
        if one == other:
            return True
        listed = self._names(folder)
        if one in listed or other in listed:
            absent = [each for each in (one, other) if each not in listed]
            return bool(absent) and self._is_found(joined_path(folder, absent[0]))
        if self._is_found(joined_path(folder, one)):  # a third way to write it is listed
            return self._is_found(joined_path(folder, other))
        return self._is_caseless(folder)

    def _is_caseless(self, folder: bytes) -> bool:
        """Tells whether a name in a folder, or else in one above it, is found in other case."""
        for above in (folder, *ancestors(folder), b""):
            listed = self._names(above)
            for other in (each.swapcase() for each in sorted(listed)):
                if other not in listed:
                    return self._is_found(joined_path(above, other))
        return False

    def _names_like(self, folder: bytes, other: bytes) -> list[bytes]:
        if folder not in self._known:
            known = self._known[folder] = {}
            for each in self._names(folder) | self._coming.get(folder, set()):
                known.setdefault(casefolded(each), []).append(each)
        return self._known[folder].get(casefolded(other), [])

    def _rank(self, path: bytes) -> int:
        """What the draft makes comes first, then what it takes away, then what is on disk."""
        if path in self._drafted:
            return 0 if self._drafted[path] else 1
        return 0 if base_name(path) in self._coming.get(parent(path), ()) else 2

    def _names(self, folder: bytes) -> frozenset[bytes]:
        if folder not in self._listed:
            try:
                self._listed[folder] = frozenset(self._files.names(folder))
            except Refused:  # it is reached through a symlink: not part of the workspace
                self._listed[folder] = frozenset()
        return self._listed[folder]

    def _is_found(self, path: bytes) -> bool:
        try:
            return self._files.is_file(path) or self._files.read_states((path,))[path] is not None
        except Refused:
            return False


def refuse_case_collisions(files: WorkspaceFiles, operations: Iterable[Operation]) -> None:
    """Refuses two operations on what is one file here; a move may change only the case."""
    spelling = FilenameCase(files)
    for one, other in _written_twice(operations):
        if spelling.is_same(one, other):
            raise ImpossibleOperations(
                f"{one_line(one)} and {one_line(other)} are the same file here, so one plan "
                "cannot change both. Nothing was done.",
                "assent stage list",
            )


def _written_twice(operations: Iterable[Operation]) -> Iterator[tuple[bytes, bytes]]:
    """Yields paths of two operations between commands that differ in case alone."""
    for segment in segments(operations):
        known: dict[bytes, tuple[int, bytes]] = {}
        steps = [(index, step[0]) for index, op in enumerate(segment) for step in footprint(op)]
        for index, path in steps:
            owner, other = known.setdefault(casefolded(path), (index, path))
            if owner != index:
                yield other, path


def differs_only_in_case(path: bytes, to: bytes) -> bool:
    """Tells whether a new name differs from the old one only in case, in the same folder."""
    return path != to and parent(path) == parent(to) and casefolded(path) == casefolded(to)


def joined_path(folder: bytes, each: bytes) -> bytes:
    """Returns the path of a name in a folder."""
    return folder + b"/" + each if folder else each


# Finds git's own folders under any name, which no operation may touch or create.
#
# `.git` may be a file or a symlink that leads to a folder with another name. A hook or a line of
# configuration there makes git run a program.


_PARTS = (b"objects", b"refs")


def refuse_git_folders(
    files: WorkspaceFiles, operations: Iterable[Operation], draft: Iterable[Operation] = ()
) -> None:
    """Refuses operations on what git treats as a repository, now or with the draft applied."""
    added = list(operations)
    steps = [(path, after) for op in (*draft, *added) for path, _, after in footprint(op)]
    coming = {path for path, after in steps if after is not None}
    going = {path for path, after in steps if after is None}
    refuse_git_paths(files, added, coming, going)


def refuse_git_paths(
    files: WorkspaceFiles,
    added: Iterable[Operation],
    coming: Collection[bytes],
    going: Collection[bytes],
) -> None:
    """Refuses operations on what git treats as a repository; all that comes and goes is known."""
    known: dict[bytes, bool] = {}
    for path in [path for op in added for path, *_ in footprint(op)]:
        for folder in (*ancestors(path), b""):
            if folder not in known:
                listed = not _takes_a_files_place(files, folder, going)
                known[folder] = _is_repository(files if listed else None, folder, coming)
            if known[folder]:
                where = display_path(folder) or "the workspace"
                raise Refused(repository_text(path, where))


def _takes_a_files_place(files: WorkspaceFiles, folder: bytes, going: Collection[bytes]) -> bool:
    """Tells whether a folder is, or lies, where a file or symlink goes: nothing is in it yet."""
    above = (*reversed(ancestors(folder)), folder)
    outermost = next((path for path in above if path in going), None)
    return outermost is not None and files.is_file(outermost)


def repository_text(path: bytes, folder: str) -> str:
    """Returns why a path cannot be changed that is in a repository of Git, or would be."""
    return (
        f"{display_path(path)} is in {folder}, which is or would become a Git directory. Plans "
        "cannot change it."
    )


def _is_repository(files: WorkspaceFiles | None, folder: bytes, coming: Collection[bytes]) -> bool:
    prefix = folder + b"/" if folder else b""
    head = prefix + b"HEAD"
    if head not in coming and not (files and folder and files.is_file(head)):
        return False
    there = set(files.names(folder)) if files else set()
    return all(
        part in there or any(path.startswith(prefix + part + b"/") for path in coming)
        for part in _PARTS
    )


# Which files and commands of a plan the rules of the user and the project deny.


MAX_NAMED: Final = 5  # denied paths that are spelled out in one message
RULES_COMMAND: Final = "assent rules list"


def command_limits(rules: PlanRules, command: RunCommand) -> CommandLimits:
    """Returns what rules forbid a command; what they deny to its undo, they deny to both."""
    held, back = rules.command_limits(command_line_text(command)), inverse(command)
    if held.denial or not isinstance(back, RunCommand):
        return held
    denial = rules.command_limits(command_line_text(back)).denial
    return replace(
        held,
        denial=f"Its undo command, {operation_brief(back)}, is not allowed: {denial}"
        if denial
        else "",
    )


def denied_operations(
    ports: Ports, operations: Sequence[Operation], *, lenient: bool = False
) -> dict[int, str]:
    """Returns which file operations rules deny, by index, each with path and rule.

    Both ends of a move count, and so does a file's own name where case makes no difference.
    """
    spelling = FilenameCase(ports.files)
    paths = dict.fromkeys(path for op in operations for path, *_ in footprint(op))
    found = ports.rules.denials(_spelled(spelling, paths), lenient=lenient)
    if not found:
        return {}
    reasons = {
        path: f"{one_line(path)}: {visible_line(found[name])}"
        for path in paths
        for name in (path, spelling.path_on_disk(path))
        if name in found
    }
    first = [next((p for p, *_ in footprint(op) if p in reasons), b"") for op in operations]
    return {index: reasons[path] for index, path in enumerate(first) if path}


def refuse_denied(
    ports: Ports, operations: Sequence[Operation], left: str, *, lenient: bool = False
) -> None:
    """Refuses operations on files that rules deny (law 9); `left` says what was not done then."""
    found = list(dict.fromkeys(denied_operations(ports, operations, lenient=lenient).values()))
    if found:
        more = f" And {len(found) - MAX_NAMED} more." if len(found) > MAX_NAMED else ""
        told = " ".join(f"Rules deny changes to {each}" for each in found[:MAX_NAMED])
        raise Refused(f"{told}{more} {left}", RULES_COMMAND)


def _spelled(spelling: FilenameCase, paths: Iterable[bytes]) -> Iterator[bytes]:
    """Yields paths as they are given and as they are written here; lazily, as few need the disk."""
    for path in paths:
        yield path
        here = spelling.path_on_disk(path)
        if here != path:
            yield here
