"""The finish step: makes the renames of a committed run, and detects late changes by others."""

from collections.abc import Container, Generator, Mapping, Sequence

from assent.core.paths import ancestors, parent
from assent.core.run.journal import AbortedEntry, SegmentEnteredEntry, SettledEntry, StartedEntry
from assent.core.run.slot_move import (
    ClearFolder,
    MoveFromSlot,
    MoveStatus,
    MoveToSlot,
    PathState,
    SlotMove,
    SwapWithSlot,
    forward_status,
    involved_paths,
)
from assent.ports.file_writer import FileWriter

PROGRESS_INTERVAL = 64  # motions between two reports of progress


class ForeignChange(Exception):
    """Content of another writer is where the plan's should be."""


def finish(
    writer: FileWriter,
    moves: Sequence[SlotMove],
    first: StartedEntry | SegmentEnteredEntry,
    *,
    look: bool,
    standing: Container[int] = (),
    alone: bool = False,
) -> Generator[int, None, SettledEntry | AbortedEntry]:
    """Makes the slot moves in order and syncs; with `look`, only those the disk shows missing.

    The operations in `standing` need no moves, wherever their slots are now. With `alone` the one
    move is on disk when its name is: what it displaced is stored.
    """
    made: list[bytes] | None = None
    at, index, path = 0, 0, b""
    whole, displaced = _WholeFolderMoves(writer, () if look else moves), _DisplacedFileCheck(writer)
    try:
        for at, move in enumerate(moves):
            if at % PROGRESS_INTERVAL == 0:
                yield at
            if type(move) is MoveFromSlot and move.whole in whole.over:
                continue  # it came with another one
            if displaced.some:
                displaced.check(move)
            index, path = move.index, move.path
            if made is None and isinstance(move, MoveFromSlot):
                made = [
                    f for f in first.folders if whole.brings(f) or writer.create_folder(f) or look
                ]
            if move.index in standing:
                continue
            if not whole.perform(move) and (not look or _is_to_do(writer, move)):
                _perform(writer, move, displaced)
        displaced.check()
        if alone:
            writer.sync_besides_slots()
        else:
            writer.sync_to_disk()
    except ForeignChange as changed:
        return AbortedEntry(at, *(displaced.at or (index, path)), str(changed), "conflict")
    except OSError as error:
        named = displaced.at or (index, path)
        return AbortedEntry(at, *named, error.strerror or str(error), "failed")
    return SettledEntry("done", tuple(made or ()))


class _WholeFolderMoves:
    """Folders that are moved as a whole, each with the first motion of a file in it.

    That is for a run that was not interrupted so far: resuming it after that, or rolling it back,
    works file by file.
    """

    def __init__(self, writer: FileWriter, moves: Sequence[SlotMove]) -> None:
        self._writer = writer
        self._slots: dict[bytes, dict[bytes, PathState]] = {}  # what is taken, or was, by folder
        self._brought: set[bytes] = set()
        self.over: set[bytes] = set()  # folders that have been renamed
        for move in moves:
            if type(move) is MoveToSlot and move.whole:
                self._slots.setdefault(move.whole, {})[move.slot] = move.before
            elif type(move) is MoveFromSlot and move.whole:
                self._brought.add(move.whole)
        self._some = bool(self._slots or self._brought)

    def brings(self, folder: bytes) -> bool:
        """Tells whether a folder comes with one that is brought."""
        return bool(self._brought) and not self._brought.isdisjoint((folder, *ancestors(folder)))

    def perform(self, move: SlotMove) -> bool:
        """Renames the folder of a motion, if it has one, once, and checks the file if displaced."""
        match move:
            case MoveFromSlot() if move.whole and self._some:
                if move.whole not in self.over:
                    self.over.add(move.whole)
                    _rename(self._writer, move.folder_slot, move.whole)
            case MoveToSlot() if move.whole and self._some:
                if move.whole not in self.over:
                    self.over.add(move.whole)
                    self._take(move)
                if self._slots[move.whole][move.slot] != move.before:
                    raise ForeignChange("it changed just before it was replaced")
            case _:
                return False
        return True

    def _take(self, motion: MoveToSlot) -> None:
        slots = self._slots[motion.whole]
        _rename(self._writer, motion.whole, motion.folder_slot)
        if self._writer.read_states((motion.folder_slot,))[motion.folder_slot] != "folder":
            raise ForeignChange("its folder was replaced")
        if self._writer.folder_holds_files(motion.folder_slot, besides=slots):
            raise ForeignChange("a file appeared next to it")
        slots |= self._writer.read_states(slots)


class _DisplacedFileCheck:
    """Files that were moved away: a change between check and rename shows in them, and goes back.

    They are looked at some at a time, which costs less, but before the next kind of motions.
    """

    def __init__(self, writer: FileWriter) -> None:
        self._writer = writer
        self.some: list[SwapWithSlot | MoveToSlot] = []  # that wait to be looked at
        self.at: tuple[int, bytes] | None = None  # operation and path that a check is at

    def check(self, before: SlotMove | None = None) -> None:
        """Looks at what waits, if enough does or the motion that comes next is of another kind."""
        waiting = self.some
        if not waiting or (len(waiting) < PROGRESS_INTERVAL and type(before) is type(waiting[-1])):
            return
        self.some = []
        seen = self._look({move.slot: move.before for move in waiting})
        for move in waiting:
            self.at, slot = (move.index, move.path), move.slot
            if (seen[slot] if seen else self._writer.read_states((slot,))[slot]) != move.before:
                raise ForeignChange("it changed just before it was replaced")
        self.at = None

    def _look(self, slots: Mapping[bytes, PathState]) -> dict[bytes, PathState]:
        try:
            return self._writer.read_states(slots)
        except OSError:
            return {}  # one by one it shows which it is


def _is_to_do(writer: FileWriter, move: SlotMove) -> bool:
    match forward_status(move, writer.read_states(involved_paths(move))):
        case MoveStatus.TODO:
            return True
        case MoveStatus.DONE:
            return False
        case MoveStatus.CONFLICT:
            raise ForeignChange("it changed while the run was interrupted")


def _perform(writer: FileWriter, move: SlotMove, displaced: _DisplacedFileCheck) -> None:
    match move:
        case SwapWithSlot():
            _rename(writer, move.slot, move.path, exchange=True)
            displaced.some.append(move)
        case MoveFromSlot():
            _rename(writer, move.slot, move.path)
        case MoveToSlot():
            if move.whole:
                writer.create_folder(parent(move.slot))
            _rename(writer, move.path, move.slot)
            displaced.some.append(move)
        case ClearFolder():
            _rename(writer, move.path, move.slot)
            _check_cleared(writer, move)


def _rename(writer: FileWriter, source: bytes, target: bytes, *, exchange: bool = False) -> None:
    try:
        (writer.exchange if exchange else writer.rename_unless_taken)(source, target)
    except FileExistsError:
        raise ForeignChange("something else was created there") from None
    except FileNotFoundError:
        raise ForeignChange("it no longer exists") from None


def _check_cleared(writer: FileWriter, motion: ClearFolder) -> None:
    if writer.read_states((motion.slot,))[motion.slot] != "folder":
        raise ForeignChange("a file replaced this folder")
    if writer.folder_holds_files(motion.slot):
        raise ForeignChange("a file appeared in this folder")
