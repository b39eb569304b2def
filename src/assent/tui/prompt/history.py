"""Prompt history: earlier messages, reached with the arrow keys; drafts are kept."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from assent.core.llm import TextPart
from assent.core.session.event import MessageAdded
from assent.core.session.record import SessionRecord

if TYPE_CHECKING:
    from assent.app.engine import Engine

MAX_ENTRIES: Final = 1000
SESSIONS: Final = 10  # other ones of the workspace that are looked through, the newest


class PromptHistory:
    """Earlier messages, oldest first, and after them the draft that is being typed.

    Whatever is changed while walking stays changed until something is sent.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._entries: list[str] = []
        self._edited: dict[int, str] = {}
        self._at = 0
        self.fill(entries)

    @property
    def entries(self) -> Sequence[str]:
        return self._entries

    def fill(self, entries: Iterable[str]) -> None:
        """Puts earlier messages, oldest first, before those that are known already."""
        walked = self._at - len(self._entries)
        known = set(self._entries)
        older = [entry for entry in entries if entry.strip() and entry not in known]
        before = len(self._entries)
        self._entries = [*_unrepeated(older), *self._entries][-MAX_ENTRIES:]
        shift = len(self._entries) - before
        self._edited = {at + shift: text for at, text in self._edited.items()}
        self._at = len(self._entries) + walked

    def add(self, entry: str) -> None:
        """Adds what was just sent; whatever was changed on the way to it is as it was."""
        if entry.strip() and self._entries[-1:] != [entry]:
            self._entries = [*self._entries, entry][-MAX_ENTRIES:]
        self.restart()

    def restart(self) -> None:
        """Goes back behind what was said last; whatever was changed on the way is as it was."""
        self._edited.clear()
        self._at = len(self._entries)

    def older(self, current: str) -> str | None:
        """Keeps what stands in the prompt, and returns what was said before it, if anything.

        Where the person emptied it, that is what was said last.
        """
        last = len(self._entries)
        if not current and self._at < last:
            self._at, current = last, self._edited.get(last, "")
        return self._move(current, self._at - 1)

    def newer(self, current: str) -> str | None:
        """Keeps what stands in the prompt, and returns what was said after it, or the draft."""
        return self._move(current, self._at + 1)

    def _move(self, current: str, to: int) -> str | None:
        if not 0 <= to <= len(self._entries):
            return None
        self._edited[self._at] = current
        self._at = to
        said = self._entries[to] if to < len(self._entries) else ""
        return self._edited.get(to, said)


def _unrepeated(entries: Sequence[str]) -> list[str]:
    """Returns entries each once, where it was said last."""
    return list(dict.fromkeys(reversed(entries)))[::-1]


def load_prompt_history(engine: "Engine", record: SessionRecord | None) -> list[str]:
    """Returns what the person said in this workspace, and last in this session; oldest first."""
    own = record.session if record else ""
    others = [each for each in engine.sessions.all() if not each.parent and each.session != own]
    newest = sorted(others, key=lambda each: each.updated_at)[-SESSIONS:]
    looked = [*newest, *([record] if record else [])]
    return [words for each in looked for words in _words(engine, each)]


def _words(engine: "Engine", record: SessionRecord) -> Iterator[str]:
    for recorded in engine.sessions.events(record):
        event = recorded.event
        if isinstance(event, MessageAdded) and not event.synthetic:
            yield "".join([part.text for part in event.parts if isinstance(part, TextPart)])
