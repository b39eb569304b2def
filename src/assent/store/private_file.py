"""A file of the state directory that only its user can read, for as long as it is needed."""

import os
from contextlib import suppress
from pathlib import Path

from assent.store.files import make_folder, refuse_shared, store_errors, write_atomically

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PrivateFile:
    """Written with mode 0600, in a folder that no one else can enter."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, content: bytes) -> None:
        folder = str(self.path.parent)
        with store_errors("write", str(self.path)):
            make_folder(folder)
        refuse_shared("The folder", folder)
        write_atomically(str(self.path), content)

    def remove(self) -> None:
        """Removes it, if it is there."""
        with suppress(OSError):
            os.unlink(self.path)
