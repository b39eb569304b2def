"""The run journal: its entries, and the next step that follows from them."""

from collections.abc import Generator, Iterable, Sequence
from enum import Enum
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from assent.core.errors import StoreError
from assent.core.plan.operation import Operation, RunCommand, WriteFile
from assent.core.run.slot_move import SlotLayout, SlotMove

R = TypeVar("R")

RunOutcome = Literal["done", "rolled_back", "needs_you", "nothing"]
# As reported to users: an undo that skipped conflicts or denied paths is done in the journal.
ReportedOutcome = RunOutcome | Literal["partial"]
DONE: Final[frozenset[ReportedOutcome]] = frozenset({"done", "partial"})
# Denied is only what an undo leaves alone because of a rule; no journal says it.
OperationResult = Literal[
    "done", "undone", "not_started", "failed", "unknown", "conflict", "denied"
]
RecoveryChoice = Literal["auto", "resume", "roll_back", "accept"]
# Where a run stands for who follows it: `over` is one that ended and kept what it did.
RunProgress = Literal["running", "halted", "rolled_back", "over"]


class RunResults(msgspec.Struct, frozen=True):
    """Where a run stands, and the result of each operation so far."""

    phase: RunProgress
    results: tuple[OperationResult, ...]


class StartedEntry(msgspec.Struct, frozen=True, tag="started"):
    """The first entry: from here on the approval or permit is used up (law 3).

    A permitted plan has no separate stream and so no id.
    """

    plan_id: str
    digest: str
    approval: str
    layout: SlotLayout
    folders: tuple[bytes, ...] = ()  # folders that do not exist yet and will be made


class RecoveringEntry(msgspec.Struct, frozen=True, tag="recovering"):
    """A later process resumed the run.

    If entries of a run were damaged or lost, a user decides with this one: only the first `trusted`
    entries before it count from then on.
    """

    way: RecoveryChoice = "auto"
    trusted: int = -1  # -1: all of them


class CommittedEntry(msgspec.Struct, frozen=True, tag="committed"):
    """All new content is on disk: a crash before this rolls back, a crash after rolls forward."""


class AbortedEntry(msgspec.Struct, frozen=True, tag="aborted"):
    """Operation `index` could not go on after `at` slot moves were done; all are being reversed."""

    at: int
    index: int
    path: bytes
    reason: str
    result: Literal["conflict", "failed"] = "conflict"


class PathConflict(msgspec.Struct, frozen=True):
    """A path that could not be restored, and the slot that keeps its content."""

    index: int
    path: bytes
    kept: bytes
    reason: str


class HaltedEntry(msgspec.Struct, frozen=True, tag="halted"):
    """Not everything could be reversed; a user decides (`assent recover`)."""

    conflicts: tuple[PathConflict, ...]
    undone: tuple[int, ...] = ()  # operations that were put back
    contradicted: bool = False  # the disk shows more, or less, than the journal tells
    warned: bool = False  # it tells that commands may have run of which the log knows nothing


class SettledEntry(msgspec.Struct, frozen=True, tag="settled"):
    """All renames are done, or all are reversed, and that is on disk."""

    outcome: Literal["done", "rolled_back"]
    made: tuple[bytes, ...] = ()
    accepted: bool = False
    undone: tuple[int, ...] = ()  # operations that were put back


class SegmentSweptEntry(msgspec.Struct, frozen=True, tag="swept"):
    """A file segment is over and its slots are empty; the run has more to do, or to undo."""

    segment: int
    outcome: Literal["done", "rolled_back"]
    made: tuple[bytes, ...] = ()
    kept: tuple[bytes, ...] = ()


class SegmentEnteredEntry(msgspec.Struct, frozen=True, tag="entered"):
    """A later file segment begins: its files are as the plan expects them."""

    segment: int
    layout: SlotLayout
    folders: tuple[bytes, ...] = ()


class CommandStartedEntry(msgspec.Struct, frozen=True, tag="running"):
    """Operation `index`, a command, is about to run; `before` is the snapshot of the workspace."""

    index: int
    before: str


class CommandEndedEntry(msgspec.Struct, frozen=True, tag="ran"):
    """A command ended; `changes` and `output` are the blobs of its changes and its output."""

    index: int
    code: int
    cut: str = ""
    changes: str = ""
    output: str = ""
    running: str = ""  # what it left running, in words


class RollbackStartedEntry(msgspec.Struct, frozen=True, tag="turned"):
    """A user chose to roll back; `back` is the blob of the operations that do it."""

    back: str


class FinishedEntry(msgspec.Struct, frozen=True, tag="finished"):
    """The last entry. `kept` are slots that stay: only copies, and what could not be removed."""

    outcome: RunOutcome
    results: tuple[OperationResult, ...]
    made: tuple[bytes, ...] = ()
    kept: tuple[bytes, ...] = ()


JournalEntry: TypeAlias = (
    StartedEntry
    | RecoveringEntry
    | CommittedEntry
    | AbortedEntry
    | HaltedEntry
    | SettledEntry
    | SegmentSweptEntry
    | SegmentEnteredEntry
    | CommandStartedEntry
    | CommandEndedEntry
    | RollbackStartedEntry
    | FinishedEntry
)


class RunStep(Enum):
    """What a run does next: within a file segment, and between segments."""

    PREPARE = "write new content to slots"
    ABANDON = "clean up what was prepared"
    FINISH = "do all renames"
    CONTINUE = "complete the missing renames"
    REVERSE = "reverse the renames"
    ACCEPT = "leave everything as it is"
    SWEEP = "empty the slots"
    ENTER = "check the files of the next segment"
    RUN = "run a command"
    RECKON = "check what an interrupted command changed"
    TURN = "prepare the rollback"
    HALT = "stop and report why"
    CLOSE = "end the run"
    WAIT = "wait for your decision"
    OVER = "nothing"


class StepProgress(msgspec.Struct, frozen=True):
    """How far a run is, for display."""

    step: RunStep
    done: int
    total: int


class LiveCommandOutput(msgspec.Struct, frozen=True):
    """A piece of a command's output while it runs, for display; it is recorded later."""

    index: int
    content: bytes
    error: bool = False


class CommandProgress(msgspec.Struct, frozen=True):
    """Where a run is with a command, for display; it has no count of what remains.

    Before and after the command, all files of the workspace are scanned.
    """

    what: Literal["before", "command", "after"]
    index: int
    total: int
    command: RunCommand


RunUpdate: TypeAlias = StepProgress | LiveCommandOutput | CommandProgress


def recorded_outcome(ending: ReportedOutcome) -> RunOutcome:
    """Returns the outcome that the journal records for a reported outcome."""
    return "done" if ending == "partial" else ending


def drive_to_end(work: Generator[RunUpdate, None, R]) -> R:
    """Runs a generator to its end, ignores what it yields, and returns its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            answer: R = end.value
            return answer


def is_one_rename(
    first: "StartedEntry | SegmentEnteredEntry", operations: Sequence[Operation]
) -> bool:
    """Tells whether a run is a permitted edit of one file that a single rename makes.

    Such a rename is there or not, and the disk shows which: so the run commits when it is on disk,
    with one entry less to wait for (decision 0048). Both contents are stored before it starts.
    """
    if not isinstance(first, StartedEntry) or first.plan_id or first.folders:
        return False
    layout = first.layout
    if len(operations) != 1 or layout.beside or layout.whole or not layout.exchanges:
        return False
    op = operations[0]
    return (
        type(op) is WriteFile
        and op.before != op.after
        and op.after.kind == "file"
        and (op.before is None or op.before.kind == "file")
    )


_AFTER_HALT: dict[RecoveryChoice, RunStep] = {
    "auto": RunStep.WAIT,
    "resume": RunStep.CONTINUE,
    "roll_back": RunStep.REVERSE,
    "accept": RunStep.ACCEPT,
}


def next_step(entries: Sequence[JournalEntry]) -> RunStep:
    """Decides the next step in a file segment from its entries (law 5), or from all of a run.

    The disk decides within the step. Where a run has more segments, `core.run.state` decides
    between them.
    """
    step = RunStep.PREPARE
    committed = halted = False
    for entry in entries:
        match entry:
            case RecoveringEntry(way, trusted):
                halted = halted or trusted >= 0  # what is lost, only a person can decide
                step, halted = _taken_up(step, way, halted), halted and way == "auto"
            case CommittedEntry():
                step, committed = RunStep.FINISH, True
            case AbortedEntry():
                step, halted = RunStep.REVERSE if committed else RunStep.ABANDON, False
            case HaltedEntry():
                step, halted = RunStep.WAIT, True
            case SettledEntry():
                step = RunStep.SWEEP
            case FinishedEntry():
                step = RunStep.OVER
            case _:
                pass
    return step


def _taken_up(step: RunStep, way: RecoveryChoice, halted: bool) -> RunStep:
    if halted:
        return _AFTER_HALT[way]
    if step is RunStep.PREPARE:
        return RunStep.ABANDON
    return RunStep.CONTINUE if step is RunStep.FINISH else step


def trusted_entries(entries: Iterable[JournalEntry]) -> list[JournalEntry]:
    """Returns the entries of a run without those that a user's decision set aside."""
    found: list[JournalEntry] = []
    for entry in entries:
        if isinstance(entry, RecoveringEntry) and entry.trusted >= 0:
            del found[entry.trusted :]
            if not found:
                continue  # none of it counts; the run's history starts over with what follows
        found.append(entry)
    return found


def started_entry(entries: Sequence[JournalEntry]) -> StartedEntry:
    """Returns the first entry of a run."""
    first = entries[0] if entries else None
    if not isinstance(first, StartedEntry):
        raise StoreError("The log does not show how the run started.", "assent log --verify")
    return first


def segment_results(
    entries: Sequence[JournalEntry], moves: Sequence[SlotMove], count: int
) -> tuple[OperationResult, ...]:
    """Returns the result of each operation of a segment, from the segment's entries."""
    ends = (e for e in reversed(entries) if isinstance(e, SettledEntry | HaltedEntry))
    last_end = next(ends, None)  # a halt after it: the disk contradicts it
    last_settled = last_end if isinstance(last_end, SettledEntry) else None
    if last_settled and last_settled.outcome == "done" and not last_settled.accepted:
        return _all("done", count)
    abort = next((e for e in reversed(entries) if isinstance(e, AbortedEntry)), None)
    halt = next((e for e in reversed(entries) if isinstance(e, HaltedEntry)), None)
    found = list(_all("not_started", count))
    put_back = {i for e in entries if isinstance(e, HaltedEntry | SettledEntry) for i in e.undone}
    for index in put_back.union(move.index for move in moves[: abort.at if abort else 0]):
        found[index] = "undone"
    if abort:
        found[abort.index] = abort.result
    if halt and (last_settled is None or last_settled.accepted):
        for conflict in halt.conflicts:
            if conflict.path:  # without one it is about the disk, not about an operation
                found[conflict.index] = "conflict"
    return tuple(found)


def _all(result: OperationResult, count: int) -> tuple[OperationResult, ...]:
    return (result,) * count
