"""The anchor file beside the log, which records its end so that truncation is noticed."""

import os
from contextlib import suppress
from stat import S_ISREG
from typing import Annotated

import msgspec

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LARGEST = 4096

Position = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]  # as SQLite counts
ChainHash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$")]


class LogAnchor(msgspec.Struct, frozen=True):
    """The newest event when the log was last closed, and the hash that it carried."""

    position: Position = 0
    chain: ChainHash = ""


class AnchorFile:
    """Reads and writes the anchor. It is optional: without it the log still works."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self) -> LogAnchor:
        """Returns the anchor; an empty one vouches for nothing."""
        return self.found()[0]

    def found(self) -> tuple[LogAnchor, str]:
        """Returns the anchor, and what is wrong with its file; that there is none is not wrong."""
        try:
            file = os.open(self._path, _OPEN)
        except FileNotFoundError:
            return LogAnchor(), ""
        except OSError as error:
            return LogAnchor(), os.strerror(error.errno or 0)
        try:
            if not S_ISREG(os.fstat(file).st_mode):
                return LogAnchor(), "it is no plain file"
            return msgspec.json.decode(os.read(file, _LARGEST), type=LogAnchor), ""
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            return LogAnchor(), str(error)
        finally:
            os.close(file)

    def write(self, anchor: LogAnchor) -> None:
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
