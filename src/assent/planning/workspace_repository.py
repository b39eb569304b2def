"""Workspaces in the log: a folder's id, its current plan and its remembered facts."""

from contextlib import suppress
from threading import RLock

import msgspec

from assent.core.errors import AssentError, Busy, ConcurrentChange, Refused
from assent.core.event import (
    Event,
    FactForgotten,
    FactRemembered,
    NotesCarried,
    PlanSelected,
    RunsDeleted,
    RunsWeighed,
    SlotsDecided,
    TrustGiven,
    TrustRevoked,
    WorkspaceMinted,
    WorkspaceMoved,
)
from assent.planning.plan_repository import decoded_head
from assent.planning.ports import Ports, WorkspaceConfig
from assent.ports import EventBatch

MAX_TRIES = 20  # at a workspace that others are working on, too
INDEX_STREAM = "workspaces"  # every id that was minted, so that no folder gets two at once


class WorkspaceRecord(msgspec.Struct, frozen=True):
    """A workspace, folded from its events."""

    workspace: str
    root: bytes
    inode: int
    current: str = ""
    seq: int = 0
    facts: tuple[FactRemembered, ...] = ()
    carried: dict[str, str] = {}  # by approval with a note, the plan of which that is an item


_decode = msgspec.json.Decoder(WorkspaceRecord).decode


class WorkspaceRepository:
    """Finds or creates the workspace of a folder.

    The id is random and part of every digest. That a folder *is* the workspace is a local check:
    same path and same inode; or, after the folder was moved, same inode and the id in its own tree.
    """

    def __init__(self, doors: Ports, place: WorkspaceConfig) -> None:
        self._doors = doors
        self._place = place
        self._known: WorkspaceRecord | None = None  # as it was last seen
        self._marks = True  # whether the tree may name another workspace than this
        self.warnings: list[str] = []
        self._alone = RLock()  # between looking and recording; faces work in several threads

    @property
    def user(self) -> str:
        """The user who works here, as the system reports it."""
        return self._place.account or self._place.user

    def find(self) -> WorkspaceRecord | None:
        """Returns the folder's workspace, if it has one."""
        known = self._known  # others may look at the same time
        if known is None:
            known = self._found()
        else:
            stream = f"workspace/{known.workspace}"
            for recorded in self._doors.store.read(stream, known.seq):
                known = _folded(known, recorded.event)
        self._known = known
        return known

    def _found(self) -> WorkspaceRecord | None:
        place = self._place
        if first := self._marked():
            return first
        homes = [home for home in self._all() if home.inode == place.inode]
        for home in homes:
            if home.root == place.recorded_root:
                return home
        try:
            marker = self._doors.projection.marker()
        except Refused as refused:
            self.warnings.append(
                f"{refused.message} Assent uses this file to recognize a moved workspace."
            )
            return None
        for home in homes:
            if home.workspace == marker:
                return self._append(home, WorkspaceMoved(place.recorded_root))
        return None

    def _marked(self) -> WorkspaceRecord | None:
        """Tries the one that the folder's own tree names first; path and inode decide as ever."""
        with suppress(Refused):
            home = self._home(f"workspace/{self._doors.projection.marker()}")
            here = self._place.recorded_root, self._place.inode
            return home if home and (home.root, home.inode) == here else None
        return None

    def moved_from(self) -> bytes:
        """Returns where the workspace was that the folder's own tree names, if it is another one.

        The folder was copied then, or moved to another file system.
        """
        with suppress(Refused):
            home = self._home(f"workspace/{self._doors.projection.marker()}")
            if home is not None and home.inode != self._place.inode:
                return home.root
        return b""

    def open(self) -> WorkspaceRecord:
        """Returns the folder's workspace; creates one before the first plan."""
        with self._alone:
            home = self.find()
            while home is None:
                minted = len(self._doors.store.read(INDEX_STREAM))
                with suppress(
                    ConcurrentChange
                ):  # another process minted one, perhaps this folder's
                    home = self.find() or self._minted(minted)
            self._mark(home)
            return home

    def _mark(self, home: WorkspaceRecord) -> None:
        """Has the tree name the workspace, once; whoever cannot has a workspace all the same."""
        if not self._marks:
            return
        self._marks = False
        projection = self._doors.projection
        try:
            if projection.marker() != home.workspace:
                projection.write_marker(home.workspace)
        except AssentError as error:
            self.warnings.append(
                f"{error.message} This file identifies the workspace after its folder was moved. "
                "Move the file away and Assent writes a new one."
            )

    def _minted(self, before: int) -> WorkspaceRecord:
        """Mints an id, unless anybody has minted one since that many were."""
        place = self._place
        minted = WorkspaceMinted(self._doors.clock.new_id(), place.recorded_root, place.inode)
        new = WorkspaceRecord(minted.workspace, minted.root, minted.inode)
        home = _folded(new, minted)
        own = self._batch(new, home, minted)
        self._doors.store.append(own, EventBatch(INDEX_STREAM, before, own.at, (minted,)))
        self._doors.projection.prepare()
        return home

    def select(self, plan_id: str, *, chosen: bool = False) -> None:
        """Makes a plan the current one; a user's choice is always recorded."""
        if chosen or self.open().current != plan_id:
            self.append(PlanSelected(plan_id, chosen))

    def append(self, event: Event) -> WorkspaceRecord:
        """Records an event of the workspace, after whatever others recorded meanwhile."""
        with self._alone:
            for _ in range(MAX_TRIES):
                with suppress(ConcurrentChange):
                    return self._append(self.open(), event)
        raise Busy("Other processes keep writing to this workspace. Try again.", "assent status")

    def batch(self, event: Event) -> EventBatch:
        """Prepares an event, to be recorded together with others or not at all."""
        home = self.open()
        return self._batch(home, _folded(home, event), event)

    def _append(self, home: WorkspaceRecord, event: Event) -> WorkspaceRecord:
        changed = _folded(home, event)
        self._doors.store.append(self._batch(home, changed, event))
        return changed

    def _batch(self, home: WorkspaceRecord, changed: WorkspaceRecord, event: Event) -> EventBatch:
        stream, at = f"workspace/{home.workspace}", self._doors.clock.now()
        return EventBatch(stream, home.seq, at, (event,), msgspec.json.encode(changed))

    def _all(self) -> list[WorkspaceRecord]:
        found = map(self._home, self._doors.store.streams("workspace/"))
        return [home for home in found if home is not None]

    def _home(self, stream: str) -> WorkspaceRecord | None:
        home = decoded_head(self._doors.store.head(stream), _decode)
        for recorded in self._doors.store.read(stream, home.seq if home else 0):
            home = _folded(home, recorded.event)
        return home


def _folded(home: WorkspaceRecord | None, event: Event) -> WorkspaceRecord:
    if isinstance(event, WorkspaceMinted):
        return WorkspaceRecord(event.workspace, event.root, event.inode, "", 1)
    assert home is not None, "a workspace's first event mints it"
    return msgspec.structs.replace(home, seq=home.seq + 1, **_changes(home, event))


def _changes(home: WorkspaceRecord, event: Event) -> dict[str, object]:
    """Returns the fields that an event changes."""
    match event:
        case WorkspaceMoved(root):
            return {"root": root}
        case PlanSelected(plan_id):
            return {"current": plan_id}
        case FactRemembered():
            return {"facts": (*home.facts, event)}
        case FactForgotten(gone):
            return {"facts": tuple(fact for fact in home.facts if fact.fact != gone)}
        case NotesCarried(plan_id, approvals):
            return {"carried": {**home.carried, **dict.fromkeys(approvals, plan_id)}}
        case TrustGiven() | TrustRevoked() | RunsDeleted() | RunsWeighed() | SlotsDecided():
            return {}
        case _:
            raise AssertionError("not a workspace's event")
