"""Detects repeated calls and repeated failures in a turn."""

import re
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from posixpath import normpath
from typing import Any, Final

import msgspec

from assent.core.digest import sha256
from assent.core.llm import ToolCall

MAX_CYCLE_CALLS: Final = 6  # calls of a cycle that is noticed
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


class LoopStage(IntEnum):
    """What a repetition leads to, from the mildest on."""

    NONE = 0
    WARN = 1
    ASK = 2
    BLOCK = 3


class CallRepeat(msgspec.Struct, frozen=True):
    """How often the newest call has been made, and how many calls the cycle has that it is in."""

    times: int
    period: int = 1


class CallFailure(msgspec.Struct, frozen=True):
    """How a call failed. Commands fail alike only where they are the same command."""

    tool: str
    error: str  # without what differs from time to time
    command: str = ""
    ran: bool = False  # it did something before it failed; all others can simply be corrected


class CallHistory(msgspec.Struct, frozen=True):
    """What a turn has done so far, as far as detecting repetitions needs it.

    Failures count by answers: all the calls of one are a single attempt.
    """

    calls: tuple[str, ...] = ()  # marks, oldest first
    edits: frozenset[str] = frozenset()  # marks of the edits that took effect
    failed: int = 0  # answers in a row of which no call worked,
    ran: int = 0  # those of them in which something ran and failed,
    failing: frozenset[str] = frozenset()  # and the tools of those calls
    # One of a kind for each answer, since the tool last worked and since the last new edit.
    errors: tuple[CallFailure, ...] = ()
    fresh: tuple[CallFailure, ...] = ()  # of the answer that is being carried out,
    good: bool = False  # and whether anything of it worked

    def made(self, mark: str, window: int) -> "CallHistory":
        """Returns the track with one more call; of more than the window the oldest go."""
        calls = (*self.calls, mark)
        return msgspec.structs.replace(self, calls=calls[-window:] if window else calls)

    def failed_by(self, failure: CallFailure) -> "CallHistory":
        """Returns the track after a call failed; it counts when its answer has ended."""
        if failure in self.fresh:
            return self
        return msgspec.structs.replace(self, fresh=(*self.fresh, failure))

    def worked(self, *tools: str) -> "CallHistory":
        """Returns the track after a call worked: what these tools did wrong is forgotten."""
        errors = tuple(error for error in self.errors if error.tool not in tools)
        fresh = tuple(error for error in self.fresh if error.tool not in tools)
        return msgspec.structs.replace(
            self, failed=0, ran=0, failing=frozenset(), errors=errors, fresh=fresh, good=True
        )

    def answered(self) -> "CallHistory":
        """Returns the track after all the calls of an answer have ended."""
        fresh, errors = self.fresh, (*self.errors, *self.fresh)
        track = msgspec.structs.replace(self, errors=errors, fresh=(), good=False)
        if self.good or not fresh:
            return track
        return msgspec.structs.replace(
            track,
            failed=self.failed + 1,
            ran=self.ran + any(failure.ran for failure in fresh),
            failing=self.failing | {failure.tool for failure in fresh},
        )

    def edited(self, mark: str) -> "CallHistory":
        """Returns the track after an edit took effect; one that is new makes a new situation."""
        if mark in self.edits:
            return self
        return msgspec.structs.replace(self, edits=self.edits | {mark}, errors=(), fresh=())

    def reset(self) -> "CallHistory":
        """Returns the track after a person said to go on: everything counts from here."""
        return CallHistory(edits=self.edits)

    def mark(self, call: ToolCall, tool: str, *, edits: bool) -> str:
        """Names a call so that the same one has the same name, however it is spelled.

        What only reads or runs something is another call after a new edit; an edit never is.
        """
        args = call.raw if call.args is None else canonical_arguments(call.args)
        situation = "" if edits else f"{len(self.edits)}"
        return sha256(f"{tool}\n{situation}\n{args}".encode("utf-8", "backslashreplace"))


def canonical_arguments(args: dict[str, Any]) -> str:
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


def detect_repeat(calls: Sequence[str]) -> CallRepeat:
    """Counts how often the newest call was made, and finds the cycle that it is part of."""
    if not calls:
        return CallRepeat(0)
    times = calls.count(calls[-1])
    for period in range(1, MAX_CYCLE_CALLS + 1):
        rounds = _rounds(calls, period)
        if rounds > 1:
            return CallRepeat(max(times, rounds), period)
    return CallRepeat(times)


def _rounds(calls: Sequence[str], period: int) -> int:
    """Returns how often the newest `period` calls were made one after another at the end."""
    rounds, last = 1, calls[-period:]
    while calls[-(rounds + 1) * period : -rounds * period] == last:
        rounds += 1
    return rounds


def loop_stage(times: int, limits: LoopLimits) -> LoopStage:
    """Returns what making a call so many times leads to."""
    for reached, most in (
        (LoopStage.BLOCK, limits.block),
        (LoopStage.ASK, limits.ask),
        (LoopStage.WARN, limits.warn),
    ):
        if most and times >= most:
            return reached
    return LoopStage.NONE


def failure_warning(track: CallHistory, tool: str, limits: LoopLimits) -> str:
    """Says what is wrong where a tool failed too often; nothing, if it did not."""
    own = [each for each in track.errors if each.tool == tool]
    return _trouble(track.failed if tool in track.failing else 0, own, limits.failures)


def retry_objection(
    track: CallHistory, tool: str, limits: LoopLimits, *, foreign: bool = False
) -> str:
    """Says why a tool that does something should not be tried again unasked; nothing, if it may.

    A call that failed before it did anything can be corrected, so it does not count here. Of a
    tool of a server nobody knows which of the two it was: it has one attempt more.
    """
    most = limits.failures and limits.failures + foreign
    own = [each for each in track.errors if each.tool == tool and each.ran]
    return _trouble(track.ran if tool in track.failing else 0, own, most)


def _trouble(answers: int, errors: Sequence[CallFailure], most: int) -> str:
    alike = Counter((each.error, each.command) for each in errors)
    same = max(alike.values(), default=0)
    if most and same >= most:
        return f"The same error came {same} times."
    return f"Nothing worked in {answers} answers in a row." if most and answers >= most else ""


def normalized_error(error: str) -> str:
    """Returns an error without what differs from time to time: numbers and paths."""
    text = _NUMBER.sub("#", _PATH.sub("/", error[: 4 * _ERROR].lower()))
    return " ".join(text.split())[:_ERROR]
