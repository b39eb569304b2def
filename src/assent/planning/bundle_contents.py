"""The contents of a bundle as ports, so that it is reviewed like a plan of this workspace."""

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

from assent.core.errors import StoreError
from assent.core.paths import base_name, parent
from assent.core.plan.bundle import Bundle
from assent.core.plan.operation import FileState, MoveFile
from assent.core.run.slot_move import PathState
from assent.ports import LinkTarget, ReplacementLoss


class BundleBlobs:
    """Implements ports.BlobStore, read-only, with the contents of a bundle."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        raise StoreError("Nothing is kept while a bundle is read.")

    def flush(self) -> None:
        """There is nothing to write."""

    def close(self) -> None:
        """There is nothing to remove."""

    def has(self, digest: str) -> bool:
        return digest in self._contents

    def missing(self, digests: Iterable[str]) -> list[str]:
        return [digest for digest in digests if digest not in self._contents]

    def read(self, digest: str) -> bytes:
        if digest not in self._contents:
            raise StoreError(f"The bundle has no content {digest[:12]}….", "assent review FILE")
        return self._contents[digest]

    def chunks(self, digest: str) -> Iterator[bytes]:
        yield self.read(digest)


class BundleFiles:
    """Implements ports.WorkspaceFiles with only the files that the bundle's plan expects."""

    def __init__(self, bundle: Bundle) -> None:
        self._contents = bundle.contents
        self._before: dict[bytes, FileState] = {}
        for op in bundle.plan.operations:
            if isinstance(op, MoveFile):
                self._before.setdefault(op.path, op.before)

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        return {path: self._before.get(path) for path in paths}

    def locate(self, argument: bytes, target: LinkTarget | None = None) -> bytes:
        return argument

    def open(self, path: bytes) -> BinaryIO:
        state = self._before.get(path)
        if state is None or state.digest not in self._contents:
            raise FileNotFoundError(path)
        return io.BytesIO(self._contents[state.digest])

    def below(self, folder: bytes) -> list[bytes]:
        return []

    def is_file(self, path: bytes) -> bool:
        return path in self._before

    def link_target(self, path: bytes) -> bytes | None:
        return None

    def names(self, folder: bytes) -> list[bytes]:
        return [base_name(path) for path in self._before if parent(path) == folder]

    def size(self, path: bytes) -> int:
        return 0

    def slots(self, beside: Iterable[bytes] = (), *, everywhere: bool = False) -> list[bytes]:
        return []

    def replacement_losses(self, paths: Iterable[bytes]) -> dict[bytes, ReplacementLoss]:
        return {}

    def stamps(self, folder: bytes) -> dict[bytes, tuple[int, ...]] | None:
        return None
