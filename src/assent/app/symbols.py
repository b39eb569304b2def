"""Finds definitions in the workspace by a part of their names, for completion."""

import re
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from time import monotonic
from typing import Final

import msgspec

from assent.app.settings import locate_workspace, user_paths
from assent.core.errors import AssentError
from assent.core.paths import parent
from assent.store.blobs import FileBlobStore
from assent.tools.outline import Symbol, file_symbols
from assent.tools.overlay import Overlay
from assent.workspace.files import LocalWorkspaceFiles

MIN_CHARS: Final = 2  # of a query
MAX_MATCHES: Final = 20
MAX_FILE_BYTES: Final = 128 << 10  # of a file that is looked at: parsing one delays the screen
MAX_BYTES: Final = 32 << 20  # of all files that are read for one query
MAX_OUTLINED: Final = 200  # files that are outlined for one query
SECONDS: Final = 1.5  # for one query
MAX_REMEMBERED: Final = 500  # files whose definitions are kept
_NAME: Final = re.compile(r"[\w.]+")

Stamp = tuple[int, ...]  # of a file: another one if it was changed or replaced


class SymbolMatch(msgspec.Struct, frozen=True):
    """A definition: its file, its dotted name, the line that names it, and what kind it is."""

    path: str
    name: str
    line: int
    kind: str


class SymbolFinder:
    """Finds the definitions whose names contain a text, in files that the completion lists.

    Only files that have the text somewhere are outlined, and only once as long as they are the
    same. It may be called from any thread; one query at a time is worked on.
    """

    def __init__(self, folder: str, clock: Callable[[], float] = monotonic) -> None:
        cwd, root = locate_workspace(folder)
        self._files = LocalWorkspaceFiles(root, cwd)
        self._overlay = Overlay(self._files, FileBlobStore(user_paths().state / "blobs"))
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, tuple[Stamp, tuple[Symbol, ...]]] = {}  # by path
        self.outlined = 0  # files, since it was made

    def find(
        self, query: str, names: Iterable[str], wanted: Callable[[], bool] = lambda: True
    ) -> list[SymbolMatch]:
        """Returns matching definitions, best first; stops when the result is not wanted any more.

        The same name in several files is listed for each.
        """
        if len(query) < MIN_CHARS or not _NAME.fullmatch(query):
            return []
        part = query.rpartition(".")[2].casefold().encode()
        with self._lock:
            found: list[tuple[tuple[int, int, str], SymbolMatch]] = []
            for name, symbols in self._candidates(part, names, wanted):
                for symbol in symbols:
                    rank = _rank(query.casefold(), symbol)
                    if rank is not None:
                        match = SymbolMatch(name, symbol.qualified, symbol.line, symbol.kind)
                        found.append(((rank, len(symbol.qualified), name), match))
        return [match for _, match in sorted(found, key=lambda one: one[0])[:MAX_MATCHES]]

    def _candidates(
        self, part: bytes, names: Iterable[str], wanted: Callable[[], bool]
    ) -> Iterable[tuple[str, Sequence[Symbol]]]:
        """Yields files that contain a text, with their definitions, as far as the limits allow."""
        end, room, files = self._clock() + SECONDS, MAX_BYTES, 0
        stamps: dict[bytes, dict[bytes, Stamp] | None] = {}
        for name in names:
            if not wanted() or self._clock() > end or room <= 0 or files >= MAX_OUTLINED:
                return
            path = name.encode("utf-8", "surrogateescape")
            try:
                content = self._overlay.content(path, min(MAX_FILE_BYTES, room))
            except AssentError:  # it is too long, or gone
                continue
            room -= len(content)
            if part not in content.lower():
                continue
            files += 1
            folder = parent(path)
            if folder not in stamps:
                stamps[folder] = self._files.stamps(folder)
            yield name, self._symbols(name, path, content, stamps[folder])

    def _symbols(
        self, name: str, path: bytes, content: bytes, stamps: dict[bytes, Stamp] | None
    ) -> tuple[Symbol, ...]:
        """Returns what a file defines: as it was outlined before, if it is still the same."""
        stamp = (stamps or {}).get(path.rpartition(b"/")[2], ())
        known = self._known.get(name)
        if known is not None and stamp and known[0] == stamp:
            return known[1]
        symbols = tuple(one for one in file_symbols(path, content).symbols if one.name)
        self.outlined += 1
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
        self._known[name] = (stamp, symbols)
        return symbols


def _rank(query: str, symbol: Symbol) -> int | None:
    """Returns how well a name matches, 0 best; None if it does not."""
    name, whole = symbol.name.casefold(), symbol.qualified.casefold()
    if symbol.kind == "heading" or symbol.is_stub:
        return None
    if query in (name, whole):
        return 0
    if name.startswith(query) or whole.startswith(query):
        return 1
    return 2 if query in whole else None
