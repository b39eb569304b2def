"""Commands: runs what a call may run outside plan mode, on record before and after (law 5).

A command is the executor's declared exception (law 1): what it changes cannot be known before,
so what stands there is recorded before, and what is other after.
"""

from collections.abc import Generator, Iterator
from typing import Final

import msgspec

from assent.core.changes import Changes
from assent.core.errors import AssentError, Refused, StoreError
from assent.core.event import CommandEnded, CommandStarted
from assent.core.journal import finished
from assent.core.paths import normal, shown
from assent.core.permit import PermitSource
from assent.core.process import Chunk, Ended, Errand, Limits
from assent.core.session import SessionRecord
from assent.core.tool import Command, Outcome
from assent.engine.doors import Doors, Place
from assent.engine.plan.ledger import Ledger
from assent.engine.run.deeds import Deeds
from assent.engine.run.ends import MOST_NAMED, TOLD, UNSEEN, Change, end, in_words, listed, since
from assent.engine.run.recorded import Snapshot
from assent.engine.run.recording import Recorder
from assent.engine.run.runs import Runs
from assent.ports import Process
from assent.tools.looking.commands import gathered

_PROCESSES, _MEMORY = 1024, 8 << 30  # builds and tests need more than looking around
_NOT_RUN: Final = Ended(126, "start")
_STOPPED: Final = Ended(130, "interrupted")
_CLOSED: Final = ("Read-only file system", "Device or resource busy")  # as the system says it
_FREED: Final = (
    "Git's own files cannot change in the sandbox, so adding and committing fail there; the person "
    'can answer "without the sandbox" where they are asked, or do it themselves.'
)
UNKNOWN: Final = (
    "It began and its end is not on record: whether it did anything is not known. Look at the "
    "files before you run it again."
)

Running = Generator[Chunk, None, Outcome]
Seen = tuple[tuple[Change, ...] | None, str]  # what changed, and why that could not be recorded


class Order(msgspec.Struct, frozen=True):
    """A command of a call, with the consent that covers it."""

    session: SessionRecord
    call: str
    command: Command
    source: PermitSource
    detail: str
    confined: bool = True
    seconds: float = 120  # the person's limit; the call may want less


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

    def unseen(self, session: str, call: str) -> str:
        """Says what is known of the command of a call if it began and nobody saw its end."""
        commands = Deeds(self._doors, self._runs.ledger()).commands
        own = [c for c in commands if (c.started.session, c.started.call) == (session, call)]
        last = own[-1].ended if own else CommandEnded("", 0)
        if last is None:
            return UNKNOWN
        return f"{UNKNOWN} {since(last)}" if last.cut == UNSEEN.cut else ""

    def _check(self, order: Order) -> None:
        if order.session.mode == "plan":
            raise Refused("In plan mode only commands that read run. Nothing was run.")
        folder = order.command.folder
        if folder and normal(folder) != folder:
            raise Refused(f"{shown(folder)} is no folder of the workspace. Nothing was run.")

    def _recorded(self, ledger: Ledger, order: Order, process: Process) -> Running:
        before = self._recorder.take()
        begun = self._begun(order, self._recorder.keep(before))
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
        except Refused:
            ended = _NOT_RUN
            raise
        finally:
            seen = self._close(ledger, begun, ended, before)
        return _outcome(order, begun.id, (parts, ended), seen)

    def _parts(self, order: Order, process: Process) -> Iterator[Chunk | Ended]:
        command = order.command
        folder = self._place.root + (b"/" + command.folder if command.folder else b"")
        seconds = min(command.seconds or order.seconds, order.seconds)
        limits = Limits(seconds=seconds, processes=_PROCESSES, memory=_MEMORY)
        errand = Errand(command.line)
        yield from process.perform(errand, folder, limits, confined=order.confined)

    def _begun(self, order: Order, before: str) -> CommandStarted:
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
            before,
        )

    def _append(self, ledger: Ledger, event: CommandStarted | CommandEnded) -> None:
        self._doors.store.append(ledger.permit_batch(ledger.book(), event))

    def _close(self, ledger: Ledger, begun: CommandStarted, ended: Ended, before: Snapshot) -> Seen:
        """Puts an end on record; without what an undo needs it stays open, to be reckoned later."""
        try:
            found = Changes() if ended is _NOT_RUN else self._recorder.changes(before)
            self._append(ledger, end(self._doors.blobs, begun.id, ended, found))
        except StoreError as error:
            return None, error.message
        except AssentError as error:
            self._append(ledger, CommandEnded(begun.id, ended.code, ended.cut))
            return None, error.message
        return listed(found), ""


def _outcome(
    order: Order,
    name: str,
    said: tuple[list[Chunk], Ended],
    seen: Seen,
) -> Outcome:
    (parts, ended), (changes, why) = said, seen
    outcome = gathered(iter((*parts, ended)), order.command.line)
    named = None if changes is None else [shown(each.path) for each in changes[:MOST_NAMED]]
    metadata = {**outcome.metadata, "command": name, "changed": named}
    notes = [in_words(changes, why), *_hindrances(outcome, ended)]
    text = "\n".join([outcome.text, *(f"[{note}]" for note in notes)])
    return msgspec.structs.replace(outcome, text=text, metadata=metadata)


def _hindrances(outcome: Outcome, ended: Ended) -> list[str]:
    """Says what a confined command could not change or see, where it seems to have tried."""
    told = any(sign in outcome.text for sign in _CLOSED)
    ruled = ended.code and any(row.endswith(")") for row in ended.closed)
    if not ended.closed or not (told or ruled):
        return []
    rows, more = ended.closed[:TOLD], len(ended.closed) - TOLD
    further = f", and {more} more" if more > 0 else ""
    freed = f" {_FREED}" if ".git" in outcome.text else ""
    return [f"Read-only for this command: {', '.join(rows)}{further}.{freed}"]
