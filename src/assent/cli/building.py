"""`assent build` for a plan of prose: a model carries the approved text out in a session."""

from collections.abc import Generator
from contextlib import closing
from typing import cast

from assent.cli.call import Call
from assent.cli.forms import Words
from assent.cli.interrupts import interruptible
from assent.core.errors import AssentError, Interrupted, UsageError
from assent.core.event import Recorded
from assent.core.model import Delta
from assent.core.record import PlanRecord
from assent.core.session import SessionRecord
from assent.engine.building import BUILDER
from assent.engine.engine import Engine
from assent.engine.runs import RunReport

AGAIN = "assent build"
KEPT = "What was done so far is kept, and needs no second approval."


def build_prose(call: Call, record: PlanRecord, model: str, agent: str) -> RunReport:
    """Carries a plan out, or goes on with it, to its end; without a model nothing is spent."""
    from assent.app.session import Limits, open_work
    from assent.cli.asker import asker

    if not record.building:
        call.engine.consents.usable(record)
    work = open_work(
        call.folder,
        model=model,
        agent=agent or BUILDER,
        asker=asker(may_ask=not call.no_input),
        limits=Limits(0, 0),
    )
    with closing(work), interruptible():
        engine = work.engine
        worker = work.tooling.agents.get(agent or BUILDER)
        if worker is None:
            raise UsageError(f"There is no agent {agent!a}.", "assent build --help")
        # The builder's own model, unless one is chosen now: not the one that planned.
        asked = model or worker.model
        session = engine.building.start(engine.plans.find(record.plan_id), asked, worker.name)
        if not engine.building.is_over(session):
            events = engine.sessions.work(session, work.driver, work.tooling)
            _show(call, session, cast("Generator[Recorded | Delta, None, None]", events))
        report = _ended(engine, session, record.plan_id)
        call.output.warn(engine.warnings)
        return report


def _show(
    call: Call, session: SessionRecord, events: Generator[Recorded | Delta, None, None]
) -> None:
    """Shows what the model says and does; the first interrupt ends the turn in good order."""
    shown = Words(call.output)
    shown.begin(session, fresh=True)
    try:
        for heard in events:
            if not call.output.as_json:
                shown.hear(heard)
    except KeyboardInterrupt:
        try:
            events.throw(KeyboardInterrupt())
            for _ in events:
                pass
        except (StopIteration, KeyboardInterrupt, Interrupted):
            pass
        raise Interrupted(f"Interrupted. {KEPT}", AGAIN) from None
    except AssentError as error:
        error.message, error.next = f"{error.message} {KEPT}", error.next or AGAIN
        raise


def _ended(engine: Engine, session: SessionRecord, plan_id: str) -> RunReport:
    """Ends the run, if the model says that it is done."""
    plan = engine.plans.find(plan_id)
    session = engine.sessions.load(session.session)
    if not engine.building.is_over(session):
        raise AssentError(f"The build stopped before its end. {KEPT}", AGAIN)
    report = engine.building.report(plan, "done")
    engine.building.finish(plan, "done")
    return report
