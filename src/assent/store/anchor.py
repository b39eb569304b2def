"""The anchor: a small file beside the log that remembers its end, so that a cut end is noticed."""

import os
from contextlib import suppress

import msgspec


class Anchor(msgspec.Struct, frozen=True):
    """The newest event when the log was last closed, and the hash that it carried."""

    position: int = 0
    chain: str = ""


class AnchorFile:
    """Keeps the anchor. It is a courtesy: where it cannot be kept, the log is none the worse."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self) -> Anchor:
        """Returns the anchor; an empty one vouches for nothing."""
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(4096), type=Anchor)
        except (OSError, msgspec.MsgspecError):
            return Anchor()

    def write(self, anchor: Anchor) -> None:
        """Replaces the anchor in one step."""
        young = f"{self._path}.new"
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(young, flags, 0o600)
            try:
                os.write(file, msgspec.json.encode(anchor))
            finally:
                os.close(file)
            os.rename(young, self._path)
