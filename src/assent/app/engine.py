"""The engine: all services of one workspace, which are the API of every face.

What every command needs is created at once. The rest is loaded when first used: importing
modules is most of the time that a short command takes.
"""

from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from assent.app.status import WorkspaceStatus
from assent.planning.approvals import Approvals
from assent.planning.drafts import Drafts
from assent.planning.ports import Ports, WorkspaceConfig
from assent.runs.runs import Runs
from assent.runs.undo.service import UndoService

if TYPE_CHECKING:
    from assent.agent.grants import Grants
    from assent.agent.memory import WorkspaceMemory
    from assent.agent.pending_decisions import PendingDecisions
    from assent.agent.pending_questions import PendingQuestions
    from assent.agent.project_files import AgentFileStatus, TrustLog
    from assent.agent.services import AgentServices
    from assent.agent.session_context import SessionContext
    from assent.agent.sessions import Sessions
    from assent.agent.text_plan_builds import TextPlanBuilds
    from assent.agent.tool_environment import ToolEnvironment
    from assent.agent.turn_changes import SessionTurnChanges
    from assent.planning.bundles import KeyLog
    from assent.planning.comments import Comments
    from assent.planning.folder_import import FolderImporter
    from assent.planning.partial_approval import PartialApprovals
    from assent.planning.patches import Patches
    from assent.planning.rebase import Rebaser
    from assent.planning.review_history import ReviewHistory
    from assent.planning.reviews import Reviews
    from assent.planning.services import PlanningServices
    from assent.render.pending_decisions import PendingDecision
    from assent.runs.history import RunHistory
    from assent.runs.permits import Permits
    from assent.runs.retention import RunRetention
    from assent.runs.session_commands import SessionCommands

# A cached property that is thread-safe: a service of the engine is created only once.


T = TypeVar("T")

_making = RLock()  # one for all: nouns are made of each other


class lazy_property(cached_property[T]):
    """A cached property that also has a lock from Python 3.12 on, where the library's has none.

    A noun may know what is at work, such as which turns there are; of two nobody would know all.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        with _making:
            return super().__get__(instance, owner)


class Engine(WorkspaceStatus):
    """Sessions, plans, drafts, reviews, approvals, runs and undo for one workspace."""

    def __init__(self, doors: Ports, place: WorkspaceConfig) -> None:
        super().__init__(doors, place)
        self._projections.todos_of = lambda plan: self.sessions.todos_of(plan)
        self.drafts = Drafts(doors, place, self.plans, self._projections)
        self.approvals = Approvals(doors, place, self.plans, self._projections)
        self.approvals.reviewed = lambda record: self.reviews.review(record)
        self.approvals.next_after_run = self.run_status.next_after_run
        self.runs = Runs(doors, self.plans, self.approvals, self._projections, self.orphan_slots)
        self.undo = UndoService(doors, self.runs, self.approvals)

    @lazy_property
    def patches(self) -> "Patches":
        """Patches that become operations."""
        from assent.planning.patches import Patches

        return Patches(self._doors, self._place, self.drafts)

    @lazy_property
    def folder_import(self) -> "FolderImporter":
        """Folders whose difference becomes operations."""
        from assent.planning.folder_import import FolderImporter

        return FolderImporter(self._doors, self._place, self.drafts)

    @lazy_property
    def reviews(self) -> "Reviews":
        """What a person reads before they decide."""
        from assent.planning.reviews import Reviews

        return Reviews(self._doors, self.plans, self._place, self.run_status.next_after_run)

    @lazy_property
    def partial_approvals(self) -> "PartialApprovals":
        """Approvals of a part of a plan."""
        from assent.planning.partial_approval import PartialApprovals

        return PartialApprovals(
            self._doors, self._place, self.plans, self.approvals, self._projections
        )

    @lazy_property
    def review_history(self) -> "ReviewHistory":
        """What people have read."""
        from assent.planning.review_history import ReviewHistory

        readings = ReviewHistory(
            self._doors, self._place, self.reviews, self.partial_approvals, self._projections
        )
        readings.commented = lambda record, review: self.comments.shown(record, review)
        return readings

    @lazy_property
    def comments(self) -> "Comments":
        """What people say about plans."""
        from assent.planning.comments import Comments

        return Comments(self._doors, self._place, self.plans, self.reviews, self.approvals)

    @lazy_property
    def rebaser(self) -> "Rebaser":
        """New plans from those whose files changed."""
        from assent.planning.rebase import Rebaser

        return Rebaser(self._doors, self.plans, self.approvals, self._projections)

    @lazy_property
    def planning_services(self) -> "PlanningServices":
        """What `app` makes further nouns of."""
        from assent.planning.services import PlanningServices

        return PlanningServices(self._doors, self._place, self.plans, self.approvals, self.reviews)

    @lazy_property
    def key_log(self) -> "KeyLog":
        """Which keys were trusted, and since when."""
        from assent.planning.bundles import KeyLog

        return KeyLog(self._doors, self._place)

    @lazy_property
    def trust_log(self) -> "TrustLog":
        """What was trusted by its content."""
        from assent.agent.project_files import TrustLog

        return TrustLog(self._doors, self._place, self._workspaces)

    @lazy_property
    def permits(self) -> "Permits":
        """Steps that were allowed outside plans."""
        from assent.runs.permits import Permits

        return Permits(self._doors, self._place, self.runs)

    @lazy_property
    def history(self) -> "RunHistory":
        """The runs that were."""
        from assent.runs.history import RunHistory

        return RunHistory(self._doors, self.runs)

    @lazy_property
    def retention(self) -> "RunRetention":
        """What is kept of runs for an undo."""
        from assent.runs.retention import RunRetention

        return RunRetention(
            self._doors, self._place, self._workspaces, self.history, self._projections
        )

    @lazy_property
    def session_commands(self) -> "SessionCommands":
        """Command lines outside plans."""
        from assent.runs.session_commands import SessionCommands

        commands = SessionCommands(self._doors, self._place, self.runs, self._workspaces)
        commands.told = lambda record, words: self.sessions.add_context(record, words)
        return commands

    @lazy_property
    def memory(self) -> "WorkspaceMemory":
        """What is remembered of a workspace."""
        from assent.agent.memory import WorkspaceMemory

        return WorkspaceMemory(self._doors, self._workspaces)

    @lazy_property
    def grants(self) -> "Grants":
        """Answers that are remembered."""
        from assent.agent.grants import Grants

        return Grants(self._doors, self._workspaces, self._place)

    @lazy_property
    def pending_questions(self) -> "PendingQuestions":
        """What waits for an answer."""
        from assent.agent.pending_questions import PendingQuestions

        return PendingQuestions(self._doors, self._workspaces, self._place, self.grants)

    @lazy_property
    def sessions(self) -> "Sessions":
        """Conversations with a model."""
        from assent.agent.sessions import Sessions

        return Sessions(self._desk)

    @lazy_property
    def text_plan_builds(self) -> "TextPlanBuilds":
        """Plans of prose that a model carries out."""
        from assent.agent.text_plan_builds import TextPlanBuilds

        return TextPlanBuilds(self._desk, self.sessions)

    @lazy_property
    def _desk(self) -> "AgentServices":
        from assent.agent.services import AgentServices

        return AgentServices(
            self._doors,
            self._place,
            self._workspaces,
            self._projections,
            self.plans,
            self.drafts,
            self.approvals,
            self.runs,
            self.permits,
            self.memory,
            self.grants,
            self.pending_questions,
            self.session_commands,
        )

    @lazy_property
    def _waiting(self) -> "PendingDecisions":
        from assent.agent.pending_decisions import PendingDecisions

        return PendingDecisions(self._desk, self.sessions, self.reviews)

    @property
    def turn_changes(self) -> "SessionTurnChanges":
        """What the turns of sessions changed."""
        from assent.agent.turn_changes import SessionTurnChanges

        return SessionTurnChanges(self._desk)

    def init(self, agent: bytes) -> "AgentFileStatus":
        """Makes the folder a workspace, and keeps the plan agent's file in step."""
        from assent.agent.project_files import sync_agent_file

        self._workspaces.open()
        self._doors.projection.prepare()
        return sync_agent_file(self._doors.projection, agent)

    def session_context(self, tooling: "ToolEnvironment") -> "SessionContext":
        """Returns what tells who works in a session and what is around its calls."""
        from assent.agent.session_context import SessionContext

        return SessionContext(self._desk, tooling)

    def waiting(self) -> "tuple[PendingDecision, ...]":
        """Returns everything that waits for a person, over all sessions."""
        return self._waiting.all()

    @property
    def max_file(self) -> int:
        """Most bytes that are read from one file or stdin that a person names."""
        return self._place.max_file
