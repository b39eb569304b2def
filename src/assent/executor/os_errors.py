"""Turns errors of the operating system into readable messages."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from assent.core.errors import AssentError, Refused, WorkspaceError
from assent.core.paths import display_path


class UnsupportedFileType(OSError):
    """Under the name stands neither a file nor a symlink nor a folder."""


class SymlinkInPath(OSError):
    """A folder on the way turned out to be a symlink: nothing of the workspace is behind it."""


def symlink_in_path(link: bytes) -> SymlinkInPath:
    """Returns the error of such a folder."""
    return SymlinkInPath(errno.ELOOP, "it is reached through a symlink", link)


def readable_error(error: OSError, path: bytes) -> AssentError:
    """Returns the error to show: a refusal of symlinks and odd files, else what went wrong."""
    if isinstance(error, UnsupportedFileType):
        return Refused(
            f"{display_path(path)} is {error.strerror}; plans are about files and symlinks only."
        )
    if error.errno == errno.ELOOP:
        link = os.fsencode(error.filename or path)
        return Refused(
            f"{display_path(link)} is a symlink, and Assent goes through none to "
            f"{display_path(path)}."
        )
    return WorkspaceError(f"{display_path(path)}: {error.strerror or error}. Nothing was changed.")


@contextmanager
def readable_errors(path: bytes) -> Iterator[None]:
    """Turns errors of the system into errors that a person can read."""
    try:
        yield
    except OSError as error:
        raise readable_error(error, path) from error
