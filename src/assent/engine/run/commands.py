"""Commands: runs what a call may run outside plan mode, on record before and after (law 5).

A command is the executor's declared exception (law 1): what it changes cannot be known before,
so what stands there is recorded before, and what is other after.
"""

from collections.abc import Generator, Iterator
from typing import Final

import msgspec

from assent.core.changes import Changes, encoded
from assent.core.errors import AssentError, Refused
from assent.core.event import CommandEnded, CommandStarted
from assent.core.journal import finished
from assent.core.operation import FileState, footprint
from assent.core.paths import normal, one_line, shown
from assent.core.permit import PermitSource
from assent.core.process import Chunk, Ended, Errand, Limits
from assent.core.session import SessionRecord
from assent.core.tool import Command, Outcome
from assent.engine.doors import Doors, Place
from assent.engine.plan.ledger import Ledger
from assent.engine.run.recording import Recorder, Snapshot
from assent.engine.run.runs import Runs
from assent.ports import Process
from assent.tools.looking.commands import gathered

MOST_NAMED: Final = 100  # changed files that the record names
_TOLD: Final = 20  # changed files that the model is told
_PROCESSES, _MEMORY = 1024, 8 << 30  # builds and tests need more than looking around
_NOT_RUN: Final = Ended(126, "start")
_STOPPED: Final = Ended(130, "interrupted")
_CLOSED: Final = ("Read-only file system", "Device or resource busy")  # as the system says it
_FREED: Final = (
    "Git's own files cannot change in the sandbox, so adding and committing fail there; the person "
    'can answer "without the sandbox" where they are asked, or do it themselves.'
)
REPOSITORY: Final = (
    " It made a repository: git does there what its settings say, so the person should look at "
    "them before they use it."
)
UNKNOWN: Final = (
    "It began and its end is not on record: whether it did anything is not known. Look at the "
    "files before you run it again."
)

Running = Generator[Chunk, None, Outcome]


class Order(msgspec.Struct, frozen=True):
    """A command of a call, with the consent that covers it."""

    session: SessionRecord
    call: str
    command: Command
    source: PermitSource
    detail: str
    confined: bool = True
    seconds: float = 120  # the person's limit; the call may want less


class Change(msgspec.Struct, frozen=True):
    """A file that is other than before: new, changed or gone."""

    path: bytes
    how: str


class Commands:
    """The verb that runs command lines. Who calls it has a consent to name."""

    def __init__(self, doors: Doors, place: Place, runs: Runs) -> None:
        self._doors = doors
        self._place = place
        self._runs = runs
        self._recorder = Recorder(doors.files, doors.blobs, place)

    def run(self, order: Order, process: Process) -> Running:
        """Runs a command while no build can; yields its output, and returns it with what changed.

        Raises where nothing has run. Closing it ends the command, which is recorded, too.
        """
        self._check(order)
        ledger = self._runs.ledger()
        with self._doors.locks.hold(ledger.workspace, f"session {order.session.slug}"):
            finished(self._runs.settle_under(ledger))
            return (yield from self._recorded(ledger, order, process))

    def left(self) -> CommandStarted | None:
        """Returns the last command if it began and its end is not on record."""
        ledger = self._runs.ledger()
        return ledger.book().command if ledger.workspace else None

    def _check(self, order: Order) -> None:
        if order.session.mode == "plan":
            raise Refused("In plan mode only commands that read run. Nothing was run.")
        folder = order.command.folder
        if folder and normal(folder) != folder:
            raise Refused(f"{shown(folder)} is no folder of the workspace. Nothing was run.")

    def _recorded(self, ledger: Ledger, order: Order, process: Process) -> Running:
        before = self._recorder.take()
        begun = self._begun(order)
        self._append(ledger, begun)
        parts: list[Chunk] = []
        ended = _STOPPED
        try:
            for part in self._parts(order, process):
                if isinstance(part, Ended):
                    ended = part
                    continue
                parts.append(part)
                yield part
        except AssentError:
            ended = _NOT_RUN
            raise
        finally:
            found = Changes() if ended is _NOT_RUN else self._found(before)
            changes = _listed(found)
            self._append(ledger, _end(begun.id, ended, changes, self._kept(found)))
        return _outcome(order, begun.id, (parts, ended), changes)

    def _parts(self, order: Order, process: Process) -> Iterator[Chunk | Ended]:
        command = order.command
        folder = self._place.root + (b"/" + command.folder if command.folder else b"")
        seconds = min(command.seconds or order.seconds, order.seconds)
        limits = Limits(seconds=seconds, processes=_PROCESSES, memory=_MEMORY)
        errand = Errand(command.line)
        yield from process.perform(errand, folder, limits, confined=order.confined)

    def _begun(self, order: Order) -> CommandStarted:
        return CommandStarted(
            self._doors.clock.new_id(),
            order.session.session,
            order.call,
            order.command.line,
            shown(order.command.folder),
            order.source,
            order.detail,
            order.confined,
            order.session.turns,
            order.session.build,
        )

    def _append(self, ledger: Ledger, event: CommandStarted | CommandEnded) -> None:
        self._doors.store.append(ledger.permit_batch(ledger.book(), event))

    def _found(self, before: Snapshot) -> Changes:
        try:
            return self._recorder.changes(before)
        except AssentError:  # the end goes on record all the same
            return Changes(known=False)

    def _kept(self, found: Changes) -> str:
        """Keeps what an undo rests on; returns its blob, if there is anything to undo or to say."""
        if not found.known or not (found.operations or found.skipped):
            return ""
        digest, _ = self._doors.blobs.keep([encoded(found)])
        self._doors.blobs.flush()
        return digest


def _listed(found: Changes) -> tuple[Change, ...] | None:
    """Returns every file that is other than before; None if there are too many files to tell."""
    if not found.known:
        return None
    kept = [
        Change(path, _how(*states)) for op in found.operations for path, *states in footprint(op)
    ]
    skipped = [Change(each.path, each.how) for each in found.skipped]
    return tuple(sorted((*kept, *skipped), key=lambda change: change.path))


def _how(before: FileState | None, after: FileState | None) -> str:
    return "new" if before is None else "gone" if after is None else "changed"


def _end(name: str, ended: Ended, changes: tuple[Change, ...] | None, kept: str) -> CommandEnded:
    if changes is None:
        return CommandEnded(name, ended.code, ended.cut)
    named = tuple(shown(change.path) for change in changes[:MOST_NAMED])
    more = len(changes) - len(named)
    return CommandEnded(name, ended.code, ended.cut, named, more, kept)


def _outcome(
    order: Order,
    name: str,
    said: tuple[list[Chunk], Ended],
    changes: tuple[Change, ...] | None,
) -> Outcome:
    parts, ended = said
    outcome = gathered(iter((*parts, ended)), order.command.line)
    named = None if changes is None else [shown(each.path) for each in changes[:MOST_NAMED]]
    metadata = {**outcome.metadata, "command": name, "changed": named}
    notes = [in_words(changes), *_hindrances(outcome, ended)]
    text = "\n".join([outcome.text, *(f"[{note}]" for note in notes)])
    return msgspec.structs.replace(outcome, text=text, metadata=metadata)


def _hindrances(outcome: Outcome, ended: Ended) -> list[str]:
    """Says what a confined command could not change or see, where it seems to have tried."""
    told = any(sign in outcome.text for sign in _CLOSED)
    ruled = ended.code and any(row.endswith(")") for row in ended.closed)
    if not ended.closed or not (told or ruled):
        return []
    rows, more = ended.closed[:_TOLD], len(ended.closed) - _TOLD
    further = f", and {more} more" if more > 0 else ""
    freed = f" {_FREED}" if ".git" in outcome.text else ""
    return [f"Read-only for this command: {', '.join(rows)}{further}.{freed}"]


def in_words(changes: tuple[Change, ...] | None) -> str:
    """Says which files a command changed."""
    if changes is None:
        return "Which files it changed is not known: the workspace has too many to look through."
    if not changes:
        return "It changed no files in the workspace."
    rows = [f"{one_line(each.path)} ({each.how})" for each in changes[:_TOLD]]
    more = f", and {len(changes) - _TOLD} more" if len(changes) > _TOLD else ""
    made = [each for each in changes if each.how == "new" and each.path.endswith(b"/.git")]
    return f"Files: {', '.join(rows)}{more}.{REPOSITORY if made else ''}"
