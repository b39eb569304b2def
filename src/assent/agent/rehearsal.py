"""Rehearsals that a model asks for: tries its draft in a scratch copy, and says what passed.

It is evidence for the model and for the user who reviews the plan. It meets no requirement of an
approval: only a person's rehearsal does.
"""

from collections.abc import Callable, Generator
from contextlib import closing
from math import inf
from time import monotonic
from typing import Final

from msgspec.structs import replace

from assent.core.errors import SCRATCH_COPY, AssentError, Refused
from assent.core.llm import StreamDelta
from assent.core.paths import typed_line
from assent.core.permission.rule import PathLimits
from assent.core.plan.plan import Plan
from assent.core.plan.record import CLOSED_STATES, PlanRecord
from assent.core.plan.rehearsal import ChosenBy, Rehearsal, RehearsedCommand
from assent.core.shell.process import OutputChunk
from assent.core.tool import EffectResult
from assent.planning.rehearsals import Rehearsals
from assent.runs.rehearsal import CommandBegins, PlanRehearser, RehearsalRequest
from assent.tools.outcome import missing_capability

OUTPUT: Final = StreamDelta("output", "")  # of no call
COMMAND_S: Final = 600.0  # most that one command of a model's rehearsal gets
TOTAL_S: Final = 1800.0  # and all of them together
MAX_FAILED_CHARS: Final = 4000  # of the output of a command that failed; the end is shown
MAX_PASSED_CHARS: Final = 400  # of any other

NOTHING_STAGED: Final = "Nothing is staged, so there is nothing to rehearse."
NOTHING_REAL: Final = "It was in a copy: nothing real changed."
SUGGESTED: Final = (
    "Not rehearsed: no command is set to verify plans here. The project's files suggest {lines}; "
    "choose `commands` and call it again."
)
ONLY_APPLIED: Final = (
    "No command is set to verify plans here, and none was named in `commands`: it is only shown "
    "that the operations can be applied."
)
OWN_ONLY: Final = "Only the draft's own commands ran: none is set to verify plans here."
NO_COPY: Final = "{why} Not rehearsed: present the plan without it, and say so in its text."
_CHOSEN_BY: Final[dict[ChosenBy, str]] = {
    "operation": "of the draft",
    "argument": "of the user",
    "model": "yours",
    "plan": "of the plan's text",
    "user": "of the user",
    "project": "of the project",
    "confirmed": "of the user",
}


class DraftRehearsals:
    """Rehearses the plan of a session for its model; asks no questions and approves nothing."""

    def __init__(self, rehearser: PlanRehearser, rehearsals: Rehearsals) -> None:
        self._rehearser = rehearser
        self._rehearsals = rehearsals

    def run(
        self,
        record: PlanRecord | None,
        commands: tuple[str, ...],
        hidden: PathLimits | None,
        *,
        stopped: Callable[[], bool],
        seconds_left: Callable[[], float | None],
        mask: Callable[[str], str],
        suggest: bool = True,
        call: StreamDelta = OUTPUT,
    ) -> Generator[StreamDelta, None, EffectResult]:
        """Rehearses a plan and streams what its commands print; returns the report.

        `commands` are the model's; without any, those that verify plans here are run. `hidden` is
        what the model may not read: its commands do not, either. `seconds_left` are those of the
        turn, and `mask` takes secrets out of what is said. With `suggest` nothing is tried where no
        command verifies plans and the project's files suggest one; else the draft alone is. What is
        streamed is of the `call`.
        """
        if record is None or record.state in CLOSED_STATES:
            return EffectResult(NOTHING_STAGED)
        plan = self._rehearser.plan(record)
        if not plan.operations:
            return EffectResult(NOTHING_STAGED)
        if suggest and not commands and (lines := self._unconfirmed(plan)):
            shown = ", ".join(f"`{typed_line(line)}`" for line in lines)
            return EffectResult(SUGGESTED.format(lines=shown), failed=True)
        try:
            request = RehearsalRequest(
                commands,
                by="model",  # which never gets the network
                stopped=stopped,
                seconds=COMMAND_S,
                left=_deadline(seconds_left),
                path_limits=hidden,
            )
            found = yield from self._streamed(record, request, mask, call)
        except Refused as refused:
            if refused.lacks != SCRATCH_COPY:
                raise
            text = NO_COPY.format(why=refused.message)
            return EffectResult(text, failed=True, metadata=missing_capability(refused))
        metadata = {"plan": record.plan_id, "passed": found.passed}
        failed = found.passed is False
        return EffectResult(report(found, mask), failed=failed, metadata=metadata)

    def _unconfirmed(self, plan: Plan) -> tuple[str, ...]:
        """Returns what the project's files suggest, if no command is chosen yet."""
        if self._rehearsals.verification(plan.text):
            return ()
        return self._rehearsals.suggested()

    def _streamed(
        self,
        record: PlanRecord,
        request: RehearsalRequest,
        mask: Callable[[str], str],
        call: StreamDelta,
    ) -> Generator[StreamDelta, None, Rehearsal]:
        with closing(self._rehearser.rehearse(record, request)) as parts:
            for part in parts:
                match part:
                    case CommandBegins(line, number, total):
                        yield replace(call, text=mask(f"[{number}/{total}] {line}\n"))
                    case OutputChunk(content):
                        text = content.decode("utf-8", "backslashreplace")
                        yield replace(call, text=mask(text))
                    case Rehearsal():
                        return part
                    case RehearsedCommand():
                        pass
        raise AssentError("The rehearsal ended without a result.")


def _deadline(of_turn: Callable[[], float | None]) -> Callable[[], float]:
    """Returns how many seconds are left for all commands, from now on."""
    began = monotonic()

    def left() -> float:
        seconds = of_turn()
        return min(inf if seconds is None else seconds, TOTAL_S - (monotonic() - began))

    return left


def report(found: Rehearsal, mask: Callable[[str], str] = lambda text: text) -> str:
    """Returns what a rehearsal showed, in few lines: how each command ended, and what it said."""
    rows = [row for command in found.commands for row in _rows(command, mask)]
    return "\n".join([f"{_verdict(found)} {NOTHING_REAL}", *rows])


def _verdict(found: Rehearsal) -> str:
    if not found.commands:
        return ONLY_APPLIED
    ran = sum(command.exit is not None for command in found.commands)
    total = len(found.commands)
    noun = "command" if total == 1 else "commands"
    if found.passed:
        unchecked = not any(command.is_verification for command in found.commands)
        return f"Passed: {total} {noun}." + (f" {OWN_ONLY}" if unchecked else "")
    return (
        f"Failed: {ran} of {total} {noun} ran."
        if found.passed is False
        else (f"Partly rehearsed: {ran} of {total} {noun} ran.")
    )


def _rows(command: RehearsedCommand, mask: Callable[[str], str]) -> list[str]:
    name = f"- {typed_line(mask(command.line))} ({_CHOSEN_BY[command.source]})"
    if command.exit is None:
        return [f"{name}: not run, {command.not_run}"]
    cut = f", stopped: {command.cut}" if command.cut else ""
    row = f"{name}: exit {command.exit}{cut} in {command.seconds:.1f} s"
    most = MAX_FAILED_CHARS if command.exit else MAX_PASSED_CHARS
    said = _end(mask(command.output.strip("\n")), most)
    return [row, said] if said else [row]


def _end(text: str, most: int) -> str:
    """Returns the last lines of a text, which is masked: no half of a secret is left at a cut."""
    if len(text) <= most:
        return text
    _, _, whole = text[-most:].partition("\n")
    return f"[...]\n{whole or text[-most:]}"
