"""How a run halts or ends: the reason, and the result of each operation."""

from collections.abc import Sequence

import msgspec

from assent.core.plan.operation import RunCommand
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    AbortedEntry,
    CommandEndedEntry,
    HaltedEntry,
    OperationResult,
    PathConflict,
)
from assent.core.run.state import RunState
from assent.core.shell.process import shell_line
from assent.executor.command import failure_text
from assent.executor.rollback import JournaledRun
from assent.executor.segment import plan_index, result_on_disk
from assent.ports.file_writer import FileWriter


class RunPosition(msgspec.Struct, frozen=True):
    """Where a run is: its name, its plan, what it has written, and what follows from that."""

    run: str
    plan: Plan
    history: JournaledRun
    course: RunState


def final_results(place: RunPosition, hands: FileWriter) -> tuple[OperationResult, ...]:
    """Says what became of each operation; where the journal cannot tell, the disk does."""
    found = list(place.history.results)
    for index in _doubtful(place, found):
        op = place.plan.operations[index]
        found[index] = "unknown" if isinstance(op, RunCommand) else result_on_disk(hands, op)
    return tuple(found)


def _doubtful(place: RunPosition, found: Sequence[OperationResult]) -> set[int]:
    """Returns the operations of which a person accepted what stands, whatever that is."""
    now = place.course
    if now.phase == "files":
        if not now.segment_outcome.accepted:
            return set()
        indices = range(now.segment.first, now.segment.first + len(now.segment.operations))
        about = now.back.about if now.back else [(at,) for at in range(indices.stop)]
        return {original for index in indices for original in about[index]}
    accepted = now.word == "accept" and now.back is not None
    return {at for at, result in enumerate(found) if accepted and result == "conflict"}


def halt_reason(place: RunPosition) -> HaltedEntry:
    """Says what stopped the run: a command, files that could not be changed, or foreign changes."""
    now = place.course
    if now.phase != "failed":
        return HaltedEntry(now.back.left if now.back else ())
    stops = (
        e
        for e in reversed(place.history.entries)
        if isinstance(e, CommandEndedEntry | AbortedEntry)
    )
    match next(stops):
        case CommandEndedEntry(index) as ended:
            done = f"{command_label(now)} did not succeed: " if now.back else ""
            reason = done + failure_text(ended)
            conflict = PathConflict(plan_index(now, index), b"", b"", reason)
        case AbortedEntry(_, index, path, reason):
            at = plan_index(now, now.segment.first + index)
            conflict = PathConflict(at, path, b"", reason)
    return HaltedEntry((conflict,))


def command_label(now: RunState) -> str:
    """Says which command is due on the way back; forward, the operation itself tells."""
    if now.back is None or now.segment.command is None:
        return "it"
    return f"its undo, $ {shell_line(now.segment.command.argv)},"
