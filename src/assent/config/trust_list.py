"""Whether the user trusts a project's file with exactly this content."""

import os
from functools import cached_property
from pathlib import Path
from stat import S_IFREG

import msgspec

from assent.config.config_file import ConfigFile, Opener, ownership_problem, path_text, read_content
from assent.core.decoding import json_decoder
from assent.core.digest import sha256
from assent.core.errors import UsageError
from assent.core.permission.trust import TrustList

FILE = "trust.json"
MAX_FILE_BYTES = 8 << 20  # bytes of the book
NOTHING = "No project file is trusted."
CHANGED_SINCE = "changed since you trusted it"

_decode = json_decoder(TrustList).decode


class WorkspaceTrust:
    """A user's trust list for one workspace; read when first needed."""

    def __init__(self, file: Path, root: bytes, opener: Opener) -> None:
        self._file = file
        self._root = os.path.realpath(root)
        self._opener = opener
        self._warnings: dict[str, None] = {}  # each once, in order

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about the answers so far."""
        return tuple(self._warnings)

    def holds(self, name: str, content: bytes) -> bool:
        """Tells whether a file, relative to the root, is trusted with this content (law 9)."""
        known = self.trust_list.of(self._root, name)
        if known is None:
            return False
        if known.content_hash == sha256(content):
            return True
        self._warn(
            f"{name} {CHANGED_SINCE} and is no longer trusted. Run `assent trust show` to see what "
            "it would do now."
        )
        return False

    def unsafe(self) -> str:
        """Returns why entries in the trust list would not count here; mostly nothing."""
        return ownership_problem(
            ConfigFile(self._file, {}, os.geteuid(), S_IFREG | 0o600), self._root
        )

    @cached_property
    def trust_list(self) -> TrustList:
        """The whole trust list; empty if it is missing, damaged, or writable by others."""
        try:
            source, text = read_content(
                self._file, self._opener, follow=False, limit=MAX_FILE_BYTES
            )
        except FileNotFoundError:
            return TrustList()
        except UsageError as error:
            self._warn(f"{error.message} {NOTHING}")
            return TrustList()
        why = ownership_problem(source, self._root)
        try:
            book = _decode(text)
        except msgspec.DecodeError as error:
            why = why or f"it is damaged ({error})"
        if why:
            self._warn(f"{path_text(self._file)} is ignored: {why}. {NOTHING}")
            return TrustList()
        return book

    def _warn(self, words: str) -> None:
        self._warnings[words] = None
