"""File states and trees for the tests of the core; contents are named by single letters."""

import itertools
from collections.abc import Iterable, Mapping

from assent.core.digest import sha256
from assent.core.paths import ancestors, is_inside
from assent.core.plan.operation import FileOperation, FileState, footprint

Tree = dict[bytes, FileState]


def file(text: str, mode: int = 0o644) -> FileState:
    return FileState(sha256(text.encode()), len(text), mode)


A, B, C, D, Z = (file(letter) for letter in "ABCDZ")
TOOL = file("A", 0o755)
LINK = FileState(sha256(b"to/it"), 5, 0o777, "link")


def applied(tree: Tree, operations: Iterable[FileOperation]) -> Tree:
    """Returns the tree after operations that each find what they expect."""
    after = dict(tree)
    for op in operations:
        for path, wanted, left in footprint(op):
            assert after.get(path) == wanted, f"{path!r} is not as {op} expects"
            after.pop(path, None)
            if left is not None:
                after[path] = left
    return after


def below(tree: Mapping[bytes, object], folder: bytes) -> list[bytes]:
    return [path for path in tree if is_inside(path, folder) and path != folder]


def is_possible(tree: Tree) -> bool:
    """Tells whether no name is a file and a folder at once."""
    return not any(above in tree for path in tree for above in ancestors(path))


# Names that can be files and folders to each other, and every tree that they can make.
NESTED = (b"a", b"a/x", b"a/x/y", b"b", b"b/z")
TREES: list[Tree] = [
    tree
    for states in itertools.product((None, A, B), repeat=len(NESTED))
    if is_possible(tree := {name: s for name, s in zip(NESTED, states, strict=True) if s})
]
