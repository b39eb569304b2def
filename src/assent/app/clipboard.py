"""The clipboard of the user's desktop, for the screen."""

from collections.abc import Mapping

from assent.app.settings import locate_workspace
from assent.core.llm import ImagePart


def clipboard_image(folder: str, environment: Mapping[str, str]) -> ImagePart:
    """Returns the image in the clipboard; raises an error that says why there is none."""
    from assent.sandbox.clipboard import read_clipboard_image

    return read_clipboard_image(environment, locate_workspace(folder)[1])
