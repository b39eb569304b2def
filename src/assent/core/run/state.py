"""Run state: where a run is in the segments of its plan or its rollback, and what comes next.

A run whose plan is one segment of files is in that segment from its first entry to its last. Any
other goes from segment to segment; once a user rolls it back, it goes the same way over the
operations that do that. All of it follows from the entries alone (law 5).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, cast

import msgspec
from msgspec.structs import replace

from assent.core.plan.operation import FileOperation, Operation, RunCommand
from assent.core.run.journal import (
    AbortedEntry,
    CommandEndedEntry,
    CommandStartedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    PathConflict,
    RecoveringEntry,
    RecoveryChoice,
    RollbackStartedEntry,
    RunStep,
    SegmentEnteredEntry,
    SegmentSweptEntry,
    SettledEntry,
    StartedEntry,
    next_step,
)

UNKNOWN_END = "unknown"  # how a command was cut short whose end was not seen

# Where a run stands: a segment is due, it is in one, a command failed or files were put back,
# the way back is to be worked out, or all is over.
RunPhase = Literal["due", "files", "running", "failed", "turning", "over"]
# Whether records were lost, so that commands may have run unknown to them; a person is warned once.
Lost = Literal["nothing", "unwarned", "warned"]


class Rollback(msgspec.Struct, frozen=True):
    """The operations that roll a run back, and the operations of the plan that each is about."""

    operations: tuple[Operation, ...] = ()
    about: tuple[tuple[int, ...], ...] = ()  # of each operation, those whose work it undoes
    rest: tuple[int, ...] = ()  # operations of the plan that need nothing: they are back already
    left: tuple[PathConflict, ...] = ()  # what another writer changed since: it is left alone


Rollbacks = Mapping[str, Rollback]


class SegmentRange(msgspec.Struct, frozen=True):
    """A segment, and the index of its first operation in the plan."""

    first: int
    operations: tuple[Operation, ...]

    @property
    def command(self) -> RunCommand | None:
        only = self.operations[0]
        return only if isinstance(only, RunCommand) else None

    @property
    def files(self) -> tuple[FileOperation, ...]:
        """Its file operations; empty for a command."""
        return () if self.command else cast("tuple[FileOperation, ...]", self.operations)


class RunState(msgspec.Struct, frozen=True):
    """The state of a run, folded from its entries; `word` is the user's last recovery choice."""

    spans: tuple[SegmentRange, ...]
    back: Rollback | None = None
    at: int = 0
    phase: RunPhase = "due"
    inside: tuple[
        JournalEntry, ...
    ] = ()  # what was written since the run entered its segment of files
    halted: bool = False
    word: RecoveryChoice = "auto"
    unrecorded: bool = False  # a command ended, and what it changed could not be recorded
    unseen: bool = False  # a command's end; what changed since it began is not reported yet
    lost: Lost = "nothing"

    @property
    def segment(self) -> SegmentRange:
        return self.spans[self.at]

    @property
    def entered(self) -> StartedEntry | SegmentEnteredEntry:
        """The entry with which the run entered its file segment."""
        first = self.inside[0]
        assert isinstance(first, StartedEntry | SegmentEnteredEntry)
        return first

    @property
    def segment_outcome(self) -> SettledEntry:
        """How the file segment that the run is in was settled."""
        return next(entry for entry in reversed(self.inside) if isinstance(entry, SettledEntry))

    @property
    def step(self) -> RunStep:
        """What the run does next."""
        if self.phase == "files":
            return next_step(self.inside)
        if self.phase == "over":
            return RunStep.OVER
        if self.halted:
            return RunStep.WAIT
        if self.phase == "running":
            return RunStep.RECKON  # it began, and its end was not seen
        return self._between()

    @property
    def ends(self) -> bool:
        """Whether the run is over with the file segment that it has settled."""
        if self.segment_outcome.accepted:
            return True
        if self.back is not None:
            return False
        if self.segment_outcome.outcome == "rolled_back":
            return self.at == 0  # nothing came before it: all is as it was
        only = len(self.spans) == 1
        return self.at == len(self.spans) - 1 and (only or self.word != "roll_back")

    def _between(self) -> RunStep:
        turns = self.phase == "turning" or (self.back is None and self.word == "roll_back")
        if self.word == "accept":
            return RunStep.CLOSE
        if turns:
            return RunStep.TURN
        if self.phase == "failed":
            return RunStep.HALT
        if self.at == len(self.spans):
            return self._at_the_end()
        return RunStep.RUN if self.segment.command else RunStep.ENTER

    def _at_the_end(self) -> RunStep:
        if self.back is None:
            return RunStep.CLOSE
        if self.back.left:
            return RunStep.HALT
        # Undo commands run first; only then is it known what remains to be put back.
        commands = any(span.command for span in self.spans)
        return RunStep.TURN if commands else RunStep.CLOSE


def segment_ranges(operations: Iterable[Operation]) -> tuple[SegmentRange, ...]:
    """Returns the segments of a plan with their places in it."""
    every = tuple(operations)
    if every and RunCommand not in set(map(type, every)):
        return (SegmentRange(0, every),)
    cuts = [at for at, op in enumerate(every) if isinstance(op, RunCommand)]
    edges = sorted({0, len(every), *cuts, *[at + 1 for at in cuts]})
    return tuple(SegmentRange(first, every[first:end]) for first, end in pairwise(edges))


def fold_run(
    operations: Iterable[Operation], entries: Iterable[JournalEntry], backs: Rollbacks
) -> RunState:
    """Folds the journal of a run; `backs` are the blobs that its entries name."""
    found = RunState(segment_ranges(operations))
    for entry in entries:
        found = replace(_after(found, entry, backs), lost=_lost(found.lost, entry))
    return found


def _lost(now: Lost, entry: JournalEntry) -> Lost:
    match entry:
        case RecoveringEntry(trusted=trusted) if trusted >= 0:
            return "unwarned"
        case HaltedEntry(warned=True):
            return "warned"
        case HaltedEntry(contradicted=True) if now == "nothing":
            return "unwarned"
        case _:
            return now


def rollback_start(entries: Sequence[JournalEntry]) -> int:
    """Returns how many entries a run has from before its rollback."""
    turns = (at for at, entry in enumerate(entries) if isinstance(entry, RollbackStartedEntry))
    return next(turns, len(entries))


def command_ends(entries: Sequence[JournalEntry]) -> dict[int, tuple[CommandEndedEntry, ...]]:
    """Returns how each command of the plan ended, every time it ran, by its index."""
    found: dict[int, tuple[CommandEndedEntry, ...]] = {}
    for entry in effective_entries(entries[: rollback_start(entries)]):
        if isinstance(entry, CommandEndedEntry):
            found[entry.index] = (*found.get(entry.index, ()), entry)
    return found


def effective_entries(entries: Iterable[JournalEntry]) -> list[JournalEntry]:
    """Leaves out command ends without recorded changes that were determined again later."""
    found: list[JournalEntry] = []
    last = -1  # where such an end is
    for entry in entries:
        if isinstance(entry, CommandStartedEntry):
            last = -1
        if isinstance(entry, CommandEndedEntry):
            if last >= 0:
                del found[last]
            last = -1 if entry.changes else len(found)
        found.append(entry)
    return found


def succeeded(ended: CommandEndedEntry) -> bool:
    """Tells whether a command succeeded."""
    return ended.code == 0 and not ended.cut


def _after(now: RunState, entry: JournalEntry, backs: Rollbacks) -> RunState:
    match entry:
        case CommandStartedEntry() | CommandEndedEntry():
            return _commanded(now, entry)
        case RecoveringEntry():
            return _taken_up(now, entry)
        case SegmentSweptEntry():
            return _swept(now, entry)
        case RollbackStartedEntry(back):
            there = segment_ranges(backs[back].operations)
            return replace(now, spans=there, back=backs[back], at=0, phase="due", inside=())
        case FinishedEntry():
            return replace(now, phase="over")
        case _:
            return _within(now, entry)


def _commanded(now: RunState, entry: CommandStartedEntry | CommandEndedEntry) -> RunState:
    if isinstance(entry, CommandStartedEntry):
        return replace(now, phase="running", unseen=True, unrecorded=False)
    if succeeded(entry):
        return replace(_on(now), unseen=False, unrecorded=False)
    unseen, unrecorded = entry.cut == UNKNOWN_END, not entry.changes
    return replace(now, phase="failed", unseen=unseen, unrecorded=unrecorded)


def _within(now: RunState, entry: JournalEntry) -> RunState:
    if isinstance(entry, StartedEntry):
        files = bool(now.spans) and not now.segment.command
        return replace(now, phase="files" if files else "due", inside=(entry,))
    if isinstance(entry, SegmentEnteredEntry):
        return replace(now, at=entry.segment, phase="files", inside=(entry,))
    halted = isinstance(entry, HaltedEntry)
    word: RecoveryChoice = "auto" if halted else now.word
    if now.phase == "files":
        return replace(now, inside=(*now.inside, entry), word=word)
    return replace(now, halted=now.halted or halted, word=word, unseen=now.unseen and not halted)


def _taken_up(now: RunState, entry: RecoveringEntry) -> RunState:
    way = entry.way
    if now.unseen and way != "accept":
        return now  # it may affect the user's own changes, which were not listed for them yet
    if entry.trusted >= 0 and now.phase not in ("files", "running"):
        now = replace(now, halted=True)  # everything else that happened is lost
    said = replace(now, word=now.word if way == "auto" else way)
    if now.phase == "files":
        return replace(said, inside=(*now.inside, entry))
    if now.unrecorded and way != "auto":
        return _again(said, now.word)
    if not now.halted or way == "auto":
        return said
    if way == "accept":
        return replace(said, halted=False)
    # Continuing a rollback means rolling back further, from the current state.
    goes_back = now.back is not None or way == "roll_back"
    return replace(said, halted=False, phase="turning" if goes_back else "due")


def _again(said: RunState, word: RecoveryChoice) -> RunState:
    """Marks a command's changes to be computed again; the user sees them before continuing."""
    word = said.word if said.word == "accept" else word
    return replace(said, word=word, halted=False, phase="running", unseen=True)


def _swept(now: RunState, swept: SegmentSweptEntry) -> RunState:
    if swept.outcome == "done":
        return _on(now)
    aborts = [at for at, entry in enumerate(now.inside) if isinstance(entry, AbortedEntry)]
    if not aborts:
        return replace(now, phase="due", inside=())  # only interrupted: it can be entered again
    since = now.inside[aborts[-1] :]
    asked = any(isinstance(e, RecoveringEntry) and e.way in ("resume", "roll_back") for e in since)
    phase: RunPhase = "turning" if now.back is not None and asked else "failed"
    return replace(now, phase=phase, inside=())


def _on(now: RunState) -> RunState:
    return replace(now, at=now.at + 1, phase="due", inside=())
