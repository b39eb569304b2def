"""Undoing: makes the inverse plan of a run, shows it, and applies it on the same road."""

from collections.abc import Iterable

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import AssentError
from assent.core.event import DraftChanged, PlanApproved, PlanCreated, PlanDiscarded, TextRevised
from assent.core.journal import Result
from assent.core.lifecycle import State
from assent.core.motion import Seen
from assent.core.operation import FileOperation, FileState, footprint
from assent.core.paths import ancestors
from assent.core.plan import Plan
from assent.core.record import PlanRecord
from assent.core.undo import Inversion, invert, undo_text
from assent.engine.doors import Doors
from assent.engine.plan.consents import Consents
from assent.engine.plan.contents import Contents
from assent.engine.run.runs import RunReport, Runs, Working
from assent.engine.run.takeback import Takeback, Target


class Undo(msgspec.Struct, frozen=True):
    """The inverse of a run as a plan, before anybody agreed to it."""

    target: Target
    plan: Plan
    originals: tuple[FileOperation, ...]
    ids: tuple[str, ...]  # of the originals
    inversion: Inversion

    @property
    def run(self) -> str:
        """What a person calls the run, or the turn, that it takes back."""
        return self.target.name

    @property
    def source(self) -> PlanRecord:
        return self.target.record


ODD = FileState("", 0, 0)  # what no run leaves: a pipe, say, or something behind a symlink


class Undoing:
    """The verbs that take a run back, by a plan like any other, with its own digest (law 7)."""

    def __init__(self, doors: Doors, runs: Runs, consents: Consents) -> None:
        self._doors = doors
        self._runs = runs
        self._consents = consents

    def preview(self, reference: str = "", plan_id: str = "") -> Undo:
        """Makes the inverse plan of a run, or of all runs of a turn; nothing is recorded."""
        ledger = self._runs.ledger()
        back = Takeback(self._doors, ledger)
        target = back.find(reference, plan_id)
        # In a run that a person accepted half-done, only what was done can be taken back.
        applied = back.applied(target)
        operations, ids = applied.operations, operation_ids(applied.operations)
        seen = self._seen(operations)
        there = {state.digest for state in seen.values() if isinstance(state, FileState)}
        blobs = self._doors.blobs
        inversion = invert(
            operations,
            applied.made,
            seen,
            self._doors.files.below,
            lambda digest: digest in there or blobs.has(digest),
        )
        text = undo_text(" ".join(target.runs), target.record.name, inversion, ids)
        inverses = tuple(op for _, op in inversion.operations)
        inverse = Plan(text, inverses, workspace=ledger.workspace)
        return Undo(target, inverse, operations, ids, inversion)

    def apply(self, undo: Undo, channel: str, note: str = "") -> Working:
        """Records the yes to an undo plan and builds it; a file that changed since stops it."""
        record = self._record(undo, channel, note)
        try:
            report = yield from self._runs.build(record.plan_id)
        except AssentError:
            self._discard(record)
            raise
        return _in_terms_of_originals(undo, report)

    def _discard(self, record: PlanRecord) -> None:
        """Gives up an undo plan that was refused, and with it the yes that nobody used."""
        ledger = self._runs.ledger()
        current = ledger.load(record.plan_id)
        if current.state is State.AWAITING_APPROVAL:
            ledger.append(current, current.plan_id, PlanDiscarded())

    def _seen(self, operations: Iterable[FileOperation]) -> dict[bytes, Seen]:
        """Looks at every path of a run and at the folders above; what is odd now has changed."""
        paths = {path for op in operations for path, *_ in footprint(op)}
        paths |= {above for path in paths for above in ancestors(path)}
        try:
            return self._doors.files.look(sorted(paths))
        except AssentError:
            return {path: self._one(path) for path in paths}

    def _one(self, path: bytes) -> Seen:
        try:
            return self._doors.files.look((path,))[path]
        except AssentError:
            return ODD

    def _record(self, undo: Undo, channel: str, note: str) -> PlanRecord:
        ledger = self._runs.ledger()
        blobs, source = self._doors.blobs, undo.source
        # A move keeps no copy; taken back together with more, it may have become a write.
        Contents(self._doors).keep_all(undo.plan.operations, undo.plan.operations)
        plan_id = self._doors.clock.new_id()
        text, size = blobs.keep([undo.plan.text])
        runs = " ".join(filter(None, (undo.target.whole, *undo.target.runs)))
        created = PlanCreated(
            plan_id, ledger.workspace, source.session, source.name, b"", undoes=runs
        )
        # One transaction: an undo plan without its yes would wait for nobody.
        return ledger.append(
            None,
            plan_id,
            created,
            TextRevised(text, size),
            DraftChanged(ledger.keep_draft(undo.plan.operations), (), undo.plan.operations),
            self._consents.proposal(undo.plan),
            PlanApproved(self._consents.sign(plan_id, undo.plan, note, channel)),
        )


def _in_terms_of_originals(undo: Undo, report: RunReport) -> RunReport:
    """Names the original operations: what was taken back, and what was left because it changed."""
    undone: dict[str, Result] = {"done": "undone", "undone": "done"}
    found: dict[int, Result] = dict.fromkeys(range(len(undo.ids)), "not_started")
    found.update({index: "conflict" for index, _ in undo.inversion.conflicts})
    pairs = zip(undo.inversion.operations, report.operations, strict=True)
    found.update({index: undone.get(result, result) for (index, _), (_, result) in pairs})
    rows = tuple((undo.ids[index], found[index]) for index in sorted(found))
    left = tuple(f"Left alone: {reason}." for _, reason in undo.inversion.conflicts)
    return RunReport(report.run, report.outcome, rows, (*report.notes, *left), undo.originals)
