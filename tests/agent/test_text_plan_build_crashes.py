"""Law 3 for plans of prose: cut at every record of its beginning and end, it goes on, once."""

from collections import Counter
from pathlib import Path

import pytest
from tests.agent.test_text_plan_builds import TEXT, begin_turn, end_turn, load, said
from tests.runs.test_permits import write
from tests.support.engine import PassedOn, World
from tests.support.session import planned

from assent.core.event import PermitGiven, RunEnded, RunStarted, StoredEvent
from assent.core.plan.record import PlanRecord, PlanState
from assent.ports import EventBatch, EventStore
from assent.testing.memory_workspace import CrashInjector, SimulatedCrash


class CutStore(PassedOn):
    """A store whose process dies right before, or right after, one of its records."""

    def __init__(self, store: EventStore, fuse: CrashInjector) -> None:
        super().__init__(store)
        self._fuse = fuse

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        self._fuse.step()
        added = super().append(*batches)
        self._fuse.step()
        return added


def build(world: World, record: PlanRecord, store: EventStore) -> None:
    """Does what the command line does for a plan of prose, as one process."""
    engine = world.engine(store)
    session = engine.text_plan_builds.start(engine.plans.repository().load(record.plan_id))
    if not engine.text_plan_builds.is_over(load(world, record)):
        session = begin_turn(world, session)
        for call, path, content in (("c1", "src/a.py", b"a\n"), ("c2", "src/b.py", b"b\n")):
            if not (world.root / path).exists():
                engine.permits.apply(session, call, write(path, None, content), "scope", "plan")
        end_turn(world, session)
    engine.text_plan_builds.finish(engine.plans.repository().load(record.plan_id), "done")


def prepared(base: Path) -> tuple[World, PlanRecord]:
    base.mkdir()
    world = World(base)
    world.export = b"PLAN.md"
    engine = world.engine()
    talk = planned(engine, engine.sessions.start("Rename it", "plan"))
    record = engine.plans.write(engine.plans.repository().load(talk.plan_id), TEXT)
    record = engine.approvals.propose(record)
    return world, engine.approvals.approve(record, record.digest, "", "test")


def moments(base: Path) -> int:
    world, record = prepared(base)
    fuse = CrashInjector()
    build(world, record, CutStore(world.store, fuse))
    return fuse.count


def test_a_build_cut_at_every_record_is_carried_out_once(tmp_path: Path) -> None:
    total = moments(tmp_path / "dry")
    assert total > 20
    for at in range(total):
        world, record = prepared(tmp_path / str(at))
        with pytest.raises(SimulatedCrash):
            build(world, record, CutStore(world.store, CrashInjector(at)))
        if load(world, record).state is not PlanState.COMPLETED:
            build(world, record, world.store)
        check(world, record)


def check(world: World, record: PlanRecord) -> None:
    engine = world.engine()
    ended = load(world, record)
    assert (ended.state, len(ended.runs)) == (PlanState.COMPLETED, 1)
    assert world.files() == {"PLAN.md": TEXT, "src/a.py": b"a\n", "src/b.py": b"b\n"}
    session = engine.sessions.load(ended.runs[0].session)
    assert (len(said(engine, session)), session.mode) == (1, "plan")
    started = Counter(type(one.event) for one in engine.log())
    assert started[RunStarted] == 1
    done = [run for run in engine.plans.repository().permit_runs() if run.outcome == "done"]
    assert len(done) == 3
    assert started[PermitGiven] == started[RunEnded] - 1
