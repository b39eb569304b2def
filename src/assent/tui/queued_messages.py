"""Messages that were typed while the model worked: shown, recalled, and said at the next step."""

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Final

import msgspec
from rich.text import Text
from textual.widgets import Static

from assent.core.errors import NotFound
from assent.core.session.event import AttachedFile, MessageQueued, UserTyped
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact

if TYPE_CHECKING:
    from assent.app.engine import Engine


MAX_SHOWN: Final = 3  # messages above the prompt
WHILE_WORKING: Final = "sent at the next step · ↑ edit or remove the last"
DURING_RUN: Final = "sent when the run is over · ↑ edit or remove the last"
AT_REST: Final = "Enter send · ↑ edit or remove the last"


class QueuedText(msgspec.Struct, frozen=True):
    """One message that waits."""

    text: str
    typed: str = ""  # as it was seen at the prompt, with placeholders for long pastes
    message: str = ""  # its id, once it is stored
    images: tuple[AttachedFile, ...] = ()  # that were pasted into it


class QueuedMessages:
    """The queue of the session on the screen, as the user sees it; the store has it, too.

    `add` and `texts` never wait. The other methods read and write the store: call them in a
    thread. A message that is typed before the session exists is stored as soon as it does.
    """

    def __init__(self) -> None:
        self._entries: tuple[QueuedText, ...] = ()
        self._known: set[str] = set()  # ids that were shown, or said, or removed
        self._changing = Lock()  # of the entries
        self._storing = Lock()  # what was typed first is stored first, and said or removed once

    @property
    def texts(self) -> tuple[str, ...]:
        """What waits, oldest first."""
        return tuple(entry.text for entry in self._entries)

    def add(self, text: str, typed: str, images: tuple[AttachedFile, ...] = ()) -> None:
        """Adds a message that was typed."""
        with self._changing:
            self._entries = (*self._entries, QueuedText(text, typed, images=images))

    def see(self, waiting: Iterable[MessageQueued]) -> None:
        """Shows what waits in the session, also what was queued elsewhere."""
        with self._changing:
            new = [one for one in waiting if one.text and one.message not in self._known]
            self._known |= {one.message for one in new}
            found = [QueuedText(one.text, message=one.message, images=one.attached) for one in new]
            self._entries = (*found, *self._entries)

    def clear(self) -> list[str]:
        """Forgets what is shown, for another session; returns what was not stored."""
        with self._changing:
            entries, self._entries, self._known = self._entries, (), set()
        return [entry.text for entry in entries if not entry.message]

    def store(self, engine: "Engine", record: SessionRecord) -> None:
        """Stores what was typed."""
        with self._storing:
            self._store(engine, record)

    def recall(self, engine: "Engine", record: SessionRecord | None) -> QueuedText:
        """Removes the newest message and returns it; an empty one if it was said meanwhile."""
        with self._storing:
            last = self._entries[-1:]
            for entry in last:
                self._drop(entry)
                if entry.message and record is not None:
                    try:
                        engine.message_queues.remove(record, entry.message)
                    except NotFound:
                        return QueuedText("")
                return entry
            return QueuedText("")

    def say(self, engine: "Engine", record: SessionRecord, model: str, agent: str) -> SessionRecord:
        """Says everything that waits to the session, each once, in order."""
        with self._storing:
            self._store(engine, record)
            queues, said = engine.message_queues, {one.message: one for one in self._entries}
            while (message := queues.take(record)) is not None:
                entry = said.get(message.message)
                typed = UserTyped(entry.typed, entry.images) if entry and entry.typed else None
                wanted = msgspec.structs.replace(
                    message, model=message.model or model, agent=message.agent or agent
                )
                error = "The message was not sent."
                try:
                    record = queues.say(engine.sessions, record, wanted, typed)
                    error = ""
                finally:
                    queues.finish(record, message.message, error)
                    if entry is not None:
                        self._drop(entry)
            for entry in said.values():  # it was removed elsewhere
                self._drop(entry)
        return record

    def _store(self, engine: "Engine", record: SessionRecord) -> None:
        for entry in self._entries:
            if not entry.message:
                plain = entry.text == entry.typed  # `@` in a long paste attaches nothing
                queued = MessageQueued("", entry.text, typed=plain, attached=entry.images)
                stored = engine.message_queues.add(record, queued)
                self._replace(entry, msgspec.structs.replace(entry, message=stored.message))

    def _replace(self, entry: QueuedText, now: QueuedText) -> None:
        with self._changing:
            self._known.add(now.message)
            self._entries = tuple(now if one is entry else one for one in self._entries)

    def _drop(self, entry: QueuedText) -> None:
        with self._changing:
            self._entries = tuple(one for one in self._entries if one is not entry)


class QueuedView(Static):
    """What waits, above the prompt."""

    DEFAULT_CSS = """
    QueuedView { height: auto; max-height: 5; padding: 0 2; display: none; }
    QueuedView.open { display: block; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._shown: tuple[object, ...] = ()

    def show_messages(self, texts: tuple[str, ...], hint: str) -> None:
        """Shows messages that wait, each on one line; nothing if there are none."""
        if self._shown == (texts, hint):
            return
        self._shown = (texts, hint)
        self.set_class(bool(texts), "open")
        self.update(queued_text(texts, hint))


def sending_hint(*, working: bool, after_run: bool) -> str:
    """Returns when what waits is sent, and how to edit it."""
    return WHILE_WORKING if working else DURING_RUN if after_run else AT_REST


def queued_text(texts: tuple[str, ...], hint: str) -> Text:
    """Returns the lines about messages that wait, the newest last, and when they are sent."""
    hidden = len(texts) - MAX_SHOWN
    lines = [f"… {hidden} more queued"] if hidden > 0 else []
    lines += [
        f"queued: {visible_line(' '.join(redact(text).split()))}" for text in texts[-MAX_SHOWN:]
    ]
    text = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
    return text.append(f"\n{hint}", "dim")
