"""Finds git's own folders under any name, which no operation may touch or create.

`.git` may be a file or a symlink that leads to a folder with another name. A hook or a line of
configuration there makes git run a program.
"""

from collections.abc import Iterable

from assent.core.errors import Refused
from assent.core.paths import ancestors, display_path
from assent.core.plan.operation import Operation, footprint
from assent.ports import WorkspaceFiles

_PARTS = (b"objects", b"refs")


def refuse_git_folders(
    files: WorkspaceFiles, operations: Iterable[Operation], draft: Iterable[Operation] = ()
) -> None:
    """Refuses operations on what git would take for a repository, now or with the draft applied."""
    added = list(operations)
    steps = [(path, after) for op in (*draft, *added) for path, _, after in footprint(op)]
    coming = {path for path, after in steps if after is not None}
    going = {path for path, after in steps if after is None}
    known: dict[bytes, bool] = {}
    for path in [path for op in added for path, *_ in footprint(op)]:
        for folder in (*ancestors(path), b""):
            if folder not in known:
                listed = not _takes_a_files_place(files, folder, going)
                known[folder] = _is_repository(files if listed else None, folder, coming)
            if known[folder]:
                where = display_path(folder) or "the workspace"
                raise Refused(
                    f"{display_path(path)} lies in {where}, which is git's own, or would be; "
                    "a plan never touches it."
                )


def _takes_a_files_place(files: WorkspaceFiles, folder: bytes, going: set[bytes]) -> bool:
    """Tells whether a folder is, or lies, where a file or symlink goes: nothing is in it yet."""
    above = (*reversed(ancestors(folder)), folder)
    outermost = next((path for path in above if path in going), None)
    return outermost is not None and files.is_file(outermost)


def _is_repository(files: WorkspaceFiles | None, folder: bytes, coming: set[bytes]) -> bool:
    prefix = folder + b"/" if folder else b""
    head = prefix + b"HEAD"
    if head not in coming and not (files and folder and files.is_file(head)):
        return False
    there = set(files.names(folder)) if files else set()
    return all(
        part in there or any(path.startswith(prefix + part + b"/") for path in coming)
        for part in _PARTS
    )
