"""Runs one command of a plan, with journal entries before and after it, and keeps its output."""

from collections.abc import Generator
from contextlib import closing
from typing import Final, TypeAlias

import msgspec

from assent.core.errors import AssentError, Refused
from assent.core.plan.operation import RunCommand
from assent.core.run.journal import (
    CommandEndedEntry,
    CommandProgress,
    CommandStartedEntry,
    HaltedEntry,
    LiveCommandOutput,
    PathConflict,
)
from assent.core.run.state import UNKNOWN_END
from assent.core.run.workspace_changes import FileStateChanges, encode_changes
from assent.core.shell.process import OutputChunk, ProcessResult, signal_of
from assent.ports import BlobStore, Journal, PlanCommandRunner
from assent.ports.file_writer import FileWriter

KEPT_EDGE_BYTES: Final = (
    512 << 10
)  # bytes of output that are kept from its beginning, and from its end
CommandChunks: TypeAlias = Generator[OutputChunk | ProcessResult, None, None]
NOT_RUN: Final = ProcessResult(126, "start")
STOPPED: Final = ProcessResult(130, "interrupted")
END_UNKNOWN: Final = ProcessResult(-1, UNKNOWN_END)
FAILURE_TEXTS: Final = {
    "start": "the command could not be started",
    "interrupted": "the command was interrupted",
    UNKNOWN_END: ("the command started, but its end was not recorded, so its result is unknown"),
    "record": "the command ended, but its changes could not be recorded",
    "disk": "the command ended, but its changes may not be safely on disk",
}


class DueCommand(msgspec.Struct, frozen=True):
    """A command to run now: its index in the run, the plan's digest, files changed so far."""

    index: int
    command: RunCommand
    digest: str
    left: FileStateChanges = {}
    total: int = 1  # operations on the way that the run is on
    about: int = 0  # the operation of the plan that it is, or that it undoes
    named: str = "it"  # how that operation calls it


class CommandExecution:
    """Runs one command after its start is recorded (law 5), and returns its result."""

    def __init__(
        self, commander: PlanCommandRunner, writer: FileWriter, blobs: BlobStore, journal: Journal
    ) -> None:
        self._commander = commander
        self._writer = writer
        self._blobs = blobs
        self._journal = journal

    def run(
        self, run: str, order: DueCommand
    ) -> Generator[LiveCommandOutput | CommandProgress, None, CommandEndedEntry | HaltedEntry]:
        """Runs a command and yields its output live. Closing this stops it, which is recorded."""
        doing = CommandProgress("before", order.index, order.total, order.command)
        yield doing
        try:
            self._commander.check_allowed(order.command)
            before = self._commander.record()
        except AssentError as error:
            why = f"{order.named} did not start: {error.message}"
            return HaltedEntry((PathConflict(order.about, b"", b"", why),))
        yield msgspec.structs.replace(doing, what="command")
        said, ended = CapturedOutput(), STOPPED
        try:
            self._journal.write(run, CommandStartedEntry(order.index, before))
            ended = yield from self._heard(order, said)
            yield msgspec.structs.replace(doing, what="after")
            return self._ran(order.index, before, ended, said)
        except (KeyboardInterrupt, GeneratorExit):
            if self._began(run):  # then how it ended must be on record, too
                self._journal.write(run, self._ran(order.index, before, ended, said))
            raise

    def _began(self, run: str) -> bool:
        """Tells whether the intent is durable: an interrupt may come before it, or right after."""
        return isinstance(self._journal.read(run)[-1], CommandStartedEntry)

    def _heard(
        self, order: DueCommand, said: "CapturedOutput"
    ) -> Generator[LiveCommandOutput, None, ProcessResult]:
        """Passes on a command's output; returns how it ended, or that it could not begin."""
        try:
            with closing(self._parts(order)) as parts:
                return (yield from _heard(order.index, parts, said))
        except AssentError as error:
            said.add(error.message.encode())
            return NOT_RUN if isinstance(error, Refused) else END_UNKNOWN

    def record_lost_end(self, began: CommandStartedEntry, order: DueCommand) -> CommandEndedEntry:
        """Records the changes of a command whose end was not seen (law 6), unless it still runs."""
        self._commander.check_at_rest()
        said = CapturedOutput()
        said.add(self._commander.clean_up(order.command, order.left).encode())
        return self._ran(began.index, began.before, END_UNKNOWN, said)

    def _parts(self, order: DueCommand) -> CommandChunks:
        yield from self._commander.run(order.command, order.digest, order.left)

    def _ran(
        self, index: int, before: str, ended: ProcessResult, said: "CapturedOutput"
    ) -> CommandEndedEntry:
        """Keeps what a command changed and said; what cannot be kept makes it a failed one."""
        cut, changes, output = ended.cut, "", ""
        try:
            self._writer.sync_to_disk(
                foreign=True
            )  # what is said to be done must outlive a power cut
            changes, _ = self._blobs.keep([encode_changes(self._commander.changes(before))])
            output = self._blobs.keep(said.kept())[0] if said.size else ""
            self._blobs.flush()
        except OSError:
            cut = cut or "disk"
        except AssentError:
            cut, changes = cut or "record", ""
        return CommandEndedEntry(index, ended.code, cut, changes, output, ended.running)


class CapturedOutput:
    """A command's output: its beginning and its end, and how much is missing in between."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, content: bytes) -> None:
        self.size += len(content)
        room = KEPT_EDGE_BYTES - len(self._head)
        self._head += content[:room]
        self._tail += content[room:]
        if len(self._tail) > 2 * KEPT_EDGE_BYTES:
            del self._tail[:-KEPT_EDGE_BYTES]

    def kept(self) -> list[bytes]:
        tail = bytes(self._tail[-KEPT_EDGE_BYTES:])
        missing = self.size - len(self._head) - len(tail)
        marker = b"\n[%d bytes are not kept]\n" % missing if missing else b""
        return [bytes(self._head), marker, tail]


def _heard(
    index: int, parts: CommandChunks, said: CapturedOutput
) -> Generator[LiveCommandOutput, None, ProcessResult]:
    """Passes on the output of a command, and returns how it ended."""
    ended = END_UNKNOWN
    for part in parts:
        if isinstance(part, ProcessResult):
            ended = part
            continue
        said.add(part.content)
        yield LiveCommandOutput(index, part.content, part.error)
    return ended


def exit_text(code: int) -> str:
    """Returns how a command ended that was not stopped."""
    signal = signal_of(code)
    return f"the command ended with exit code {code}{f' ({signal})' if signal else ''}"


def failure_text(ended: CommandEndedEntry) -> str:
    """Says why a command failed."""
    if not ended.cut:
        return exit_text(ended.code)
    return FAILURE_TEXTS.get(ended.cut, f"the command was stopped before it finished ({ended.cut})")
