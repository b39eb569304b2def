"""The permit log of a workspace, folded from its events, and how the run of each permit ended."""

from collections.abc import Iterable

import msgspec

from assent.core.event import (
    CommandEnded,
    CommandStarted,
    PermitGiven,
    RunEnded,
    RunHalted,
    RunResumed,
    StoredEvent,
)
from assent.core.plan.operation import FileOperation
from assent.core.run.journal import RunOutcome
from assent.core.run.permit import Permit


class PermitRun(msgspec.Struct, frozen=True):
    """A permit with what it allows, and how the run that used it ended."""

    permit: Permit
    run: str
    operations: tuple[FileOperation, ...]
    outcome: RunOutcome | None = None
    halted: bool = False


class PermitLog(msgspec.Struct, frozen=True):
    """The permits, folded from their events. Only the newest is kept: no other is unfinished."""

    seq: int = 0
    last: PermitRun | None = None
    command: CommandStarted | None = None  # began, and its end is not recorded

    @property
    def unfinished(self) -> PermitRun | None:
        """The unfinished run, if there is one."""
        return self.last if self.last and self.last.outcome is None else None


def fold_permit(permits: PermitLog, recorded: StoredEvent) -> PermitLog:
    """Returns the log after one more event."""
    match recorded.body:
        case CommandStarted() as command:
            return PermitLog(recorded.seq, permits.last, command)
        case CommandEnded(id=id):
            left = permits.command if permits.command and permits.command.id != id else None
            return PermitLog(recorded.seq, permits.last, left)
        case _:
            return PermitLog(recorded.seq, _changed(permits.last, recorded), permits.command)


def permit_runs(events: Iterable[StoredEvent]) -> list[PermitRun]:
    """Returns every permit of a stream with the end of its run, oldest first."""
    found: dict[str, PermitRun] = {}
    for recorded in events:
        if isinstance(recorded.event, CommandStarted | CommandEnded):
            continue
        last = next(reversed(found.values()), None)
        run = _changed(last, recorded)
        found[run.run] = run
    return list(found.values())


def _changed(last: PermitRun | None, recorded: StoredEvent) -> PermitRun:
    event = recorded.body
    if isinstance(event, PermitGiven):
        return PermitRun(event.permit, event.run, event.operations)
    assert last is not None, "a permit comes before what becomes of it"
    match event:
        case RunHalted():
            return msgspec.structs.replace(last, halted=True)
        case RunResumed():
            return msgspec.structs.replace(last, halted=False)
        case RunEnded(outcome=outcome):
            return msgspec.structs.replace(last, outcome=outcome, halted=False)
        case _:
            raise AssertionError("not an event of a permit")
