"""The course of a run over the segments of its plan, and back: where it is, and what comes next.

A run whose plan is one segment of files is in that segment from its first entry to its last. Any
other goes from segment to segment; once a person lets it be taken back it goes the same way over
the operations that do that. All of it follows from the entries alone (law 5).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, cast

import msgspec
from msgspec.structs import replace

from assent.core.journal import (
    Aborted,
    Conflict,
    Entered,
    Entry,
    Finished,
    Halted,
    Ran,
    Recovering,
    Running,
    Settled,
    Started,
    Step,
    Swept,
    Turned,
    Way,
    next_step,
)
from assent.core.operation import FileOperation, Operation, RunCommand

UNKNOWN = "unknown"  # how a command was cut short whose end nobody saw

# Where a run stands: a segment is due, it is in one, a command failed or files were put back,
# the way back is to be worked out, or all is over.
Phase = Literal["due", "files", "running", "failed", "turning", "over"]
# Whether records were lost, so that commands may have run unknown to them; a person is warned once.
Lost = Literal["nothing", "unwarned", "warned"]


class Back(msgspec.Struct, frozen=True):
    """What takes a run back from where it stood, and the operations of the plan it is about."""

    operations: tuple[Operation, ...] = ()
    about: tuple[tuple[int, ...], ...] = ()  # of each operation, those whose work it takes back
    rest: tuple[int, ...] = ()  # operations of the plan that need nothing: they are back already
    left: tuple[Conflict, ...] = ()  # what somebody changed since: it is left alone


Backs = Mapping[str, Back]


class Span(msgspec.Struct, frozen=True):
    """A segment, and the index of its first operation in the plan."""

    first: int
    operations: tuple[Operation, ...]

    @property
    def command(self) -> RunCommand | None:
        only = self.operations[0]
        return only if isinstance(only, RunCommand) else None

    @property
    def files(self) -> tuple[FileOperation, ...]:
        """Its operations, none of which is a command; of a command there are none."""
        return () if self.command else cast("tuple[FileOperation, ...]", self.operations)


class Course(msgspec.Struct, frozen=True):
    """Where a run is, as its entries left it. `word` is what a person said last about its way."""

    spans: tuple[Span, ...]
    back: Back | None = None
    at: int = 0
    phase: Phase = "due"
    inside: tuple[Entry, ...] = ()  # what was written since the run entered its segment of files
    halted: bool = False
    word: Way = "auto"
    unrecorded: bool = False  # a command ended, and what it changed could not be recorded
    unseen: bool = False  # a command's end, and nobody was told yet what changed since it began
    lost: Lost = "nothing"

    @property
    def segment(self) -> Span:
        return self.spans[self.at]

    @property
    def entered(self) -> Started | Entered:
        """The entry with which the run came into its segment of files."""
        first = self.inside[0]
        assert isinstance(first, Started | Entered)
        return first

    @property
    def segment_outcome(self) -> Settled:
        """How the segment of files that the run is in was settled."""
        return next(entry for entry in reversed(self.inside) if isinstance(entry, Settled))

    @property
    def step(self) -> Step:
        """What the run does next."""
        if self.phase == "files":
            return next_step(self.inside)
        if self.phase == "over":
            return Step.OVER
        if self.halted:
            return Step.WAIT
        if self.phase == "running":
            return Step.RECKON  # it began, and nobody saw its end
        return self._between()

    @property
    def ends(self) -> bool:
        """Whether the run is over with the segment of files that it has settled."""
        if self.segment_outcome.accepted:
            return True
        if self.back is not None:
            return False
        if self.segment_outcome.outcome == "rolled_back":
            return self.at == 0  # nothing came before it: all is as it was
        only = len(self.spans) == 1
        return self.at == len(self.spans) - 1 and (only or self.word != "roll_back")

    def _between(self) -> Step:
        turns = self.phase == "turning" or (self.back is None and self.word == "roll_back")
        if self.word == "accept":
            return Step.CLOSE
        if turns:
            return Step.TURN
        if self.phase == "failed":
            return Step.HALT
        if self.at == len(self.spans):
            return self._at_the_end()
        return Step.RUN if self.segment.command else Step.ENTER

    def _at_the_end(self) -> Step:
        if self.back is None:
            return Step.CLOSE
        if self.back.left:
            return Step.HALT
        # What undoes commands comes first; only then can be told what is left to put back.
        commands = any(span.command for span in self.spans)
        return Step.TURN if commands else Step.CLOSE


def spans(operations: Iterable[Operation]) -> tuple[Span, ...]:
    """Returns the segments of a plan with their places in it."""
    every = tuple(operations)
    if every and RunCommand not in set(map(type, every)):
        return (Span(0, every),)
    cuts = [at for at, op in enumerate(every) if isinstance(op, RunCommand)]
    edges = sorted({0, len(every), *cuts, *[at + 1 for at in cuts]})
    return tuple(Span(first, every[first:end]) for first, end in pairwise(edges))


def course(operations: Iterable[Operation], entries: Iterable[Entry], backs: Backs) -> Course:
    """Folds the journal of a run; `backs` are the blobs that its entries name."""
    found = Course(spans(operations))
    for entry in entries:
        found = replace(_after(found, entry, backs), lost=_lost(found.lost, entry))
    return found


def _lost(now: Lost, entry: Entry) -> Lost:
    match entry:
        case Recovering(trusted=trusted) if trusted >= 0:
            return "unwarned"
        case Halted(warned=True):
            return "warned"
        case Halted(contradicted=True) if now == "nothing":
            return "unwarned"
        case _:
            return now


def turned_at(entries: Sequence[Entry]) -> int:
    """Returns how many entries a run has from before it was turned back."""
    turns = (at for at, entry in enumerate(entries) if isinstance(entry, Turned))
    return next(turns, len(entries))


def ran(entries: Sequence[Entry]) -> dict[int, tuple[Ran, ...]]:
    """Returns how each command of the plan ended, every time it ran, by its index."""
    found: dict[int, tuple[Ran, ...]] = {}
    for entry in counted(entries[: turned_at(entries)]):
        if isinstance(entry, Ran):
            found[entry.index] = (*found.get(entry.index, ()), entry)
    return found


def counted(entries: Iterable[Entry]) -> list[Entry]:
    """Leaves out ends of commands without a record of what changed that were reckoned again."""
    found: list[Entry] = []
    last = -1  # where such an end is
    for entry in entries:
        if isinstance(entry, Running):
            last = -1
        if isinstance(entry, Ran):
            if last >= 0:
                del found[last]
            last = -1 if entry.changes else len(found)
        found.append(entry)
    return found


def well(ended: Ran) -> bool:
    """Tells whether a command did its work."""
    return ended.code == 0 and not ended.cut


def _after(now: Course, entry: Entry, backs: Backs) -> Course:
    match entry:
        case Running() | Ran():
            return _commanded(now, entry)
        case Recovering():
            return _taken_up(now, entry)
        case Swept():
            return _swept(now, entry)
        case Turned(back):
            there = spans(backs[back].operations)
            return replace(now, spans=there, back=backs[back], at=0, phase="due", inside=())
        case Finished():
            return replace(now, phase="over")
        case _:
            return _within(now, entry)


def _commanded(now: Course, entry: Running | Ran) -> Course:
    if isinstance(entry, Running):
        return replace(now, phase="running", unseen=True, unrecorded=False)
    if well(entry):
        return replace(_on(now), unseen=False, unrecorded=False)
    unseen, unrecorded = entry.cut == UNKNOWN, not entry.changes
    return replace(now, phase="failed", unseen=unseen, unrecorded=unrecorded)


def _within(now: Course, entry: Entry) -> Course:
    if isinstance(entry, Started):
        files = bool(now.spans) and not now.segment.command
        return replace(now, phase="files" if files else "due", inside=(entry,))
    if isinstance(entry, Entered):
        return replace(now, at=entry.segment, phase="files", inside=(entry,))
    halted = isinstance(entry, Halted)
    word: Way = "auto" if halted else now.word
    if now.phase == "files":
        return replace(now, inside=(*now.inside, entry), word=word)
    return replace(now, halted=now.halted or halted, word=word, unseen=now.unseen and not halted)


def _taken_up(now: Course, entry: Recovering) -> Course:
    way = entry.way
    if now.unseen and way != "accept":
        return now  # it may be about somebody's own changes, which that person has not seen named
    if entry.trusted >= 0 and now.phase not in ("files", "running"):
        now = replace(now, halted=True)  # whatever else happened is lost
    said = replace(now, word=now.word if way == "auto" else way)
    if now.phase == "files":
        return replace(said, inside=(*now.inside, entry))
    if now.unrecorded and way != "auto":
        return _again(said, now.word)
    if not now.halted or way == "auto":
        return said
    if way == "accept":
        return replace(said, halted=False)
    # Whoever goes on with the way back means to go back, from how things stand by now.
    goes_back = now.back is not None or way == "roll_back"
    return replace(said, halted=False, phase="turning" if goes_back else "due")


def _again(said: Course, word: Way) -> Course:
    """Lets be reckoned again what a command changed; whoever goes on is told of it first."""
    word = said.word if said.word == "accept" else word
    return replace(said, word=word, halted=False, phase="running", unseen=True)


def _swept(now: Course, swept: Swept) -> Course:
    if swept.outcome == "done":
        return _on(now)
    aborts = [at for at, entry in enumerate(now.inside) if isinstance(entry, Aborted)]
    if not aborts:
        return replace(now, phase="due", inside=())  # only interrupted: it can be entered again
    since = now.inside[aborts[-1] :]
    asked = any(isinstance(e, Recovering) and e.way in ("resume", "roll_back") for e in since)
    phase: Phase = "turning" if now.back is not None and asked else "failed"
    return replace(now, phase=phase, inside=())


def _on(now: Course) -> Course:
    return replace(now, at=now.at + 1, phase="due", inside=())
