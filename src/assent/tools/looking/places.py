"""Places: where a path that a model typed leads, and whether anybody may look there at all."""

from assent.core.errors import Refused
from assent.core.paths import folded, inside, one_line
from assent.tools.tool import Around


def located(around: Around, argument: str) -> bytes:
    """Returns the real path in the workspace; refuses what lies outside, and our own secrets."""
    path = around.overlay.locate(argument)
    if is_private(around, path):
        raise Refused(f"{one_line(path)} is Assent's own; nothing there is ever read.")
    return path


def is_private(around: Around, path: bytes) -> bool:
    """Tells whether a path lies in the state or configuration of Assent itself."""
    return any(inside(folded(path), folded(own)) for own in around.private)
