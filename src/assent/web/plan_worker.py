"""Builds and rehearses plans for the server, in threads of its own, and reports by events."""

import os
import traceback
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, Final, TypeVar

from assent.core.errors import AssentError, Busy, UsageError
from assent.core.event import WorkKind
from assent.core.permission.mode import default_agent
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import RunUpdate
from assent.render.log import DeltaRedactor, live_row
from assent.render.rows import Row, encoded
from assent.render.run_stream import RunStream
from assent.web.event_feed import EventFeed, FeedMessage, encode_message
from assent.web.host import ServerHost
from assent.web.session_worker import RecordedAsker
from assent.web.work_pool import Work, WorkPool

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.runs.plan_work import PlanWork
    from assent.runs.rehearsal import RehearsalRequest

R = TypeVar("R")
BUILD: Final[WorkKind] = "build"
REHEARSE: Final[WorkKind] = "rehearse"
UNFINISHED: Final = "The build stopped before it finished. What was done is kept."
INTERNAL: Final = "Internal error; the server's own output has the details."


class PlanWorker:
    """Takes work on plans, of which one build at a time runs in a workspace."""

    def __init__(self, host: ServerHost, feed: EventFeed) -> None:
        self._host = host
        self._feed = feed
        self._pool = WorkPool()
        self._taking = Lock()  # between looking whether a plan is at work and taking it

    def build(
        self, engine: "Engine", record: PlanRecord, access: str, model: str = "", agent: str = ""
    ) -> Row:
        """Has an approved plan built, and returns the work as a row."""
        act = partial(self._build, engine, record, model, agent)
        key = f"build/{engine.workspace}"
        return self._take(engine, record, BUILD, access, key, (act, engine.runs.interrupt))

    def rehearse(
        self,
        engine: "Engine",
        record: PlanRecord,
        access: str,
        request: "Callable[[Callable[[], bool]], RehearsalRequest]",
    ) -> Row:
        """Has a plan rehearsed; `request` is made with what tells it to stop."""
        stopped = Event()
        act = partial(self._rehearse, engine, record, request(stopped.is_set))
        key = f"rehearse/{record.plan_id}"
        return self._take(engine, record, REHEARSE, access, key, (act, stopped.set))

    def check_room(self) -> None:
        """Raises TooBusy if no more work is taken now."""
        self._pool.check_room()

    def check_idle(self, engine: "Engine", record: PlanRecord, kind: WorkKind) -> None:
        """Raises Busy if the same was asked for already and is not over."""
        for known in engine.plan_work.of(record):
            if known.queued.kind == kind and self._pool.state(known.id):
                look = f"GET /api/v1/plans/{record.plan_id}/work/{known.id}"
                raise Busy(f"This is under way already, as {known.id}.", look)

    def row(self, work: "PlanWork") -> Row:
        """Returns work as JSON; what neither ended nor is here was interrupted."""
        queued, ended = work.queued, work.ended
        state: str = self._pool.state(work.id) or "interrupted"
        if ended is not None:
            state = "failed" if ended.error else "ended"
        row: Row = {
            "id": work.id,
            "kind": queued.kind,
            "plan_id": queued.plan_id,
            "digest": queued.digest or None,
            "state": state,
            "at": work.at,
            "ended_at": work.ended_at or None,
            "outcome": ended.outcome or None if ended else None,
            "run": ended.run or None if ended else None,
        }
        if ended is not None and ended.warnings:
            row["warnings"] = list(ended.warnings)
        if ended is not None and ended.error:
            row |= {"error": ended.error, "message": ended.message, "next": ended.next}
        return row

    def drive(
        self, engine: "Engine", record: PlanRecord, steps: Generator[RunUpdate, None, R], id: str
    ) -> R:
        """Follows a run to its end, and tells subscribers of the event feed what happens."""
        stream = RunStream()
        with closing(steps):
            try:
                while True:
                    for kind, body in stream.take(next(steps)):
                        self._tell(engine, record, kind, {**body, "work": id})
            except StopIteration as end:
                for kind, body in stream.rest():
                    self._tell(engine, record, kind, {**body, "work": id})
                found: R = end.value
                return found

    def close(self) -> None:
        """Asks what runs to end in good order; what waits is not begun."""
        self._pool.close()

    def _take(
        self,
        engine: "Engine",
        record: PlanRecord,
        kind: WorkKind,
        access: str,
        key: str,
        verbs: "tuple[Callable[[str], tuple[str, str]], Callable[[], object]]",
    ) -> Row:
        """Records work and has it done; `verbs` do it and stop it."""
        with self._taking:
            self._pool.check_room()
            self.check_idle(engine, record, kind)
            work = engine.plan_work.queue(record, kind, access)
            act, stop = verbs
            self._pool.submit(
                Work(work.id, key, partial(self._run, engine, record, work.id, act), stop)
            )
            return self.row(work)

    def _run(
        self,
        engine: "Engine",
        record: PlanRecord,
        id: str,
        act: Callable[[str], tuple[str, str]],
    ) -> None:
        """Does work and records how it ended, whatever happens."""
        try:
            try:
                outcome, run = act(id)
                engine.plan_work.end(record, id, outcome, run, engine.take_warnings())
            except AssentError as error:
                engine.plan_work.fail(record, id, error)
            except Exception:
                engine.plan_work.fail(record, id, AssentError(INTERNAL, "assent status"))
                raise
        except Exception:  # the thread goes on to other work
            traceback.print_exc()

    def _build(
        self, engine: "Engine", record: PlanRecord, model: str, agent: str, id: str
    ) -> tuple[str, str]:
        if engine.runs.is_text_plan(record):
            return self._build_text(engine, record, model, agent)
        steps = engine.runs.build(record.plan_id, record.digest)
        report = self.drive(engine, record, steps, id)
        with engine.runs.housekeeping("What is kept of runs was not pruned"):
            engine.retention.retain()
        return report.outcome, report.run

    def _build_text(
        self, engine: "Engine", record: PlanRecord, model: str, agent: str
    ) -> tuple[str, str]:
        """Has a model build a text plan; questions stay on record, and to go on is to build."""
        builds, root = engine.text_plan_builds, os.fsdecode(engine.root)
        session, name = engine.sessions.of_plan(record), agent or default_agent("ask")
        known = session.model if session else ""
        runtime = self._host.runtime(root, RecordedAsker(), model or known, name)
        try:
            worker = runtime.tools.agents.get(name)
            if worker is None:
                raise UsageError(f"Agent {name!a} not found. Nothing was changed.")
            asked = model or worker.model or known
            runtime.models.open(asked)  # before the approval is used
            with builds.locked(record) as current:
                builds.start(current, asked, name, record.digest)
                plan = engine.plans.repository().load(record.plan_id)
                if not builds.is_over(plan):
                    self._work_on_text(engine, plan, runtime)
                report = builds.report(plan)
                builds.finish(plan, report.outcome)
            return report.outcome, report.run
        finally:
            runtime.end()
            runtime.models.close()

    def _work_on_text(self, engine: "Engine", plan: PlanRecord, runtime: "SessionRuntime") -> None:
        """Runs a turn of a text plan's build; raises if the model has not finished in it."""
        builds, pieces = engine.text_plan_builds, DeltaRedactor()
        for heard in builds.work(plan, runtime.driver, runtime.tools):
            for piece in pieces.take(heard):
                self._tell(engine, plan, "delta", {"kind": piece.kind, "text": piece.text})
        if not builds.is_over(plan):
            raise AssentError(UNFINISHED, "answer what it asks, and build again")

    def _rehearse(
        self, engine: "Engine", record: PlanRecord, request: "RehearsalRequest", id: str
    ) -> tuple[str, str]:
        found = None
        with closing(engine.rehearser.rehearse(record, request)) as parts:
            for part in parts:
                found = part
        passed, commands = getattr(found, "passed", None), getattr(found, "commands", ())
        if passed is None:
            return "partial" if commands else "applied", ""
        return "passed" if passed else "failed", ""

    def _tell(self, engine: "Engine", record: PlanRecord, kind: str, body: Row) -> None:
        row = live_row(kind, record.session, "", {"plan_id": record.plan_id, **body})
        sent = encode_message(encoded({**row, "workspace": engine.workspace}), 0, kind)
        self._feed.tell(FeedMessage(0, engine.workspace, record.session, sent))
