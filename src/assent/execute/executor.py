"""One loop for apply, resume and undo: read the journal, decide the next step, do it, note it."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress

from assent.core.approval import ApprovedPlan
from assent.core.errors import OtherDigest, WorkspaceError
from assent.core.journal import (
    Entry,
    Finished,
    Progress,
    Recovering,
    Result,
    Settled,
    Started,
    Step,
    Way,
    next_step,
    results,
    started,
)
from assent.core.motion import Layout, Motion, fills, motions, needed_folders, prunable
from assent.core.operation import FileOperation, footprint
from assent.core.permit import PermittedPlan
from assent.core.plan import Plan
from assent.execute.check import check_blobs, check_disk, file_operations
from assent.execute.finish import finish
from assent.execute.prepare import prepare
from assent.execute.reverse import reverse
from assent.execute.sweep import sweep
from assent.ports import Blobs, Hands, Journal


class Executor:
    """Applies what was consented to with the one pair of hands (law 1). It has no opinion."""

    def __init__(self, hands: Hands, blobs: Blobs, journal: Journal) -> None:
        self._hands = hands
        self._blobs = blobs
        self._journal = journal

    def apply(self, consented: ApprovedPlan | PermittedPlan, run: str) -> Iterator[Progress]:
        """Applies a plan. A refusal comes before the first journal record and spends nothing."""
        plan_id, consent = _consent(consented)
        plan = consented.plan
        operations = file_operations(plan)
        check_blobs(operations, self._blobs)
        check_disk(plan, operations, self._hands)
        layout, missing = self._laid_out(run, operations)
        first = Started(plan_id, plan.digest, consent, layout, missing)
        self._journal.write(run, first)
        yield from self._drive(run, operations)

    def recover(self, plan: Plan, run: str, way: Way) -> Iterator[Progress]:
        """Takes up a run that an earlier process left, with the plan that it was started with."""
        entries = self._journal.read(run)
        if plan.digest != started(entries).digest:
            raise OtherDigest("The run belongs to another plan.", "assent status")
        if next_step(entries) is Step.OVER:
            return
        self._journal.write(run, Recovering(way))
        yield from self._drive(run, file_operations(plan))

    def _laid_out(
        self, run: str, operations: Sequence[FileOperation]
    ) -> tuple[Layout, tuple[bytes, ...]]:
        try:
            layout = self._hands.layout(run, operations)
            return layout, self._hands.missing(needed_folders(operations))
        except OSError as error:
            raise WorkspaceError(
                f"The workspace cannot be prepared ({error.strerror}); nothing was changed.",
                "assent build",
            ) from error

    def _drive(self, run: str, operations: Sequence[FileOperation]) -> Iterator[Progress]:
        """Goes on until the journal says that the run is over or waits for a person (law 5)."""
        first = started(self._journal.read(run))
        renames = motions(operations, first.layout)
        while True:
            entries = self._journal.read(run)
            step = next_step(entries)
            if step in (Step.WAIT, Step.OVER):
                return
            entry = yield from self._do(step, entries, operations, renames)
            self._journal.write(run, entry)

    def _do(
        self,
        step: Step,
        entries: Sequence[Entry],
        operations: Sequence[FileOperation],
        renames: Sequence[Motion],
    ) -> Generator[Progress, None, Entry]:
        first = started(entries)
        match step:
            case Step.PREPARE:
                slots, folder = fills(operations, first.layout), first.layout.folder
                work: Generator[int, None, Entry] = prepare(self._hands, self._blobs, folder, slots)
                return (yield from _watched(step, len(slots), work))
            case Step.FINISH | Step.CONTINUE:
                look = step is Step.CONTINUE
                work = finish(self._hands, renames, first, look=look)
                return (yield from _watched(step, len(renames), work))
            case Step.REVERSE:
                return reverse(self._hands, renames, first.folders)
            case Step.ABANDON:
                return Settled("rolled_back")
            case Step.ACCEPT:
                return Settled("done", first.folders, accepted=True)
            case _:
                return self._sweep(entries, operations, renames)

    def _sweep(
        self,
        entries: Sequence[Entry],
        operations: Sequence[FileOperation],
        renames: Sequence[Motion],
    ) -> Finished:
        layout = started(entries).layout
        settled = next(entry for entry in reversed(entries) if isinstance(entry, Settled))
        kept = sweep(self._hands, settled, layout, operations, renames)
        if layout.beside or prunable(operations):
            # An emptied slot, or a folder, must not come back among the person's files. If it does
            # after all, it holds nothing that is not elsewhere: the run is settled and on disk.
            with suppress(OSError):
                self._hands.sync()
        found = results(entries, renames, len(operations))
        if settled.accepted:
            found = tuple(self._result_on_disk(op) for op in operations)
        return Finished(settled.outcome, found, settled.made, kept)

    def _result_on_disk(self, op: FileOperation) -> Result:
        """Says what became of an operation in a run that a person accepted as it stands."""
        try:
            seen = self._hands.look([path for path, *_ in footprint(op)])
        except OSError:
            return "unknown"
        if all(seen[path] == after for path, _, after in footprint(op)):
            return "done"
        if all(seen[path] == before for path, before, _ in footprint(op)):
            return "undone"
        return "unknown"


def _consent(consented: ApprovedPlan | PermittedPlan) -> tuple[str, str]:
    """Returns the plan's id, which a permitted one has not, and the consent's; nothing else is."""
    match consented:
        case ApprovedPlan():
            return consented.approval.plan_id, consented.approval.id
        case PermittedPlan():
            return "", consented.permit.id
        case _:
            raise TypeError("The executor applies an ApprovedPlan or a PermittedPlan alone.")


def _watched(
    step: Step, total: int, work: Generator[int, None, Entry]
) -> Generator[Progress, None, Entry]:
    """Turns counts into progress and hands on the entry that the work ends with."""
    while True:
        try:
            yield Progress(step, next(work), total)
        except StopIteration as end:
            entry: Entry = end.value
            return entry
