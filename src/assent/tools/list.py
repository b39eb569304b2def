"""list: the tree of a folder, as deep as fits, without ignored files."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from assent.core.errors import NotFound
from assent.core.paths import base_name, one_line, parent
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.ports import OutsideFiles
from assent.tools.file_listing import MORE, existing_state, list_files
from assent.tools.outcome import limited_outcome
from assent.tools.path_access import outside_path, read_accesses, resolve_path, search_accesses
from assent.tools.path_patterns import PathGlob
from assent.tools.schema import HIDDEN_FIELD
from assent.tools.tool import Tool, ToolContext

MAX_LINES = 300  # lines
MAX_DEPTH = 12


class ListArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str = "."
    ignore: Annotated[list[str], HIDDEN_FIELD] = []
    depth: Annotated[int, HIDDEN_FIELD] = MAX_DEPTH


class _FolderNode:
    """A folder: its folders and files, and the number of files below."""

    def __init__(self) -> None:
        self.folders: dict[bytes, _FolderNode] = {}
        self.files: list[bytes] = []
        self.count = 0


def touches(args: ListArgs, around: ToolContext) -> Sequence[ResourceAccess]:
    return search_accesses(read_accesses(around, args.path), "list")


def run(args: ListArgs, around: ToolContext) -> ToolOutcome:
    if outer := outside_path(around, args.path):
        return _outside(*outer)
    folder = resolve_path(around, args.path)
    if existing_state(around, folder) != "folder":
        return limited_outcome(one_line(folder), one_line(folder))
    found = list_files(around, folder)
    below = len(folder) + 1 if folder else 0
    unwanted = [PathGlob(glob) for glob in args.ignore]
    names = [path[below:] for path in found.files]
    shown = [name for name in names if not any(each.covers(name) for each in unwanted)]
    top = _tree(shown)
    notes = [] if shown else ["No files."]
    notes += [MORE] if found.cut else []
    return limited_outcome("\n".join(_fitting(top, args.depth)), one_line(folder) or ".", notes)


def _outside(outside: OutsideFiles, path: bytes) -> ToolOutcome:
    """Lists one level of a folder outside the workspace."""
    title = one_line(path)
    if not outside.is_folder(path):
        raise NotFound(f"{title} is not a folder.")
    lines = [one_line(name) + "/" * is_folder for name, is_folder in outside.names(path).items()]
    return limited_outcome("\n".join(lines), title, [] if lines else ["No files."])


def _tree(paths: Sequence[bytes]) -> _FolderNode:
    top = _FolderNode()
    known = {b"": top}
    for path in paths:
        for folder in _parents(path):
            if folder not in known:
                known[folder] = _FolderNode()
                known[parent(folder)].folders[base_name(folder)] = known[folder]
            known[folder].count += 1
        known[parent(path)].files.append(base_name(path))
    return top


def _parents(path: bytes) -> Iterator[bytes]:
    """Yields the folders above a path, outermost first."""
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)


def _fitting(top: _FolderNode, deepest: int) -> list[str]:
    """Returns the deepest tree that is not too long; its first level is always complete."""
    best = [*_lines(top, 1, "")]
    for depth in range(2, min(deepest, MAX_DEPTH) + 1):
        lines = [*_lines(top, depth, "")]
        if len(lines) > MAX_LINES or lines == best:
            break
        best = lines
    return best


def _lines(node: _FolderNode, depth: int, indent: str) -> Iterator[str]:
    for folder, inner in sorted(node.folders.items()):
        if depth == 1:
            yield f"{indent}{one_line(folder)}/ ({inner.count} files)"
        else:
            yield f"{indent}{one_line(folder)}/"
            yield from _lines(inner, depth - 1, indent + "  ")
    for file in node.files:
        yield indent + one_line(file)


LIST = Tool("list", ListArgs, touches, run, action=Action.READ)
