"""The engine: all services of one workspace, which are the API of every face.

What most commands need is created at once. The rest is loaded by the command that asks for it:
importing modules is most of the time that a short command takes.
"""

from threading import RLock
from typing import TYPE_CHECKING

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
    from assent.planning.bundles import Bundles, KeyLog
    from assent.planning.comments import Comments
    from assent.planning.folder_import import FolderImporter
    from assent.planning.partial_approval import PartialApprovals
    from assent.planning.patches import Patches
    from assent.planning.rebase import Rebaser
    from assent.planning.review_history import ReviewHistory
    from assent.planning.reviews import Reviews
    from assent.render.pending_decisions import PendingDecision
    from assent.runs.evidence import RunEvidence
    from assent.runs.history import RunHistory
    from assent.runs.permits import Permits
    from assent.runs.retention import RunRetention
    from assent.runs.session_commands import SessionCommands


class Engine(WorkspaceStatus):
    """Sessions, plans, drafts, reviews, approvals, runs and undo for one workspace."""

    def __init__(self, doors: Ports, place: WorkspaceConfig) -> None:
        super().__init__(doors, place)
        self._making = RLock()  # of these there is one each, whichever thread asks first
        self._made_services: AgentServices | None = None
        self._made_sessions: Sessions | None = None
        self._made_decisions: PendingDecisions | None = None
        self._projections.todos_of = lambda plan: self.sessions.todos_of(plan)
        self.drafts = Drafts(doors, place, self.plans, self._projections)
        self.approvals = Approvals(doors, place, self.plans, self._projections)
        self.approvals.reviewed = lambda record: self.reviews.review(record)
        self.approvals.next_after_run = self.run_status.next_after_run
        self.runs = Runs(doors, self.plans, self.approvals, self._projections, self.orphan_slots)
        self.undo = UndoService(doors, self.runs, self.approvals)

    @property
    def patches(self) -> "Patches":
        """Patches that become operations."""
        from assent.planning.patches import Patches

        return Patches(self._doors, self._place, self.drafts)

    @property
    def folder_import(self) -> "FolderImporter":
        """Folders whose difference becomes operations."""
        from assent.planning.folder_import import FolderImporter

        return FolderImporter(self._doors, self._place, self.drafts)

    @property
    def reviews(self) -> "Reviews":
        """Reviews of plans, which users read before they decide."""
        from assent.planning.reviews import Reviews

        return Reviews(self._doors, self.plans, self._place, self.run_status.next_after_run)

    @property
    def partial_approvals(self) -> "PartialApprovals":
        """Approvals of a part of a plan."""
        from assent.planning.partial_approval import PartialApprovals

        return PartialApprovals(
            self._doors, self._place, self.plans, self.approvals, self._projections
        )

    @property
    def review_history(self) -> "ReviewHistory":
        """The record of what users have reviewed."""
        from assent.planning.review_history import ReviewHistory

        readings = ReviewHistory(
            self._doors, self._place, self.reviews, self.partial_approvals, self._projections
        )
        readings.commented = lambda record, review: self.comments.shown(record, review)
        return readings

    @property
    def comments(self) -> "Comments":
        """Comments of users on plans."""
        from assent.planning.comments import Comments

        return Comments(self._doors, self._place, self.plans, self.reviews, self.approvals)

    @property
    def rebaser(self) -> "Rebaser":
        """New plans from those whose files changed."""
        from assent.planning.rebase import Rebaser

        return Rebaser(self._doors, self.plans, self.approvals, self._projections)

    def bundles(self, file: str = "") -> "Bundles":
        """Returns the verbs about plans that are made here and applied elsewhere, or the reverse.

        `file` is how a person would type the name of the one that they are about.
        """
        from assent.planning.bundles import Bundles

        found = Bundles(self._doors, self._place, self.plans, self.approvals, self.reviews)
        found.file = file or found.file
        return found

    @property
    def evidence(self) -> "RunEvidence":
        """Evidence of runs."""
        from assent.runs.evidence import RunEvidence

        return RunEvidence(self._doors, self.plans)

    @property
    def key_log(self) -> "KeyLog":
        """The log of which keys were trusted, and since when."""
        from assent.planning.bundles import KeyLog

        return KeyLog(self._doors, self._place)

    @property
    def trust_log(self) -> "TrustLog":
        """The log of which file contents were trusted."""
        from assent.agent.project_files import TrustLog

        return TrustLog(self._doors, self._place, self._workspaces)

    @property
    def history(self) -> "RunHistory":
        """Past runs."""
        from assent.runs.history import RunHistory

        return RunHistory(self._doors, self.runs)

    @property
    def retention(self) -> "RunRetention":
        """What is kept of runs for an undo."""
        from assent.runs.retention import RunRetention

        return RunRetention(
            self._doors, self._place, self._workspaces, self.history, self._projections
        )

    @property
    def memory(self) -> "WorkspaceMemory":
        """Remembered facts about the workspace."""
        from assent.agent.memory import WorkspaceMemory

        return WorkspaceMemory(self._doors, self._workspaces)

    @property
    def text_plan_builds(self) -> "TextPlanBuilds":
        """Text plans that a model builds."""
        from assent.agent.text_plan_builds import TextPlanBuilds

        return TextPlanBuilds(self._services, self.sessions)

    @property
    def turn_changes(self) -> "SessionTurnChanges":
        """What the turns of sessions changed."""
        from assent.agent.turn_changes import SessionTurnChanges

        return SessionTurnChanges(self._services)

    def init(self, agent: bytes) -> "AgentFileStatus":
        """Makes the folder a workspace, and updates the plan agent's file."""
        from assent.agent.project_files import sync_agent_file

        self._workspaces.open()
        self._doors.projection.prepare()
        return sync_agent_file(self._doors.projection, agent)

    def session_context(self, tooling: "ToolEnvironment") -> "SessionContext":
        """Returns the context of sessions: their agents, permissions and tool calls' view."""
        from assent.agent.session_context import SessionContext

        return SessionContext(self._services, tooling)

    @property
    def permits(self) -> "Permits":
        """Permits: changes that were allowed outside plans."""
        return self._services.permits

    @property
    def session_commands(self) -> "SessionCommands":
        """Command lines outside plans."""
        return self._services.session_commands

    @property
    def grants(self) -> "Grants":
        """Remembered permission answers."""
        return self._services.grants

    @property
    def pending_questions(self) -> "PendingQuestions":
        """Questions that wait for an answer."""
        return self._services.pending_questions

    @property
    def _services(self) -> "AgentServices":
        """What sessions work with; it knows what is at work, so there is one for all threads."""
        with self._making:
            if self._made_services is None:
                from assent.agent.services import open_agent_services

                self._made_services = open_agent_services(
                    self._doors,
                    self._place,
                    self._workspaces,
                    self._projections,
                    self.plans,
                    self.drafts,
                    self.approvals,
                    self.runs,
                    told=lambda record, words: self.sessions.add_context(record, words),
                )
            return self._made_services

    @property
    def sessions(self) -> "Sessions":
        """Conversations with a model; they know which turns there are, so there is one of them."""
        with self._making:
            if self._made_sessions is None:
                from assent.agent.sessions import Sessions

                self._made_sessions = Sessions(self._services)
            return self._made_sessions

    def waiting(self) -> "tuple[PendingDecision, ...]":
        """Returns everything that waits for the user, over all sessions."""
        from assent.agent.pending_decisions import PendingDecisions

        with self._making:
            if self._made_decisions is None:
                self._made_decisions = PendingDecisions(self._services, self.sessions, self.reviews)
        return self._made_decisions.all()

    @property
    def max_file(self) -> int:
        """The maximum bytes that are read from one file or stdin that a user names."""
        return self._place.max_file
