"""File tree: the files that operations touch, in their folders, with how many lines change."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from assent.core.plan.operation import MoveFile, RunCommand
from assent.core.text.hidden_chars import visible_path
from assent.render.lines import Line, Style
from assent.render.review import OperationReview, diff_line_counts
from assent.render.rows import operation_verb

_FILE: Final = b"\0"


class TreeFile(msgspec.Struct, frozen=True):
    """A file that an operation touches."""

    path: bytes
    number: int  # of the operation, from 1
    kind: str
    added: int = 0
    removed: int = 0
    is_text: bool = True
    is_risky: bool = False


class TreeRow(msgspec.Struct, frozen=True):
    """A row of the tree: a folder with the sums of all below it, or a file."""

    depth: int
    name: str  # of a folder with a slash at its end; folders with one entry are joined
    added: int
    removed: int
    file: TreeFile | None = None  # None: a folder
    files: int = 0  # in a folder and those below it,
    first: int = 0  # and the first operation on one of them


def tree_files(operations: Iterable[OperationReview]) -> Iterator[TreeFile]:
    """Yields the file of each operation; commands have none, a move is where it goes."""
    for number, one in enumerate(operations, 1):
        if not isinstance(one.op, RunCommand):
            path = one.op.to if isinstance(one.op, MoveFile) else one.op.path
            counts = diff_line_counts(one.diff)
            kind = operation_verb(one.op)
            yield TreeFile(path, number, kind, *counts, one.diff is not None, one.is_risky)


def file_tree(
    files: Iterable[TreeFile], is_shown: Callable[[TreeFile], bool] = lambda file: True
) -> list[TreeRow]:
    """Returns the rows of the tree in the order of paths; each folder stands before its files.

    A file that is not shown has no row, and counts for its folders.
    """
    ordered = sorted(files, key=lambda file: file.path.split(b"/"))
    added, removed, counts = Counter[bytes](), Counter[bytes](), Counter[bytes]()
    first: dict[bytes, int] = {}
    entries: dict[bytes, set[bytes]] = {}
    for file in ordered:
        inside = file.path + _FILE  # a file may give way to a folder of its name
        for folder in _folders(file.path):
            added[folder] += file.added
            removed[folder] += file.removed
            counts[folder] += 1
            first[folder] = min(file.number, first.get(folder, file.number))
            entries.setdefault(folder, set()).add(inside)
            inside = folder
    rows: list[TreeRow] = []
    shown: list[bytes] = []  # the folders that are open
    for file in ordered:
        folders = [one for one in reversed(_folders(file.path)) if not _is_joined(one, entries)]
        same = 0
        while same < min(len(shown), len(folders)) and shown[same] == folders[same]:
            same += 1
        for depth, folder in enumerate(folders[same:], same):
            above = len(folders[depth - 1]) if depth else 0
            name = f"{visible_path(folder[above:])}/".removeprefix("/")
            sums = added[folder], removed[folder]
            rows.append(TreeRow(depth, name, *sums, None, counts[folder], first[folder]))
        shown = folders
        if not is_shown(file):
            continue
        name = visible_path(file.path.rpartition(b"/")[2])
        rows.append(TreeRow(len(folders), name, file.added, file.removed, file))
    return rows


def _folders(path: bytes) -> list[bytes]:
    """Returns the folders of a path, the innermost first."""
    found = []
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        found.append(path)
    return found


def _is_joined(folder: bytes, entries: dict[bytes, set[bytes]]) -> bool:
    """Tells whether a folder has one entry, which is a folder: they are shown as one."""
    inside = entries[folder]
    return len(inside) == 1 and next(iter(inside)) in entries


def file_tree_lines(operations: Sequence[OperationReview]) -> list[Line]:
    """Renders the tree with counts and the numbers of operations; none of fewer than two files."""
    files = [*tree_files(operations)]
    if not files[1:]:
        return []
    rows = file_tree(files)
    names = ["  " * row.depth + row.name for row in rows]
    width = max(map(len, names))
    lines = [Line("heading", f"Files: {len(files)}")]
    for name, row in zip(names, rows, strict=True):
        counts = [f"+{row.added}"] * bool(row.added) + [f"-{row.removed}"] * bool(row.removed)
        told = f"{row.file.number}. {row.file.kind}" if row.file else ""
        if row.file and not row.file.is_text:
            counts = ["not text"]
        text = f"  {name:<{width}}  {' '.join(counts):<11} {told}".rstrip()
        style: Style = "dim" if row.file is None else "risk" if row.file.is_risky else "plain"
        lines.append(Line(style, text))
    return lines
