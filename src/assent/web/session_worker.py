"""Works on sessions for the server: takes the messages that wait, and drives their turns."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assent.core.errors import AssentError, Busy
from assent.core.llm import StreamDelta
from assent.core.session.event import MessageAdded, MessageQueued, Question, UserTyped
from assent.core.session.record import SessionRecord
from assent.render.log import live_row
from assent.render.rows import encoded
from assent.web.event_feed import EventFeed, FeedMessage, encode_message
from assent.web.host import ServerHost

if TYPE_CHECKING:
    from assent.app.engine import Engine

BUSY_S = 1.0  # between two looks at a session that another process works on


class RecordedAsker:
    """Implements ports.Asker: questions stay on record until somebody answers them, anywhere."""

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

    def work(self, root: str, session: str) -> bool:
        """Takes the next message of a session and drives its turn; tells whether more waits."""
        engine = self._host.engine(root)
        record = engine.sessions.load(session)
        message = engine.message_queues.take(record)
        if message is None:
            return False
        try:
            self._drive(root, engine, record, message)
        except Busy:
            raise  # another process works there; the message keeps its place
        except AssentError as error:
            engine.message_queues.finish(record, message.message, error.message)
        else:
            engine.message_queues.finish(record, message.message)
        return engine.message_queues.queue(record).next is not None

    def _drive(
        self, root: str, engine: "Engine", record: SessionRecord, message: MessageQueued
    ) -> None:
        runtime = self._host.runtime(root, RecordedAsker(), message.model, message.agent)
        try:
            record = self._said(engine, record, message)
            for heard in engine.sessions.work(record, runtime.driver, runtime.tools):
                if isinstance(heard, StreamDelta):
                    self._tell(engine.workspace, record.session, heard)
        finally:
            runtime.end()
            runtime.models.close()

    def _said(
        self, engine: "Engine", record: SessionRecord, message: MessageQueued
    ) -> SessionRecord:
        """Adds a message to its session, once: a process that ended may have done so already."""
        if message.plan_mode:  # decided when it runs, whatever the session has become
            record = engine.sessions.set_mode(record, "plan")
        if not message.text:
            return record
        events = engine.sessions.events(record)
        if any(isinstance(e.event, MessageAdded) and e.event.id == message.message for e in events):
            return record
        return engine.sessions.say(
            record, message.text, message.agent, message.model,
            typed=UserTyped(message.text), id=message.message,
        )  # fmt: skip

    def _tell(self, workspace: str, session: str, heard: StreamDelta) -> None:
        body = {"kind": heard.kind, "text": heard.text}
        row = {**live_row("delta", session, "", body), "workspace": workspace}
        self._feed.tell(
            FeedMessage(0, workspace, session, encode_message(encoded(row), 0, "delta"))
        )
