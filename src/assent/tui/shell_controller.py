"""Runs shell commands that the user typed in a thread, and reports output by messages."""

from codecs import getincrementaldecoder
from collections.abc import Mapping
from threading import Thread
from typing import Any

from assent.core.errors import AssentError, Busy
from assent.core.session.record import SessionRecord
from assent.tui.host import ScreenHost
from assent.tui.messages import ShellOrigin, ShellOver, ShellPrinted, TaskFailed
from assent.tui.session_controller import SessionController
from assent.tui.workers import Coalescer

PAUSE_S = 0.05
BUSY = "Your command is still running. Press Esc to stop it first."


class ShellController:
    """Runs one command at a time, on record; see `SessionCommands.run_as_user`."""

    def __init__(self, host: ScreenHost, sitting: SessionController, messages: Coalescer) -> None:
        self._host = host
        self._sitting = sitting
        self._messages = messages
        self._thread: Thread | None = None
        self.at_work = False  # a command runs, and its end was not reported

    def run(self, line: str) -> None:
        """Runs a line that the user typed."""
        if self.at_work:
            raise Busy(BUSY)
        self.at_work = True
        record = self._sitting.record  # the user may look at another session soon
        name = (record.session, record.slug) if record else ("", "")
        typed = (line, record, ShellOrigin(*name, self._sitting.view))
        self._thread = Thread(target=self._drive, args=typed, name="shell")
        self._thread.start()

    def interrupt(self) -> bool:
        """Ends the command; tells whether there was one."""
        return self.at_work and self._host.engine().session_commands.interrupt()

    def end(self) -> None:
        """Ends the command, and waits until its end is on record."""
        while self._thread is not None and self._thread.is_alive():
            self.interrupt()
            self._thread.join(PAUSE_S)

    def _drive(self, line: str, record: SessionRecord | None, origin: ShellOrigin) -> None:
        words = "It did not run."
        try:
            words = self._ran(line, record, origin)
        except AssentError as error:
            self._messages.post(TaskFailed(error))
        except Exception as error:
            self._messages.post(TaskFailed(self._messages.internal_error(error)))
        finally:
            self._messages.post(ShellOver(words, origin), self._rest)

    def _rest(self) -> None:
        self.at_work = False

    def _ran(self, line: str, record: SessionRecord | None, origin: ShellOrigin) -> str:
        decoder = getincrementaldecoder("utf-8")("backslashreplace")
        running = self._host.engine().session_commands.run_as_user(
            record, line, self._host.process()
        )
        while True:
            try:
                self._messages.post(ShellPrinted(decoder.decode(next(running).content), origin))
            except StopIteration as end:
                self._messages.post(ShellPrinted(decoder.decode(b"", final=True), origin))
                return _ended(end.value.metadata)


def _ended(facts: Mapping[str, Any]) -> str:
    """Returns how a command ended, and what it changed, as far as that is recorded."""
    changed: list[str] | None = facts.get("changed")
    files = f" Changed: {', '.join(changed)}." if changed else ""
    return f"Exit code {facts.get('exit', 0)}.{files}"
