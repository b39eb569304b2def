"""Replaces a small file outside of workspaces in one step."""

import os
from contextlib import suppress

from assent.store.errors import store_errors
from assent.store.folders import make_folder, sync_folder

PRIVATE = 0o600


def write_atomically(path: str, content: bytes, mode: int = PRIVATE) -> None:
    """Puts a content in the place of a file's; whoever reads sees the old one or the new one."""
    folder = os.path.dirname(path)
    young = f"{path}.{os.urandom(8).hex()}"
    with store_errors("write", path):
        make_folder(folder)
        try:
            _write(young, content, mode)
            os.replace(young, path)
            sync_folder(folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(young)


def _write(path: str, content: bytes, mode: int) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    try:
        os.fchmod(file, mode)
        while content:
            content = content[os.write(file, content) :]
        os.fsync(file)
    finally:
        os.close(file)
