"""Turn output that also rings or notifies when the turn waits for the person."""

import os
import sys

from assent.cli.goal.output import TurnOutput
from assent.cli.goal.result import TurnResult
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.session.record import SessionRecord
from assent.render.notification import NotificationFilter, NotificationMethod, notification_sequence


class NotifyingTurnOutput:
    """Implements TurnOutput around another; only where stderr is a terminal."""

    def __init__(self, inner: TurnOutput, way: NotificationMethod, after_s: float) -> None:
        self._inner = inner
        self._way = way
        self._after_s = after_s
        self._notices = NotificationFilter("", after_s)

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        self._notices = NotificationFilter(record.session, self._after_s)
        self._inner.begin(record, fresh=fresh)

    def hear(self, heard: StoredEvent | StreamDelta) -> None:
        self._inner.hear(heard)
        words = self._notices.take(heard) if isinstance(heard, StoredEvent) else None
        if words and sys.stderr.isatty():
            sys.stderr.write(notification_sequence(self._way, words, os.environ))
            sys.stderr.flush()

    def end(self, ending: TurnResult) -> None:
        self._inner.end(ending)
