"""Drafts as edits: the same draft as if it was stored whole each time, however it is opened."""

import os
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.processes import child
from tests.support.engine import World
from tests.support.properties import examples

from assent.app.engine import Engine
from assent.core.digest import sha256
from assent.core.errors import AssentError, StoreError
from assent.core.event import DraftChanged, DraftEdited, Event, StoredEvent
from assent.core.plan.draft import (
    DRAFT_MISMATCH,
    SMALLEST,
    check_dependencies,
    check_tree,
    refuse_similar_names,
    stage,
    without_operations,
)
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)
from assent.core.plan.record import PlanRecord
from assent.ports import EventBatch
from assent.store.memory import MemoryEventStore
from assent.store.sqlite import SqliteEventStore
from assent.testing.call_trace import CallTrigger
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture
from assent.testing.memory_workspace import SimulatedCrash

MAKE = RunCommand((b"make",))


def state(content: bytes) -> FileState:
    return FileState(sha256(content), len(content), 0o644)


def events_of(store: MemoryEventStore | object, record: PlanRecord) -> list[Event]:
    assert isinstance(store, MemoryEventStore)
    return [one.event for one in store.read(record.stream)]


def without_heads(store: object) -> MemoryEventStore:
    """The same events in a store that has no folded ones, as a log that was restored."""
    assert isinstance(store, MemoryEventStore)
    copy = MemoryEventStore()
    for one in store.read_all([""]):
        copy.append(EventBatch(one.stream, one.seq - 1, one.at, (one.event,)))
    return copy


def staged_anew(world: World, record: PlanRecord) -> list[tuple[Operation, ...]]:
    """What is staged as a new process finds it: from the head, and from all events."""
    found = []
    for store in (world.store, without_heads(world.store)):
        engine = world.engine(store)
        found.append(engine.plans.operations(engine.plans.repository().load(record.plan_id)))
    return found


names = st.sampled_from((b"a", b"b", b"d/c", b"d/e", b"d", b"new", b"New"))
contents = st.sampled_from((b"", b"one\n", b"two\n"))
actions = st.one_of(
    st.tuples(st.just("write"), names, contents),
    st.tuples(st.just("delete"), names, st.none()),
    st.tuples(st.just("move"), names, names),
    st.tuples(st.just("run"), st.none(), st.none()),
    st.tuples(st.just("remove"), st.integers(0, 9), st.none()),
    st.tuples(st.just("clear"), st.none(), st.none()),
    st.tuples(st.just("many"), st.integers(60, 70), st.none()),
    st.tuples(st.just("text"), st.integers(0, 3), st.none()),
    st.tuples(st.just("propose"), st.none(), st.none()),
)
Action = tuple[str, object, object]
TREE = {b"a": b"a\n", b"d/c": b"c\n"}


def as_operations(draft: tuple[Operation, ...], action: Action) -> list[Operation]:
    """What an action adds to a draft; the files are those of the tree."""
    now: dict[bytes, FileState | None] = {path: state(body) for path, body in TREE.items()}
    now |= {path: after for op in draft for path, _, after in footprint(op)}
    match action:
        case ("write", bytes(path), bytes(content)):
            return [WriteFile(path, now.get(path), state(content))]
        case ("delete", bytes(path), _):
            return [DeleteFile(path, found)] if (found := now.get(path)) else []
        case ("move", bytes(path), bytes(to)):
            return [MoveFile(path, to, found)] if (found := now.get(path)) and path != to else []
        case ("many", int(count), _):
            some = [b"many/%d" % n for n in range(count)]
            return [WriteFile(path, now.get(path), state(b"one\n")) for path in some]
        case _:
            return [MAKE]


def staged_whole(draft: tuple[Operation, ...], action: Action) -> tuple[Operation, ...] | None:
    """What the draft becomes if all of it is composed and checked; None if that is refused."""

    def below(folder: bytes) -> list[bytes]:
        return [path for path in TREE if path.startswith(folder + b"/")]

    try:
        match action:
            case ("remove", int(at), _):
                wanted = without_operations(draft, (at % len(draft),)) if draft else ()
            case ("clear", _, _):
                wanted = ()
            case ("text" | "propose", _, _):
                return draft
            case _:
                wanted = stage(draft, as_operations(draft, action))
                refuse_similar_names(wanted)
        check_dependencies(wanted)
        check_tree(wanted, TREE.__contains__, below)
    except AssentError:
        return None
    return wanted


def act(engine: Engine, record: PlanRecord, action: Action) -> PlanRecord:
    drafts, draft = engine.drafts, engine.plans.operations(record)
    match action:
        case ("remove", int(at), _):
            if not draft:
                return record
            name = drafts.plans.staged(record).index.ids[at % len(draft)]
            return drafts.remove(record, name).record
        case ("clear", _, _):
            return drafts.clear(record).record
        case ("text", int(number), _):
            return engine.plans.write(record, b"# Plan %d\n" % number)
        case ("propose", _, _):
            return engine.approvals.propose(record)
        case _:
            return drafts.stage(record, as_operations(draft, action)).record


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(actions, min_size=1, max_size=10), st.booleans())
def test_edits_lead_to_the_draft_that_is_stored_whole(story: list[Action], one: bool) -> None:
    """With an engine of its own for every step, or one for all of them."""
    with TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.put({os.fsdecode(path): content for path, content in TREE.items()})
        for content in (b"", b"one\n", b"two\n"):
            world.blobs.keep([content])
        engine = world.engine()
        record = engine.plans.new("work", "tests", "A goal")
        draft: tuple[Operation, ...] = ()
        for action in story:
            engine = engine if one else world.engine()
            wanted = staged_whole(draft, action)
            try:
                record = act(engine, record, action)
            except AssentError:
                assert wanted is None or action[0] == "propose"
            else:
                assert wanted is not None
                draft = wanted
            assert engine.plans.operations(record) == draft
            assert staged_anew(world, record) == [draft, draft]
        assert world.store.verify().broken == ""


def test_one_call_after_another_stores_the_draft_whole_now_and_then(world: World) -> None:
    engine = world.engine()
    record = engine.plans.new("work", "tests", "A goal")
    for number in range(4 * SMALLEST):
        record = engine.drafts.write(record, b"f%d" % number, [b"same\n"], None).record
    kinds = [type(event) for event in events_of(world.store, record)]
    assert Counter(kinds)[DraftChanged] == 2  # with 64 and 192 operations
    assert Counter(kinds)[DraftEdited] == 4 * SMALLEST - 2
    assert len(engine.plans.operations(record)) == 4 * SMALLEST
    assert staged_anew(world, record) == [engine.plans.operations(record)] * 2


def test_a_file_that_is_staged_again_and_again_is_stored_whole_now_and_then(world: World) -> None:
    engine = world.engine()
    record = engine.plans.new("work", "tests", "A goal")
    for number in range(SMALLEST):
        record = engine.drafts.write(record, b"f", [b"%d\n" % number], None).record
    kinds = Counter(type(event) for event in events_of(world.store, record))
    assert (kinds[DraftChanged], kinds[DraftEdited]) == (1, SMALLEST - 1)
    assert [len(found) for found in staged_anew(world, record)] == [1, 1]


def test_the_digest_of_a_plan_does_not_depend_on_how_its_draft_was_stored(world: World) -> None:
    engine = world.engine()
    slow, quick = (engine.plans.new(name, "tests", "A goal") for name in ("slow", "quick"))
    slow, quick = (engine.plans.write(record, b"# Same\n") for record in (slow, quick))
    paths = [b"f%d" % number for number in range(SMALLEST + 5)]
    for path in paths:
        slow = engine.drafts.write(slow, path, [b"same\n"], None).record
    quick = engine.drafts.stage(
        quick, [WriteFile(path, None, state(b"same\n")) for path in paths]
    ).record
    assert slow.edits > 0
    assert quick.edits == 0
    assert engine.approvals.propose(slow).digest == engine.approvals.propose(quick).digest


@pytest.mark.parametrize("lost", ["edit", "order"])
def test_a_draft_whose_edits_are_not_all_there_is_refused(world: World, lost: str) -> None:
    engine = world.engine()
    record = engine.plans.new("work", "tests", "A goal")
    for path in (b"a", b"b", b"c"):
        record = engine.drafts.write(record, path, [b"same\n"], None).record
    assert isinstance(world.store, MemoryEventStore)
    log = world.store._log
    at = [n for n, one in enumerate(log) if isinstance(one.event, DraftEdited)]
    if lost == "edit":
        log[at[-1]] = _instead(log[at[-1]], log[at[0]].event)
    else:
        log[at[0]], log[at[1]] = (
            _instead(log[at[0]], log[at[1]].event), _instead(log[at[1]], log[at[0]].event),
        )  # fmt: skip
    with pytest.raises(StoreError, match=DRAFT_MISMATCH):
        world.engine().plans.operations(record)


def _instead(one: StoredEvent, event: Event) -> StoredEvent:
    return StoredEvent(one.position, one.stream, one.seq, one.at, event)


STAGING = """
import sys
from pathlib import Path
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture
root, state, name = sys.argv[1:]
engine = open_engine_fixture(EngineFixture(Path(root), Path(state)))
record = engine.plans.find()
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    path = f"{name}/{number}".encode()
    record = engine.drafts.write(engine.plans.find(), path, [b"same\\n"], None).record
engine.close()
"""


def test_two_processes_that_stage_at_once_lose_nothing(site: EngineFixture) -> None:
    with closing(open_engine_fixture(site)) as engine:
        engine.plans.new("work", "tests", "A goal")
    with (
        child(STAGING, site.root, site.state, "one") as one,
        child(STAGING, site.root, site.state, "two") as two,
    ):
        assert (one.hear(), two.hear()) == ("ready", "ready")
        for process in (one, two):
            process.say()
        for process in (one, two):
            process.end()
    with closing(open_engine_fixture(site)) as engine:
        operations = engine.plans.operations(engine.plans.find())
        paths = sorted(path for op in operations for path, *_ in footprint(op))
        wanted = [f"{name}/{number}".encode() for name in ("one", "two") for number in range(40)]
        assert paths == sorted(wanted)


def die(moment: str, arguments: tuple[object, ...]) -> None:
    raise SimulatedCrash


@pytest.mark.parametrize(("path", "kind"), [(b"old", DraftEdited), (b"many", DraftChanged)])
def test_law_5_a_crash_at_any_write_leaves_the_draft_as_it_was_or_as_it_became(
    site: EngineFixture, path: bytes, kind: type[Event]
) -> None:
    """A few operations are an edit, and many are stored whole: both are one step or none."""
    (site.root / "many").mkdir()
    for name in ("old", *[f"many/{number}" for number in range(SMALLEST + 6)]):
        (site.root / name).write_text(f"{name}\n", encoding="utf-8")
    with closing(open_engine_fixture(site)) as engine:
        engine.plans.new("work", "tests", "A goal")
        wanted = engine.drafts.delete(engine.plans.find(), path).record
        after = engine.plans.operations(wanted)
    seen, fired, at = set[int](), ["any"], 0
    while fired:
        with closing(open_engine_fixture(site)) as engine:
            before = engine.drafts.clear(engine.plans.find()).record
        trigger = CallTrigger(at=at, act=die, sticky=True)
        with suppress(SimulatedCrash):
            open_engine_fixture(site, trigger).drafts.delete(before, path)
        fired, at = trigger.fired, at + 1
        with closing(open_engine_fixture(site)) as engine:
            record = engine.plans.find()
            found = engine.plans.operations(record)
            events = engine.plans.since(before)
            assert found in ((), after)
            assert [type(one.event) for one in events] == ([kind] if found else [])
            seen.add(len(found))
    with closing(SqliteEventStore(site.state / "log.db")) as store:
        assert store.verify().broken == ""
    assert seen == {0, len(after)}
    assert at > 5
