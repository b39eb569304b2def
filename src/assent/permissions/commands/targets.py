"""Write targets: where the files that a command writes lie, and what else obeys them.

Gate and review both ask here. A target that is a folder with all in it ends with a slash.
"""

from posixpath import join, normpath
from typing import Final

from assent.core.paths import GIT, casefolded
from assent.core.permission.sensitive_paths import holds_protected, protected_reason

_HOME: Final = ("~", "$HOME", "${HOME")
_NOWHERE: Final = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


def placed_target(target: str, folder: str, root: str) -> str:
    """Returns a target as seen from the workspace; `folder` is where the command runs in it."""
    end = "/" if target.endswith("/") else ""
    place = normpath(join(folder, target))
    if root and place.startswith(f"{root}/"):
        place = place[len(root) + 1 :]
    return place + end


def is_outside(target: str, folder: str = "", root: str = "") -> bool:
    """Tells whether a target, or the value in an `option=target`, is not below the workspace.

    The workspace itself is, by its name: that is in the folder above. What is in it is not.
    """
    whole = target.lstrip("<>")
    return _is_away(whole, folder, root) or _is_away(whole.partition("=")[2], folder, root)


def is_protected(target: str) -> bool:
    """Tells whether a target controls other programs, or may contain something that does."""
    path = target.rstrip("/").encode("utf-8", "surrogateescape")
    if protected_reason(path) is not None or GIT in casefolded(path).split(b"/"):
        return True
    return target.endswith("/") and holds_protected(path)


def _is_away(target: str, folder: str, root: str) -> bool:
    if target.startswith(_HOME):
        return True
    if not target.startswith("/"):
        return normpath(join(folder, target)).startswith("..")
    real = normpath(target) + ("/" if target.endswith("/") else "")
    if real.rstrip("/") in _NOWHERE:
        return False
    near = f"{root.rstrip('/')}/" if root.strip("/") else "\0"
    return not real.startswith(near)
