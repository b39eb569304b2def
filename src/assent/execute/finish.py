"""Finishing: does the renames of a committed run, and notices anybody else's late change."""

from collections.abc import Generator, Sequence

from assent.core.journal import Aborted, Settled, Started
from assent.core.motion import Clear, Motion, Put, Status, Swap, Take, forward, places
from assent.ports import Hands

PACE = 64  # motions between two reports of progress


class Changed(Exception):
    """Somebody else's content stands where the plan's should."""


def finish(
    hands: Hands, motions: Sequence[Motion], first: Started, *, look: bool
) -> Generator[int, None, Settled | Aborted]:
    """Does the motions in order and syncs; with `look`, only those the disk says are missing."""
    made: list[bytes] | None = None
    at, index, path = 0, 0, b""
    try:
        for at, motion in enumerate(motions):
            index, path = motion.index, motion.path
            if made is None and isinstance(motion, Put):
                made = [folder for folder in first.folders if hands.make_folder(folder) or look]
            if not look or _is_to_do(hands, motion):
                _perform(hands, motion)
            if at % PACE == 0:
                yield at
        hands.sync()
    except Changed as changed:
        return Aborted(at, index, path, str(changed), "conflict")
    except OSError as error:
        return Aborted(at, index, path, error.strerror or str(error), "failed")
    return Settled("done", tuple(made or ()))


def _is_to_do(hands: Hands, motion: Motion) -> bool:
    match forward(motion, hands.look(places(motion))):
        case Status.TODO:
            return True
        case Status.DONE:
            return False
        case Status.CONFLICT:
            raise Changed("it changed while the run was interrupted")


def _perform(hands: Hands, motion: Motion) -> None:
    try:
        match motion:
            case Swap():
                hands.exchange(motion.slot, motion.path)
            case Put():
                hands.rename(motion.slot, motion.path)
            case Take() | Clear():
                hands.rename(motion.path, motion.slot)
    except FileExistsError:
        raise Changed("something was put there meanwhile") from None
    except FileNotFoundError:
        raise Changed("it is gone") from None
    _check_displaced(hands, motion)


def _check_displaced(hands: Hands, motion: Motion) -> None:
    """Looks at what was moved away: a change between check and rename shows here, and goes back."""
    if isinstance(motion, Swap | Take):
        if hands.look((motion.slot,))[motion.slot] != motion.before:
            raise Changed("it changed a moment before it was replaced")
    elif isinstance(motion, Clear):
        if hands.look((motion.slot,))[motion.slot] != "folder":
            raise Changed("a file was put in the place of this folder")
        if hands.holds_files(motion.slot):
            raise Changed("a file appeared in this folder")
