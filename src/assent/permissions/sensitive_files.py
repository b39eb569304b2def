"""Sensitive files: a change to one makes other programs do things, so even auto-edit asks."""

from assent.core.permission.sensitive_paths import protecting_pattern, secret_reason


def why_sensitive(path: str) -> str:
    """Returns why a person wants to see a change of this file; nothing if they need not.

    Nothing is said of secrets, which are asked about as such.
    """
    name = path.encode("utf-8", "surrogateescape")
    row = protecting_pattern(name)
    return row.because if row is not None and not secret_reason(name) else ""
