"""Output limits: how much of a result a model gets to read, and what is kept of the rest."""

from collections.abc import Iterable
from typing import Any

from assent.core.tool import ToolOutcome

LINES, BYTES = 2000, 50 << 10  # of a result that a model reads
KEPT_BYTES = 1 << 20  # bytes of the whole result that are kept in a file


def limited_outcome(
    text: str, title: str = "", notes: Iterable[str] = (), *, failed: bool = False, **metadata: Any
) -> ToolOutcome:
    """Returns an outcome whose text keeps to the limits and says what is missing.

    Notes come after it, whatever was cut.
    """
    begun = truncated(text)
    if begun == text:
        whole = "\n".join(([text] if text else []) + [f"[{note}]" for note in notes])
        return ToolOutcome(whole, title, failed, metadata=metadata)
    lines, size = _counted(text)
    shown = begun.count("\n") + 1
    cut = f"[Cut here: {shown} of {lines} lines, {len(begun.encode())} of {size} bytes are shown.]"
    rest = text.encode("utf-8", "backslashreplace")[:KEPT_BYTES]
    whole = "\n".join([begun, cut, *[f"[{note}]" for note in notes]])
    return ToolOutcome(whole, title, failed, metadata=metadata, rest=rest)


def truncated(text: str, lines: int = LINES, size: int = BYTES) -> str:
    """Returns as many whole lines as the limits allow; of one endless line, its beginning."""
    end = -1
    for _ in range(lines):
        end = text.find("\n", end + 1)
        if end < 0:
            break
    begun = text if end < 0 else text[:end]
    encoded = begun.encode("utf-8", "backslashreplace")
    if len(encoded) <= size:
        return text if text[len(begun) :].strip("\n") == "" else begun
    begun = encoded[:size].decode("utf-8", "ignore")
    return begun[: begun.rfind("\n")] if "\n" in begun else begun


def _counted(text: str) -> tuple[int, int]:
    lines = text.count("\n") + (not text.endswith("\n"))
    return lines, len(text.encode("utf-8", "backslashreplace"))
