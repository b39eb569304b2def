"""Which names in a folder `.gitignore` and `.ignore` exclude, cached."""

from collections.abc import Callable, Mapping, Sequence
from stat import S_ISDIR

from assent.core.paths import parent
from assent.core.plan.operation import Operation
from assent.ports import BlobStore, WorkspaceFiles
from assent.tools.overlay import Overlay
from assent.tools.path_patterns import EXCLUDE, IGNORE_FILE_NAMES, IgnoreMatcher

SnapshotStamp = tuple[int, ...]
RuleStamps = tuple[object, ...]  # the rules on the way to a folder, as their stamps

_MODE = 4


class IgnoreRules:
    """Tells what is ignored, folder by folder from the root; anew only where rules changed."""

    def __init__(
        self, files: WorkspaceFiles, blobs: BlobStore, operations: Sequence[Operation] = ()
    ) -> None:
        """With `operations`, the rules count that they will leave."""
        self._files = files
        self._overlay = Overlay(files, blobs, operations)
        self._last: dict[bytes, tuple[RuleStamps, dict[bytes, bool]]] = {}
        self._now: dict[bytes, tuple[RuleStamps, dict[bytes, bool]]] = {}
        self._present: set[bytes] = set()
        self._ignored = IgnoreMatcher(self._overlay, self._present)
        self._settled: Callable[[SnapshotStamp], bool] = bool

    def begin(self, settled: Callable[[SnapshotStamp], bool]) -> None:
        """Starts another round; rules that are not settled yet may change unseen."""
        self._last, self._now = self._now, {}
        self._present = set()
        self._ignored = IgnoreMatcher(self._overlay, self._present)
        self._settled = settled

    def among(self, folder: bytes, names: Mapping[bytes, SnapshotStamp]) -> dict[bytes, bool]:
        """Tells of each name in a folder whether it is left out; no folder above it is."""
        prefix = folder + b"/" if folder else b""
        chain = self._chain(folder, prefix, names)
        was, known = self._last.get(folder, (None, {}))
        old = known if was == chain else {}
        marked = {name: name + b"/" if S_ISDIR(at[_MODE]) else name for name, at in names.items()}
        found = {
            mark: old[mark]
            if mark in old
            else self._ignored.covers(prefix + name, folder=mark is not name)
            for name, mark in marked.items()
        }
        self._now[folder] = (chain, found)
        return {name: found[mark] for name, mark in marked.items()}

    def _chain(
        self, folder: bytes, prefix: bytes, names: Mapping[bytes, SnapshotStamp]
    ) -> RuleStamps:
        rules = {prefix + name: names[name] for name in IGNORE_FILE_NAMES if name in names}
        self._present.update(rules)
        if not folder:
            rules |= self._own()
        above: RuleStamps = self._now[parent(folder)][0] if folder else ()
        if not rules:
            return above
        sure = all(map(self._settled, rules.values()))
        return (*above, tuple(rules.items()) if sure else object())

    def _own(self) -> dict[bytes, SnapshotStamp]:
        """Returns the stamp of the person's own rules for this repository."""
        stamp = (self._files.stamps(parent(EXCLUDE)) or {}).get(b"exclude")
        return {EXCLUDE: stamp} if stamp else {}
