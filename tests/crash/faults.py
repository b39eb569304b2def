"""Errors of the system, injected at one call or from one call on, and what must hold after each."""

import errno
import os
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from tests.crash.rig import Rig
from tests.crash.trees import look
from tests.support.stored_contents import stored_contents

from assent.app.engine import Engine
from assent.core.errors import AssentError
from assent.core.run.journal import RecoveryChoice, drive_to_end
from assent.ports import EventBatch, EventStore
from assent.runs.run_status import RunReport
from assent.store.memory import MemoryEventStore
from assent.store.sqlite import SqliteEventStore
from assent.testing.call_trace import CallListener, CallTrigger, fail_with, ignore_call
from assent.testing.engine_fixture import open_engine_fixture

CODES = (errno.EACCES, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENOSPC)
SYNCS = ("hands.fsync", "hands.syncfs")
WAYS: tuple[RecoveryChoice, ...] = ("roll_back", "resume", "accept")
LEADS_TO = {"roll_back": "rolled_back", "resume": "done", "accept": "done"}
Whose: TypeAlias = str | tuple[str, ...]  # how the names of calls begin that can fail
SETTLED = 3  # entries of a journal: started, committed, settled


class Fault(CallTrigger):
    """Lets calls fail, and knows whether a sync was among them before the run was settled.

    `late`: the first of them came when the run was settled, and can only affect the tidying up.
    """

    def __init__(self, whose: Whose, at: int, code: int, *, sticky: bool) -> None:
        super().__init__(lambda name: name.startswith(whose), at, self._fail, sticky=sticky)
        self.unsynced = False
        self.late = False
        self._refuse = fail_with(code)
        self._entries = 0

    def hears(self, moment: str) -> bool:
        return moment == "store.appended" or super().hears(moment)

    def __call__(self, moment: str, arguments: tuple[Any, ...]) -> None:
        self._entries += moment == "store.appended"
        super().__call__(moment, arguments)

    def _fail(self, moment: str, arguments: tuple[Any, ...]) -> None:
        self.late |= len(self.fired) == 1 and self._entries >= SETTLED
        self.unsynced |= moment in SYNCS and self._entries < SETTLED
        self._refuse(moment, arguments)


class Faulty:
    """Builds the rig's plan with errors in it. The log is in memory: it is not what fails here."""

    def __init__(self, rig: Rig, whose: Whose) -> None:
        self.rig = rig
        self._whose = whose
        self._log = _in_memory(rig.site.state / "log.db")
        self.ends: Counter[str] = Counter()
        self.late_ends: Counter[str] = Counter()  # those of faults when the run was settled

    def sweep(self, *codes: int, sticky: bool, first: int = 0, every: int = 1) -> int:
        """Lets calls fail, one run after the other, with these codes in turn; counts the runs.

        All calls, or every so many from the first on.
        """
        for tried, at in enumerate(count(first, every)):
            if not self._fails(at, codes[tried % len(codes)], sticky=sticky):
                return tried
        raise AssertionError

    def _fails(self, at: int, code: int, *, sticky: bool) -> bool:
        """Lets one call fail, or all from there on; False if there are not so many calls."""
        fault = Fault(self._whose, at, code, sticky=sticky)
        end = self._attempt(fault, WAYS[at % len(WAYS)])
        if not fault.fired:
            assert end == "done"
            return False
        place = f"{errno.errorcode[code]} at call {at}, {fault.fired[0]}"
        unsynced = fault.unsynced and code != errno.EACCES  # then all is flushed instead
        assert end != "done" or not unsynced, f"{place}: done although a sync failed"
        self.ends[end] += 1
        self.late_ends[end] += fault.late
        return True

    def _attempt(self, fault: CallTrigger, way: RecoveryChoice) -> str:
        """Builds with a fault, then recovers without; returns how the build itself ended."""
        self.rig.restore(self.rig.approved)
        store = self._log.copy()
        report = self._build(store, fault)
        engine = self._open(store, ignore_call)
        self._check(engine, report, fault)
        settled = drive_to_end(engine.runs.recover())
        if settled.outcome == "needs_you":
            settled = drive_to_end(engine.runs.recover(way))
            assert settled.outcome == LEADS_TO[way], settled.notes
            if way == "accept":
                self._check_nothing_is_lost(settled)
                return "needs_you"
        if settled.run:
            self._check(engine, settled, fault)
        return report.outcome if report else "refused"

    def _build(self, store: EventStore, listen: CallListener) -> RunReport | None:
        try:
            return drive_to_end(self._open(store, listen).runs.build(self.rig.plan_id))
        except (AssentError, OSError):
            return None

    def _check(self, engine: Engine, report: RunReport | None, fault: CallTrigger) -> None:
        """The tree is as the report says, the yes is spent if a run began, slots are named."""
        record = engine.plans.repository().load(self.rig.plan_id)
        place = f"{fault.fired[:1]} number {len(fault.seen)}"
        assert bool(record.runs) == any(consent.run for consent in record.consents), place
        if report is None:
            assert record.runs == () or record.unfinished, f"{place}: an end that nobody was told"
            assert record.runs or self.rig.tree() == self.rig.story.start, place
            return
        if report.outcome == "needs_you":
            return
        assert self._is(report.outcome), f"{place}: {report.outcome}"
        named = " ".join(report.notes)
        left = [os.fsdecode(p) for p in self._filled_slots()]
        assert [path for path in left if path not in named] == [], place

    def _check_nothing_is_lost(self, report: RunReport) -> None:
        """Every content from the start is in the tree, is a blob, or lies in a slot with a name."""
        slots = [path for path in self._filled_slots() if os.fsdecode(path) in str(report.notes)]
        kept = {look(self.rig.root + b"/" + path).content for path in slots}
        kept |= stored_contents(self.rig.site.state / "blobs")
        kept |= {entry.content for entry in self.rig.tree().values()}
        assert {entry.content for entry in self.rig.story.start.values()} <= kept

    def _is(self, outcome: str) -> bool:
        """Tells whether the tree is as the outcome says.

        A folder that should go, and is empty, may stay where the system does not let it go: by
        then the run is settled, and to reverse it all because of that would help nobody.
        """
        story, found = self.rig.story, self.rig.tree()
        if outcome == "rolled_back":
            return found == story.start
        emptied = {p for p, e in story.start.items() if e.kind == "folder"} - story.finish.keys()
        return {p: e for p, e in found.items() if p not in emptied} == story.finish

    def _filled_slots(self) -> list[bytes]:
        paths = [path for path in self.rig.leftovers() if b"/probe." not in path]
        return [path for path in paths if not os.path.isdir(self.rig.root + b"/" + path)]

    def _open(self, store: EventStore, listen: CallListener) -> Engine:
        return open_engine_fixture(self.rig.site, listen, store=store)


def _in_memory(path: Path) -> MemoryEventStore:
    """Returns a log in memory that has all events of one on disk."""
    log, store = SqliteEventStore(path), MemoryEventStore()
    for one in log.read_all([""]):
        store.append(EventBatch(one.stream, one.seq - 1, one.at, (one.event,)))
    log.close()
    return store
