"""Incremental search in a line view: `/` starts it, n and N go to the next match."""

from collections.abc import Sequence

import msgspec
from textual.events import Key

from assent.core.text.hidden_chars import visible_line


class LinePosition(msgspec.Struct, frozen=True):
    """A line of a section, counted from 0 as it was passed in, however it is wrapped."""

    key: str
    line: int


class LineSearch:
    """The query and where it was found. Case does not matter."""

    def __init__(self) -> None:
        self.query = ""
        self.typing = False
        self.hits: Sequence[LinePosition] = ()
        self.at = 0

    @property
    def is_open(self) -> bool:
        """Whether its row is shown at the bottom."""
        return self.typing or bool(self.query)

    @property
    def position(self) -> LinePosition | None:
        return self.hits[self.at] if self.hits else None

    @property
    def status_text(self) -> str:
        """What its row says."""
        sought = f"/{visible_line(self.query)}"
        if self.typing and not self.query:
            return f"{sought}   Enter keeps it, Esc ends it"
        found = f"{self.at + 1} of {len(self.hits)}" if self.hits else "not found"
        return f"{sought}   {found}   {'Enter keeps it' if self.typing else 'n N'}, Esc ends it"

    def begin(self) -> None:
        """Begins to take keys as letters of the query."""
        self.typing, self.query, self.hits, self.at = True, "", (), 0

    def end(self) -> None:
        """Searches for nothing any more."""
        self.typing, self.query, self.hits = False, "", ()

    def take(self, event: Key) -> bool:
        """Takes a key while a query is typed; tells whether the query changed."""
        before = self.query
        match event.key:
            case "enter":
                self.typing = False
                self.query = before if self.hits else ""
            case "escape":
                self.end()
            case "backspace":
                self.query = before[:-1]
            case "ctrl+u":
                self.query = ""
            case _ if event.is_printable and event.character:
                self.query += event.character
            case _:
                pass
        return self.query != before and self.typing

    def found(self, hits: Sequence[LinePosition], first: int) -> None:
        """Takes in where the query stands, and which of these places comes first."""
        self.hits, self.at = hits, first if first < len(hits) else 0

    def step(self, by: int) -> None:
        """Goes to another place; after the last comes the first."""
        if self.hits:
            self.at = (self.at + by) % len(self.hits)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Returns where the query stands in a text; nothing where folding changes its length."""
        wanted, folded = self.query.lower(), text.lower()
        if not wanted or len(folded) != len(text):
            return []
        found, at = [], folded.find(wanted)
        while at >= 0:
            found.append((at, at + len(wanted)))
            at = folded.find(wanted, at + len(wanted))
        return found
