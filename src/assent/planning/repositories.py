"""The plans, the workspace and its remembered facts as the event log tells them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock, RLock
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import UNSET

from assent.core.decoding import json_decoder
from assent.core.errors import (
    AssentError,
    Busy,
    ConcurrentChange,
    IllegalState,
    NotFound,
    Refused,
    StoreError,
    WorkspaceMismatch,
)
from assent.core.event import (
    DraftChanged,
    DraftEdited,
    Event,
    EventBody,
    FactForgotten,
    FactRemembered,
    NotesCarried,
    OptionChosen,
    PlanSelected,
    RunsDeleted,
    RunsWeighed,
    SlotsDecided,
    StoredEvent,
    TrustGiven,
    TrustRevoked,
    VerificationConfirmed,
    WorkspaceMinted,
    WorkspaceMoved,
)
from assent.core.plan.draft import decode_draft, draft_name, fold_edits, is_due_whole
from assent.core.plan.draft_index import Draft, DraftChange, DraftIndex
from assent.core.plan.operation import Operation
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun, fold_plan, fold_plan_events
from assent.core.run.permit_log import PermitLog, PermitRun, fold_permit, permit_runs
from assent.planning.ports import Ports, WorkspaceConfig
from assent.ports import EventBatch, EventStore

# Loads plans as folds of their event streams and appends events to them.


# Decodes the stored fold of a stream; a damaged one is ignored and folded again.


Fold = TypeVar("Fold")


def decoded_head(head: tuple[int, bytes] | None, decode: Callable[[bytes], Fold]) -> Fold | None:
    """Returns a stored fold, or None if it is missing or damaged: events can be folded again."""
    if head is None:
        return None
    try:
        return decode(head[1])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


MAX_CHANGED: Final = 50  # streams that are folded one by one; more are read together


class FoldedStreams(Generic[Fold]):
    """The folds of all streams with a prefix, by few queries, however many streams there are.

    They are read again only after something was recorded.
    """

    def __init__(
        self,
        store: EventStore,
        prefix: str,
        decode: Callable[[bytes], Fold],
        load: Callable[[str], Fold | None],
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._decode = decode
        self._load = load  # folds one stream, where no current fold is stored
        # As of an event of the log; by stream, oldest first.
        self._known: tuple[int, dict[str, Fold]] = 0, {}
        self._looking = Lock()  # what changed is read once, however many threads ask

    def newest_first(self) -> list[Fold]:
        """Returns all of them; the names of streams grow with time."""
        with self._looking:
            last = self._store.last()  # before the folds, which may change in between
            known = self._known
            if last < known[0]:  # an older copy replaced the log
                known = 0, {}
            if not last or known[0] != last:
                known = self._known = last, self._after(*known)
        return list(reversed(known[1].values()))

    def _after(self, position: int, folds: dict[str, Fold]) -> dict[str, Fold]:
        """Returns the folds as they are now; those that nothing happened to are kept."""
        changed = self._store.changed_streams(self._prefix, position) if position else []
        if not position or len(changed) > max(MAX_CHANGED, len(folds) // 4):
            heads = self._store.heads(self._prefix)
            streams = self._store.streams(self._prefix)  # sorted
            found = {s: decoded_head(heads.get(s), self._decode) or self._load(s) for s in streams}
            return {stream: fold for stream, fold in found.items() if fold is not None}
        if not changed:
            return folds
        now, newest = dict(folds), next(reversed(folds), "")
        for stream in sorted(changed):
            fold = self._load(stream)
            if fold is not None:
                now[stream] = fold
            else:
                now.pop(stream, None)
        if any(stream < newest and stream not in folds for stream in changed):
            now = dict(sorted(now.items()))
        return now


USED_HERE: Final = "The approval was already used on this machine."

_decode = json_decoder(PlanRecord).decode
_decode_book = json_decoder(PermitLog).decode
_decode_plan = json_decoder(Plan).decode


class PlanRepository:
    """The plans of one workspace, by id."""

    def __init__(self, ports: Ports, workspace: str) -> None:
        self._ports = ports
        self.workspace = workspace
        self._frozen: tuple[str, Plan | None] = "", None  # the last one kept or read, by its blob
        self._plans = FoldedStreams(ports.store, self.stream(""), _decode, self._load)

    def stream(self, plan_id: str) -> str:
        return f"plan/{self.workspace}/{plan_id}"

    def load(self, plan_id: str) -> PlanRecord:
        """Returns a plan, folded up to its newest event."""
        record = self._load(self.stream(plan_id))
        if record is not None:
            return record
        if any(name.endswith("/" + plan_id) for name in self._ports.store.streams("plan/")):
            raise WorkspaceMismatch(
                f"Plan {plan_id} was created for another workspace.", "assent plan list"
            )
        raise NotFound(f"Plan {plan_id} not found.", "assent plan list")

    def all(self) -> list[PlanRecord]:
        """Returns every plan of the workspace, newest first."""
        return self._plans.newest_first() if self.workspace else []

    def batch(self, record: PlanRecord | None, plan_id: str, *events: Event) -> EventBatch:
        """Prepares events for a plan together with the head that they make."""
        stream, at = self.stream(plan_id), self._ports.clock.now()
        after = record.seq if record else 0
        head = record
        for seq, event in enumerate(events, after + 1):
            head = fold_plan(head, StoredEvent(0, stream, seq, at, event))
        return EventBatch(stream, after, at, events, msgspec.json.encode(head))

    def append(
        self,
        record: PlanRecord | None,
        plan_id: str,
        *events: Event,
        beside: Sequence[EventBatch] = (),
        synced: bool = True,
    ) -> PlanRecord:
        """Appends events, if no other writer did meanwhile and the lifecycle allows them.

        `beside` is recorded with them, or nothing is.
        """
        batch = self.batch(record, plan_id, *events)
        batch = batch if synced else msgspec.structs.replace(batch, synced=False)
        self._ports.store.append(batch, *beside)
        assert batch.head is not None
        return _decode(batch.head)

    def option_events(self, options: str) -> list[StoredEvent]:
        """Returns which plans are options of one choice, and which was chosen."""
        return self._ports.store.read(f"options/{self.workspace}/{options}")

    def chosen_option(self, options: str) -> OptionChosen | None:
        """Returns which option a user approved, if they did."""
        events = [one.event for one in self.option_events(options)]
        return next((event for event in events if isinstance(event, OptionChosen)), None)

    def chosen_instead(self, record: PlanRecord) -> OptionChosen | None:
        """Returns which option was approved, where that discarded this plan."""
        chosen = self.chosen_option(record.options) if record.options else None
        return chosen if chosen and record.plan_id in chosen.discarded else None

    def option_batch(self, options: str, event: Event) -> EventBatch:
        """Prepares an event about options; it fails if others recorded one meanwhile.

        So no option is added while one of them is chosen, and no two of them are chosen.
        """
        known = len(self.option_events(options))
        if self.chosen_option(options):
            raise IllegalState(
                "One of these options was approved already. Nothing was recorded.",
                "assent plan list",
            )
        stream = f"options/{self.workspace}/{options}"
        return EventBatch(stream, known, self._ports.clock.now(), (event,))

    @property
    def permit_stream(self) -> str:
        """The stream of the workspace's permits."""
        return f"permit/{self.workspace}"

    def permit_log(self) -> PermitLog:
        """Returns the permits, folded up to their newest event."""
        permits = (
            decoded_head(self._ports.store.head(self.permit_stream), _decode_book) or PermitLog()
        )
        for recorded in self._ports.store.read(self.permit_stream, permits.seq):
            permits = fold_permit(permits, recorded)
        return permits

    def permit_events(self) -> list[StoredEvent]:
        """Returns what became of the permits, and the commands of sessions, oldest first."""
        return self._ports.store.read(self.permit_stream) if self.workspace else []

    def permit_runs(self, events: Sequence[StoredEvent] | None = None) -> list[PermitRun]:
        """Returns every permit that was given here, oldest first, from its events."""
        return permit_runs(self.permit_events() if events is None else events)

    def permit_batch(self, permits: PermitLog, *events: Event) -> EventBatch:
        """Prepares events for the permits together with the head that they make."""
        at, head = self._ports.clock.now(), permits
        for seq, event in enumerate(events, permits.seq + 1):
            head = fold_permit(head, StoredEvent(0, self.permit_stream, seq, at, event))
        return EventBatch(self.permit_stream, permits.seq, at, events, msgspec.json.encode(head))

    def operations(self, record: PlanRecord) -> tuple[Operation, ...]:
        """Returns the staged operations."""
        return self.draft(record).operations

    def draft(self, record: PlanRecord) -> Draft:
        """Returns the staged operations as the record's version has them."""
        edits: list[DraftEdited] = []
        if record.edits:
            later = self._ports.store.read(record.stream, record.edits_after)
            found = [one.event for one in later if one.seq <= record.seq]
            edits = [event for event in found if isinstance(event, DraftEdited)]
        draft = self._edited(record.whole_draft, edits, record.at_end)
        if draft.name != record.draft:
            raise StoreError(
                "Changes of the stored draft are missing, so it was not used. Nothing was changed.",
                "assent log --verify",
            )
        return draft

    def draft_after(self, events: Sequence[Event]) -> tuple[Operation, ...]:
        """Returns the operations of a plan after its first events; none if they are not kept."""
        at = [n for n, event in enumerate(events) if isinstance(event, DraftChanged)]
        first = events[at[-1]] if at else None
        whole = first.draft if isinstance(first, DraftChanged) else ""
        if whole and not self._ports.blobs.has(whole):
            return ()  # versions of a draft are not kept for ever once its plan is over
        later = events[at[-1] + 1 :] if at else events
        edits = [event for event in later if isinstance(event, DraftEdited)]
        return self._edited(whole, edits).operations

    def _edited(self, whole: str, edits: Sequence[DraftEdited], at_end: int = 0) -> Draft:
        staged = decode_draft(self._ports.blobs.read(whole)) if whole else ()
        changed = sum(len(edit.cut) + len(edit.added) for edit in edits)
        name = edits[-1].draft if edits else whole
        return Draft(name, fold_edits(whole, staged, edits), len(staged), changed, at_end=at_end)

    def change_draft(
        self, draft: Draft, wanted: DraftIndex, change: DraftChange
    ) -> tuple[Draft, DraftChanged | DraftEdited]:
        """Returns the next version of a draft, with the event that records it.

        An edit is in the event itself; a version that is stored whole is on disk before it.
        """
        operations, edit, removed = wanted.operations, change.edit, change.removed
        now, size, at_end = len(edit.cut) + len(edit.put), len(operations), edit.at_end
        if is_due_whole(draft.whole, draft.changed, len(edit.cut), len(edit.put), size):
            name, added = self.keep_draft(operations), tuple(op for _, op in change.added)
            whole = DraftChanged(name, removed, added, at_end or UNSET)
            return Draft(name, operations, size, 0, wanted, at_end), whole
        self._ports.blobs.flush()
        name, changed = draft_name(draft.name, edit), draft.changed + now
        edited = DraftEdited(
            name, removed, edit.put, edit.cut, edit.places or UNSET, at_end or UNSET
        )
        return Draft(name, operations, draft.whole, changed, wanted, at_end), edited

    def keep_draft(self, operations: Sequence[Operation]) -> str:
        """Stores staged operations as a blob and returns its digest."""
        draft, _ = self._ports.blobs.keep([msgspec.json.encode(operations)])
        self._ports.blobs.flush()
        return draft

    def keep_plan(self, plan: Plan) -> str:
        """Stores a plan as a blob, from now on frozen, and returns its digest."""
        frozen, _ = self._ports.blobs.keep([msgspec.json.encode(plan)])
        self._ports.blobs.flush()
        self._frozen = frozen, plan
        return frozen

    def plan(self, note: PlanRecord | PlanRun) -> Plan:
        """Returns a frozen plan, or the plan of a run, checked against its digest."""
        content = self._ports.blobs.read(note.frozen)  # it is what its name says, or an error
        name, plan = self._frozen
        if plan is None or name != note.frozen:
            plan = _decode_plan(content)
            self._frozen = note.frozen, plan
        if plan.digest != note.digest:
            raise StoreError(plan_mismatch_text(note.digest), "assent propose")
        return plan

    def unchecked_plan(self, note: PlanRun) -> Plan:
        """Returns the plan of a run as stored, for callers that check everything themselves."""
        return _decode_plan(self._ports.blobs.read(note.frozen))

    def _load(self, stream: str) -> PlanRecord | None:
        kept = self._ports.store.head(stream)
        record = decoded_head(kept, _decode)
        return fold_plan_events(record, self._ports.store.read(stream, record.seq if record else 0))


def plan_mismatch_text(digest: str) -> str:
    """Returns that a stored plan is another one than was frozen under this digest."""
    return f"The stored plan does not match its digest {digest[:12]}…, so it was not used."


def used_approval_stream(approval: str) -> str:
    """Returns the stream that exists once an imported approval was used here (law 3)."""
    return f"spent/{approval}"


# Workspaces in the log: a folder's id, its current plan and its remembered facts.


MAX_TRIES = 20  # at a workspace that others are working on, too
INDEX_STREAM = "workspaces"  # every id that was minted, so that no folder gets two at once


class WorkspaceRecord(msgspec.Struct, frozen=True):
    """A workspace, folded from its events."""

    workspace: str
    root: bytes
    inode: int
    current: str = ""
    seq: int = 0
    chosen: bool = False  # the user made the current plan current
    facts: tuple[FactRemembered, ...] = ()
    carried: dict[str, str] = {}  # by approval with a note, the plan of which that is an item
    verify: tuple[str, ...] = ()  # commands that verify plans here, as the user confirmed them


_decode_workspace = json_decoder(WorkspaceRecord).decode


class WorkspaceRepository:
    """Finds or creates the workspace of a folder.

    The id is random and part of every digest. That a folder *is* the workspace is a local check:
    same path and same inode; or, after the folder was moved, same inode and the id in its own tree.
    """

    def __init__(self, ports: Ports, config: WorkspaceConfig) -> None:
        self._ports = ports
        self._config = config
        self._known: WorkspaceRecord | None = None  # as it was last seen
        self._marks = True  # whether the tree may name another workspace than this
        self.warnings: list[str] = []
        self._alone = RLock()  # between looking and recording; faces work in several threads

    @property
    def user(self) -> str:
        """The user who works here, as the system reports it."""
        return self._config.account or self._config.user

    @property
    def id(self) -> str:
        """The id of the folder's workspace, which never changes; empty if it has none yet."""
        known = self._known or self.find()
        return known.workspace if known else ""

    def find(self) -> WorkspaceRecord | None:
        """Returns the folder's workspace as it is now, if it has one."""
        known = self._known  # others may look at the same time
        if known is None:
            known = self._found()
        else:
            stream = f"workspace/{known.workspace}"
            for recorded in self._ports.store.read(stream, known.seq):
                known = _folded(known, recorded.event)
        self._known = known
        return known

    def _found(self) -> WorkspaceRecord | None:
        config = self._config
        if first := self._marked():
            return first
        homes = [home for home in self._all() if home.inode == config.inode]
        for home in homes:
            if home.root == config.recorded_root:
                return home
        try:
            marker = self._ports.projection.marker()
        except Refused as refused:
            self.warnings.append(
                f"{refused.message} Assent uses this file to recognize a moved workspace."
            )
            return None
        for home in homes:
            if home.workspace == marker:
                return self._append(home, WorkspaceMoved(config.recorded_root))
        return None

    def _marked(self) -> WorkspaceRecord | None:
        """Tries the one that the folder's own tree names first; path and inode decide as ever."""
        with suppress(Refused):
            home = self._home(f"workspace/{self._ports.projection.marker()}")
            here = self._config.recorded_root, self._config.inode
            return home if home and (home.root, home.inode) == here else None
        return None

    def moved_from(self) -> bytes:
        """Returns where the workspace was that the folder's own tree names, if it is another one.

        The folder was copied then, or moved to another file system.
        """
        with suppress(Refused):
            home = self._home(f"workspace/{self._ports.projection.marker()}")
            if home is not None and home.inode != self._config.inode:
                return home.root
        return b""

    def open(self, *, marked: bool = True) -> WorkspaceRecord:
        """Returns the folder's workspace; creates one before the first session or plan.

        With `marked` its marker is written, too: where something of the workspace is on record
        that is to be found again after the folder was moved. What is only said needs none.
        """
        known = None if marked and self._marks else self.find()
        if known is not None:
            return known
        with self._alone:
            home = self.find()
            while home is None:
                minted = len(self._ports.store.read(INDEX_STREAM))
                with suppress(
                    ConcurrentChange
                ):  # another process minted one, perhaps this folder's
                    home = self.find() or self._minted(minted, marked=marked)
            if marked:
                self._mark(home)
            return home

    def tidy(self) -> None:
        """Removes Assent's own folders from the workspace if there is nothing in them."""
        with self._alone:
            try:
                if self._ports.projection.tidy():
                    self._marks = True  # the next plan needs a marker again
            except AssentError as error:
                self._marks = True  # it may be gone
                self.warnings.append(error.message)

    def _mark(self, home: WorkspaceRecord) -> None:
        """Writes the workspace's marker, once; without it the workspace works, too."""
        if not self._marks:
            return
        self._marks = False
        projection = self._ports.projection
        try:
            if projection.marker() != home.workspace:
                projection.prepare()  # git does not list the marker
                projection.write_marker(home.workspace)
        except AssentError as error:
            self.warnings.append(
                f"{error.message} This file identifies the workspace after its folder was moved. "
                "Move the file away and Assent writes a new one."
            )

    def _minted(self, before: int, *, marked: bool) -> WorkspaceRecord:
        """Mints an id, unless another process has minted one since there were `before`."""
        config = self._config
        minted = WorkspaceMinted(self._ports.clock.new_id(), config.recorded_root, config.inode)
        new = WorkspaceRecord(minted.workspace, minted.root, minted.inode)
        home = _folded(new, minted)
        own = self._batch(new, home, minted)
        self._ports.store.append(own, EventBatch(INDEX_STREAM, before, own.at, (minted,)))
        if marked:
            self._ports.projection.prepare()
        return home

    def select(self, plan_id: str, *, chosen: bool = False, synced: bool = True) -> None:
        """Makes a plan the current one; a user's choice is always recorded."""
        if chosen or self.open().current != plan_id:
            self.append(PlanSelected(plan_id, chosen), synced=synced)

    def append(self, event: Event, *, synced: bool = True) -> WorkspaceRecord:
        """Records an event of the workspace, after whatever others recorded meanwhile."""
        with self._alone:
            for _ in range(MAX_TRIES):
                with suppress(ConcurrentChange):
                    return self._append(self.open(), event, synced=synced)
        raise Busy("Other processes keep writing to this workspace. Try again.", "assent status")

    def batch(self, event: Event) -> EventBatch:
        """Prepares an event, to be recorded together with others or not at all."""
        home = self.open()
        return self._batch(home, _folded(home, event), event)

    def _append(
        self, home: WorkspaceRecord, event: Event, *, synced: bool = True
    ) -> WorkspaceRecord:
        changed = _folded(home, event)
        batch = self._batch(home, changed, event)
        self._ports.store.append(msgspec.structs.replace(batch, synced=synced))
        return changed

    def _batch(self, home: WorkspaceRecord, changed: WorkspaceRecord, event: Event) -> EventBatch:
        stream, at = f"workspace/{home.workspace}", self._ports.clock.now()
        return EventBatch(stream, home.seq, at, (event,), msgspec.json.encode(changed))

    def _all(self) -> list[WorkspaceRecord]:
        found = map(self._home, self._ports.store.streams("workspace/"))
        return [home for home in found if home is not None]

    def _home(self, stream: str) -> WorkspaceRecord | None:
        home = decoded_head(self._ports.store.head(stream), _decode_workspace)
        for recorded in self._ports.store.read(stream, home.seq if home else 0):
            home = _folded(home, recorded.event)
        return home


def _folded(home: WorkspaceRecord | None, event: Event) -> WorkspaceRecord:
    if isinstance(event, WorkspaceMinted):
        return WorkspaceRecord(event.workspace, event.root, event.inode, "", 1)
    assert home is not None, "a workspace's first event mints it"
    return msgspec.structs.replace(home, seq=home.seq + 1, **_changes(home, event))


def _changes(home: WorkspaceRecord, event: EventBody) -> dict[str, object]:
    """Returns the fields that an event changes."""
    match event:
        case WorkspaceMoved(root):
            return {"root": root}
        case PlanSelected(plan_id, chosen):
            return {"current": plan_id, "chosen": chosen}
        case FactRemembered():
            return {"facts": (*home.facts, event)}
        case FactForgotten(gone):
            return {"facts": tuple(fact for fact in home.facts if fact.fact != gone)}
        case NotesCarried(plan_id, approvals):
            return {"carried": {**home.carried, **dict.fromkeys(approvals, plan_id)}}
        case VerificationConfirmed(commands):
            return {"verify": commands}
        case TrustGiven() | TrustRevoked() | RunsDeleted() | RunsWeighed() | SlotsDecided():
            return {}
        case _:
            raise AssertionError("not a workspace's event")


# Remembered facts that every later session of a workspace is given.


MAX_FACTS = 50
MAX_CHARS = 500  # characters


class WorkspaceMemory:
    """Lists, remembers and forgets facts."""

    def __init__(self, ports: Ports, workspaces: WorkspaceRepository) -> None:
        self._ports = ports
        self._workspaces = workspaces

    def all(self) -> tuple[FactRemembered, ...]:
        """Returns the facts, oldest first."""
        home = self._workspaces.find()
        return home.facts if home else ()

    def remember(self, text: str) -> FactRemembered:
        """Stores a fact; a known fact is not stored twice."""
        words = " ".join(text.split())
        if not words or len(words) > MAX_CHARS:
            raise Refused(f"A fact must be one sentence of at most {MAX_CHARS} characters.")
        known = self.all()
        same = [fact for fact in known if fact.text == words]
        if same:
            return same[0]
        if len(known) >= MAX_FACTS:
            raise Refused(
                f"Memory is full ({MAX_FACTS} facts); the user must remove one first.",
                "assent memory list",
            )
        fact = FactRemembered(self._ports.clock.new_id(), words)
        self._workspaces.append(fact)
        return fact

    def forget(self, reference: str) -> FactRemembered:
        """Removes a fact by its id or a prefix of it."""
        found = [fact for fact in self.all() if reference and fact.fact.startswith(reference)]
        if len(found) != 1:
            raise NotFound(
                f"{reference!a} matches {len(found)} facts; it must match exactly one.",
                "assent memory list",
            )
        self._workspaces.append(FactForgotten(found[0].fact))
        return found[0]
