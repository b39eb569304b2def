"""Nested instructions: the instruction files in the folders around a file."""

from collections.abc import Iterator

import msgspec

from assent.core.errors import AssentError
from assent.core.paths import ancestors, display_path, one_line
from assent.core.plan.operation import FileState
from assent.tools.path_access import resolve_path
from assent.tools.tool import ToolContext

NAMES = ("AGENTS.md", "CLAUDE.md")  # the first that is there counts
MAX_FILE_BYTES = 16 << 10


class NestedInstructions(msgspec.Struct, frozen=True):
    """One file of instructions."""

    path: bytes
    digest: str
    text: str


def nested_instructions(around: ToolContext, file: bytes) -> list[NestedInstructions]:
    """Returns what was not said yet, the nearest last; the root's are in the prompt already."""
    found = [_of(around, folder) for folder in reversed(ancestors(file))]
    return [
        each
        for each in found
        if each and each.path != file and display_path(each.path) not in around.seen
    ]


def _of(around: ToolContext, folder: bytes) -> NestedInstructions | None:
    return next((each for name in NAMES for each in _read(around, folder, name)), None)


def _read(around: ToolContext, folder: bytes, name: str) -> Iterator[NestedInstructions]:
    if name.encode() not in around.overlay.names(folder):
        return
    try:
        path = resolve_path(around, f"{one_line(folder)}/{name}")
        state = around.overlay.state(path)
        if isinstance(state, FileState) and path.endswith(b".md") and around.readable(path):
            text = around.overlay.content(path, MAX_FILE_BYTES).decode("utf-8", "replace")
            yield NestedInstructions(path, state.digest, text.strip())
    except AssentError:
        return  # it leads outside, or is too long to be meant
