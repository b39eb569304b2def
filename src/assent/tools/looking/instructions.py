"""Nested instructions: what the folders around a file say to whoever works there."""

from collections.abc import Iterator

import msgspec

from assent.core.errors import AssentError
from assent.core.paths import ancestors, display_path, one_line
from assent.core.plan.operation import FileState
from assent.tools.looking.places import located
from assent.tools.tool import Around

NAMES = ("AGENTS.md", "CLAUDE.md")  # the first that is there counts
LARGEST = 16 << 10


class Instructions(msgspec.Struct, frozen=True):
    """One file of instructions."""

    path: bytes
    digest: str
    text: str


def instructions(around: Around, file: bytes) -> list[Instructions]:
    """Returns what was not said yet, the nearest last; the root's are in the prompt already."""
    found = [_of(around, folder) for folder in reversed(ancestors(file))]
    return [
        each
        for each in found
        if each and each.path != file and display_path(each.path) not in around.seen
    ]


def _of(around: Around, folder: bytes) -> Instructions | None:
    return next((each for name in NAMES for each in _read(around, folder, name)), None)


def _read(around: Around, folder: bytes, name: str) -> Iterator[Instructions]:
    if name.encode() not in around.overlay.names(folder):
        return
    try:
        path = located(around, f"{one_line(folder)}/{name}")
        state = around.overlay.state(path)
        if isinstance(state, FileState) and path.endswith(b".md") and around.readable(path):
            text = around.overlay.content(path, LARGEST).decode("utf-8", "replace")
            yield Instructions(path, state.digest, text.strip())
    except AssentError:
        return  # it leads outside, or is too long to be meant
