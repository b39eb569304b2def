"""A plan, and a person who meets its run halfway: it can be neither finished nor reversed."""

import os
from typing import Any

from tests.crash.meddling import MINE, write
from tests.crash.stories import Story, delete, move
from tests.crash.stories import write as staged
from tests.crash.trees import Tree, file, tree

A, B, C, D = (b"old content of %s\n" % name for name in (b"a", b"b", b"c", b"d"))
START: Tree = {
    b"a.txt": file(A, 0o640),
    b"sub/b.txt": file(B),
    b"c.txt": file(C),
    b"d.txt": file(D),
}
STORY = Story(
    "halting",
    tree(START),
    (
        staged(b"a.txt", b"new a\n"),
        staged(b"sub/b.txt", b"new b\n"),
        delete(b"c.txt"),
        move(b"d.txt", b"moved/d.txt"),
        staged(b"last.txt", b"last\n"),
    ),
    tree(
        {
            b"a.txt": file(b"new a\n", 0o640),
            b"sub/b.txt": file(b"new b\n"),
            b"moved/d.txt": file(D),
            b"last.txt": file(b"last\n"),
        }
    ),
)
# The person edits what the run has already written, and takes the last name before the run does.
LEFT: Tree = tree({**START, b"a.txt": file(MINE), b"last.txt": file(MINE)})


class Person:
    """Edits one file that is done and takes a name that is not, right before the last rename."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._met = False

    def __call__(self, moment: str, arguments: tuple[Any, ...]) -> None:
        if moment != "hands.rename_noreplace" or arguments[2] != b"last.txt" or self._met:
            return
        self._met = True
        os.unlink(self._root + b"/a.txt")
        write(self._root + b"/a.txt")
        write(self._root + b"/last.txt")
