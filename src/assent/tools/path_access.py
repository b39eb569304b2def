"""Path access: where a path that a model typed leads, and which requests reading it makes."""

from collections.abc import Sequence
from posixpath import join, normpath

from assent.core.errors import AssentError, Refused
from assent.core.paths import casefolded, display_path, is_inside, one_line, parent
from assent.core.tool import Action, ResourceAccess
from assent.ports import OutsideFiles
from assent.tools.tool import ToolContext

PATH_CHANGED = "That is not what was asked about, so nothing was read."


def resolve_path(around: ToolContext, argument: str) -> bytes:
    """Returns the real path in the workspace; refuses what lies outside, and our own secrets."""
    path = around.overlay.locate(argument)
    if is_private(around, path):
        raise Refused(f"{one_line(path)} is Assent's own; nothing there is ever read.")
    return path


def is_private(around: ToolContext, path: bytes) -> bool:
    """Tells whether a path lies in the state or configuration of Assent itself."""
    return any(is_inside(casefolded(path), casefolded(own)) for own in around.private)


def read_accesses(around: ToolContext, argument: str) -> tuple[ResourceAccess, ...]:
    """Returns what looking at a path touches: outside the workspace, the folder as well."""
    found = _outer(around, argument)
    if found is None:
        return (read_access_of(around, argument),)
    return _touched(around.root, *found, argument)


def outside_accesses(around: ToolContext, names: Sequence[str]) -> tuple[ResourceAccess, ...]:
    """Returns what a command looks at outside by these names of files, symlinks followed.

    What nobody is shown is refused where a symlink hides it; else its name says what it is.
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
    """Returns what looking at a path in the workspace touches."""
    return ResourceAccess(Action.READ, display_path(resolve_path(around, argument)) or ".")


def search_accesses(
    places: tuple[ResourceAccess, ...], word: str, what: str = ""
) -> tuple[ResourceAccess, ...]:
    """Returns what a tool that looks around touches: places, and what its own rules speak of.

    That is what it looks for; without such a thing it is the place itself.
    """
    text = display_path(what.encode("utf-8", "backslashreplace"))  # half of a pair is no text
    return (*places, ResourceAccess(Action.SEEK, text or places[-1].resource, word))


def outside_path(around: ToolContext, argument: str) -> tuple[OutsideFiles, bytes] | None:
    """Returns the way to what lies outside, and its real path; None if it lies in the workspace.

    Only what the gate has judged counts: a symlink may lead elsewhere by now.
    """
    found = _outer(around, argument)
    if found and any(
        asked not in around.judged for asked in _touched(around.root, *found, argument)
    ):
        raise Refused(
            f"{one_line(argument.encode())} leads to {one_line(found[1])} now. {PATH_CHANGED}"
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
    """Returns the real path of what lies outside, where a person can be asked about it."""
    way = around.overlay.outside_target(argument) if around.outside else None
    if way is None or around.outside is None:
        return None
    absolute = way if way.startswith(b"/") else around.root + b"/" + way
    return around.outside, around.outside.real(absolute)
