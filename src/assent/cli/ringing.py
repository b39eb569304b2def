"""Ringing: a turn that rings, or shows a notification, when it waits for the person."""

import os
import sys

from assent.cli.forms import Shown
from assent.core.event import StoredEvent
from assent.core.llm.request import StreamDelta
from assent.core.session.record import SessionRecord
from assent.render.notification import NotificationFilter, NotificationMethod, notification_sequence
from assent.views.talk import Ending


class Ringing:
    """Implements Shown around another form; only where stderr is a terminal."""

    def __init__(self, inner: Shown, way: NotificationMethod, after_s: float) -> None:
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

    def end(self, ending: Ending) -> None:
        self._inner.end(ending)
