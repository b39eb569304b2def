"""Writes the files that a person asks for by name: bundles, approvals and evidence."""

import os

from assent.core.errors import Refused, UsageError
from assent.core.paths import display_path
from assent.store.files import PRIVATE, write_atomically


def write_export(folder: str, name: str, content: bytes) -> None:
    """Writes a complete file; only replaces a file of the same kind."""
    path = check_export_path(folder, name, content)
    mode = os.stat(path).st_mode & 0o777 if os.path.lexists(path) else PRIVATE
    write_atomically(path, content, mode)


def write_new_export(folder: str, name: str, content: bytes) -> None:
    """Writes a complete file; never replaces one."""
    path = os.path.abspath(os.path.join(folder, name))
    told = display_path(os.fsencode(path))
    if not os.path.isdir(os.path.dirname(path)):
        raise UsageError(f"The folder for {told} does not exist. Nothing was written.")
    if os.path.lexists(path):
        raise Refused(f"{told} already exists. Nothing was written.", f"ls -l {told}")
    write_atomically(path, content, PRIVATE)


def check_export_path(folder: str, name: str, content: bytes) -> str:
    """Returns where a file would be written; refuses a path that something else occupies."""
    path = os.path.abspath(os.path.join(folder, name))
    told = display_path(os.fsencode(path))
    if not os.path.isdir(os.path.dirname(path)):
        raise UsageError(f"The folder for {told} does not exist. Nothing was written.")
    odd = os.path.islink(path) or not os.path.isfile(path)
    if os.path.lexists(path) and (odd or not _same_kind(path, content)):
        raise Refused(
            f"{told} already exists and is a different kind of file; it is not replaced. Nothing "
            "was written.",
            f"ls -l {told}",
        )
    return path


def _same_kind(path: str, content: bytes) -> bool:
    """Tells whether a file begins as the new one does, up to the first value."""
    start = content[: content.index(b",")]
    with open(path, "rb") as file:
        return file.read(len(start)) == start
