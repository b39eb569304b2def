"""Path access: where a path that a model typed leads, and which requests reading it makes."""

from collections.abc import Sequence
from posixpath import join, normpath

from assent.core.errors import AssentError, Refused
from assent.core.paths import casefolded, display_path, is_inside, one_line, parent
from assent.core.tool import Action, ResourceAccess
from assent.ports import OutsideFiles
from assent.tools.tool import ToolContext

PATH_CHANGED = "That is not what permission was given for, so nothing was read."


def resolve_path(around: ToolContext, argument: str) -> bytes:
    """Returns the real path in the workspace; refuses outside paths and Assent's own secrets."""
    path = around.overlay.locate(argument)
    if is_private(around, path):
        raise Refused(f"{one_line(path)} belongs to Assent and cannot be read.")
    return path


def is_private(around: ToolContext, path: bytes) -> bool:
    """Tells whether a path is in Assent's own state or configuration."""
    return any(is_inside(casefolded(path), casefolded(own)) for own in around.private)


def read_accesses(around: ToolContext, argument: str) -> tuple[ResourceAccess, ...]:
    """Returns the access for reading a path: outside the workspace, the folder as well."""
    found = _outer(around, argument)
    if found is None:
        return (read_access_of(around, argument),)
    return _touched(around.root, *found, argument)


def outside_accesses(around: ToolContext, names: Sequence[str]) -> tuple[ResourceAccess, ...]:
    """Returns the access for outside files that a command names, symlinks followed.

    A hidden file is refused if a symlink leads to it; else its name shows what it is.
    """
    found: list[ResourceAccess] = []
    for name in names:
        try:
            outer = _outer(around, name)
        except Refused:
            if not name.startswith(("/", "~", "..")):
                raise
            continue
        except AssentError:  # it is no path at all
            continue
        found += _touched(around.root, *outer, name) if outer else ()
    return tuple(dict.fromkeys(found))


def read_access_of(around: ToolContext, argument: str) -> ResourceAccess:
    """Returns the access for reading a path in the workspace."""
    return ResourceAccess(Action.READ, display_path(resolve_path(around, argument)) or ".")


def search_accesses(
    places: tuple[ResourceAccess, ...], word: str, what: str = ""
) -> tuple[ResourceAccess, ...]:
    """Returns the access of a search tool: folders, and the subject of its own rules.

    That is the search pattern; without one it is the folder itself.
    """
    text = display_path(what.encode("utf-8", "backslashreplace"))  # half of a pair is no text
    return (*places, ResourceAccess(Action.SEEK, text or places[-1].resource, word))


def outside_path(around: ToolContext, argument: str) -> tuple[OutsideFiles, bytes] | None:
    """Returns access to an outside file, and its real path; None if it is in the workspace.

    Only what the gate has judged counts: a symlink may point elsewhere by now.
    """
    found = _outer(around, argument)
    if found and any(
        asked not in around.judged for asked in _touched(around.root, *found, argument)
    ):
        raise Refused(
            f"{one_line(argument.encode())} now points to {one_line(found[1])}. {PATH_CHANGED}"
        )
    return found


def _touched(
    root: bytes, outside: OutsideFiles, path: bytes, argument: str
) -> tuple[ResourceAccess, ...]:
    folder = path if outside.is_folder(path) else parent(path)
    typed = argument.encode("utf-8", "backslashreplace")
    link = display_path(typed) if normpath(join(root, typed)) != path else ""
    return (
        ResourceAccess(Action.OUTSIDE, display_path(folder) + "/*"),
        ResourceAccess(Action.READ, display_path(path), link=link),
    )


def _outer(around: ToolContext, argument: str) -> tuple[OutsideFiles, bytes] | None:
    """Returns the real path of an outside file, if the user can be asked about it."""
    way = around.overlay.outside_target(argument) if around.outside else None
    if way is None or around.outside is None:
        return None
    absolute = way if way.startswith(b"/") else around.root + b"/" + way
    return around.outside, around.outside.real(absolute)
