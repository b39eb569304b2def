"""Every blob store keeps every promise of a blob store."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assent.ports import BlobStore
from assent.store.blobs import FileBlobStore
from assent.store.memory import MemoryBlobStore
from assent.testing.conformance import BLOB_PROMISES

BLOBS: dict[str, Callable[[Path], BlobStore]] = {
    "memory": lambda _: MemoryBlobStore(),
    "files": lambda folder: FileBlobStore(folder / "state" / "blobs"),
}


@pytest.mark.parametrize("kind", BLOBS)
@pytest.mark.parametrize("promise", BLOB_PROMISES, ids=lambda promise: promise.__name__)
def test_blobs_keep_their_promise(
    kind: str, promise: Callable[[BlobStore], None], tmp_path: Path
) -> None:
    promise(BLOBS[kind](tmp_path))
