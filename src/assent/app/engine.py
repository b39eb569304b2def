"""The engine: all services of one workspace, which are the API of every face.

It is the composition root of the services: each is opened by one function here, which imports it
when a command first asks for it, because importing modules is most of the time that a short
command takes. What keeps state is opened once, whichever thread asks first.
"""

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assent.app.status import WorkspaceStatus
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.repositories import WorkspaceMemory

if TYPE_CHECKING:
    from assent.agent.attachments import Attachments
    from assent.agent.draft_results import DraftResults
    from assent.agent.edit_checks import EditChecks
    from assent.agent.message_queue import MessageQueues
    from assent.agent.options import OptionDrafts
    from assent.agent.pending_decisions import PendingDecisions
    from assent.agent.pending_questions import Grants, PendingQuestions
    from assent.agent.project_files import AgentFileStatus, TrustLog
    from assent.agent.rehearsal import DraftRehearsals
    from assent.agent.rewind_files import FileRewinds
    from assent.agent.scratch_commands import ScratchCommands
    from assent.agent.services import AgentServices, ToolEnvironment
    from assent.agent.session_context import SessionContext
    from assent.agent.sessions import Sessions
    from assent.agent.text_plan_builds import TextPlanBuilds
    from assent.agent.turn_changes import SessionTurnChanges
    from assent.core.plan.record import PlanRecord
    from assent.core.session.estimate import WorkEstimate
    from assent.planning.approvals import Approvals
    from assent.planning.bundles import Bundles, KeyLog
    from assent.planning.comments import Comments
    from assent.planning.drafts import Drafts
    from assent.planning.folder_import import FolderImporter
    from assent.planning.partial_approval import PartialApprovals
    from assent.planning.patches import Patches
    from assent.planning.rebase import Rebaser
    from assent.planning.rehearsals import Rehearsals
    from assent.planning.review_history import ReviewHistory
    from assent.planning.reviews import Reviews
    from assent.render.pending_decisions import PendingDecision
    from assent.runs.evidence import RunEvidence
    from assent.runs.history import RunHistory
    from assent.runs.permits import Permits
    from assent.runs.plan_work import PlanWorkLog
    from assent.runs.rehearsal import PlanRehearser
    from assent.runs.retention import RunRetention
    from assent.runs.runs import Runs
    from assent.runs.session_commands import SessionCommands
    from assent.runs.staged_result import ResultStager
    from assent.runs.undo.service import UndoService

T = TypeVar("T")


class opened_once(Generic[T]):  # a decorator, like `property`
    """A service that keeps state: opened by the first thread that asks, and there is one."""

    def __init__(self, open: "Callable[[Any], T]") -> None:
        self._open = open
        self.__doc__ = open.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, engine: "Engine", owner: type) -> T:
        with engine.opening:
            found = engine.__dict__
            if self._name not in found:
                found[self._name] = self._open(engine)  # from now on this is found first
            return found[self._name]  # type: ignore[no-any-return]


class Engine(WorkspaceStatus):
    """Sessions, plans, drafts, reviews, approvals, runs and undo for one workspace."""

    def __init__(self, ports: Ports, config: WorkspaceConfig) -> None:
        super().__init__(ports, config)
        self.opening = RLock()
        self._projections.todos_of = self.session_list.todos_of

    @opened_once
    def drafts(self) -> "Drafts":
        """Operations that plans will have."""
        from assent.planning.drafts import Drafts

        return Drafts(self._ports, self._config, self.plans, self._projections)

    @opened_once
    def approvals(self) -> "Approvals":
        """Proposals, and what users decide about them."""
        from assent.planning.approvals import Approvals

        approvals = Approvals(self._ports, self._config, self.plans, self._projections)
        approvals.reviewed = lambda record: self.reviews.review(record)
        approvals.check_rehearsal = lambda record, plan: self.rehearsals.check_required(
            record, plan
        )
        approvals.next_after_run = self._next_after_run
        return approvals

    @opened_once
    def runs(self) -> "Runs":
        """Builds and recovery; they know which run is at work."""
        from assent.runs.runs import Runs

        return Runs(self._ports, self.plans, self.approvals, self._projections, self.orphan_slots)

    @opened_once
    def undo(self) -> "UndoService":
        """Runs that are undone."""
        from assent.runs.undo.service import UndoService

        return UndoService(self._ports, self.runs, self.approvals)

    @property
    def patches(self) -> "Patches":
        """Patches that become operations."""
        from assent.planning.patches import Patches

        return Patches(self._ports, self._config, self.drafts)

    @property
    def folder_import(self) -> "FolderImporter":
        """Folders whose difference becomes operations."""
        from assent.planning.folder_import import FolderImporter

        return FolderImporter(self._ports, self._config, self.drafts)

    @property
    def reviews(self) -> "Reviews":
        """Reviews of plans, which users read before they decide."""
        from assent.planning.reviews import Reviews

        reviews = Reviews(
            self._ports, self.plans, self._config, self._next_after_run, self.plan_steps
        )
        reviews.rehearsed = self.rehearsals.of
        return reviews

    @property
    def rehearsals(self) -> "Rehearsals":
        """What was tried of plans in scratch copies."""
        from assent.planning.rehearsals import Rehearsals

        return Rehearsals(self._ports, self._config, self._workspaces)

    @property
    def rehearser(self) -> "PlanRehearser":
        """Plans that are tried in scratch copies."""
        from assent.runs.rehearsal import PlanRehearser

        return PlanRehearser(self._ports, self._config, self.plans, self.rehearsals)

    @property
    def result_stager(self) -> "ResultStager":
        """Commands whose changes in a scratch copy become operations."""
        from assent.runs.staged_result import ResultStager

        return ResultStager(self._ports, self._config, self.plans, self.drafts)

    @property
    def partial_approvals(self) -> "PartialApprovals":
        """Approvals of a part of a plan."""
        from assent.planning.partial_approval import PartialApprovals

        return PartialApprovals(
            self._ports, self._config, self.plans, self.approvals, self._projections
        )

    @property
    def review_history(self) -> "ReviewHistory":
        """The record of what users have reviewed."""
        from assent.planning.review_history import ReviewHistory

        readings = ReviewHistory(
            self._ports,
            self._config,
            self.reviews,
            self.plans,
            lambda record: self.partial_approvals.excluded(record),
            self._projections,
        )
        readings.commented = lambda record, review: self.comments.shown(record, review)
        readings.estimated = lambda record, review: self.estimate_of_build(record, review.text)
        return readings

    def estimate_of_build(
        self, record: "PlanRecord", text: bytes, model: str = "", agent: str = ""
    ) -> "WorkEstimate":
        """Estimates what the build of a text plan takes: its steps, in the plan's session.

        Model and agent are those that the user chose for it, if they did.
        """
        from assent.agent.text_plan_builds import BUILD_AGENT, plan_steps
        from assent.app.estimate import estimate_build

        session, steps = self.sessions.of_plan(record), len(plan_steps(text))
        known = self.session_list.repository()
        return estimate_build(self._config, known, session, steps, model, agent or BUILD_AGENT)

    @property
    def comments(self) -> "Comments":
        """Comments of users on plans."""
        from assent.planning.comments import Comments

        return Comments(self._ports, self._config, self.plans, self.reviews, lambda: self.approvals)

    @property
    def rebaser(self) -> "Rebaser":
        """New plans from those whose files changed."""
        from assent.planning.rebase import Rebaser

        return Rebaser(self._ports, self.plans, self.approvals, self._projections)

    def bundles(self, file: str = "") -> "Bundles":
        """Returns the verbs about plans that are made here and applied elsewhere, or the reverse.

        `file` is how a person would type the name of the one that they are about.
        """
        from assent.planning.bundles import Bundles

        found = Bundles(self._ports, self._config, self.plans, self.approvals, self.reviews)
        found.file = file or found.file
        return found

    @property
    def evidence(self) -> "RunEvidence":
        """Evidence of runs."""
        from assent.runs.evidence import RunEvidence

        return RunEvidence(self._ports, self.plans)

    @property
    def key_log(self) -> "KeyLog":
        """The log of which keys were trusted, and since when."""
        from assent.planning.bundles import KeyLog

        return KeyLog(self._ports, self._config)

    @property
    def trust_log(self) -> "TrustLog":
        """The log of which file contents were trusted."""
        from assent.agent.project_files import TrustLog

        return TrustLog(self._ports, self._config, self._workspaces)

    @property
    def history(self) -> "RunHistory":
        """Past runs."""
        from assent.runs.history import RunHistory

        return RunHistory(self._ports, self.run_status)

    @property
    def plan_work(self) -> "PlanWorkLog":
        """Long work on plans that a server was asked for."""
        from assent.runs.plan_work import PlanWorkLog

        return PlanWorkLog(self._ports)

    @property
    def retention(self) -> "RunRetention":
        """What is kept of runs for an undo."""
        from assent.runs.retention import RunRetention

        return RunRetention(
            self._ports, self._config, self._workspaces, self.history, self._projections
        )

    @property
    def memory(self) -> WorkspaceMemory:
        """Remembered facts about the workspace."""
        return WorkspaceMemory(self._ports, self._workspaces)

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
        self._ports.projection.prepare()
        return sync_agent_file(self._ports.projection, agent)

    def session_context(self, tools: "ToolEnvironment") -> "SessionContext":
        """Returns the context of sessions: their agents, permissions and tool calls' view."""
        from assent.agent.session_context import SessionContext

        return SessionContext(self._services, tools)

    @opened_once
    def permits(self) -> "Permits":
        """Changes that were allowed outside plans; they know the last one."""
        from assent.runs.permits import Permits

        return Permits(self._ports, self._config, self.runs, self._services.last_edit)

    @opened_once
    def session_commands(self) -> "SessionCommands":
        """Command lines outside plans; they know which one runs."""
        from assent.runs.session_commands import SessionCommands

        commands = SessionCommands(self._ports, self._config, self.runs, self._workspaces)
        commands.told = lambda record, words: self.sessions.add_context(record, words)
        return commands

    @opened_once
    def grants(self) -> "Grants":
        """Remembered permission answers."""
        from assent.agent.pending_questions import Grants

        return Grants(self._ports, self._workspaces, self._config)

    @opened_once
    def pending_questions(self) -> "PendingQuestions":
        """Questions that wait for an answer."""
        from assent.agent.pending_questions import PendingQuestions

        return PendingQuestions(self._ports, self._workspaces, self._config, self.grants)

    @opened_once
    def _services(self) -> "AgentServices":
        """What sessions work with."""
        from assent.agent.services import AgentServices
        from assent.runs.run_status import LastEdit

        return AgentServices(
            self._ports,
            self._config,
            self._workspaces,
            self._projections,
            self.plans,
            self.memory,
            self.grants,
            self.pending_questions,
            self.run_status,
            self.orphan_slots,
            LastEdit(),
            open_drafts=lambda: self.drafts,
            open_approvals=lambda: self.approvals,
            open_runs=lambda: self.runs,
            open_permits=lambda: self.permits,
            open_session_commands=lambda: self.session_commands,
            open_attachments=lambda: self._attachments,
            open_comments=lambda: self.comments,
            open_options=lambda: self._options,
            open_draft_results=lambda: self._draft_results,
            open_scratch_commands=lambda: self._scratch_commands,
            open_edit_checks=lambda: self._edit_checks,
            open_draft_rehearsals=lambda: self._draft_rehearsals,
        )

    @opened_once
    def _attachments(self) -> "Attachments":
        from assent.agent.attachments import Attachments

        return Attachments(self._ports.files)

    @opened_once
    def _options(self) -> "OptionDrafts":
        from assent.agent.options import OptionDrafts

        return OptionDrafts(self.plans, self.approvals, self._workspaces)

    @opened_once
    def _draft_results(self) -> "DraftResults":
        from assent.agent.draft_results import DraftResults

        return DraftResults(self._ports, self.plans, self.drafts)

    @property
    def _draft_rehearsals(self) -> "DraftRehearsals":
        from assent.agent.rehearsal import DraftRehearsals

        return DraftRehearsals(self.rehearser, self.rehearsals)

    @opened_once
    def _scratch_commands(self) -> "ScratchCommands":
        from assent.agent.scratch_commands import ScratchCommands

        return ScratchCommands(
            self._ports, self._config, self.plans, self.result_stager, self._draft_results
        )

    @opened_once
    def _edit_checks(self) -> "EditChecks":
        from assent.agent.edit_checks import EditChecks

        return EditChecks(self._ports, self._scratch_commands)

    @opened_once
    def sessions(self) -> "Sessions":
        """Conversations with a model; they know which turns are at work."""
        from assent.agent.sessions import Sessions

        return Sessions(self._services)

    @opened_once
    def message_queues(self) -> "MessageQueues":
        """Messages that wait for their turn in sessions."""
        from assent.agent.message_queue import MessageQueues

        return MessageQueues(self._ports, self._config)

    @property
    def file_rewinds(self) -> "FileRewinds":
        """Sessions that are rewound together with their files."""
        from assent.agent.rewind_files import FileRewinds

        return FileRewinds(self._services, self.sessions, self.undo)

    @opened_once
    def _decisions(self) -> "PendingDecisions":
        from assent.agent.pending_decisions import PendingDecisions

        return PendingDecisions(self._services, self.sessions, self.reviews)

    def waiting(self) -> "tuple[PendingDecision, ...]":
        """Returns everything that waits for the user, over all sessions."""
        return self._decisions.all()

    def waiting_plans(self) -> "list[PlanRecord]":
        """Returns the plans that wait for the user: to be decided about, or to be built."""
        return self._decisions.plans()

    @property
    def max_file(self) -> int:
        """The maximum bytes that are read from one file or stdin that a user names."""
        return self._config.max_file
