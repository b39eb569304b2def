"""Opens a folder elsewhere, to compare the workspace with it."""

import os

from assent.app.settings import located
from assent.ports import SourceFolder


def open_checkout(folder: str, argument: str) -> SourceFolder:
    """Opens a folder that a person in `folder` named; raises if it cannot be compared."""
    from assent.workspace import checkout

    cwd, root = located(folder)
    return checkout.open_checkout(root, cwd, os.fsencode(argument))
