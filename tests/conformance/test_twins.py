"""Whatever is asked of it, the log in memory answers like the log in SQLite."""

import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from assent.core.errors import ConcurrentChange
from assent.core.event import PlanRevised, RunHalted, TextRevised
from assent.ports import EventBatch, EventStore
from assent.store.memory import MemoryEventStore
from assent.store.sqlite import SqliteEventStore

STREAMS = st.sampled_from(["plan/a", "plan/b", "plan", "run/a", ""])
EVENTS = st.sampled_from([PlanRevised(), RunHalted("r"), TextRevised("é\0", -1)])
BATCHES = st.builds(
    EventBatch,
    STREAMS,
    st.integers(0, 4),
    st.sampled_from(["now", "later"]),
    st.lists(EVENTS, max_size=3).map(tuple),
    st.none() | st.binary(max_size=3),
)


def told(store: EventStore, batches: list[EventBatch]) -> object:
    try:
        return store.append(*batches)
    except ConcurrentChange as moved:
        return moved.message


def everything(store: EventStore) -> object:
    prefixes = ["", "p", "plan/", "run/a", "x"]
    return (
        [store.streams(prefix) for prefix in prefixes],
        [store.read_all([prefix, "plan"], 2) for prefix in prefixes],
        [(name, store.read(name, 1), store.head(name)) for name in store.streams("")],
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(BATCHES, max_size=3), max_size=8))
def test_twins_agree(appends: list[list[EventBatch]]) -> None:
    memory = MemoryEventStore()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(SqliteEventStore(Path(folder) / "store.db")) as sqlite,
    ):
        for batches in appends:
            assert told(sqlite, batches) == told(memory, batches)
        assert everything(sqlite) == everything(memory)
