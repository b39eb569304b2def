"""What each turn of a session changed in files, by runs, permits and commands (F149)."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import msgspec

from assent.agent.services import AgentServices
from assent.agent.session_repository import SessionRepository
from assent.core.errors import NotFound
from assent.core.event import StoredEvent
from assent.core.llm import TextPart
from assent.core.plan.operation import FileOperation, FileState, MoveFile, footprint
from assent.core.session.event import MessageAdded, PlanLinked, TurnStarted
from assent.core.session.record import SessionRecord
from assent.core.text.secrets import redact
from assent.core.undo import AppliedChange, combined_operations, undo_gaps
from assent.render.diff import LIMIT, operation_diff
from assent.render.turn_changes import FileChange, TurnChanges, file_change
from assent.runs.undo.targets import UndoTargets

MAX_TITLE_CHARS = 60  # characters of the user's message
MAX_CALL_CONTENT = 256 << 10  # bytes of a content whose change is shown with the call


class _TurnStart(msgspec.Struct, frozen=True):
    """A turn of a session: its number, where in the log and when it began, and its message."""

    number: int
    position: int
    at: str
    said: str


class SessionTurnChanges:
    """Returns what the turns of a session changed; changes nothing itself.

    What its children did, and runs of its plans, belong to the turn that had begun before. Commands
    that the user typed belong to no turn.
    """

    def __init__(self, services: AgentServices) -> None:
        self._services = services

    def turns(self, record: SessionRecord) -> list[TurnChanges]:
        """Returns every turn with what it changed, oldest first."""
        events = self._diary(record).read(record.session)
        turns = list(_turns(events))
        begins = [turn.position for turn in turns]
        back = UndoTargets(self._services.ports, self._services.runs.repository())
        runs: dict[int, list[str]] = {}
        for run in sorted(self._runs(back, record, events), key=lambda run: back.began[run]):
            runs.setdefault(bisect_left(begins, back.began[run]), []).append(run)
        early = [_TurnStart(0, 0, "", "")] if 0 in runs else []
        found = [*early, *turns]
        offset = 1 - len(early)
        return [self._changes(back, turn, runs.get(n + offset, ())) for n, turn in enumerate(found)]

    def turn(self, record: SessionRecord, number: int) -> TurnChanges:
        """Returns one turn by its number."""
        for changes in self.turns(record):
            if changes.turn == number:
                return changes
        raise NotFound(
            f"Session {record.slug} has no turn {number}.", f"assent sessions diff {record.slug}"
        )

    def session(self, record: SessionRecord) -> TurnChanges:
        """Returns what all turns changed together, without what was undone."""
        events = self._diary(record).read(record.session)
        back = UndoTargets(self._services.ports, self._services.runs.repository())
        runs = sorted(self._runs(back, record, events), key=lambda run: back.began[run])
        changes = [change for run in runs for change in back.applied.of(run)]
        builds = _builds(back) if changes else {}
        left = [
            back.undone.rest(change)
            for change in changes
            if not back.is_undone(change.token, builds.get(change.run, ""))
        ]
        return TurnChanges(0, files=self._files(left), runs=tuple(runs), gaps=_gaps(left))

    def patch(self, operations: Sequence[FileOperation]) -> str:
        """Returns what a call changed, with secrets masked; nothing if it cannot be shown."""
        patches = [
            operation_diff(op, *[self._masked(state) for state in states])
            for op, states in [(op, _states(op)) for op in operations]
        ]
        return "".join([patch for patch in patches if patch])

    def _masked(self, state: FileState | None) -> bytes | None:
        if state is None or state.size > MAX_CALL_CONTENT:
            return None
        content = self._content(state)
        if content is None or b"\0" in content:
            return content
        return redact(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _runs(
        self, back: UndoTargets, record: SessionRecord, events: Sequence[StoredEvent]
    ) -> Iterator[str]:
        """Yields every run of a session and its children."""
        family, changes = self._family(record), back.applied
        plans = {one.event.plan_id for one in events if isinstance(one.event, PlanLinked)}
        for permit in changes.permits:
            if permit.permit.session in family and permit.outcome == "done":
                yield permit.run
        for command in changes.commands:
            if command.started.session in family and command.started.source != "person":
                yield command.started.id
        for plan in changes.records:
            if not plan.undoes and (plan.plan_id in plans or plan.session == record.slug):
                yield from (note.run for note in plan.runs if not note.session)

    def _changes(self, back: UndoTargets, turn: _TurnStart, runs: Sequence[str]) -> TurnChanges:
        changes = [change for run in runs for change in back.applied.of(run)]
        builds = _builds(back) if changes else {}
        undone = [
            change for change in changes if back.is_undone(change.token, builds.get(change.run, ""))
        ]
        taken = "all" if len(undone) == len(changes) else "some"
        return TurnChanges(
            turn.number,
            turn.at,
            turn.said,
            self._files(changes),
            tuple(runs),
            taken if undone else "",  # type: ignore[arg-type]
            _gaps(changes),
        )

    def _files(self, changes: Sequence[AppliedChange]) -> tuple[FileChange, ...]:
        """Returns the net changes of files."""
        operations = combined_operations(changes) if changes else ()
        return tuple(file_change(op, self._diff(op)) for op in operations)

    def _diff(self, op: FileOperation) -> str | None:
        return operation_diff(op, *[self._content(state) for state in _states(op)])

    def _content(self, state: FileState | None) -> bytes | None:
        """Returns a content, unless it is too large to be shown, or was pruned."""
        blobs = self._services.ports.blobs
        if state is None or state.size > LIMIT or not blobs.has(state.digest):
            return None
        return blobs.read(state.digest)

    def _family(self, record: SessionRecord) -> set[str]:
        """Returns the session and all its current and former children."""
        family, records = {record.session}, self._diary(record).all()
        size = 0
        while size < len(family):
            size = len(family)
            family |= {each.session for each in records if each.parent in family}
        return family

    def _diary(self, record: SessionRecord) -> SessionRepository:
        return SessionRepository(self._services.ports, record.workspace)


def _states(op: FileOperation) -> tuple[FileState | None, FileState | None]:
    """Returns the states whose contents a diff compares."""
    if isinstance(op, MoveFile):
        return None, None
    _, before, after = footprint(op)[0]
    return before, after


def _gaps(changes: Sequence[AppliedChange]) -> tuple[str, ...]:
    """Returns the commands whose changes are not on record."""
    return tuple(gap.line for gap in undo_gaps(changes) if gap.path is None and gap.command)


def _builds(back: UndoTargets) -> dict[str, str]:
    """Returns the text plan build that each run and command belongs to."""
    permits = {one.run: one.permit.build for one in back.applied.permits}
    return permits | {one.started.id: one.started.build for one in back.applied.commands}


def _turns(events: Sequence[StoredEvent]) -> Iterator[_TurnStart]:
    said = ""
    for one in events:
        match one.event:
            case MessageAdded(parts=parts, synthetic=""):
                text = " ".join(part.text for part in parts if isinstance(part, TextPart))
                said = " ".join(text.split())[:MAX_TITLE_CHARS]
            case TurnStarted(turn):
                yield _TurnStart(turn, one.position, one.at, said)
            case _:
                pass
