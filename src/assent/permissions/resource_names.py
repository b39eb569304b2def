"""Resource names: the spellings under which rules and grants may know a resource."""

from posixpath import join, normpath

from assent.core.tool import Action, ResourceAccess
from assent.permissions.hosts import canonical_url

PATHS = (Action.READ, Action.EDIT, Action.OUTSIDE)
FOLDERS = ("list",)  # words of tools that look for nothing but a path


def resource_names(request: ResourceAccess, root: str) -> tuple[str, ...]:
    """Returns a file as seen from the workspace and from above, a URL as written and plain."""
    if request.action in PATHS or (request.action is Action.SEEK and request.key in FOLDERS):
        return _paths(request.resource, root)
    if request.action is Action.FETCH:
        return tuple(dict.fromkeys((request.resource, canonical_url(request.resource))))
    return (request.resource,)


def _paths(path: str, root: str) -> tuple[str, ...]:
    if not root:
        return (path,)
    whole = normpath(join(root, path))
    inside = whole.removeprefix(root.rstrip("/") + "/")
    return tuple(dict.fromkeys((path, whole, inside)))
