"""One engine in several threads at once, as a face uses it: one works while others look."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Event, Thread
from types import ModuleType
from typing import Any

import pytest
from tests.support.session import Script, planned, tooling

from assent.agent import services, sessions
from assent.app.engine import Engine
from assent.core.event import PlanCreated, WorkspaceMinted
from assent.core.llm import TextPart
from assent.core.session.event import MessageAdded
from assent.runs import permits, runs, session_commands
from assent.store.blobs import FileBlobStore
from assent.store.locks import FileLocks
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture

PATIENCE_S = 60
TIMES = 15


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    site = EngineFixture(tmp_path / "work", tmp_path / "state" / "assent")
    site.root.mkdir()
    return open_engine_fixture(site)


class Crowd:
    """Threads that all begin at the same moment; the first error of any of them is raised."""

    def __init__(self) -> None:
        self._errors: list[BaseException] = []
        self._wanted: list[Callable[[], object]] = []
        self.over = Event()  # tells those who only look that the others are done

    def does(self, work: Callable[[], object], times: int = 1) -> None:
        self._wanted += [work] * times

    def race(self, lookers: list[Callable[[], object]] | None = None) -> None:
        looking = lookers or []
        begin = Barrier(len(self._wanted) + len(looking), timeout=PATIENCE_S)
        workers = [self._thread(begin, work) for work in self._wanted]
        others = [self._thread(begin, self._again(look)) for look in looking]
        for thread in (*workers, *others):
            thread.start()
        for thread in workers:
            thread.join(PATIENCE_S)
        self.over.set()
        for thread in others:
            thread.join(PATIENCE_S)
        assert not any(thread.is_alive() for thread in (*workers, *others))
        if self._errors:
            raise self._errors[0]

    def _again(self, look: Callable[[], object]) -> Callable[[], None]:
        def looking() -> None:
            look()
            while not self.over.is_set():
                look()

        return looking

    def _thread(self, begin: Barrier, work: Callable[[], object]) -> Thread:
        def run() -> None:
            try:
                begin.wait()
                work()
            except BaseException as error:
                self._errors.append(error)

        return Thread(target=run, daemon=True)


def everything(engine: Engine) -> None:
    """Looks at all that a screen shows."""
    engine.log()
    for record in engine.sessions.all():
        engine.sessions.transcript(record)
        engine.sessions.messages(record)
        engine.turn_changes.turns(record)
        engine.sessions.is_at_work(record)
    for plan in engine.plans.all():
        engine.reviews.review(engine.plans.find(plan.plan_id))
    engine.pending_questions.pending()
    engine.history.all()
    engine.status()


def test_a_face_looks_while_others_talk_stage_and_remember(engine: Engine) -> None:
    first = engine.sessions.start("Talk", "ask")
    crowd = Crowd()

    def talk(name: str) -> Callable[[], None]:
        def work() -> None:
            for n in range(TIMES):
                engine.sessions.say(engine.sessions.load(first.session), f"{name} {n}")

        return work

    def stage() -> None:
        record = engine.plans.new("work", "tests", "A goal")
        for n in range(TIMES):
            content = [b"%d\n" % n]
            record = engine.drafts.write(record, b"%d.txt" % n, content, None).record
        engine.approvals.propose(record)

    def remember() -> None:
        for n in range(TIMES):
            engine.memory.remember(f"Fact {n}.")

    def muse() -> None:
        for n in range(3):  # only words: the plan's file is made, and taken away again
            record = planned(engine, engine.sessions.start(f"Only words {n}", "plan"))
            for _ in engine.sessions.work(record, Script("Words."), tooling()):
                pass

    for name in ("one", "two"):
        crowd.does(talk(name))
    crowd.does(muse)
    crowd.does(stage)
    crowd.does(remember)
    crowd.race([lambda: everything(engine)] * 2)

    events = [one.event for one in engine.sessions.events(first)]
    said = [e.parts[0].text for e in events if isinstance(e, MessageAdded) and not e.synthetic
            if isinstance(e.parts[0], TextPart)]  # fmt: skip
    for name in ("one", "two"):  # nothing is lost, and each speaks in order
        own = [text for text in said if text.startswith(name)]
        assert own == [f"{name} {n}" for n in range(TIMES)]
    assert len(engine.memory.all()) == TIMES
    [plan] = engine.plans.all()
    assert len(engine.plans.operations(engine.plans.find(plan.plan_id))) == TIMES
    made = engine._ports.store.read_all(["plan/"])
    assert sum(isinstance(one.event, PlanCreated) for one in made) == 4
    assert engine._ports.store.verify().broken == ""


def test_one_folder_becomes_one_workspace_however_many_begin(engine: Engine) -> None:
    crowd, started = Crowd(), []
    crowd.does(lambda: started.append(engine.sessions.start("Begin", "ask")), times=6)
    crowd.race()
    minted = engine._ports.store.read_all(["workspace/"])
    assert sum(isinstance(one.event, WorkspaceMinted) for one in minted) == 1
    assert len(engine.sessions.all()) == len(started) == 6


def test_contents_are_kept_and_read_by_many_at_once(tmp_path: Path) -> None:
    blobs = FileBlobStore(tmp_path)
    contents = [b"%d" % n * 40 for n in range(400)]
    crowd, kept = Crowd(), []

    def keep() -> None:
        names = [blobs.keep([content])[0] for content in contents]
        blobs.flush()
        kept.append(names)
        for name, content in zip(names, contents, strict=True):
            assert blobs.read(name) == content

    def look() -> None:
        for names in tuple(kept):
            assert all(map(blobs.has, names))

    crowd.does(keep, times=4)
    crowd.race([look])
    fresh = FileBlobStore(tmp_path)
    assert [fresh.read(name) for name in kept[0]] == contents


def test_asking_whether_a_lock_is_held_holds_nobody_up(tmp_path: Path) -> None:
    locks = FileLocks(tmp_path)
    with locks.hold("a", "first"):
        assert locks.is_held("a")
    crowd, seen = Crowd(), []

    def ask() -> None:
        for _ in range(200):
            seen.append(locks.is_held("a"))

    crowd.does(ask, times=4)
    crowd.race()
    assert not any(seen)
    with locks.hold("a", "second"):
        assert locks.is_held("a")


def test_whichever_thread_asks_first_there_is_one_of_what_knows_who_is_at_work(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making one waits a while for a second thread that makes another, which must not come."""
    begin, found, made = Barrier(8), [], []

    def slowly(module: ModuleType, name: str) -> None:
        real, both = getattr(module, name), Barrier(2, timeout=0.2)

        def make(*args: Any, **named: Any) -> Any:
            made.append(name)
            with suppress(BrokenBarrierError):  # nobody else came as far as this
                both.wait()
            return real(*args, **named)

        monkeypatch.setattr(module, name, make)

    kept = {
        services: "AgentServices",
        sessions: "Sessions",
        permits: "Permits",
        runs: "Runs",
        session_commands: "SessionCommands",
    }
    for module, name in kept.items():
        slowly(module, name)

    def ask() -> None:
        begin.wait()
        commands, changes = engine.session_commands, engine.permits
        found.append((engine.sessions, commands, changes, engine.grants, engine.runs))

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == sorted(kept.values())
    assert {tuple(map(id, each)) for each in found} == {tuple(map(id, found[0]))}
