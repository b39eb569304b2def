"""Turns: what a driver may do with a session while it works on it; all calls end here."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from time import perf_counter

from assent.core.agent import Agent
from assent.core.errors import AssentError, StoreError
from assent.core.event import Event, Recorded
from assent.core.message import Call, Message, Result
from assent.core.model import Offer
from assent.core.paths import one_line
from assent.core.record import PlanRecord
from assent.core.session import SessionRecord
from assent.core.session_event import (
    CallEnded,
    CallStarted,
    PlanLinked,
    SessionEvent,
    TurnEnded,
    TurnStarted,
)
from assent.core.tool import Carried, Decision, Edit, Posture, Request, Verdict
from assent.core.transcript import LOST, Transcript
from assent.engine.session.asking import asked, drained, permission, refusal
from assent.engine.session.desk import Desk
from assent.engine.session.diary import Diary, folded
from assent.engine.session.effects import Done, Effects, Wish
from assent.engine.session.news import News, Own
from assent.engine.session.reminders import Now, reminder
from assent.engine.session.sidebyside import side_by_side
from assent.engine.session.surroundings import Surroundings
from assent.engine.session.tooling import Tooling
from assent.tools.tool import Around
from assent.tools.toolbox import Settled

INTERRUPTED = "The person interrupted the call. Whether it did anything is not known."
AFTER_THE_END = "The turn ended with the call before this one; nothing was done."
LATER = "asked later"


class SessionTurn:
    """Implements ports.Turn over a session's stream. The session's lock is held meanwhile."""

    def __init__(
        self, desk: Desk, diary: Diary, session: str, tooling: Tooling, build: str = ""
    ) -> None:
        self._desk = desk
        self._diary = diary
        self._tooling = tooling
        self._build = build
        self._effects = Effects(desk, tooling)
        self._surroundings = Surroundings(desk, tooling)
        self._transcript = Transcript()
        self._seen: dict[str, str] = {}
        self._called = False  # whether the session has ever made a call
        self._over = False
        self._plan: PlanRecord | None = None
        self._plan_is_known = False
        self._linked = 0  # where in the log the newest mark is,
        self._reached = 0  # the newest event of the session,
        self._quiet = -1  # and the newest event before which nobody else did anything unread
        self._held: tuple[SessionEvent, ...] = ()
        self._record = diary.load(session)
        events = diary.read(session)
        self._record = folded(self._record, [e for e in events if e.seq > self._record.seq])
        self._take(events)
        self._news = News(desk, self._record, self._linked)

    @property
    def record(self) -> SessionRecord:
        return self._record

    @property
    def agent(self) -> Agent:
        """The agent of the newest message; one that nobody knows may only plan (F11)."""
        return self._surroundings.agent(self._record)

    @property
    def messages(self) -> tuple[Message, ...]:
        return self._transcript.messages

    @property
    def over(self) -> bool:
        return self._over

    def offers(self) -> tuple[Offer, ...]:
        """Returns the tools that the model may see in this mode, as this agent."""
        return self._tooling.toolbox.offers(self._posture(), self.agent)

    def note(self, *events: SessionEvent) -> tuple[Recorded, ...]:
        """Appends events to the session, behind what others said meanwhile."""
        if not events and not self._held:
            return ()
        held, self._held = self._held, ()
        self._record, recorded = self._diary.append(self._record, *held, *events)
        if recorded and recorded[0].position == self._quiet + 1:
            self._quiet = recorded[-1].position
        self._take(recorded, held)
        return recorded

    def hold(self, *events: SessionEvent) -> None:
        """Counts events from now on, and appends them with what is noted next."""
        self._held += events
        for event in events:
            self._count(event)

    def catch_up(self) -> tuple[Recorded, ...]:
        """Takes in what others said in the session, and tells what they did to its plan."""
        plan = self._current_plan()
        edited = plan is not None and self._news.take_in(plan)
        last = self._desk.doors.store.last()
        if last == self._quiet and not edited:
            return ()
        self._quiet = last
        said = self._diary.read(self._record.session, self._record.seq)
        self._record = folded(self._record, said)
        self._take(said)
        news = self._news.read(self._record, self._reached)
        return (*said, *(self.note(*news) if news else ()))

    def settle(self, calls: Sequence[Call]) -> Iterator[Recorded]:
        """Settles the calls of one answer, those that only read side by side."""
        open_ones: dict[str, Call] = {}
        for call in calls:
            open_ones.setdefault(call.id, call)  # two of one id cannot be told apart
        try:
            for batch in _batches(tuple(open_ones.values()), self._tooling.toolbox.reads):
                yield from self._refused(batch) if self._over else self._settle(batch)
                for call in batch:
                    del open_ones[call.id]
        except (KeyboardInterrupt, GeneratorExit):
            self._give_up(open_ones.values(), INTERRUPTED)
            raise
        except BaseException:
            self._give_up(open_ones.values(), LOST)
            raise

    def reminder(self) -> str:
        """Says what holds now, whatever was forgotten."""
        plan = self._current_plan()
        staged = len(self._desk.drafts.operations(plan)) if plan else 0
        approved = plan is not None and self._desk.consents.is_approved(plan)
        posture = self._posture()
        scope = posture.scope if posture.building else None
        return reminder(self._record, plan, Now(staged, approved, posture.staging, scope))

    def open(self) -> Iterator[Recorded]:
        """Ends what a process that died left open, and starts the turn."""
        lost = [_given_up(call, LOST) for call in self._transcript.unsettled]
        dead = [TurnEnded("interrupted", "Its process ended.")] if self._record.working else []
        yield from self.note(*lost, *dead, TurnStarted(self._record.turns + 1, self._build))
        if self._record.todos:
            self._desk.show_todos(self._record, self._record.todos)
        if self._surroundings.is_stranger(self._record):
            self._desk.projections.warnings.append(
                f"There is no agent {self._record.agent!a}; the plan agent works instead, in plan "
                "mode."
            )

    def fail(self, error: AssentError) -> tuple[Recorded, ...]:
        """Ends a turn that the driver could not end itself, such as when a file is unreadable."""
        if not self._record.working or isinstance(error, StoreError):
            return ()
        return self.note(TurnEnded("failed", error.message))

    def close(self) -> Iterator[Recorded]:
        """Takes the plan's file away again if the session was only about words."""
        yield from self.note() if self._held else ()
        plan = self._current_plan()
        if plan and not self._called and self._effects.authoring.is_bare(plan):
            self._desk.plans.delete([plan])
            yield from self.note(self._desk.link(None))

    def _settle(self, batch: Sequence[Call]) -> Iterator[Recorded]:
        yield from self.note(*[CallStarted(call.id, call.tool) for call in batch])
        around = self._surroundings.around(self._record, self._current_plan(), self._seen)
        began = perf_counter()
        pending: list[Recorded] = []
        settled = self._settled(batch, around, pending)
        yield from pending
        seconds = perf_counter() - began
        ended: list[SessionEvent] = []
        for call, one in zip(batch, settled, strict=True):
            ended += yield from self._end(call, one, seconds)
        if all(map(_can_wait, settled)):
            self.hold(*ended)
        else:
            yield from self.note(*ended)

    def _settled(
        self, batch: Sequence[Call], around: Around, pending: list[Recorded]
    ) -> list[Settled]:
        """Settles calls in threads; one that needs an answer waits until the others are done."""
        box, agent = self._tooling.toolbox, self.agent
        postponed: set[str] = set()

        def alone(call: Call) -> Settled:
            return box.settle(call, around, agent, partial(self._permitted, call, pending))

        def together(call: Call) -> Settled:
            def later(requests: Sequence[Request], decision: Decision, edit: Edit | None) -> str:
                postponed.add(call.id)
                return LATER

            return box.settle(call, around, agent, later)

        if len(batch) == 1:
            return [alone(batch[0])]
        settled = side_by_side(together, batch)
        pairs = zip(batch, settled, strict=True)
        return [alone(call) if call.id in postponed else one for call, one in pairs]

    def _permitted(
        self,
        call: Call,
        pending: list[Recorded],
        requests: Sequence[Request],
        decision: Decision,
        edit: Edit | None,
    ) -> str:
        """Asks the person, who sees what would be applied; returns why it is not a yes."""
        new = self._desk.doors.clock.new_id()
        shaping = self._effects.shaping
        shown = (shaping.wishes(edit), shaping.patch(edit)) if edit else ()
        questions = (permission(requests, decision, *shown),)
        answers = drained(
            asked(self._tooling.asker, new, call.id, questions),
            lambda event: pending.extend(self.note(event)),
        )
        return refusal(answers)

    def _end(
        self, call: Call, settled: Settled, seconds: float
    ) -> Generator[Recorded, None, list[SessionEvent]]:
        """Carries out what a call wishes for and returns everything that ends it."""
        outcome = settled.outcome
        done = Done(Carried(outcome.text, outcome.failed))
        if outcome.effect is not None and settled.decision is not None and not outcome.failed:
            yield from self.catch_up()  # what others did comes before what this call does
            planning = self._posture().mode == "plan"
            about = (outcome.effect, settled.decision, outcome.text)
            done = yield from self._carry(Wish(self._record, call, *about, planning))
        carried = done.carried
        metadata = {**({} if carried.failed else outcome.metadata), **carried.metadata}
        text, kept = self._kept(carried.text, outcome.rest)
        result = Result(call.id, text, carried.failed, outcome.images)
        verdict = str(settled.decision.verdict) if settled.decision else ""
        ended = CallEnded(
            call.id, settled.tool, result, outcome.title, seconds, verdict, {**metadata, **kept}
        )
        self._over = self._over or carried.ends
        news = (
            self._news.read(self._record, self._reached, Own(done.wrote, done.draft))
            if done.changed
            else []
        )
        return [ended, *done.events, *news]

    def _carry(self, wish: Wish) -> Generator[Recorded, None, Done]:
        """Records what an effect wants to have recorded before it goes on."""
        work = self._effects.carry(wish)
        while True:
            try:
                event = next(work)
            except StopIteration as end:
                done: Done = end.value
                return done
            yield from self.note(event)

    def _kept(self, text: str, rest: bytes) -> tuple[str, dict[str, str]]:
        """Keeps the whole of a long output in a file, and says where it is."""
        if not rest:
            return text, {}
        name = f"{self._desk.doors.clock.new_id()}.txt"
        try:
            path = one_line(self._desk.doors.projection.write_output(name, rest))
        except (AssentError, OSError) as error:
            return f"{text}\n\nThe rest could not be kept: {error}", {}
        return f"{text}\n\nThe whole output is in {path}; `read` shows any part of it.", {
            "output": path
        }

    def _refused(self, batch: Sequence[Call]) -> Iterator[Recorded]:
        yield from self.note(*[_given_up(call, AFTER_THE_END) for call in batch])

    def _give_up(self, calls: Iterable[Call], why: str) -> None:
        if ended := [_given_up(call, why) for call in calls]:
            with suppress(AssentError):  # what stopped the calls is more important
                self.note(*ended)

    def _posture(self) -> Posture:
        return self._surroundings.posture(self._record, self._current_plan())

    def _current_plan(self) -> PlanRecord | None:
        if not self._plan_is_known:
            self._plan, self._plan_is_known = self._desk.plan_of(self._record), True
        return self._plan

    def _take(self, events: Iterable[Recorded], held: Sequence[SessionEvent] = ()) -> None:
        """Folds what was recorded into what the turn knows, unless it counts already."""
        counted = {id(event) for event in held}
        for recorded in events:
            self._reached = recorded.position
            if isinstance(recorded.event, PlanLinked):
                self._linked = recorded.position
            if id(recorded.event) not in counted:
                self._count(recorded.event)

    def _count(self, event: Event) -> None:
        self._transcript.add(event)
        match event:
            case PlanLinked():
                self._plan_is_known = False
            case CallEnded(metadata=metadata):
                self._called = True
                self._seen.update(metadata.get("seen", {}))
            case _:
                pass


def _can_wait(settled: Settled) -> bool:
    """Tells whether the end of a call may become durable together with the step after it.

    What was only read can be read again, and what was staged is durable in the draft: after a crash
    in between, the model is told of it as news.
    """
    staged = settled.decision is not None and settled.decision.verdict is Verdict.STAGE
    return settled.outcome.effect is None or (staged and isinstance(settled.outcome.effect, Edit))


def _batches(calls: Sequence[Call], reads: Callable[[Call], bool]) -> Iterator[list[Call]]:
    """Yields calls to settle together: neighbours that only read, and each other one alone."""
    for only_read, group in groupby(calls, reads):
        if only_read:
            yield list(group)
        else:
            yield from ([call] for call in group)


def _given_up(call: Call, why: str) -> CallEnded:
    return CallEnded(call.id, call.tool, Result(call.id, why, failed=True))
