"""Conformance checks for every event store and every blob store."""

from collections.abc import Callable, Iterator

from assent.core.digest import sha256
from assent.core.errors import ConcurrentChange, StoreError
from assent.core.event import (
    Event,
    PlanDiscarded,
    PlanRevised,
    PlanSelected,
    RunHalted,
    StoredEvent,
    TextRevised,
)
from assent.ports import BlobStore, EventBatch, EventStore, LogCheck

AT = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-01T00:00:01.000Z"


def empty_store_is_empty(store: EventStore) -> None:
    assert store.read("plan/a") == []
    assert store.read_all(["", "plan/"]) == []
    assert store.streams("") == []
    assert store.head("plan/a") is None


def append_returns_what_read_returns(store: EventStore) -> None:
    first = store.append(_batch("plan/a", 0, PlanRevised(), TextRevised("c" * 64, 3)))
    second = store.append(EventBatch("plan/a", 2, LATER, (PlanDiscarded(),)))
    assert first == (
        StoredEvent(1, "plan/a", 1, AT, PlanRevised()),
        StoredEvent(2, "plan/a", 2, AT, TextRevised("c" * 64, 3)),
    )
    assert second == (StoredEvent(3, "plan/a", 3, LATER, PlanDiscarded()),)
    assert store.read("plan/a") == [*first, *second]


def read_starts_after_a_seq(store: EventStore) -> None:
    recorded = store.append(_batch("plan/a", 0, *[RunHalted(str(n)) for n in range(5)]))
    assert store.read("plan/a", 3) == list(recorded[3:])
    assert store.read("plan/a", 5) == []
    assert store.read("plan/a", 9) == []


def batch_behind_the_end_is_refused(store: EventStore) -> None:
    store.append(_batch("plan/a", 0, PlanRevised()))
    _refused(store, _batch("plan/a", 0, PlanDiscarded()))


def batch_ahead_of_the_end_is_refused(store: EventStore) -> None:
    store.append(_batch("plan/a", 0, PlanRevised()))
    _refused(store, _batch("plan/a", 2, PlanDiscarded()))
    _refused(store, _batch("plan/new", 1, PlanDiscarded()))


def batches_are_one_transaction(store: EventStore) -> None:
    store.append(_batch("plan/a", 0, PlanRevised()))
    good = EventBatch("plan/b", 0, AT, (PlanRevised(),), b"head of b")
    _refused(store, good, _batch("plan/a", 0, PlanDiscarded()))
    assert store.head("plan/b") is None
    both = store.append(good, _batch("plan/a", 1, PlanDiscarded()))
    assert [(one.position, one.stream, one.seq) for one in both] == [
        (2, "plan/b", 1),
        (3, "plan/a", 2),
    ]


def two_batches_of_one_stream_follow_each_other(store: EventStore) -> None:
    both = store.append(_batch("a", 0, RunHalted("1")), _batch("a", 1, RunHalted("2")))
    assert store.read("a") == list(both)
    _refused(store, _batch("a", 2, RunHalted("3")), _batch("a", 2, RunHalted("3")))


def nothing_to_append_is_nothing(store: EventStore) -> None:
    assert store.append() == ()
    assert store.append(EventBatch("plan/a", 0, AT, ())) == ()
    assert store.streams("") == []


def all_is_in_the_order_of_the_log(store: EventStore) -> None:
    log: list[StoredEvent] = []
    ends: dict[str, int] = {}
    for n, stream in enumerate(("b", "a", "b", "c", "a")):
        log += store.append(_batch(stream, ends.get(stream, 0), RunHalted(str(n))))
        ends[stream] = ends.get(stream, 0) + 1
    assert [one.position for one in log] == [1, 2, 3, 4, 5]
    assert store.read_all([""]) == log
    assert store.read_all(["a", "b", "c"], 2) == log[2:]
    assert store.read_all(["b"]) == [log[0], log[2]]
    assert store.read_all([""], 5) == []
    assert [store.read_after(n, 2) for n in range(len(log) + 1)] == [
        log[n : n + 2] for n in range(len(log) + 1)
    ]
    for prefix in ("", "a", "b", "none"):
        for n in range(len(log) + 1):
            streams = {one.stream for one in log[n:] if one.stream.startswith(prefix)}
            assert sorted(store.changed_streams(prefix, n)) == sorted(streams)
    assert store.read_all([]) == []


def only_events_of_some_kinds_are_read_on_demand(store: EventStore) -> None:
    log = store.append(
        _batch("a/1", 0, RunHalted("1"), PlanDiscarded()),
        _batch("b", 0, RunHalted("2")),
        _batch("a/2", 0, PlanRevised()),
    )
    assert store.read_all(["a/"], kinds=[RunHalted]) == [log[0]]
    assert store.read_all(["a/", ""], kinds=[RunHalted, PlanRevised]) == [log[0], log[2], log[3]]
    assert store.read_all([""], 1, [RunHalted]) == [log[2]]
    assert store.read_all(["b"], kinds=[PlanRevised]) == []


def prefixes_are_plain_text(store: EventStore) -> None:
    names = [
        "plan",
        "plan/",
        "plan/a",
        "plan/a%",
        "plan/aé",
        "plan/b_",
        "plan0",
        "Plan/a",
        "p\U0001f600",
    ]
    for name in names:
        store.append(_batch(name, 0, PlanSelected(name)))
    for prefix in ("", "plan/", "plan/a", "plan/_", "plan/%", "p", "z", "plan/aé", "PLAN"):
        found = [name for name in names if name.startswith(prefix)]
        assert store.streams(prefix) == sorted(found)
        assert [one.stream for one in store.read_all([prefix])] == found
    assert [one.stream for one in store.read_all(["plan/a", "plan/", "Plan"])] == names[
        1:6
    ] + names[7:8]


def heads_keep_the_seq_they_reach(store: EventStore) -> None:
    store.append(EventBatch("a", 0, AT, (PlanRevised(), PlanRevised()), b"\x00\xff two"))
    assert store.head("a") == (2, b"\x00\xff two")
    store.append(_batch("a", 2, PlanRevised()))
    assert store.head("a") == (2, b"\x00\xff two")
    store.append(EventBatch("a", 3, AT, (), b""))
    assert store.head("a") == (3, b"")
    assert store.head("b") is None


def heads_that_lag_behind_are_not_among_the_others(store: EventStore) -> None:
    store.append(EventBatch("plan/a", 0, AT, (PlanRevised(),), b"one"))
    store.append(EventBatch("plan/b", 0, AT, (PlanRevised(),), b"one"))
    store.append(_batch("plan/b", 1, PlanRevised()))
    store.append(_batch("plan/c", 0, PlanRevised()))
    store.append(EventBatch("run/a", 0, AT, (PlanRevised(),), b"another"))
    assert store.heads("plan/") == {"plan/a": (1, b"one")}
    assert store.heads("") == {"plan/a": (1, b"one"), "run/a": (1, b"another")}
    assert store.heads("x") == {}


def chain_holds_whatever_is_appended(store: EventStore) -> None:
    assert store.verify() == LogCheck(0)
    store.append(_batch("a", 0, PlanRevised(), TextRevised("c" * 64, 3)), _batch("é", 0))
    _refused(store, _batch("a", 2, PlanDiscarded()), _batch("a", 0, PlanDiscarded()))
    store.append(_batch("b", 0, PlanSelected("ü\n")), _batch("a", 2, PlanDiscarded()))
    assert store.verify() == LogCheck(4)


def closing_vouches_for_what_is_there(store: EventStore) -> None:
    store.append(_batch("a", 0, PlanRevised(), PlanRevised()))
    store.close()
    store.append(_batch("a", 2, PlanRevised()))
    assert store.verify() == LogCheck(3, "", 2)
    store.close()
    assert store.verify() == LogCheck(3, "", 3)


def kept_content_can_be_read(blobs: BlobStore) -> None:
    for content in (b"", b"text", bytes(range(256)) * 4096):
        name = (sha256(content), len(content))
        assert blobs.keep([content]) == name
        assert blobs.keep(_in_pieces(content)) == name
        assert blobs.has(name[0])
        assert blobs.read(name[0]) == content
        blobs.flush()
        assert blobs.has(name[0])
        assert blobs.read(name[0]) == b"".join(blobs.chunks(name[0])) == content


def lacking_contents_are_named_in_order(blobs: BlobStore) -> None:
    kept, _ = blobs.keep([b"kept"])
    assert (blobs.is_stored(kept), blobs.is_stored(sha256(b"never"))) == (True, False)
    others = [sha256(b"%d" % n) for n in range(3)]
    assert blobs.missing([others[0], kept, others[1], kept, others[2]]) == others
    assert blobs.missing([kept]) == blobs.missing([]) == []


def no_content_is_content(blobs: BlobStore) -> None:
    assert blobs.keep([]) == (sha256(b""), 0)
    assert blobs.read(sha256(b"")) == b""


def unknown_content_is_an_error(blobs: BlobStore) -> None:
    for digest in (sha256(b"never kept"), "", "..", "no digest"):
        assert not blobs.has(digest)
        for fetch in (blobs.read, lambda name: b"".join(blobs.chunks(name))):
            try:
                fetch(digest)
            except StoreError:
                continue
            raise AssertionError(f"content named {digest!r} was read")


def error_of_the_source_passes_unchanged(blobs: BlobStore) -> None:
    def source() -> Iterator[bytes]:
        yield b"one"
        yield b"two"
        raise PermissionError("of the source")

    try:
        blobs.keep(source())
    except PermissionError as error:
        lost = error.args != ("of the source",)
    else:
        lost = True
    assert not lost, "the source's error was lost"
    blobs.flush()
    assert not blobs.has(sha256(b"onetwo"))


STORE_PROMISES: tuple[Callable[[EventStore], None], ...] = (
    empty_store_is_empty,
    append_returns_what_read_returns,
    read_starts_after_a_seq,
    batch_behind_the_end_is_refused,
    batch_ahead_of_the_end_is_refused,
    batches_are_one_transaction,
    two_batches_of_one_stream_follow_each_other,
    nothing_to_append_is_nothing,
    all_is_in_the_order_of_the_log,
    only_events_of_some_kinds_are_read_on_demand,
    prefixes_are_plain_text,
    heads_keep_the_seq_they_reach,
    heads_that_lag_behind_are_not_among_the_others,
    chain_holds_whatever_is_appended,
    closing_vouches_for_what_is_there,
)
BLOB_PROMISES: tuple[Callable[[BlobStore], None], ...] = (
    kept_content_can_be_read,
    lacking_contents_are_named_in_order,
    no_content_is_content,
    unknown_content_is_an_error,
    error_of_the_source_passes_unchanged,
)


def _batch(stream: str, after: int, *events: Event) -> EventBatch:
    return EventBatch(stream, after, AT, events)


def _refused(store: EventStore, *batches: EventBatch) -> None:
    """Checks that the last batch makes the store refuse all of them, and that nothing is kept."""
    before = store.read_all([""])
    try:
        store.append(*batches)
    except ConcurrentChange:
        assert store.read_all([""]) == before
    else:
        raise AssertionError(f"{batches[-1].stream} did not refuse {batches[-1].after}")


def _in_pieces(content: bytes) -> Iterator[bytes]:
    half = len(content) // 2
    yield content[:half]
    yield content[half:]
