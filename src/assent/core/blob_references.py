"""Finds which blobs the events of a store still need, for garbage collection.

Every blob that an event names is needed, except those known to be of no further use: kept by a
deleted run, held by an old version of a draft, part of a plan that is over, or an output of a
deleted session. Anything that cannot
be read raises, so that no blob is taken for unneeded by mistake.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from assent.core.event import (
    MAX_OUTPUTS,
    CommandEnded,
    CommandStarted,
    DraftChanged,
    DraftEdited,
    Event,
    JournalWritten,
    OutputKept,
    OutputsDeleted,
    PermitGiven,
    PlanProposed,
    ReviewShown,
    RunsDeleted,
    StoredEvent,
    TextRevised,
)
from assent.core.plan.draft import decode_draft, fold_edits
from assent.core.plan.record import PlanRecord, PlanState, fold_plan
from assent.core.run.journal import CommandEndedEntry, CommandStartedEntry, FinishedEntry

# Streams that name no contents; streams of unknown kinds are searched.
STREAMS_WITHOUT_BLOBS: Final = ("session/", "grant/", "comment/", "options/")

_OVER = (PlanState.COMPLETED, PlanState.DISCARDED)
_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")

LoadBlob = Callable[[str], bytes]


def blob_references(
    events: Sequence[StoredEvent], read: LoadBlob, has: Callable[[str], bool]
) -> set[str]:
    """Returns the digests of all blobs that are still needed."""
    found = _ReferenceCollector(events, read, has)
    for record in found.plans.values():
        found.add_plan(record)
    for one in events:
        found.add_event(one)
    return found.needed


class _ReferenceCollector:
    """Collects digests; `name` keeps a content, `into` also what it names in its turn."""

    def __init__(
        self, events: Sequence[StoredEvent], read: LoadBlob, has: Callable[[str], bool]
    ) -> None:
        self.needed: set[str] = set()
        self._read = read
        self._has = has
        self.plans: dict[str, PlanRecord] = {}
        self._edits: dict[str, list[DraftEdited]] = {}  # of drafts since they were stored whole
        self._given_up: set[str] = set()
        self._finished: set[str] = set()  # runs, and commands of sessions
        self._began: dict[str, str] = {}  # what stood before the last command of each run
        self._open: set[tuple[str, str]] = set()  # of those whose changes are unknown
        self._outputs: dict[str, list[str]] = {}  # of sessions, by stream
        for one in events:
            self._note(one)
        for digests in self._outputs.values():
            self.name(*digests[-MAX_OUTPUTS:])

    def _note(self, one: StoredEvent) -> None:
        if one.stream.startswith("plan/"):
            self.plans[_last(one.stream)] = fold_plan(self.plans.get(_last(one.stream)), one)
        match one.body:
            case DraftChanged():
                self._edits.pop(one.stream, None)
            case DraftEdited() as edit:
                self._edits.setdefault(one.stream, []).append(edit)
            case RunsDeleted(runs):
                self._given_up.update(runs)
            case JournalWritten(FinishedEntry()):
                self._finished.add(_last(one.stream))
            case JournalWritten(CommandStartedEntry(before=before)):
                self._began[_last(one.stream)] = before
                self._open.add((_last(one.stream), before))
            case JournalWritten(CommandEndedEntry(changes=changes)) if changes:
                run = _last(one.stream)
                self._open.discard((run, self._began.get(run, "")))
            case OutputKept(digest=digest):
                self._outputs.setdefault(one.stream, []).append(digest)
            case OutputsDeleted():
                self._outputs.pop(one.stream, None)
            case CommandEnded(id=name, changed=changed, changes=changes):
                self._finished.update([name] if changes or changed is not None else ())
            case _:
                pass

    def add_plan(self, record: PlanRecord) -> None:
        self.name(record.whole_draft, record.frozen)
        if self._lives(record):
            self._into_draft(record)
            self.into(record.frozen)
        for note in record.runs:
            self.name(note.frozen)
            if note.run not in self._given_up or note.outcome is None:
                self.into(note.frozen)

    def _into_draft(self, record: PlanRecord) -> None:
        """Keeps all that the staged operations name, and what they are read from."""
        if not record.edits:
            self.into(record.draft)
            return
        whole = record.edits_of
        staged = decode_draft(self._read(whole)) if whole else ()
        now = fold_edits(whole, staged, self._edits[record.stream])
        self.needed.update(_digests(msgspec.json.encode(now)))

    def add_event(self, one: StoredEvent) -> None:
        match one.body:
            case DraftEdited():
                pass  # what is staged in the end is kept with its plan
            case TextRevised() | DraftChanged() | PlanProposed() | ReviewShown() as event:
                self._version(one, event)
            case PermitGiven(run=run) | CommandEnded(id=run) as event:
                self._all(event if run not in self._given_up else None)
            case CommandStarted(id=name) as event:
                over = name in self._finished or name in self._given_up
                self._all(msgspec.structs.replace(event, before="") if over else event)
            case JournalWritten(entry):
                self._entry(_last(one.stream), entry)
            case RunsDeleted() | OutputKept() | OutputsDeleted():
                pass
            case event:
                self._all(event)

    def _version(
        self, one: StoredEvent, event: TextRevised | DraftChanged | PlanProposed | ReviewShown
    ) -> None:
        """Keeps texts; of drafts and frozen plans, what may still be needed."""
        plan_id = event.plan_id if isinstance(event, ReviewShown) else _last(one.stream)
        plan = self.plans.get(plan_id)
        lives = plan is None or self._lives(plan)
        match event:
            case TextRevised(content_hash=kept) | PlanProposed(frozen=kept):
                self.name(kept)
            case DraftChanged(draft) if lives:
                self.name(draft)  # a session that works on it is notified of what was removed
            case ReviewShown(frozen=frozen):
                self.name(frozen)
                self.into(frozen if lives else "")
            case PlanProposed(digest, frozen=frozen) if plan and digest in [
                each.digest for each in plan.declined
            ]:
                self.name(frozen)  # a review says what was declined of it
            case _:
                pass

    def _entry(self, run: str, entry: msgspec.Struct) -> None:
        """What stood before a command is of no use once the run is over and says what changed."""
        if run in self._finished and (run in self._given_up or self._is_told(run, entry)):
            return
        self._all(entry)

    def _is_told(self, run: str, entry: msgspec.Struct) -> bool:
        """Tells whether it is the beginning of a command of which is known what it changed."""
        return isinstance(entry, CommandStartedEntry) and (run, entry.before) not in self._open

    def name(self, *digests: str) -> None:
        self.needed.update(filter(None, digests))

    def into(self, digest: str) -> None:
        """Keeps a content that must be there, and everything it names."""
        if digest:
            self.needed.add(digest)
            self.needed.update(_digests(self._read(digest)))

    def _all(self, value: Event | msgspec.Struct | None) -> None:
        """Keeps all that a value names, and what named contents that are lists name in turn."""
        waiting = _digests(msgspec.json.encode(value)) - self.needed
        while waiting:
            digest = waiting.pop()
            self.needed.add(digest)
            if self._has(digest) and (content := self._read(digest))[:1] in (b"{", b"["):
                waiting |= _digests(content) - self.needed

    def _lives(self, record: PlanRecord) -> bool:
        """Tells whether a plan can still be built, or is being built."""
        going_on = record.unfinished or record.building
        return record.state not in _OVER or going_on is not None


def _digests(content: bytes) -> set[str]:
    return {found.decode() for found in _DIGEST.findall(content)}


def _last(stream: str) -> str:
    return stream.rpartition("/")[2]


def streams_with_blobs(streams: Iterable[str]) -> list[str]:
    """Returns the kinds of all streams whose events may name blobs."""
    nouns = {stream.partition("/")[0] + "/" for stream in streams}
    return sorted(nouns - set(STREAMS_WITHOUT_BLOBS))
