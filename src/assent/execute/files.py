"""One segment of files: entered when the disk is as it should be, then prepared to swept."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from errno import EEXIST
from functools import cached_property

from assent.core.course import Course, Span
from assent.core.displaced import Spares, no_spares
from assent.core.errors import AssentError, StoreError, WorkspaceError
from assent.core.journal import Conflict, Entered, Entry, Halted, Progress, Result, Settled, Step
from assent.core.motion import Layout, Motion, fills, motions, needed_folders
from assent.core.operation import FileOperation, MoveFile, footprint
from assent.core.paths import inside, shown
from assent.core.plan import Plan
from assent.execute.check import Difference, check_blobs, differences
from assent.execute.finish import finish
from assent.execute.prepare import Contents, prepare
from assent.execute.reverse import reverse
from assent.execute.sweep import Slots, sweep
from assent.ports import Blobs, Hands


class Segment:
    """The segment of files that a run is in, with the hands to carry it out."""

    def __init__(
        self, hands: Hands, blobs: Blobs, course: Course, spares: Spares = no_spares
    ) -> None:
        self._hands = hands
        self._blobs = blobs
        self._course = course
        self._operations = course.span.files
        self._layout = course.entered.layout
        self._contents = Contents(blobs, self._operations, spares)

    def goes_on(self, course: Course) -> bool:
        """Goes on with a later moment of the same segment; tells whether it is the same."""
        if course.phase != "files" or course.entered.layout.run != self._layout.run:
            return False
        self._course = course
        return True

    @cached_property
    def _renames(self) -> Sequence[Motion]:
        return motions(self._operations, self._layout)

    def do(self, step: Step) -> Generator[Progress, None, Entry]:
        """Does one step and returns the entry that says so."""
        entered, hands = self._course.entered, self._hands
        match step:
            case Step.PREPARE:
                slots, folder = fills(self._operations, self._renames), self._layout.folder
                work: Generator[int, None, Entry] = prepare(hands, self._contents, folder, slots)
                return (yield from _watched(step, len(slots), work))
            case Step.FINISH | Step.CONTINUE:
                look = step is Step.CONTINUE
                work = finish(hands, self._renames, entered, look=look)
                return (yield from _watched(step, len(self._renames), work))
            case Step.REVERSE:
                return reverse(hands, self._renames, entered.folders)
            case Step.ABANDON:
                return Settled("rolled_back")
            case _:
                return Settled("done", entered.folders, accepted=True)

    def sweep(self, *, again: bool) -> tuple[bytes, ...]:
        """Empties the slots; returns those that hold bytes which exist nowhere else.

        If a run is taken up `again`, nobody knows what was removed already and is not on disk yet.
        """
        slots = Slots(self._layout, self._operations, self._renames, self._blobs.has)
        emptied = sweep(self._hands, self._course.settled, slots)
        if self._layout.beside or emptied.pruned or again:
            # An emptied slot, or a folder, must not come back among the person's files. If it does
            # after all, it holds nothing that is not elsewhere: the segment is settled and on disk.
            with suppress(OSError):
                self._hands.sync()
        return emptied.kept


def enter(hands: Hands, blobs: Blobs, course: Course, name: str) -> Entered | Halted:
    """Checks the files of the segment that is due, as they are now, and lays out its slots.

    `name` is of these slots alone: what a power cut brings back must not be in anybody's way.
    """
    span = course.span
    try:
        if course.back is None:
            check_blobs(span.files, blobs)
        else:
            _check_restored(span.files, blobs)
        found = list(differences(Plan(b"", span.files), span.files, hands))
        if found:
            return Halted(tuple(_conflict(course, span, difference) for difference in found))
        layout, missing = laid_out(hands, name, span.files)
    except AssentError as error:
        return Halted((Conflict(plan_index(course, span.first), b"", b"", error.message),))
    return Entered(course.at, layout, missing)


def laid_out(
    hands: Hands, name: str, operations: Sequence[FileOperation]
) -> tuple[Layout, tuple[bytes, ...]]:
    """Decides where slots lie, and which folders are missing; changes nothing of the person's."""
    try:
        layout = hands.layout(name, operations)
        return layout, hands.missing(needed_folders(operations))
    except OSError as error:
        # Two names that are one file stay so, however often it is tried.
        next = "assent stage list" if error.errno == EEXIST else "assent build"
        told = f"The workspace cannot be prepared ({error.strerror}); nothing was changed."
        raise WorkspaceError(told, next) from error


def plan_index(course: Course, index: int) -> int:
    """Returns which operation of the plan one of the course is about."""
    if course.back is None:
        return index
    about = course.back.about[index]
    return about[0] if about else 0


def result_on_disk(hands: Hands, op: FileOperation) -> Result:
    """Says what became of an operation in a run that a person accepted as it stands."""
    try:
        seen = hands.look([path for path, *_ in footprint(op)])
    except OSError:
        return "unknown"
    if all(seen[path] == after for path, _, after in footprint(op)):
        return "done"
    if all(seen[path] == before for path, before, _ in footprint(op)):
        return "undone"
    return "unknown"


def _conflict(course: Course, span: Span, difference: Difference) -> Conflict:
    named = difference.path
    touched = (
        at
        for at, op in enumerate(span.files)
        if any(inside(path, named) for path, *_ in footprint(op))
    )
    index = plan_index(course, span.first + next(touched, 0))
    reason = f"expected {difference.expected}, found {difference.found}"
    return Conflict(index, named, b"", reason)


def _check_restored(operations: Iterable[FileOperation], blobs: Blobs) -> None:
    """Refuses to go back unless what comes back is kept; what a command made may go for good."""
    for op in operations:
        for path, _, after in footprint(op) if not isinstance(op, MoveFile) else ():
            if after is not None and not blobs.has(after.digest):
                raise StoreError(f"The stored content of {shown(path)} is gone.")


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
