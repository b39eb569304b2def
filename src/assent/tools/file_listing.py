"""Lists the files below a folder, with the draft applied and ignored files left out.

ripgrep tells where it can run; else the folders are walked here by the same rules.
"""

from collections.abc import Iterator
from itertools import islice

import msgspec

from assent.core.errors import AssentError
from assent.core.paths import STATE, is_inside
from assent.tools.ignore_files import IgnoreMatcher
from assent.tools.overlay import Overlay
from assent.tools.path_access import is_private
from assent.tools.ripgrep import run_ripgrep
from assent.tools.tool import ToolContext

MAX_FILES = 100_000  # files
MORE = "There are more files than could be listed."


class FileListing(msgspec.Struct, frozen=True):
    """Files by path, sorted; `cut` if there are more than could be listed."""

    files: tuple[bytes, ...]
    cut: bool = False


def list_files(around: ToolContext, folder: bytes) -> FileListing:
    """Lists the files below a folder, or the one file that it is."""
    drafted = around.overlay.drafted()
    printed = run_ripgrep(around, (b"--files", b"--null"), folder)
    if printed is None:
        on_disk = list(islice(walk_files(around.overlay, folder), MAX_FILES + 1))
    else:
        on_disk = [path.removeprefix(b"./") for path in printed.content.split(b"\0")[:-1]]
    own = is_inside(folder, STATE)
    stand = [
        path
        for path in on_disk
        if path not in drafted and own == is_inside(path, STATE) and not is_private(around, path)
    ]
    coming = [path for path, after in drafted.items() if after and is_inside(path, folder)]
    found = sorted({*stand, *coming})
    cut = printed is not None and bool(printed.cut)
    return FileListing(tuple(found[:MAX_FILES]), cut or len(found) > MAX_FILES)


def walk_files(overlay: Overlay, folder: bytes) -> Iterator[bytes]:
    """Walks through the files below a folder that no rule leaves out, in no order."""
    if overlay.state(folder) != "folder":
        yield folder
        return
    ignored = IgnoreMatcher(overlay)
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        prefix = here + b"/" if here else b""
        for name, is_folder in _names(overlay, here).items():
            path = prefix + name
            if ignored.covers(path, folder=is_folder):
                continue
            if is_folder:
                waiting.append(path)
            else:
                yield path


def _names(overlay: Overlay, folder: bytes) -> dict[bytes, bool]:
    try:
        return overlay.names(folder)
    except AssentError:
        return {}  # one that may not be read, or is going away: others are worth listing
