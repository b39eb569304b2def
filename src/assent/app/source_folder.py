"""Opens another folder, to compare the workspace with it."""

import os

from assent.app.settings import locate_workspace
from assent.ports import SourceFolder


def open_source_folder(folder: str, argument: str) -> SourceFolder:
    """Opens a folder that a person in `folder` named; raises if it cannot be compared."""
    from assent.workspace import source_folder

    cwd, root = locate_workspace(folder)
    return source_folder.open_source_folder(root, cwd, os.fsencode(argument))
