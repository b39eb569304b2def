"""Works on sessions for the server: takes the messages that wait, and drives their turns."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from assent.core.errors import AssentError, Busy
from assent.core.llm import StreamDelta
from assent.core.session.event import MessageQueued, Question
from assent.core.session.record import SessionRecord, is_turn_owed
from assent.render.log import DeltaRedactor, live_row
from assent.render.rows import Row, encoded
from assent.web.event_feed import EventFeed, FeedMessage, encode_message
from assent.web.host import ServerHost

if TYPE_CHECKING:
    from assent.app.engine import Engine

BUSY_S: Final = 1.0  # between two looks at a session that another process works on
FAULT: Final = "A fault of Assent ended the turn. The session is kept."


class RecordedAsker:
    """Implements ports.Asker: questions stay on record until a user answers them, anywhere."""

    defers = True
    present = False

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], str]
    ) -> tuple[tuple[str, ...], ...] | None:
        return None


class SessionWorker:
    """Drives one session at a time in the thread that calls it."""

    def __init__(self, host: ServerHost, feed: EventFeed) -> None:
        self._host = host
        self._feed = feed
        self._restarted: set[str] = set()  # sessions that were stopped, and are to go on

    def restart(self, session: str) -> None:
        """Lets a session that a person stopped go on."""
        self._restarted.add(session)

    def work(self, root: str, session: str) -> float | None:
        """Takes the next message of a session and drives its turn.

        Returns in how many seconds to look there again, or None if nothing waits.
        """
        engine = self._host.engine(root)
        record, queues = engine.sessions.load(session), engine.message_queues
        if record.halt and session not in self._restarted:
            return None
        message = queues.take(record)
        if message is None:
            return None
        if record.deleted:
            queues.finish(record, message.message, "The session was deleted.")
            return 0
        error = ""
        self._restarted.discard(session)
        try:
            self._drive(root, engine, record, message)
        except Busy as busy:
            if engine.sessions.is_at_work(record):
                return BUSY_S  # another process works there, and the message waits for it
            error = busy.message
        except AssentError as failed:
            error = failed.message
        except Exception:
            queues.finish(record, message.message, FAULT)
            raise
        queue = queues.finish(record, message.message, error)
        # The next message is not taken before open questions are answered.
        return 0 if queue.next and not engine.sessions.load(session).questions else None

    def _drive(
        self, root: str, engine: "Engine", record: SessionRecord, message: MessageQueued
    ) -> None:
        record = self._said(engine, record, message)
        if not (is_turn_owed(record) or engine.sessions.is_revision_due(record)):
            return  # the process that ended before had finished it
        runtime, pieces = self._host.runtime(root, RecordedAsker()), DeltaRedactor()
        try:
            for heard in engine.sessions.work(record, runtime.driver, runtime.tools):
                for piece in pieces.take(heard):
                    self._tell(engine.workspace, record.session, piece)
        finally:
            runtime.end()
            runtime.models.close()

    def _said(
        self, engine: "Engine", record: SessionRecord, message: MessageQueued
    ) -> SessionRecord:
        """Adds a message to its session, once: a process that ended may have done so already."""
        if message.plan_mode:  # decided when it runs, whatever the session has become
            record = engine.sessions.set_mode(record, "plan")
        return engine.message_queues.say(engine.sessions, record, message)

    def _tell(self, workspace: str, session: str, piece: StreamDelta) -> None:
        body: Row = {"kind": piece.kind, "text": piece.text}
        row = {**live_row("delta", session, "", body), "workspace": workspace}
        self._feed.tell(
            FeedMessage(0, workspace, session, encode_message(encoded(row), 0, "delta"))
        )
