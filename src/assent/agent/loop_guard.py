"""Detects that a model repeats itself in a turn: warns, asks, then blocks (F106 to F108)."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from enum import IntEnum
from posixpath import normpath
from threading import Lock
from typing import Any, Final

import msgspec

from assent.core.digest import sha256
from assent.core.llm import ToolCall
from assent.core.text import counted
from assent.core.tool import Action, Decision, GuardedCall, ResourceAccess, ToolOutcome, Verdict

# Detects repeated calls and repeated failures in a turn.


MAX_CYCLE_CALLS: Final = 6  # calls of a cycle that is noticed
# Arguments that are paths, and those that are split at spaces: spelling makes no difference.
_PLACES: Final = frozenset({"path", "to", "folder"})
_LINES: Final = frozenset({"command"})
_ERROR: Final = 300  # characters of an error that are compared
_PATH = r"[\w.~-]*/[\w./~-]*"
_NUMBER = r"\b0x[0-9a-f]+\b|\d+"


class LoopLimits(msgspec.Struct, frozen=True):
    """How many repetitions are allowed (`[loops]`); 0 switches a stage off."""

    warn: int = 2
    ask: int = 3
    block: int = 4
    failures: int = 3
    window: int = 60
    give_up: int = 5  # answers in a row of which nothing was done, before the turn ends


class LoopStage(IntEnum):
    """The reaction to a repetition, mildest first."""

    NONE = 0
    WARN = 1
    ASK = 2
    BLOCK = 3


class CallRepeat(msgspec.Struct, frozen=True):
    """How often the newest call was made, and the length of its cycle."""

    times: int
    period: int = 1


class CallFailure(msgspec.Struct, frozen=True):
    """How a call failed; commands only fail alike if they are the same command."""

    tool: str
    error: str  # without what differs from time to time
    command: str = ""
    ran: bool = False  # it did something before it failed; all others can simply be corrected


class CallHistory(msgspec.Struct, frozen=True):
    """The calls of a turn so far, as needed to detect repetitions.

    Failures are counted per answer: all calls of an answer are a single attempt.
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
        """Returns the history with one more call; only the newest `window` calls are kept."""
        calls = (*self.calls, mark)
        return msgspec.structs.replace(self, calls=calls[-window:] if window else calls)

    def failed_by(self, failure: CallFailure) -> "CallHistory":
        """Returns the history after a call failed; it counts once its answer has ended."""
        if failure in self.fresh:
            return self
        return msgspec.structs.replace(self, fresh=(*self.fresh, failure))

    def worked(self, *tools: str) -> "CallHistory":
        """Returns the history after a call succeeded: forgets earlier failures of these tools."""
        errors = tuple(error for error in self.errors if error.tool not in tools)
        fresh = tuple(error for error in self.fresh if error.tool not in tools)
        return msgspec.structs.replace(
            self, failed=0, ran=0, failing=frozenset(), errors=errors, fresh=fresh, good=True
        )

    def answered(self) -> "CallHistory":
        """Returns the history after all calls of an answer have ended."""
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
        """Returns the history after an edit took effect; a new edit makes a new situation."""
        if mark in self.edits:
            return self
        return msgspec.structs.replace(self, edits=self.edits | {mark}, errors=(), fresh=())

    def reset(self) -> "CallHistory":
        """Returns the history after the user said to continue: counting starts over."""
        return CallHistory(edits=self.edits)

    def mark(self, call: ToolCall, tool: str, *, edits: bool) -> str:
        """Returns a key for a call that is the same however the call is spelled.

        A call that only reads or runs something gets another key after a new edit; an edit does
        not.
        """
        args = call.raw if call.args is None else canonical_arguments(call.args)
        situation = "" if edits else f"{len(self.edits)}"
        return sha256(f"{tool}\n{situation}\n{args}".encode("utf-8", "backslashreplace"))


def canonical_arguments(args: dict[str, Any]) -> str:
    """Returns arguments as text that does not depend on order and spelling."""
    plainly = {key: _alike(key, value) for key, value in args.items()}
    try:
        return msgspec.json.encode(plainly, order="sorted").decode()
    except (TypeError, ValueError, UnicodeError):
        return repr(sorted(plainly.items()))


def _alike(key: object, value: Any) -> Any:
    """Returns a value in one spelling: `./a` becomes `a`, and runs of blanks become one."""
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
    """Counts how often the newest call was made, and finds the cycle it is part of."""
    if not calls:
        return CallRepeat(0)
    times = calls.count(calls[-1])
    for period in range(1, MAX_CYCLE_CALLS + 1):
        rounds = _rounds(calls, period)
        if rounds > 1:
            return CallRepeat(max(times, rounds), period)
    return CallRepeat(times)


def _rounds(calls: Sequence[str], period: int) -> int:
    """Returns how often the newest `period` calls repeat at the end."""
    rounds, last = 1, calls[-period:]
    while calls[-(rounds + 1) * period : -rounds * period] == last:
        rounds += 1
    return rounds


def loop_stage(times: int, limits: LoopLimits) -> LoopStage:
    """Returns the reaction to a call that was made `times` times."""
    for reached, most in (
        (LoopStage.BLOCK, limits.block),
        (LoopStage.ASK, limits.ask),
        (LoopStage.WARN, limits.warn),
    ):
        if most and times >= most:
            return reached
    return LoopStage.NONE


def failure_warning(track: CallHistory, tool: str, limits: LoopLimits) -> str:
    """Returns a warning if a tool failed too often, else nothing."""
    own = [each for each in track.errors if each.tool == tool]
    return _trouble(track.failed if tool in track.failing else 0, own, limits.failures)


def retry_objection(
    track: CallHistory, tool: str, limits: LoopLimits, *, foreign: bool = False
) -> str:
    """Returns why a tool that changes something should not be retried unasked, or nothing.

    A call that failed before it did anything can be corrected, so it does not count here. For an
    MCP tool it is unknown which of the two happened: it gets one more attempt.
    """
    most = limits.failures and limits.failures + foreign
    own = [each for each in track.errors if each.tool == tool and each.ran]
    return _trouble(track.ran if tool in track.failing else 0, own, most)


def same_error_text(times: int) -> str:
    """Returns that calls failed alike so many times."""
    return f"The same error occurred {times} times."


def stuck_text(answers: int) -> str:
    """Returns that a turn ends because the last answers led nowhere."""
    many = counted(answers, "answer")
    return f"Stopped: the model repeated failed or denied calls in {many} in a row"


def all_failed_text(answers: int) -> str:
    """Returns that nothing worked in the last answers."""
    return f"All calls failed in {counted(answers, 'answer')} in a row."


def _trouble(answers: int, errors: Sequence[CallFailure], most: int) -> str:
    alike = Counter((each.error, each.command) for each in errors)
    same = max(alike.values(), default=0)
    if most and same >= most:
        return same_error_text(same)
    return all_failed_text(answers) if most and answers >= most else ""


def normalized_error(error: str) -> str:
    """Returns an error without the parts that vary: numbers and paths."""
    text = re.sub(_NUMBER, "#", re.sub(_PATH, "/", error[: 4 * _ERROR].lower()))
    return " ".join(text.split())[:_ERROR]


LAYER = "loop"
MAX_FRUITLESS_ANSWERS = (
    15  # answers more, where the calls that failed or were refused are different ones
)
CHANGED = "changed"  # metadata of a command: the files that are other than before
OPTION = "option"  # metadata of a call: the draft that it, and all calls after it, are about
DO_SOMETHING_ELSE = "Do something else, or explain what blocks you."
UNREADABLE_CALL = ""  # the tool of all calls that could not be read: they fail alike
EXIT = "exit"  # metadata of a command: the code that it ended with,
NOT_STARTED = (126, 127)  # and those of one that never began
# What may change something when it is tried. All else fails without an effect, or reads.
ACTING_ACTIONS = (Action.SHELL, Action.TOOL, Action.TASK)

# What the user's rules say about a loop, under the permission `doom_loop`.
DecideRequest = Callable[[ResourceAccess, GuardedCall], Decision]


class LoopGuard:
    """Implements ports.CallGuard for one turn: warns, then asks the user, then blocks."""

    def __init__(
        self, limits: LoopLimits, judge: DecideRequest, only_reads: Callable[[str], bool]
    ) -> None:
        """`only_reads` tells whether a command line only reads; it is called when one fails."""
        self._limits = limits
        self._judge = judge
        self._only_reads = only_reads
        self._lock = Lock()  # calls that only read run side by side
        self._track = CallHistory()
        self._marks: dict[str, str] = {}  # of calls on their way, by id
        self._said: dict[str, Decision | None] = {}
        self._times: dict[str, CallRepeat] = {}
        self._in_trouble: set[str] = set()  # tools that failed, until something else works
        # Calls of this answer: whether they only went in circles; None: it could not be read.
        self._fruitless: list[bool | None] = []
        self._answers = 0  # in a row of which all calls did
        self._failed: list[bool] = []  # calls of this answer: whether they failed or were refused
        self._in_vain = 0  # answers in a row of which all calls did
        self._newest = ""  # what was wanted last
        self._option = ""  # the draft that calls are about, if there are several

    def before(self, attempt: GuardedCall) -> Decision | None:
        """Counts a call and objects if it is one too many; the same call gets the same answer."""
        with self._lock:
            id = attempt.call.id
            if id not in self._said:
                self._begin(attempt)
                self._said[id] = self._objection(attempt)
            return self._said[id]

    def after(self, attempt: GuardedCall, outcome: ToolOutcome) -> ToolOutcome:
        """Records how a call ended; adds a warning for the model if it repeats itself."""
        with self._lock:
            if attempt.call.id not in self._marks:
                self._begin(attempt)
            held = self._said.get(attempt.call.id) is not None and _is_refused(attempt)
            repeat = self._end(attempt, outcome)
            self._fruitless.append(held or self._is_fruitless(attempt, outcome, repeat))
            self._failed.append(outcome.failed)
            about = f" ({outcome.title})" if outcome.title else ""
            self._newest = f"`{attempt.tool}`{about}"
            warning = self._warning(attempt, outcome, repeat)
        if not warning:
            return outcome
        return msgspec.structs.replace(
            outcome, text=f"{outcome.text}\n\n[{warning} {DO_SOMETHING_ELSE}]"
        )

    def turn_end_reason(self) -> str:
        """Ends an answer; returns why the turn must end, if too many answers made no progress."""
        with self._lock:
            self._track = self._track.answered()
            unread = bool(failure_warning(self._track, UNREADABLE_CALL, self._limits))
            calls = [unread if each is None else each for each in self._fruitless]
            failed, self._fruitless, self._failed = self._failed, [], []
            if calls:
                self._answers = self._answers + 1 if all(calls) else 0
                self._in_vain = self._in_vain + 1 if all(failed) else 0
        most = self._limits.give_up
        if not most or (self._answers < most and self._in_vain < most + MAX_FRUITLESS_ANSWERS):
            return ""
        times = self._answers if self._answers >= most else self._in_vain
        return (
            f"{stuck_text(times)}, last {self._newest}. Earlier work is kept. Tell it what to do "
            "instead: assent -c -p 'WHAT NEXT'."
        )

    def _is_fruitless(
        self, attempt: GuardedCall, outcome: ToolOutcome, repeat: CallRepeat
    ) -> bool | None:
        """Tells whether a call failed again, although no guard had to stop it."""
        if not outcome.failed or not (_is_refused(attempt) or _is_unread(attempt)):
            return False
        if loop_stage(repeat.times, self._limits) >= LoopStage.ASK:
            return True
        return None if _is_unread(attempt) else False

    def _warning(self, attempt: GuardedCall, outcome: ToolOutcome, repeat: CallRepeat) -> str:
        """Returns the warning for a call that was repeated or failed again."""
        if _is_refused(attempt):
            return ""
        if loop_stage(repeat.times, self._limits) >= LoopStage.WARN:
            return (
                f"{repeat_text(repeat)} The result does not change; further repeats will be denied."
            )
        return (
            failure_warning(self._track.answered(), _tool(attempt), self._limits) * outcome.failed
        )

    def _begin(self, attempt: GuardedCall) -> None:
        call, edits = attempt.call, _is_edit(attempt)
        mark = self._track.mark(call, self._about(attempt), edits=edits)
        self._track = self._track.made(mark, self._limits.window)
        self._marks[call.id] = mark
        self._times[call.id] = detect_repeat(self._track.calls)

    def _about(self, attempt: GuardedCall) -> str:
        """Names the tool and the draft: the same call is another one for another option."""
        return f"{attempt.tool} {self._option}" if self._option else attempt.tool

    def _end(self, attempt: GuardedCall, outcome: ToolOutcome) -> CallRepeat:
        id, refused = attempt.call.id, _is_refused(attempt)
        mark, repeat = self._marks.pop(id), self._times.pop(id)
        said = self._said.pop(id, None)
        if said is not None and said.verdict is Verdict.ASK and not refused:
            self._forgive(mark)  # the user chose to continue
            repeat = CallRepeat(1)
        if refused and not _is_unread(attempt):
            return repeat  # a denial is a decision, not a failure
        if outcome.failed:
            self._track = self._track.failed_by(self._failure(attempt, outcome))
        else:
            self._track = self._track.worked(attempt.tool, *self._in_trouble)
            self._in_trouble.clear()
        self._option = str(outcome.metadata.get(OPTION, self._option))
        if (not outcome.failed and _is_edit(attempt)) or outcome.metadata.get(CHANGED):
            # A command that changes files is also new only once, however often it does.
            change = self._track.mark(attempt.call, self._about(attempt), edits=True)
            self._track = self._track.edited(change)
        return repeat

    def _objection(self, attempt: GuardedCall) -> Decision | None:
        if attempt.decision.verdict is Verdict.DENY:
            return None
        repeat = self._times[attempt.call.id]
        reached = loop_stage(repeat.times, self._limits)
        if reached is LoopStage.BLOCK:
            why = f"{repeat_text(repeat)} It is denied. {DO_SOMETHING_ELSE}"
            return Decision(Verdict.DENY, why, LAYER)
        if _stages_command(attempt):
            return None  # the user who approves the plan is asked about it
        if reached is LoopStage.ASK:
            return self._asked(attempt, repeat_text(repeat))
        return self._troubled(attempt)

    def _troubled(self, attempt: GuardedCall) -> Decision | None:
        """Objects to repeated failures, except for calls that only read or had no effect."""
        tool = attempt.tool
        foreign = any(request.action is Action.TOOL for request in attempt.requests)
        why = retry_objection(self._track, tool, self._limits, foreign=foreign)
        if not why or not self._does_something(attempt):
            return None
        if tool in self._in_trouble:
            until = f"`{tool}` is denied until another call succeeds."
            return Decision(Verdict.DENY, f"{why} {until} {DO_SOMETHING_ELSE}", LAYER)
        self._in_trouble.add(tool)
        return self._asked(attempt, why)

    def _asked(self, attempt: GuardedCall, why: str) -> Decision | None:
        """Returns the question, unless a rule already answers it."""
        ruled = self._judge(ResourceAccess(Action.LOOP, attempt.tool), attempt)
        match ruled.verdict:
            case Verdict.RUN:
                self._forgive(self._marks[attempt.call.id])
                return None
            case Verdict.DENY:
                return Decision(
                    Verdict.DENY, f"{why} {ruled.reason} {DO_SOMETHING_ELSE}", LAYER, ruled.rule
                )
            case _:
                return Decision(Verdict.ASK, why, LAYER)

    def _forgive(self, mark: str) -> None:
        self._in_trouble.clear()
        self._track = self._track.reset().made(mark, self._limits.window)

    def _does_something(self, attempt: GuardedCall) -> bool:
        """Tells whether a call may change something; a command line that only reads does not."""
        doing = [request for request in attempt.requests if request.action in ACTING_ACTIONS]
        lines = [request.resource for request in doing if request.action is Action.SHELL]
        return len(doing) > len(lines) or not all(self._only_reads(line) for line in lines)

    def _failure(self, attempt: GuardedCall, outcome: ToolOutcome) -> CallFailure:
        """Returns how a call failed; it ran if it got far enough to change something."""
        error = normalized_error(outcome.text)
        if not any(request.action is Action.SHELL for request in attempt.requests):
            return CallFailure(_tool(attempt), error, ran=self._does_something(attempt))
        code = outcome.metadata.get(EXIT)
        ran = code is not None and code not in NOT_STARTED and self._does_something(attempt)
        return CallFailure(_tool(attempt), error, canonical_arguments(attempt.call.args or {}), ran)


def _is_edit(attempt: GuardedCall) -> bool:
    return any(request.action is Action.EDIT for request in attempt.requests)


def _stages_command(attempt: GuardedCall) -> bool:
    staged = attempt.decision.verdict is Verdict.STAGE
    return staged and any(request.action is Action.SHELL for request in attempt.requests)


def _is_unread(attempt: GuardedCall) -> bool:
    """Tells whether a call failed before it was known what it touches."""
    return not attempt.requests


def _tool(attempt: GuardedCall) -> str:
    return UNREADABLE_CALL if _is_unread(attempt) else attempt.tool


def _is_refused(attempt: GuardedCall) -> bool:
    """Tells whether a call was not run, because the gate, a guard or the user denied it."""
    return attempt.decision.verdict is Verdict.DENY


def repeat_text(repeat: CallRepeat) -> str:
    """Returns how often a call, or a cycle of calls, was made."""
    nth = _nth(repeat.times)
    if repeat.period > 1:
        return f"The same {repeat.period} calls were made for the {nth} time in this turn."
    return f"This exact call was made for the {nth} time in this turn."


def _nth(number: int) -> str:
    teens = number // 10 % 10 == 1
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
