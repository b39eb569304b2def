"""Orphan slots: slots of a run that the log does not know, and which file each belongs to."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.paths import STAGE, STATE, base_name, is_inside

LOST_AND_FOUND: Final = STATE + b"/lost+found"  # for those that could not be put back
PROBES: Final = (STAGE + b"/probe.one", STAGE + b"/probe.other")  # see executor/file_writer.py
KEPT_SUFFIX: Final = b".kept"  # how the name ends of one that cannot leave its file system

_RUN: Final = rb"(?P<run>[0-9a-hjkmnp-tv-z]{26})(\.\d+)?"
SLOTS: Final = re.compile(_RUN)  # the folder of a run's slots
SLOT_NAME_PATTERN: Final = re.compile(rb"\.assent-" + _RUN + rb"-(?P<index>\d+)\.(new|old)")
_SLOT = rb"(?P<index>\d+)\.(new|old)"
_WHOLE = rb"\d+\.whole"

SlotHolds: TypeAlias = Literal["old", "new", ""]
OrphanChoice: TypeAlias = Literal["roll_back", "accept"]


class OrphanSlot(msgspec.Struct, frozen=True):
    """A slot of an unknown run: what a readable copy of a plan says about its content, if any."""

    slot: bytes
    run: str
    size: int
    path: bytes | None = None  # the file whose old, or new, content it holds
    holds: SlotHolds = ""
    after: str = ""  # of old content: the digest of what was to take its place


class OrphanCleanup(msgspec.Struct, frozen=True):
    """The result of a cleanup: restored files, moved slots, and files in the way."""

    put_back: tuple[bytes, ...] = ()
    kept: tuple[tuple[bytes, bytes], ...] = ()  # from, to
    taken: tuple[bytes, ...] = ()  # names that other content stands under
    failed: tuple[tuple[bytes, str], ...] = ()


class ProjectedOperation(msgspec.Struct, frozen=True):
    """An operation as it is in the readable copy of its plan."""

    index: int
    path: bytes
    before: str
    after: str


def run_of_slot(slot: bytes) -> str:
    """Returns the run that a slot belongs to; empty if the name is not a slot's."""
    first = slot[len(STAGE) + 1 :].partition(b"/")[0] if is_inside(slot, STAGE) else b""
    found = SLOTS.fullmatch(first) if first else SLOT_NAME_PATTERN.fullmatch(base_name(slot))
    return found["run"].decode() if found else ""


def identified_orphan(
    orphan: OrphanSlot, digest: str, copies: Iterable[ProjectedOperation]
) -> OrphanSlot:
    """Says whose content is in a slot: its digest decides, and its number if there are several."""
    index, below = _place(orphan.slot)
    same = [copy for copy in copies if copy.path.endswith(below)]
    for holds, fitting in (
        ("old", [copy for copy in same if digest == copy.before]),
        ("new", [copy for copy in same if digest == copy.after]),
    ):
        one = _only([copy for copy in fitting if copy.index == index]) or _only(fitting)
        if one is not None:
            after = one.after if holds == "old" else ""
            return msgspec.structs.replace(orphan, path=one.path, holds=holds, after=after)
    return orphan


def _place(slot: bytes) -> tuple[int, bytes]:
    """Returns the number in a slot's name, and how the path ends of one in a whole folder."""
    within = slot[len(STAGE) + 1 :].split(b"/")[1:] if is_inside(slot, STAGE) else []
    if len(within) > 1 and re.fullmatch(_WHOLE, within[0]):
        return -1, b"/" + b"/".join(within[1:])
    found = (
        re.fullmatch(_SLOT, within[0])
        if len(within) == 1
        else SLOT_NAME_PATTERN.fullmatch(base_name(slot))
    )
    return int(found["index"]) if found else -1, b""


def _only(copies: Sequence[ProjectedOperation]) -> ProjectedOperation | None:
    """Returns the one that all of them are about, if it is one file."""
    return copies[0] if len({copy.path for copy in copies}) == 1 else None
