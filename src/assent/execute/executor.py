"""One loop for apply, resume and undo: read the journal, decide the next step, do it, note it."""

from collections.abc import Generator, Sequence
from typing import Final

from assent.core.approval import ApprovedPlan
from assent.core.changes import left_by
from assent.core.course import Course, course
from assent.core.displaced import Spares, no_spares
from assent.core.errors import OtherDigest, Refused
from assent.core.journal import (
    Conflict,
    Entered,
    Entry,
    Finished,
    Halted,
    Live,
    Outcome,
    Ran,
    Recovering,
    Running,
    Started,
    Step,
    Swept,
    Way,
    started,
)
from assent.core.motion import Layout
from assent.core.operation import RunCommand
from assent.core.orphan import Cleared, Orphan
from assent.core.orphan import Way as OrphanWay
from assent.core.paths import shown
from assent.core.permit import PermittedPlan
from assent.core.plan import Plan
from assent.core.results import kept_slots, made_folders
from assent.execute.commanding import Commanding, NoCommands, Order
from assent.execute.compare import contradictions, not_as_begun, standing
from assent.execute.ending import Place, named, results_at_the_end, why
from assent.execute.files import Segment, enter, laid_out, plan_index
from assent.execute.orphans import clear, remove_probes
from assent.execute.start import check_start
from assent.execute.turning import History, read_backs, read_changes, turned
from assent.ports import Blobs, Commander, Hands, Journal

LOST_COMMAND: Final = (
    "the log has lost whether a command ran and what it changed, so nothing of that is put back"
)

Working = Generator[Live, None, Entry]
Watched = Generator[Live, None, None]


class Executor:
    """Applies what was consented to with the one pair of hands (law 1). It has no opinion."""

    def __init__(
        self, hands: Hands, blobs: Blobs, journal: Journal, commander: Commander | None = None
    ) -> None:
        self._hands = hands
        self._blobs = blobs
        self._journal = journal
        self._commander = commander or NoCommands()
        self._at: Segment | None = None  # the segment that was last at work
        self._spares: Spares = no_spares
        self._again = False  # an earlier process began the run

    def apply(
        self, consented: ApprovedPlan | PermittedPlan, run: str, spares: Spares = no_spares
    ) -> Watched:
        """Applies a plan. A refusal comes before the first journal record and spends nothing.

        `spares` tells where files may be left that the plan restores.
        """
        self._spares = spares
        plan_id, consent = _consent(consented)
        plan = consented.plan
        first = check_start(plan, self._hands, self._blobs, self._commander)
        if isinstance(consented, PermittedPlan) and len(first) < len(plan.operations):
            raise Refused("A permit covers files alone; nothing was changed.")
        layout, missing = laid_out(self._hands, run, first) if first else (Layout(run), ())
        self._journal.write(run, Started(plan_id, plan.digest, consent, layout, missing))
        yield from self._drive(run, plan)

    def recover(self, plan: Plan, run: str, way: Way, trusted: int = -1) -> Watched:
        """Takes up a run that an earlier process left, with the plan that it was started with.

        Of a journal that is damaged only the first `trusted` entries count.
        """
        self._again = True
        entries = self._journal.read(run)
        if plan.digest != started(entries).digest:
            raise OtherDigest("The run belongs to another plan.", "assent status")
        if self._place(run, plan).course.step is Step.OVER:
            return
        word = Recovering(way, trusted)
        backs = read_backs(entries, self._blobs)
        ended = any(isinstance(entry, Ran) and entry.cut for entry in entries)
        if ended or course(plan.operations, (*entries, word), backs).step is Step.RECKON:
            self._commander.check_at_rest()  # a refused word must not be on record (law 6)
        self._journal.write(run, word)
        yield from self._drive(run, plan)

    def clear(self, orphans: Sequence[Orphan], way: OrphanWay) -> Cleared:
        """Clears slots of a run that no journal knows, because a person decided about them."""
        return clear(self._hands, orphans, way)

    def remove_probes(self) -> list[bytes]:
        """Removes what a start left that was killed while it asked what the disk can."""
        return remove_probes(self._hands)

    def _drive(self, run: str, plan: Plan) -> Watched:
        """Goes on until the journal says that the run is over or waits for a person (law 5)."""
        while True:
            place = self._place(run, plan)
            step = place.course.step
            if step in (Step.WAIT, Step.OVER):
                return
            entry = yield from self._do(step, place)
            self._write(run, entry)

    def _write(self, run: str, entry: Entry) -> None:
        """Records an entry; nobody could tell later how a command ended, so an interrupt waits."""
        try:
            self._journal.write(run, entry)
        except KeyboardInterrupt:
            if isinstance(entry, Ran) and isinstance(self._journal.read(run)[-1], Running):
                self._journal.write(run, entry)
            raise

    def _place(self, run: str, plan: Plan) -> Place:
        entries = self._journal.read(run)
        backs = read_backs(entries, self._blobs)
        history = History(plan.operations, entries, backs, read_changes(self._blobs))
        return Place(run, plan, history, course(plan.operations, entries, backs))

    def _do(self, step: Step, place: Place) -> Working:
        now = place.course
        match step:
            case Step.RUN if now.word != "resume" and (later := self._beyond(place, files=True)):
                return Halted(later, contradicted=True)
            case Step.RUN | Step.RECKON:
                return (yield from self._command(step, place))
            case Step.ENTER | Step.TURN if self._is_done_already(place):
                return Swept(now.at, "done")
            case Step.ENTER:
                return enter(self._hands, self._blobs, now, _slots(place))
            case Step.SWEEP:
                return self._sweep(place)
            case Step.TURN | Step.HALT | Step.CLOSE:
                return self._decide(step, place)
            case _:
                return (yield from self._segment(now).do(step))

    def _decide(self, step: Step, place: Place) -> Entry:
        match step:
            case Step.TURN:
                return turned(place.history, self._hands, self._blobs)
            case Step.HALT:
                return why(place)
            case _:
                now = place.course
                back = now.back is not None and now.word != "accept"
                if back and (beyond := self._beyond(place)):
                    return Halted(beyond, contradicted=True)
                return self._finished(place, "rolled_back" if back else "done")

    def _beyond(self, place: Place, *, files: bool = False) -> tuple[Conflict, ...]:
        """Returns what a run did, or may have done, beyond all that its journal still tells.

        With `files`, only what the disk shows: no disk tells that a command ran.
        """
        if not self._again:
            return ()
        results, operations = place.history.results, place.plan.operations
        untold = [at for at, result in enumerate(results) if result == "not_started"]
        others = {at: op for at in untold if not isinstance(op := operations[at], RunCommand)}
        seen = contradictions(self._hands, tuple(others.values()), "rolled_back")
        seen = not_as_begun(self._hands, operations, seen)
        indices = list(others)
        told = [(indices[one.index], f"{shown(one.path)}: {one.reason}") for one in seen]
        if not files and _is_lossy(place):
            told += [(at, LOST_COMMAND) for at in untold if at not in others]
        # In a segment, conflicts count its own operations; none of these is one of them.
        inside = place.course.phase == "files"
        return tuple(Conflict(0 if inside else at, b"", b"", words) for at, words in told)

    def _is_done_already(self, place: Place) -> bool:
        """Tells whether the disk shows a segment as done of which the journal has lost all."""
        now = place.course
        if (
            not _is_lossy(place)
            or now.back is not None
            or now.at >= len(now.spans)
            or not now.span.files
        ):
            return False
        return len(standing(self._hands, now.span.files, ())) == len(now.span.files)

    def _segment(self, now: Course) -> Segment:
        """Returns the segment that the run is in; its motions are worked out once."""
        if self._at is None or not self._at.goes_on(now):
            self._at = Segment(self._hands, self._blobs, now, self._spares, again=self._again)
        return self._at

    def _command(self, step: Step, place: Place) -> Working:
        commanding = Commanding(self._commander, self._hands, self._blobs, self._journal)
        span = place.course.span
        assert span.command is not None, "a command is due"
        left = left_by(trace.operation for trace in place.history.traces())
        about, called = plan_index(place.course, span.first), named(place.course)
        digest, total = place.plan.digest, _total(place)
        order = Order(span.first, span.command, digest, left, total, about, called)
        if step is Step.RECKON:
            entries = reversed(place.history.entries)
            return commanding.reckon(next(e for e in entries if isinstance(e, Running)), order)
        return (yield from commanding.run(place.run, order))

    def _sweep(self, place: Place) -> Entry:
        now, settled = place.course, place.course.settled
        if halted := self._segment(now).contradicted():
            return halted
        ends_back = now.ends and settled.outcome == "rolled_back"
        if ends_back and (beyond := self._beyond(place)):
            return Halted(beyond, contradicted=True)
        again = any(isinstance(entry, Recovering) for entry in place.history.entries)
        kept = self._segment(now).sweep(again=again)
        if not now.ends:
            return Swept(now.at, settled.outcome, settled.made, kept)
        return self._finished(place, settled.outcome, kept)

    def _finished(self, place: Place, outcome: Outcome, kept: tuple[bytes, ...] = ()) -> Finished:
        entries = place.history.entries
        made = made_folders(entries) if outcome == "done" else ()
        return Finished(
            outcome, results_at_the_end(place, self._hands), made, (*kept_slots(entries), *kept)
        )


def _is_lossy(place: Place) -> bool:
    """Tells whether a person decided to go on although records were damaged or lost."""
    entries = place.history.entries
    return any(isinstance(entry, Recovering) and entry.trusted >= 0 for entry in entries)


def _total(place: Place) -> int:
    """Returns how many operations there are on the way that the run is on, there or back."""
    return sum(len(span.files) + (span.command is not None) for span in place.course.spans)


def _slots(place: Place) -> str:
    """Names the slots of a segment: no other one of this run has ever had the same."""
    earlier = sum(isinstance(entry, Entered) for entry in place.history.entries)
    return f"{place.run}.{earlier + 1}"


def _consent(consented: ApprovedPlan | PermittedPlan) -> tuple[str, str]:
    """Returns the plan's id, which a permitted one has not, and the consent's; nothing else is."""
    match consented:
        case ApprovedPlan():
            return consented.approval.plan_id, consented.approval.id
        case PermittedPlan():
            return "", consented.permit.id
        case _:
            raise TypeError("The executor applies an ApprovedPlan or a PermittedPlan alone.")
