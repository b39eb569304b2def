"""Repositories: git's own folders under any name, which no operation may touch.

`.git` may be a file or a symlink that leads to a folder with quite another name. A hook or a line
of configuration there makes git run a program.
"""

from collections.abc import Iterable

from assent.core.errors import Refused
from assent.core.operation import Operation, footprint
from assent.core.paths import ancestors, shown
from assent.ports import Files

_PARTS = {b"objects", b"refs"}


def refuse_repositories(files: Files, operations: Iterable[Operation]) -> None:
    """Refuses operations on what lies in a folder that git would take for a repository."""
    known: dict[bytes, bool] = {}
    for path in [path for op in operations for path, *_ in footprint(op)]:
        for folder in ancestors(path):
            if folder not in known:
                known[folder] = _is_repository(files, folder)
            if known[folder]:
                raise Refused(
                    f"{shown(path)} lies in {shown(folder)}, which is git's own; a plan never "
                    "touches it."
                )


def _is_repository(files: Files, folder: bytes) -> bool:
    return files.is_file(folder + b"/HEAD") and set(files.names(folder)) >= _PARTS
