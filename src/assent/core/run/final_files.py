"""Final files: what a run left under each path by its journal, and paths it cannot vouch for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from assent.core.plan.operation import FileOperation, FileState, Operation, footprint
from assent.core.run.journal import (
    CommandEndedEntry,
    FinishedEntry,
    JournalEntry,
    OperationResult,
    RollbackStartedEntry,
    SegmentEnteredEntry,
    SettledEntry,
)
from assent.core.run.state import Rollbacks, SegmentRange, effective_entries, segment_ranges
from assent.core.run.workspace_changes import SkipReason, WorkspaceChanges

_SKIP_REASONS: Final[dict[SkipReason, str]] = {
    "ignored": "a command changed it, and what git ignores is not recorded",
    "large": "a command changed it, and it is larger than what is recorded",
    "too many": "a command changed it, and more changed than is recorded",
    "odd": "a command changed it, and it is neither a file nor a symlink, or cannot be read",
    "git": "a command changed it, and it is git's own",
    "folder": "a command changed the mode of this folder, which is not recorded",
}
UNKNOWN_CHANGES: Final = "a command ran after it was written, and what that changed is not known"
ACCEPTED_BY_USER: Final = "the run was accepted while it was being changed"


class FinalFiles(msgspec.Struct, frozen=True):
    """The files that a run changed, None where one is gone, and the paths it cannot speak for."""

    files: Mapping[bytes, FileState | None]
    uncovered: Mapping[bytes, str]


def was_accepted(end: FinishedEntry, entries: Iterable[JournalEntry]) -> bool:
    """Tells whether a run ended because a person took what stood, whatever the plan says."""
    settled = any(isinstance(entry, SettledEntry) and entry.accepted for entry in entries)
    return end.outcome == "done" and (settled or not set(end.results) <= {"done"})


def final_files(
    operations: Sequence[Operation],
    entries: Sequence[JournalEntry],
    backs: Rollbacks,
    changes: Callable[[CommandEndedEntry], WorkspaceChanges],
) -> FinalFiles:
    """Returns what all that a run and its commands did came to, there and back."""
    account = _FinalFilesFold()
    course, at, turned = segment_ranges(operations), 0, False
    end = entries[-1]
    results = end.results if isinstance(end, FinishedEntry) else ()
    for entry in effective_entries(entries):
        match entry:
            case RollbackStartedEntry(back):
                course, at, turned = segment_ranges(backs[back].operations), 0, True
            case SegmentEnteredEntry(segment):
                at = segment
            case SettledEntry("done", accepted=True):
                account.accept(course[at], () if turned else results)
            case SettledEntry("done"):
                account.change(course[at].files)
            case CommandEndedEntry():
                account.command(changes(entry))
            case _:
                continue
    return account.closed()


class _FinalFilesFold:
    """What stands under each path that was touched, and what stood there first."""

    def __init__(self) -> None:
        self._first: dict[bytes, FileState | None] = {}
        self._now: dict[bytes, FileState | None] = {}
        self._lost: dict[bytes, str] = {}

    def change(self, operations: Iterable[FileOperation]) -> None:
        for path, before, after in [step for op in operations for step in footprint(op)]:
            self._first.setdefault(path, before)
            self._now[path] = after
            self._lost.pop(path, None)

    def command(self, changes: WorkspaceChanges) -> None:
        if not changes.known:
            for path in self._now:
                self._lost[path] = UNKNOWN_CHANGES
        self.change(changes.operations)
        for skipped in changes.skipped:
            self._lost[skipped.path] = _SKIP_REASONS[skipped.why]

    def accept(self, span: SegmentRange, results: Sequence[OperationResult]) -> None:
        """Takes over what the disk said at the end; where it said nothing clear, nobody knows."""
        for at, op in enumerate(span.files, span.first):
            result = results[at] if results else "unknown"
            if result == "done":
                self.change([op])
            elif result != "undone":
                self._lost.update({path: ACCEPTED_BY_USER for path, *_ in footprint(op)})

    def closed(self) -> FinalFiles:
        files = {
            path: state
            for path, state in self._now.items()
            if path not in self._lost and state != self._first[path]
        }
        return FinalFiles(files, dict(sorted(self._lost.items())))
