"""Careful: files whose change makes other programs do things, so that even auto-edit asks."""

from assent.core.protected import protection
from assent.core.secret_names import why_secret


def careful(path: str) -> str:
    """Returns why a person wants to see a change of this file; nothing if they need not.

    Nothing is said of secrets, which are asked about as such.
    """
    name = path.encode("utf-8", "surrogateescape")
    row = protection(name)
    return row.because if row is not None and not why_secret(name) else ""
