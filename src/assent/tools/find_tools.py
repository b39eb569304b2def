"""The tools that find files: `list` and `glob`."""

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from assent.core.errors import NotFound, Refused, UsageError
from assent.core.paths import base_name, is_inside, one_line, parent
from assent.core.text import counted
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.ports import OutsideFiles
from assent.tools.files import (
    MAX_FILES,
    MORE,
    FileListing,
    existing_state,
    list_files,
    missing_path,
    only_inside,
    outside_path,
    read_access_of,
    read_accesses,
    resolve_path,
    search_accesses,
)
from assent.tools.outcome import limited_outcome
from assent.tools.path_patterns import PathGlob
from assent.tools.tool import HIDDEN_FIELD, Tool, ToolContext

# list: the tree of a folder, as deep as fits, without ignored files.


MAX_LINES = 300  # lines
MAX_DEPTH = 12


class ListArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(description="folder")] = "."
    ignore: Annotated[list[str], HIDDEN_FIELD] = []
    depth: Annotated[int, HIDDEN_FIELD] = MAX_DEPTH


class _FolderNode:
    """A folder: its folders and files, and the number of files below."""

    def __init__(self) -> None:
        self.folders: dict[bytes, _FolderNode] = {}
        self.files: list[bytes] = []
        self.count = 0


def list_touches(args: ListArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    return search_accesses(read_accesses(context, args.path), "list")


def run_list(args: ListArgs, context: ToolContext) -> ToolOutcome:
    if outer := outside_path(context, args.path):
        return _outside(*outer)
    folder = resolve_path(context, args.path)
    if existing_state(context, folder) != "folder":
        return limited_outcome(one_line(folder), one_line(folder))
    found = list_files(context, folder)
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
            yield f"{indent}{one_line(folder)}/ ({counted(inner.count, 'file')})"
        else:
            yield f"{indent}{one_line(folder)}/"
            yield from _lines(inner, depth - 1, indent + "  ")
    for file in node.files:
        yield indent + one_line(file)


LIST = Tool("list", ListArgs, list_touches, run_list, Action.READ, on_demand="tree")


# glob: the files whose paths match a pattern, sorted by path, without ignored files.


class GlobArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(description="src/**/*.{ts,tsx}")]
    path: Annotated[str, msgspec.Meta(description="folder")] = "."
    limit: Annotated[int, HIDDEN_FIELD] = MAX_FILES


def glob_touches(args: GlobArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    path, _ = _from_folder(args, context)
    return search_accesses((read_access_of(context, path, "glob"),), "glob", args.pattern)


def run_glob(args: GlobArgs, context: ToolContext) -> ToolOutcome:
    path, glob = _from_folder(args, context)
    folder = resolve_path(context, path)
    existing_state(context, folder)
    pattern, begins = PathGlob(glob), _literal_folder(glob)
    named = b"/".join(filter(None, (folder, begins)))
    found = list_files(context, folder, named)
    below = len(folder) + 1 if folder else 0
    paths = [path for path in found.files if pattern.matches(path[below:])]
    notes = (
        [] if paths else [f"No files match.{_why_none(context, found, named if begins else b'')}"]
    )
    notes += [MORE] if found.cut else []
    limit = max(1, args.limit)
    notes += (
        [f"{limit} of {len(paths)} files shown; narrow the pattern."] if len(paths) > limit else []
    )
    text = "\n".join(map(one_line, paths[:limit]))
    return limited_outcome(text, args.pattern, notes, count=len(paths))


def _from_folder(args: GlobArgs, context: ToolContext) -> tuple[str, str]:
    """Returns the folder to search, and the pattern from there; an absolute one says both."""
    pattern, root = args.pattern, os.fsdecode(context.root)
    if ".." in pattern.split("/"):
        raise UsageError(f"{pattern!a} has `..` in it; give the folder as `path`.")
    if pattern.startswith(f"{root}/"):
        return ".", pattern[len(root) :]
    if pattern.startswith(("/", "~/")):
        raise Refused(f"{pattern!a} is outside the workspace. {only_inside(context, 'glob')}")
    return args.path, pattern


def _literal_folder(glob: str) -> bytes:
    """Returns the folders that a pattern begins with, up to the first wildcard."""
    *folders, _ = glob.strip("/").split("/")
    plain = itertools.takewhile(lambda name: not set(name) & set("*?[{"), folders)
    return "/".join(plain).encode("utf-8", "surrogateescape")


def _why_none(context: ToolContext, found: FileListing, named: bytes) -> str:
    """Says that a folder that a pattern names is missing, or is there and was not searched."""
    state = context.overlay.state(named) if named else "folder"
    if state is None:
        return f" {missing_path(context, named)}"
    if not named or state != "folder":
        return ""
    if any(is_inside(path, named) for path in found.files):
        return ""
    return f" {one_line(named)} is ignored; to search it, give it as path."


GLOB = Tool("glob", GlobArgs, glob_touches, run_glob, action=Action.READ)
