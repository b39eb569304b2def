"""Ignoring: which files of a whole listing `.gitignore` and `.ignore` leave out, remembered."""

from collections.abc import Callable, Mapping

from assent.core.paths import name, parent
from assent.ports import Blobs, Files
from assent.tools.looking.ignored import FILES, Ignored
from assent.tools.looking.overlay import Overlay

Stamp = tuple[int, ...]


class Ignoring:
    """Tells the ignored files of listings; as long as no rule changes, only of new ones anew."""

    def __init__(self, files: Files, blobs: Blobs) -> None:
        self._overlay = Overlay(files, blobs)
        self._rules: Mapping[bytes, Stamp] = {}
        self._known: dict[bytes, bool] = {}

    def among(
        self, found: Mapping[bytes, Stamp], settled: Callable[[Stamp], bool]
    ) -> frozenset[bytes]:
        """Returns the ignored ones; rules that are not settled yet may change unseen."""
        rules = {path: stamp for path, stamp in found.items() if name(path) in FILES}
        if rules != self._rules:
            self._known = {}
        self._rules = rules if all(map(settled, rules.values())) else {b"": ()}
        ignored = Ignored(self._overlay, found)
        folders: dict[bytes, bool] = {b"": False}
        known = {path: self._is(path, ignored, folders) for path in found}
        self._known = known
        return frozenset(path for path, out in known.items() if out)

    def _is(self, path: bytes, ignored: Ignored, folders: dict[bytes, bool]) -> bool:
        known = self._known.get(path)
        if known is not None:
            return known
        return _below(parent(path), ignored, folders) or ignored.covers(path, folder=False)


def _below(folder: bytes, ignored: Ignored, folders: dict[bytes, bool]) -> bool:
    """Tells whether a folder, or one above it, is left out."""
    if folder not in folders:
        out = _below(parent(folder), ignored, folders)
        folders[folder] = out or ignored.covers(folder, folder=True)
    return folders[folder]
