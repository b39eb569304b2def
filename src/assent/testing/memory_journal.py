"""A journal in memory, with a crash point before and after each entry is durable."""

from assent.core.run.journal import JournalEntry
from assent.testing.crash_injector import CrashInjector


class MemoryJournal:
    """Implements ports.Journal. Each write is two steps of the crash injector."""

    def __init__(self, fuse: CrashInjector | None = None) -> None:
        self.runs: dict[str, list[JournalEntry]] = {}
        self.fuse = fuse or CrashInjector()

    def twin(self, fuse: CrashInjector) -> "MemoryJournal":
        """Returns a journal of its own that says what this one says now."""
        twin = MemoryJournal(fuse)
        twin.runs = {run: list(entries) for run, entries in self.runs.items()}
        return twin

    def read(self, run: str) -> list[JournalEntry]:
        return list(self.runs.get(run, []))

    def write(self, run: str, entry: JournalEntry) -> None:
        self.fuse.step()
        self.runs.setdefault(run, []).append(entry)
        self.fuse.step()
