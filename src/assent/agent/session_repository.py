"""Loads sessions as folds of their event streams, finds and lists them, and appends events."""

from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from assent.core.decoding import json_decoder
from assent.core.errors import Busy, ConcurrentChange, NotFound, meant
from assent.core.event import MAX_OUTPUTS, OutputKept, OutputsDeleted, StoredEvent
from assent.core.permission.mode import CustomModes, missing_mode
from assent.core.plan.record import PlanRecord
from assent.core.session.event import SessionDeleted, SessionEvent, SessionStarted, Todo
from assent.core.session.question import QUESTIONS_COMMAND, PendingQuestion, stored_questions
from assent.core.session.record import SessionRecord, fold_session, with_current_mode
from assent.planning.ports import Ports
from assent.planning.repositories import FoldedStreams, WorkspaceRepository, decoded_head
from assent.ports import EventBatch

MAX_TRIES = 20  # at a session in which others are saying something, too

_decode = json_decoder(SessionRecord).decode
_encode = msgspec.json.Encoder().encode


class SessionRepository:
    """The sessions of one workspace, by id."""

    def __init__(self, ports: Ports, workspace: str) -> None:
        self._ports = ports
        self.workspace = workspace
        self._sessions = FoldedStreams(ports.store, self.stream(""), _decode, self._load)
        # As of an event of the log: by stream, and all of them.
        self._slugs: tuple[int, dict[str, str], set[str]] = 0, {}, set()

    def stream(self, session: str) -> str:
        return f"session/{self.workspace}/{session}"

    def load(self, session: str) -> SessionRecord:
        """Returns a session's current state."""
        record = self._load(self.stream(session))
        if record is None:
            raise NotFound(f"Session {session} not found.", "assent sessions list")
        return record

    def all(self) -> list[SessionRecord]:
        """Returns every session of the workspace, newest first."""
        return self._sessions.newest_first() if self.workspace else []

    def slugs(self) -> Set[str]:
        """Returns the slug of every session, also of deleted ones; a session keeps its own.

        One thread at a time may ask, and must not change what it gets.
        """
        last = self._ports.store.last()  # before the names, more of which may come in between
        reached, known, names = self._slugs
        if last < reached or not known:  # an older copy may have replaced the log
            known = {self.stream(record.session): record.slug for record in self.all()}
            names = {*known.values()}
        else:
            for stream in self._ports.store.changed_streams(self.stream(""), reached):
                if stream not in known and (record := self._load(stream)) is not None:
                    known[stream] = record.slug
                    names.add(record.slug)
        self._slugs = last, known, names
        return names

    def read(self, session: str, after: int = 0) -> list[StoredEvent]:
        """Returns the events of a session."""
        return self._ports.store.read(self.stream(session), after)

    def start(
        self,
        *events: SessionEvent,
        beside: Callable[[SessionRecord], Sequence[EventBatch]] = lambda record: (),
    ) -> SessionRecord:
        """Appends the first events of a session, and what `beside` returns with them."""
        first = events[0]
        assert isinstance(first, SessionStarted), "a session's first event starts it"
        record, batch = self.batch(None, first.session, events)
        self._ports.store.append(batch, *beside(record))
        return record

    def append(
        self, record: SessionRecord, *events: SessionEvent, synced: bool = True
    ) -> tuple[SessionRecord, tuple[StoredEvent, ...]]:
        """Appends events after those that others appended; returns those too, in order.

        Without `synced` they need not be on disk before the next ones.
        """
        missed: list[StoredEvent] = []
        for _ in range(MAX_TRIES):
            try:
                changed, added = self._append(record, record.session, events, synced=synced)
                return changed, (*missed, *added)
            except ConcurrentChange:
                since = self.read(record.session, record.seq)
                missed += since
                record = folded_session(record, since)
        raise Busy(
            "Another process keeps changing this session; nothing was added. Retry.",
            "assent sessions list",
        )

    def batch(
        self,
        record: SessionRecord | None,
        session: str,
        events: tuple[SessionEvent, ...],
        *,
        synced: bool = True,
    ) -> tuple[SessionRecord, EventBatch]:
        """Returns the session after some events, and the batch that appends exactly these."""
        after, at = record.seq if record else 0, self._ports.clock.now()
        for seq, event in enumerate(events, after + 1):
            record = fold_session(record, event, seq, at)
        assert record is not None, "there is at least one event"
        return record, EventBatch(self.stream(session), after, at, events, _encode(record), synced)

    def delete(self, record: SessionRecord) -> SessionRecord:
        """Marks a session as deleted, and its outputs with it, in one transaction."""
        outputs = SessionOutputs(self._ports, self.workspace)
        for _ in range(MAX_TRIES):
            with suppress(ConcurrentChange):
                changed, batch = self.batch(record, record.session, (SessionDeleted(),))
                self._ports.store.append(batch, *outputs.deletion(record.session))
                return changed
            record = self.load(record.session)
        raise Busy(
            "Another process keeps changing this session; it was not deleted. Retry.",
            "assent sessions list",
        )

    def _append(
        self,
        record: SessionRecord,
        session: str,
        events: tuple[SessionEvent, ...],
        *,
        synced: bool = True,
    ) -> tuple[SessionRecord, tuple[StoredEvent, ...]]:
        changed, batch = self.batch(record, session, events, synced=synced)
        return changed, self._ports.store.append(batch)

    def _load(self, stream: str) -> SessionRecord | None:
        # By one query, if its head is up to date, as nearly always.
        record = decoded_head(self._ports.store.heads(stream).get(stream), _decode)
        if record is not None:
            return record
        record = decoded_head(self._ports.store.head(stream), _decode)
        for recorded in self._ports.store.read(stream, record.seq if record else 0):
            record = _fold(record, recorded)
        return record


class SessionOutputs:
    """The outputs of a workspace's sessions that were cut; each belongs to one session (F122)."""

    def __init__(self, ports: Ports, workspace: str) -> None:
        self._ports = ports
        self._workspace = workspace

    def keep(self, session: str, content: bytes) -> str:
        """Stores the whole of an output, durably, and returns its id."""
        digest, size = self._ports.blobs.keep([content])
        self._ports.blobs.flush()
        kept = OutputKept(self._ports.clock.new_id(), digest, size)
        stream = self._stream(session)
        for _ in range(MAX_TRIES):
            with suppress(ConcurrentChange):
                after = len(self._ports.store.read(stream))
                batch = EventBatch(stream, after, self._ports.clock.now(), (kept,))
                self._ports.store.append(batch)
                return kept.output
        raise Busy("Another process keeps changing this session. Retry.", "assent sessions list")

    def read(self, sessions: Iterable[str], output: str) -> bytes | None:
        """Returns an output of one of these sessions; None if they do not have it (any more)."""
        for session in sessions:
            for kept in self._kept(session):
                if kept.output == output:
                    return self._ports.blobs.read(kept.digest)
        return None

    def deletion(self, session: str) -> tuple[EventBatch, ...]:
        """Returns what deletes all outputs of a session, if it has any."""
        events = self._ports.store.read(self._stream(session))
        if not events:
            return ()
        at = self._ports.clock.now()
        return (EventBatch(self._stream(session), len(events), at, (OutputsDeleted(),)),)

    def _kept(self, session: str) -> list[OutputKept]:
        found: list[OutputKept] = []
        for one in self._ports.store.read(self._stream(session)):
            if isinstance(one.event, OutputsDeleted):
                found.clear()
            elif isinstance(one.event, OutputKept):
                found.append(one.event)
        return found[-MAX_OUTPUTS:]

    def _stream(self, session: str) -> str:
        return f"output/{self._workspace}/{session}"


def folded_session(record: SessionRecord, events: list[StoredEvent]) -> SessionRecord:
    """Returns the record after further events of its stream."""
    for recorded in events:
        record = _fold(record, recorded)
    return record


def _fold(record: SessionRecord | None, recorded: StoredEvent) -> SessionRecord:
    return fold_session(record, recorded.event, recorded.seq, recorded.at)


# Finds and lists the sessions of a workspace, for status and lists.


class SessionLookup:
    """Finds sessions and their current state."""

    def __init__(self, ports: Ports, workspaces: WorkspaceRepository, modes: CustomModes) -> None:
        self._ports = ports
        self._workspaces = workspaces
        self.modes = modes  # of people's own that a session can be in here, by id
        self._repository = SessionRepository(ports, "")

    def last(self) -> SessionRecord:
        """Returns the session with the newest event."""
        own = [record for record in self.all() if not record.parent]
        if not own:
            raise NotFound("No sessions yet.", 'assent -p "what should be done"')
        return max(own, key=lambda record: record.updated_at)

    def find(self, reference: str) -> SessionRecord:
        """Returns a session by id, id prefix, or slug."""
        records = self.all()
        exact = [r for r in records if reference in (r.session, r.slug)]
        found = exact or [r for r in records if reference and r.session.startswith(reference)]
        if len(found) == 1:
            return found[0]
        if found:
            choices = ", ".join(record.slug for record in found[:5])
            raise NotFound(f"{reference!a} is ambiguous: {choices}.", "assent sessions list")
        hint = meant(reference, [record.slug for record in records])
        raise NotFound(f"Session {reference!a} not found.{hint}", "assent sessions list")

    def now(self, record: SessionRecord) -> SessionRecord:
        """Returns a session as users see it: in its effective mode, and whether it is running.

        A process that died could not record its end, but its lock is free.
        """
        record = with_current_mode(record, self.modes)
        if not record.working or self.is_at_work(record):
            return record
        return replace(record, working=False, ended="interrupted")

    def missing_mode(self, record: SessionRecord) -> str:
        """Returns the name of the session's custom mode if that mode no longer exists."""
        return missing_mode(record.custom, self.modes)

    def all(self) -> list[SessionRecord]:
        """Returns the sessions that were not deleted, newest first."""
        return [record for record in self.repository().all() if not record.deleted]

    def of_plan(self, plan: PlanRecord) -> SessionRecord | None:
        """Returns the session that works on a plan, or whose folder the plan is in."""
        records = [record for record in self.all() if not record.parent]
        linked = [record for record in records if record.plan_id == plan.plan_id]
        return next(iter(linked or [r for r in records if r.slug == plan.session]), None)

    def todos_of(self, plan: PlanRecord) -> tuple[Todo, ...]:
        """Returns the todos of the session that works on a plan."""
        record = self.of_plan(plan)
        return record.todos if record else ()

    def is_at_work(self, record: SessionRecord) -> bool:
        """Tells whether some process works in a session right now."""
        return self._ports.locks.is_held(f"session-{record.session}")

    def repository(self) -> SessionRepository:
        """Returns the sessions of this workspace; none in a folder that is not a workspace yet."""
        known, workspace = self._repository, self._workspaces.id
        if known.workspace != workspace:
            known = self._repository = SessionRepository(self._ports, workspace)
        return known


class PendingQuestionList:
    """Finds questions, open ones and others."""

    def __init__(
        self,
        ports: Ports,
        workspaces: WorkspaceRepository,
        repository: Callable[[], SessionRepository] | None = None,
    ) -> None:
        self._ports = ports
        self._workspaces = workspaces
        self._repository = repository  # that others read, too, so that it is read once
        self.clock = ports.clock

    def pending(self, *, every: bool = False) -> list[PendingQuestion]:
        """Returns the open questions of all sessions, oldest first; `every` adds closed ones."""
        records = {one.session: one for one in self._diary().all()}
        found: list[PendingQuestion] = []
        for record in records.values():
            if not record.deleted and (every or record.questions):
                found += self._of(record, records)
        chosen = [one for one in found if every or one.standing == "open"]
        return sorted(chosen, key=lambda one: (one.inquiry.at, one.id))

    def find(self, reference: str) -> PendingQuestion:
        """Returns a question by its id or a prefix of it, answered or not."""
        # Those that are not open may be very many.
        found = self._named(reference, every=False) or self._named(reference, every=True)
        if len(found) == 1:
            return found[0]
        if found:
            raise NotFound(
                f"{reference!a} matches {len(found)} questions; it must match exactly one.",
                QUESTIONS_COMMAND,
            )
        raise NotFound(f"Question {reference!a} not found.", QUESTIONS_COMMAND)

    def _named(self, reference: str, *, every: bool) -> list[PendingQuestion]:
        known = self.pending(every=every) if reference else []
        return [one for one in known if one.id.startswith(reference)]

    def _of(
        self, record: SessionRecord, records: dict[str, SessionRecord]
    ) -> list[PendingQuestion]:
        root, now = _root(record, records), self.clock.now()
        return [
            PendingQuestion(one, record, root, one.status(now))
            for one in stored_questions(self._diary().read(record.session))
        ]

    def _diary(self) -> SessionRepository:
        if self._repository is not None:
            return self._repository()
        return SessionRepository(self._ports, self._workspaces.id)


def _root(record: SessionRecord, records: dict[str, SessionRecord]) -> SessionRecord:
    """Returns the session that the user talks to, above any child."""
    seen = {record.session}
    while record.parent in records and record.parent not in seen:
        record = records[record.parent]
        seen.add(record.session)
    return record
