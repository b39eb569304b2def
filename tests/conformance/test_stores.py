"""Every store keeps every promise of a store."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from assent.ports import EventStore
from assent.store.memory import MemoryEventStore
from assent.store.sqlite import SqliteEventStore
from assent.testing.conformance import STORE_PROMISES

STORES: dict[str, Callable[[Path], EventStore]] = {
    "memory": lambda _: MemoryEventStore(),
    "sqlite": lambda folder: SqliteEventStore(folder / "state" / "store.db"),
}


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("promise", STORE_PROMISES, ids=lambda promise: promise.__name__)
def test_store_keeps_its_promise(
    kind: str, promise: Callable[[EventStore], None], tmp_path: Path
) -> None:
    with closing(STORES[kind](tmp_path)) as store:
        promise(store)
