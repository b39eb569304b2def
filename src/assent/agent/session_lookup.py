"""Finds and lists the sessions of a workspace, for status and lists."""

from msgspec.structs import replace

from assent.agent.session_repository import SessionRepository
from assent.core.errors import NotFound
from assent.core.permission.mode import CustomModes, missing_mode
from assent.core.plan.record import PlanRecord
from assent.core.session.record import SessionRecord, with_current_mode
from assent.planning.ports import Ports
from assent.planning.workspace_repository import WorkspaceRepository


class SessionLookup:
    """Finds sessions and their current state."""

    def __init__(self, doors: Ports, workspaces: WorkspaceRepository, modes: CustomModes) -> None:
        self._doors = doors
        self._workspaces = workspaces
        self.modes = modes  # of people's own that a session can be in here, by id

    def last(self) -> SessionRecord:
        """Returns the session in which something happened last."""
        own = [record for record in self.all() if not record.parent]
        if not own:
            raise NotFound("There is no session here yet.", 'assent -p "what should be done"')
        return max(own, key=lambda record: record.updated_at)

    def find(self, reference: str) -> SessionRecord:
        """Returns a session by id, start of an id, or slug."""
        records = self.all()
        exact = [r for r in records if reference in (r.session, r.slug)]
        found = exact or [r for r in records if reference and r.session.startswith(reference)]
        if len(found) == 1:
            return found[0]
        if found:
            choices = ", ".join(record.slug for record in found[:5])
            raise NotFound(f"{reference!a} could be any of {choices}.", "assent sessions list")
        raise NotFound(f"There is no session {reference!a}.", "assent sessions list")

    def now(self, record: SessionRecord) -> SessionRecord:
        """Returns a session as people see it: in the mode that holds, and at work if anybody is.

        A process that died could not say that it ended; nobody holds its lock.
        """
        record = with_current_mode(record, self.modes)
        if not record.working or self.is_at_work(record):
            return record
        return replace(record, working=False, ended="interrupted")

    def missing_mode(self, record: SessionRecord) -> str:
        """Returns the name of the session's own mode if nobody knows that any more."""
        return missing_mode(record.custom, self.modes)

    def all(self) -> list[SessionRecord]:
        """Returns the sessions that were not deleted, newest first."""
        return [record for record in self.repository().all() if not record.deleted]

    def of_plan(self, plan: PlanRecord) -> SessionRecord | None:
        """Returns the session that works on a plan, or in whose folder the plan lies."""
        records = [record for record in self.all() if not record.parent]
        linked = [record for record in records if record.plan_id == plan.plan_id]
        return next(iter(linked or [r for r in records if r.slug == plan.session]), None)

    def is_at_work(self, record: SessionRecord) -> bool:
        """Tells whether some process works in a session at this moment."""
        return self._doors.locks.is_held(f"session-{record.session}")

    def repository(self) -> SessionRepository:
        """Returns the sessions of this workspace: none, in a folder that is no workspace yet."""
        home = self._workspaces.find()
        return SessionRepository(self._doors, home.workspace if home else "")
