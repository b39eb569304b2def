"""Loops: whether the calls of a turn repeat themselves, by what they say and by how they fail."""

import re
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from posixpath import normpath
from typing import Any, Final

import msgspec

from assent.core.digest import sha256
from assent.core.message import Call

LONGEST: Final = 6  # calls of a cycle that is noticed
# What a place in the workspace is called, and what is split at blanks: spelling is no difference.
_PLACES: Final = frozenset({"path", "to", "folder"})
_LINES: Final = frozenset({"command"})
_ERROR: Final = 300  # characters of an error that are compared
_PATH: Final = re.compile(r"[\w.~-]*/[\w./~-]*")
_NUMBER: Final = re.compile(r"\b0x[0-9a-f]+\b|\d+")


class LoopLimits(msgspec.Struct, frozen=True):
    """How often is too often: `[loops]`; 0 switches a stage off."""

    warn: int = 2
    ask: int = 3
    block: int = 4
    failures: int = 3
    window: int = 60
    give_up: int = 5  # answers in a row of which nothing was done, before the turn ends


class Stage(IntEnum):
    """What a repetition leads to, from the mildest on."""

    NONE = 0
    WARN = 1
    ASK = 2
    BLOCK = 3


class Repeat(msgspec.Struct, frozen=True):
    """How often the newest call has been made, and how many calls the cycle has that it is in."""

    times: int
    period: int = 1


class Track(msgspec.Struct, frozen=True):
    """What a turn has done so far, as far as repetitions can be told from it."""

    calls: tuple[str, ...] = ()  # marks, oldest first
    edits: frozenset[str] = frozenset()  # marks of the edits that took effect
    failed: int = 0  # in a row,
    failing: frozenset[str] = frozenset()  # and the tools of those calls
    # By tool, since it last worked and since the last edit that was a new one.
    errors: tuple[tuple[str, str], ...] = ()

    def made(self, mark: str, window: int) -> "Track":
        """Returns the track with one more call; of more than the window the oldest go."""
        calls = (*self.calls, mark)
        return msgspec.structs.replace(self, calls=calls[-window:] if window else calls)

    def failed_by(self, tool: str, error: str) -> "Track":
        """Returns the track after a call failed."""
        return msgspec.structs.replace(
            self,
            failed=self.failed + 1,
            failing=self.failing | {tool},
            errors=(*self.errors, (tool, plain(error))),
        )

    def worked(self, *tools: str) -> "Track":
        """Returns the track after a call worked: what these tools did wrong is forgotten."""
        left = tuple(error for error in self.errors if error[0] not in tools)
        return msgspec.structs.replace(self, failed=0, failing=frozenset(), errors=left)

    def edited(self, mark: str) -> "Track":
        """Returns the track after an edit took effect; one that is new makes a new situation."""
        if mark in self.edits:
            return self
        return msgspec.structs.replace(self, edits=self.edits | {mark}, errors=())

    def forgiven(self) -> "Track":
        """Returns the track after a person said to go on: everything counts from here."""
        return Track(edits=self.edits)

    def mark(self, call: Call, tool: str, *, edits: bool) -> str:
        """Names a call so that the same one has the same name, however it is spelled.

        What only reads or runs something is another call after a new edit; an edit never is.
        """
        args = call.raw if call.args is None else canonical(call.args)
        situation = "" if edits else f"{len(self.edits)}"
        return sha256(f"{tool}\n{situation}\n{args}".encode("utf-8", "backslashreplace"))


def canonical(args: dict[str, Any]) -> str:
    """Returns arguments as text in which order and spelling do not matter."""
    plainly = {key: _alike(key, value) for key, value in args.items()}
    try:
        return msgspec.json.encode(plainly, order="sorted").decode()
    except (TypeError, ValueError, UnicodeError):
        return repr(sorted(plainly.items()))


def _alike(key: object, value: Any) -> Any:
    """Returns a value as every spelling of it: `./a` is `a`, and one blank is as good as two."""
    match value:
        case str() if key in _PLACES and value:
            return normpath(value)
        case str() if key in _LINES:
            return " ".join(value.split())
        case dict():
            return {name: _alike(name, each) for name, each in value.items()}
        case list():
            return [_alike(key, each) for each in value]
        case _:
            return value


def repeated(calls: Sequence[str]) -> Repeat:
    """Counts how often the newest call was made, and finds the cycle that it is part of."""
    if not calls:
        return Repeat(0)
    times = calls.count(calls[-1])
    for period in range(1, LONGEST + 1):
        rounds = _rounds(calls, period)
        if rounds > 1:
            return Repeat(max(times, rounds), period)
    return Repeat(times)


def _rounds(calls: Sequence[str], period: int) -> int:
    """Returns how often the newest `period` calls were made one after another at the end."""
    rounds, last = 1, calls[-period:]
    while calls[-(rounds + 1) * period : -rounds * period] == last:
        rounds += 1
    return rounds


def stage(times: int, limits: LoopLimits) -> Stage:
    """Returns what making a call so many times leads to."""
    for reached, most in (
        (Stage.BLOCK, limits.block),
        (Stage.ASK, limits.ask),
        (Stage.WARN, limits.warn),
    ):
        if most and times >= most:
            return reached
    return Stage.NONE


def trouble(track: Track, tool: str, limits: LoopLimits) -> str:
    """Says what is wrong where a tool is used again after too many failures; nothing, if not."""
    most = limits.failures
    if not most:
        return ""
    times = Counter(error for error in track.errors if error[0] == tool)
    same = max(times.values(), default=0)
    if same >= most:
        return f"The same error came {same} times."
    tried = track.failed >= most and tool in track.failing
    return f"{track.failed} calls in a row failed." if tried else ""


def plain(error: str) -> str:
    """Returns an error without what differs from time to time: numbers and paths."""
    text = _NUMBER.sub("#", _PATH.sub("/", error[: 4 * _ERROR].lower()))
    return " ".join(text.split())[:_ERROR]
