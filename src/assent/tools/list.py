"""list: the tree of a folder, as deep as fits, ignored files left out."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from assent.core.errors import NotFound
from assent.core.paths import base_name, one_line, parent
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.ports import OutsideFiles
from assent.tools.calling.schema import UNOFFERED
from assent.tools.looking.limits import told
from assent.tools.looking.listing import MORE, listed
from assent.tools.looking.near import standing
from assent.tools.looking.patterns import Pattern
from assent.tools.looking.places import entered, located, looking, looks
from assent.tools.tool import Around, Tool

MOST = 300  # lines
DEEPEST = 12


class Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str = "."
    ignore: Annotated[list[str], UNOFFERED] = []
    depth: Annotated[int, UNOFFERED] = DEEPEST


class _Node:
    """A folder: the folders and files in it, and how many files lie below."""

    def __init__(self) -> None:
        self.folders: dict[bytes, _Node] = {}
        self.files: list[bytes] = []
        self.count = 0


def touches(args: Args, around: Around) -> Sequence[ResourceAccess]:
    return looking(looks(around, args.path), "list")


def run(args: Args, around: Around) -> ToolOutcome:
    if outer := entered(around, args.path):
        return _outside(*outer)
    folder = located(around, args.path)
    if standing(around, folder) != "folder":
        return told(one_line(folder), one_line(folder))
    found = listed(around, folder)
    below = len(folder) + 1 if folder else 0
    unwanted = [Pattern(glob) for glob in args.ignore]
    names = [path[below:] for path in found.files]
    shown = [name for name in names if not any(each.covers(name) for each in unwanted)]
    top = _tree(shown)
    notes = [] if shown else ["No files."]
    notes += [MORE] if found.cut else []
    return told("\n".join(_fitting(top, args.depth)), one_line(folder) or ".", notes)


def _outside(outside: OutsideFiles, path: bytes) -> ToolOutcome:
    """Lists one level of what lies outside the workspace."""
    title = one_line(path)
    if not outside.is_folder(path):
        raise NotFound(f"{title} is no folder.")
    lines = [one_line(name) + "/" * is_folder for name, is_folder in outside.names(path).items()]
    return told("\n".join(lines), title, [] if lines else ["No files."])


def _tree(paths: Sequence[bytes]) -> _Node:
    top = _Node()
    known = {b"": top}
    for path in paths:
        for folder in _parents(path):
            if folder not in known:
                known[folder] = _Node()
                known[parent(folder)].folders[base_name(folder)] = known[folder]
            known[folder].count += 1
        known[parent(path)].files.append(base_name(path))
    return top


def _parents(path: bytes) -> Iterator[bytes]:
    """Yields the folders above a path, the outermost first."""
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)


def _fitting(top: _Node, deepest: int) -> list[str]:
    """Returns the deepest tree that is not too long; its first level is always whole."""
    best = [*_lines(top, 1, "")]
    for depth in range(2, min(deepest, DEEPEST) + 1):
        lines = [*_lines(top, depth, "")]
        if len(lines) > MOST or lines == best:
            break
        best = lines
    return best


def _lines(node: _Node, depth: int, indent: str) -> Iterator[str]:
    for folder, inner in sorted(node.folders.items()):
        if depth == 1:
            yield f"{indent}{one_line(folder)}/ ({inner.count} files)"
        else:
            yield f"{indent}{one_line(folder)}/"
            yield from _lines(inner, depth - 1, indent + "  ")
    for file in node.files:
        yield indent + one_line(file)


LIST = Tool("list", Args, touches, run, action=Action.READ)
