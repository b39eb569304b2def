"""A world for one plan: a watched disk, a journal, and only those blobs that a run demands."""

from tests.executor.concurrent_changes import Meddler, is_slot
from tests.executor.file_writers import WatchedHands

from assent.core.digest import sha256
from assent.core.paths import TREE, is_inside
from assent.core.plan.operation import MoveFile, footprint
from assent.core.run.journal import (
    FinishedEntry,
    HaltedEntry,
    OperationResult,
    RecoveryChoice,
    RunStep,
    StartedEntry,
    next_step,
    segment_results,
    started_entry,
)
from assent.core.run.slot_move import SlotLayout, slot_moves
from assent.executor.executor import Executor
from assent.store.memory import MemoryBlobStore
from assent.testing.memory_workspace import MemoryJournal, MemoryNode
from assent.testing.plan_cases import PlanCase, approved_plan

MINE = {b"w/mine": MemoryNode(b"not touched")}


class World:
    """What outlives an executor, and what can be said about it afterwards."""

    def __init__(self, case: PlanCase, layout: SlotLayout | None = None) -> None:
        self.case = case
        self.start = {**case.start, **MINE}
        self.finish = {**case.finish, **MINE}
        self.hands = WatchedHands(self.start, layout)
        self.journal = MemoryJournal()
        self.blobs = _demanded(case)
        self.approved = approved_plan(case.operations)

    def apply(self) -> None:
        for _ in self._executor().apply(self.approved, "run"):
            pass

    def recover(self, way: RecoveryChoice = "auto") -> None:
        for _ in self._executor().recover(self.approved.plan, "run", way):
            pass

    @property
    def outcome(self) -> str:
        """How the run stands, as a person would be told."""
        entries = self.journal.read("run")
        last = entries[-1] if entries else None
        if isinstance(last, FinishedEntry):
            return last.outcome
        if next_step(entries) is RunStep.WAIT:
            return "needs_you"
        return "unfinished" if entries else "refused"

    @property
    def results(self) -> tuple[OperationResult, ...]:
        entries = self.journal.read("run")
        last = entries[-1]
        if isinstance(last, FinishedEntry):
            return last.results
        renames = slot_moves(self.case.operations, started_entry(entries).layout)
        return segment_results(entries, renames, len(self.case.operations))

    @property
    def files(self) -> dict[bytes, MemoryNode]:
        """The person's files, without slots."""
        return {path: node for path, node in self.hands.disk.files.items() if not is_slot(path)}

    @property
    def slots(self) -> dict[bytes, MemoryNode]:
        return {path: node for path, node in self.hands.disk.files.items() if is_slot(path)}

    @property
    def folders(self) -> set[bytes]:
        """The person's folders, without Assent's own."""
        return {folder for folder in self.hands.disk.folders if not is_inside(folder, TREE)}

    @property
    def named(self) -> set[bytes]:
        """The slots that the person is told about."""
        last = self.journal.read("run")[-1]
        halts = [entry for entry in self.journal.read("run") if isinstance(entry, HaltedEntry)]
        if isinstance(last, FinishedEntry):
            return set(last.kept)
        return {conflict.kept for conflict in halts[-1].conflicts} if halts else set()

    def calm_down(self) -> None:
        """From here on nobody disturbs the hands."""
        self.hands.before.clear()
        self.hands.after.clear()

    @property
    def spent(self) -> int:
        """How often an approval was spent."""
        return sum(isinstance(entry, StartedEntry) for entry in self.journal.read("run"))

    def lost(self, meddler: Meddler | None = None) -> list[MemoryNode]:
        """Nodes of start and finish, and somebody else's, that nobody could find again.

        What somebody else destroyed is not the executor's to keep.
        """
        told = [
            node
            for slot, node in self.slots.items()
            if any(name and is_inside(slot, name) for name in self.named)
        ]
        found = {node.content for node in (*self.files.values(), *told)}
        found.update(self.blobs.contents.values())
        if meddler:
            found.update(node.content for node in meddler.destroyed)
        theirs = meddler.brought if meddler else []
        wanted = (*self.start.values(), *self.finish.values(), *theirs)
        return [node for node in wanted if node.content not in found]

    def _executor(self) -> Executor:
        return Executor(self.hands, self.blobs, self.journal)


def _demanded(case: PlanCase) -> MemoryBlobStore:
    """Keeps what writes and deletions name; the content of a moved file is nowhere else."""
    contents = {sha256(node.content): node.content for node in case.nodes}
    blobs = MemoryBlobStore()
    for op in case.operations:
        for _, *states in footprint(op):
            kept = [state for state in states if state and not isinstance(op, MoveFile)]
            for state in kept:
                blobs.keep([contents[state.digest]])
    return blobs
