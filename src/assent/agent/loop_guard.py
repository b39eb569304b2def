"""Warns, asks and finally blocks when a model repeats itself in a turn (F106 to F108)."""

from collections.abc import Callable
from threading import Lock

import msgspec

from assent.agent.loop_detector import (
    CallFailure,
    CallHistory,
    CallRepeat,
    LoopLimits,
    LoopStage,
    canonical_arguments,
    detect_repeat,
    failure_warning,
    loop_stage,
    normalized_error,
    retry_objection,
)
from assent.core.tool import Action, Decision, GuardedCall, ResourceAccess, ToolOutcome, Verdict

LAYER = "loop"
MAX_FRUITLESS_ANSWERS = (
    15  # answers more, where the calls that failed or were refused are different ones
)
CHANGED = "changed"  # metadata of a command: the files that are other than before
DO_SOMETHING_ELSE = "Do something else, or say in words what is in the way."
UNREADABLE_CALL = ""  # the tool of all calls that nobody could read: they fail alike
EXIT = "exit"  # metadata of a command: the code that it ended with,
NOT_STARTED = (126, 127)  # and those of one that never began
# What may change something when it is tried. All else fails without an effect, or reads.
ACTING_ACTIONS = (Action.SHELL, Action.TOOL, Action.TASK)

# What the person's rules say about a loop, under the permission `doom_loop`.
DecideRequest = Callable[[ResourceAccess, GuardedCall], Decision]


class LoopGuard:
    """Implements ports.CallGuard for one turn: warns, has the person asked, and at last blocks."""

    def __init__(
        self, limits: LoopLimits, judge: DecideRequest, only_reads: Callable[[str], bool]
    ) -> None:
        """`only_reads` tells it of a command line; it is asked where one fails."""
        self._limits = limits
        self._judge = judge
        self._only_reads = only_reads
        self._lock = Lock()  # calls that only read are settled side by side
        self._track = CallHistory()
        self._marks: dict[str, str] = {}  # of calls on their way, by id
        self._said: dict[str, Decision | None] = {}
        self._times: dict[str, CallRepeat] = {}
        self._in_trouble: set[str] = set()  # tools that failed, until something else works
        # Calls of this answer: whether they only went in circles; None: nobody could read it.
        self._fruitless: list[bool | None] = []
        self._answers = 0  # in a row of which all calls did
        self._failed: list[bool] = []  # calls of this answer: whether they failed or were refused
        self._in_vain = 0  # answers in a row of which all calls did
        self._newest = ""  # what was wanted last

    def before(self, attempt: GuardedCall) -> Decision | None:
        """Counts a call and objects where it is one too many; asked again, it says the same."""
        with self._lock:
            id = attempt.call.id
            if id not in self._said:
                self._begin(attempt)
                self._said[id] = self._objection(attempt)
            return self._said[id]

    def after(self, attempt: GuardedCall, outcome: ToolOutcome) -> ToolOutcome:
        """Takes in how a call ended; adds a warning for the model where it repeats itself."""
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
        """Ends an answer; says why the turn must end, if too many of them only went in circles."""
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
            f"The model only repeats what does not work or is refused, {times} answers in "
            f"a row, at last {self._newest}. Everything before that is kept. Say what it should "
            "do instead: assent -c -p 'WHAT NEXT'."
        )

    def _is_fruitless(
        self, attempt: GuardedCall, outcome: ToolOutcome, repeat: CallRepeat
    ) -> bool | None:
        """Tells whether a call came to nothing once more, though no guard had to stop it."""
        if not outcome.failed or not (_is_refused(attempt) or _is_unread(attempt)):
            return False
        if loop_stage(repeat.times, self._limits) >= LoopStage.ASK:
            return True
        return None if _is_unread(attempt) else False

    def _warning(self, attempt: GuardedCall, outcome: ToolOutcome, repeat: CallRepeat) -> str:
        """Returns what the model should know of a call that it made, or that failed, again."""
        if _is_refused(attempt):
            return ""
        if loop_stage(repeat.times, self._limits) >= LoopStage.WARN:
            return f"{_repeats(repeat)} Nothing new comes of it; after more of them it is refused."
        return (
            failure_warning(self._track.answered(), _tool(attempt), self._limits) * outcome.failed
        )

    def _begin(self, attempt: GuardedCall) -> None:
        call, edits = attempt.call, _is_edit(attempt)
        mark = self._track.mark(call, attempt.tool, edits=edits)
        self._track = self._track.made(mark, self._limits.window)
        self._marks[call.id] = mark
        self._times[call.id] = detect_repeat(self._track.calls)

    def _end(self, attempt: GuardedCall, outcome: ToolOutcome) -> CallRepeat:
        id, refused = attempt.call.id, _is_refused(attempt)
        mark, repeat = self._marks.pop(id), self._times.pop(id)
        said = self._said.pop(id, None)
        if said is not None and said.verdict is Verdict.ASK and not refused:
            self._forgive(mark)  # the person said to go on
            repeat = CallRepeat(1)
        if refused and not _is_unread(attempt):
            return repeat  # a no is a decision and no failure
        if outcome.failed:
            self._track = self._track.failed_by(self._failure(attempt, outcome))
        else:
            self._track = self._track.worked(attempt.tool, *self._in_trouble)
            self._in_trouble.clear()
        if (not outcome.failed and _is_edit(attempt)) or outcome.metadata.get(CHANGED):
            # Also a command that changes files is new only once, however often it does.
            change = self._track.mark(attempt.call, attempt.tool, edits=True)
            self._track = self._track.edited(change)
        return repeat

    def _objection(self, attempt: GuardedCall) -> Decision | None:
        if attempt.decision.verdict is Verdict.DENY:
            return None
        repeat = self._times[attempt.call.id]
        reached = loop_stage(repeat.times, self._limits)
        if reached is LoopStage.BLOCK:
            why = f"{_repeats(repeat)} It is refused. {DO_SOMETHING_ELSE}"
            return Decision(Verdict.DENY, why, LAYER)
        if _stages_command(attempt):
            return None  # the person who approves the plan is asked about it
        if reached is LoopStage.ASK:
            return self._asked(attempt, _repeats(repeat))
        return self._troubled(attempt)

    def _troubled(self, attempt: GuardedCall) -> Decision | None:
        """Objects to more of what fails; what only reads, or fails without an effect, goes on."""
        tool = attempt.tool
        foreign = any(request.action is Action.TOOL for request in attempt.requests)
        why = retry_objection(self._track, tool, self._limits, foreign=foreign)
        if not why or not self._does_something(attempt):
            return None
        if tool in self._in_trouble:
            until = f"`{tool}` is refused until something else has worked."
            return Decision(Verdict.DENY, f"{why} {until} {DO_SOMETHING_ELSE}", LAYER)
        self._in_trouble.add(tool)
        return self._asked(attempt, why)

    def _asked(self, attempt: GuardedCall, why: str) -> Decision | None:
        """Returns the question, unless a rule answers it."""
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
        """Tells whether a call may change something; a line that only reads does not."""
        doing = [request for request in attempt.requests if request.action in ACTING_ACTIONS]
        lines = [request.resource for request in doing if request.action is Action.SHELL]
        return len(doing) > len(lines) or not all(self._only_reads(line) for line in lines)

    def _failure(self, attempt: GuardedCall, outcome: ToolOutcome) -> CallFailure:
        """Returns how a call failed; it ran if it got as far as to change something."""
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
    """Tells whether a call failed before anybody knew what it touches."""
    return not attempt.requests


def _tool(attempt: GuardedCall) -> str:
    return UNREADABLE_CALL if _is_unread(attempt) else attempt.tool


def _is_refused(attempt: GuardedCall) -> bool:
    """Tells whether a call was not run, because the gate, a guard or the person said no."""
    return attempt.decision.verdict is Verdict.DENY


def _repeats(repeat: CallRepeat) -> str:
    nth = _nth(repeat.times)
    if repeat.period > 1:
        return f"The same {repeat.period} calls come for the {nth} time in this turn."
    return f"This very call is made for the {nth} time in this turn."


def _nth(number: int) -> str:
    teens = number // 10 % 10 == 1
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
