"""Remembered permission answers: listed, looked up and revoked."""

import msgspec

from assent.core.errors import Busy, ConcurrentChange, NotFound
from assent.core.event import StoredEvent
from assent.core.permission.mode import Mode
from assent.core.permission.rule import Grant, GrantEvent, GrantGiven, GrantRevoked
from assent.core.session.record import SessionRecord
from assent.planning.plan_repository import decoded_head
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.workspace_repository import WorkspaceRepository
from assent.ports import EventBatch

MAX_TRIES = 20  # where others give and revoke, too
LIST_COMMAND = "assent rules list"


class GrantLog(msgspec.Struct, frozen=True):
    """The grants of a workspace according to its events, without the revoked ones."""

    seq: int = 0
    grants: tuple[Grant, ...] = ()


NO_GRANTS = GrantLog()
_decode = msgspec.json.Decoder(GrantLog).decode
_encode = msgspec.json.Encoder().encode


class Grants:
    """Remembers, finds and revokes permission answers."""

    def __init__(
        self, doors: Ports, workspaces: WorkspaceRepository, place: WorkspaceConfig
    ) -> None:
        self._doors = doors
        self._workspaces = workspaces
        self._place = place
        self._known: dict[str, GrantLog] = {}  # by workspace, as it was last seen

    def all(self) -> tuple[Grant, ...]:
        """Returns every grant that was not revoked, oldest first."""
        home = self._workspaces.find()
        return self._book(home.workspace).grants if home else ()

    def of(
        self,
        record: SessionRecord,
        who: tuple[str, Mode, str],
        plan: str = "",
        expires_s: int = 0,
    ) -> tuple[Grant, ...]:
        """Returns the grants that apply in a session, for an agent and a mode.

        `who` is the agent, the mode in effect, and the name of the custom mode, if it is one;
        `plan` is the digest of the text plan that is being built, if any. In plan mode no grant
        applies.
        """
        if who[1] == "plan":
            return ()
        grants = self._book(record.workspace).grants
        if not grants:
            return ()
        oldest = self._doors.clock.later(-expires_s) if expires_s else ""
        return tuple(
            grant
            for grant in grants
            if ((grant.agent, grant.mode, grant.custom), grant.plan) == (who, plan)
            and grant.given_at > oldest
            and (grant.reach == "project" or grant.session == record.session)
        )

    def give(self, grant: Grant) -> Grant:
        """Stores a grant."""
        self._append(GrantGiven(grant))
        return grant

    def batch(self, workspace: str, event: GrantEvent) -> EventBatch:
        """Returns the batch that appends an event to the grants, together with other events."""
        book = self._book(workspace)
        changed = _folded(book, event)
        at = self._doors.clock.now()
        return EventBatch(_stream(workspace), book.seq, at, (event,), _encode(changed))

    def revoke(self, reference: str, user: str = "") -> Grant:
        """Revokes a grant by its id or a prefix of it; this takes effect at once."""
        found = [grant for grant in self.all() if reference and grant.id.startswith(reference)]
        if len(found) != 1:
            raise NotFound(
                f"{reference!a} matches {len(found)} saved permissions; it must match exactly one.",
                LIST_COMMAND,
            )
        self._append(GrantRevoked(found[0].id, user or self._place.user))
        return found[0]

    def _append(self, event: GrantEvent) -> None:
        workspace = self._workspaces.open().workspace
        for _ in range(MAX_TRIES):
            try:
                self._doors.store.append(self.batch(workspace, event))
                return
            except ConcurrentChange:
                continue  # the book is read again
        raise Busy(
            "Saved permissions are being changed by another process; nothing was changed. Retry.",
            LIST_COMMAND,
        )

    def _book(self, workspace: str) -> GrantLog:
        """Returns the grants of a workspace; after the first call only new events are read."""
        stream, store = _stream(workspace), self._doors.store
        book = self._known.get(workspace)
        if book is None:
            book = decoded_head(store.head(stream), _decode) or NO_GRANTS
        for recorded in store.read(stream, book.seq):
            book = _taken(book, recorded)
        self._known[workspace] = book
        return book


def _stream(workspace: str) -> str:
    return f"grant/{workspace}"


def _taken(book: GrantLog, recorded: StoredEvent) -> GrantLog:
    match recorded.event:
        case GrantGiven() | GrantRevoked() as event:
            return _folded(book, event)
        case _:
            raise AssertionError("not a grant's event")


def _folded(book: GrantLog, event: GrantEvent) -> GrantLog:
    match event:
        case GrantGiven(grant):
            return GrantLog(book.seq + 1, (*book.grants, grant))
        case GrantRevoked(gone):
            return GrantLog(book.seq + 1, tuple(each for each in book.grants if each.id != gone))
