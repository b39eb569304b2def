"""What sessions and their tool calls work with, as `app` set it up for this machine and user."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Condition
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from assent.agent.pending_questions import Grants, PendingQuestions
from assent.core.errors import Refused
from assent.core.permission.mode import CustomMode, PlanShell
from assent.core.permission.rule import PathLimits
from assent.core.plan.operation import Operation
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.agent import Agent
from assent.core.session.event import PlanLink, Todo, plan_link
from assent.core.session.record import SessionRecord
from assent.core.text.secrets import redact
from assent.core.tool import PermissionContext
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.projections import PlanProjections
from assent.planning.repositories import WorkspaceMemory, WorkspaceRepository
from assent.ports import OutsideFiles, PageFetcher, ProcessRunner, ReadOnlyShell
from assent.ports.session import AgentDriver, Asker, CallGuard, PermissionGate
from assent.runs.orphan_slots import OrphanSlots
from assent.runs.run_status import LastEdit, RunStatus
from assent.tools.dispatcher import ToolDispatcher
from assent.tools.files import OwnFolders, first_look
from assent.tools.overlay import Overlay

if TYPE_CHECKING:
    from assent.agent.attachments import Attachments
    from assent.agent.critic import PlanCritic
    from assent.agent.draft_results import DraftResults
    from assent.agent.edit_checks import EditChecks
    from assent.agent.options import OptionDrafts
    from assent.agent.rehearsal import DraftRehearsals
    from assent.agent.scratch_commands import ScratchCommands
    from assent.planning.approvals import Approvals
    from assent.planning.comments import Comments
    from assent.planning.drafts import Drafts
    from assent.ports.scratch import ScratchCopy
    from assent.runs.permits import Permits
    from assent.runs.runs import Runs
    from assent.runs.session_commands import SessionCommands


class AgentServices(msgspec.Struct, frozen=True):
    """The services that a session can use; `app` opens those that change something on demand."""

    ports: Ports
    config: WorkspaceConfig
    workspaces: WorkspaceRepository
    projections: PlanProjections
    plans: Plans
    facts: WorkspaceMemory
    grants: Grants
    pending_questions: PendingQuestions
    run_status: RunStatus
    orphan_slots: OrphanSlots
    last_edit: LastEdit
    open_drafts: "Callable[[], Drafts]"
    open_approvals: "Callable[[], Approvals]"
    open_runs: "Callable[[], Runs]"
    open_permits: "Callable[[], Permits]"
    open_session_commands: "Callable[[], SessionCommands]"
    open_attachments: "Callable[[], Attachments]"
    open_comments: "Callable[[], Comments]"
    open_options: "Callable[[], OptionDrafts]"
    open_draft_results: "Callable[[], DraftResults]"
    open_scratch_commands: "Callable[[], ScratchCommands]"
    open_edit_checks: "Callable[[], EditChecks]"
    open_draft_rehearsals: "Callable[[], DraftRehearsals]"

    @property
    def drafts(self) -> "Drafts":
        """What stages operations."""
        return self.open_drafts()

    @property
    def approvals(self) -> "Approvals":
        """What proposes plans, and knows which are approved."""
        return self.open_approvals()

    @property
    def runs(self) -> "Runs":
        """What builds plans, and recovers runs."""
        return self.open_runs()

    @property
    def permits(self) -> "Permits":
        """What changes files outside plans."""
        return self.open_permits()

    @property
    def session_commands(self) -> "SessionCommands":
        """What runs command lines outside plans."""
        return self.open_session_commands()

    @property
    def attachments(self) -> "Attachments":
        """What reads the files that a user names with `@`."""
        return self.open_attachments()

    @property
    def comments(self) -> "Comments":
        """What keeps comments on plans."""
        return self.open_comments()

    @property
    def options(self) -> "OptionDrafts":
        """What drafts several plans for the user to choose from."""
        return self.open_options()

    @property
    def draft_results(self) -> "DraftResults":
        """What tells a model about its draft."""
        return self.open_draft_results()

    @property
    def scratch_commands(self) -> "ScratchCommands":
        """What runs a planning model's commands in scratch copies."""
        return self.open_scratch_commands()

    @property
    def edit_checks(self) -> "EditChecks":
        """What runs the user's checks after staged edits."""
        return self.open_edit_checks()

    @property
    def draft_rehearsals(self) -> "DraftRehearsals":
        """What tries a draft in a scratch copy, for a model."""
        return self.open_draft_rehearsals()

    def plan_of(self, record: SessionRecord) -> PlanRecord | None:
        """Returns the plan that a session works on, if it has one."""
        return self.plans.repository().load(record.plan_id) if record.plan_id else None

    def link(self, plan: PlanRecord | None) -> PlanLink:
        """Returns a marker that the session's model knows everything that happened until now."""
        home = self.workspaces.open(marked=False)  # a plan has marked it
        if plan is None:
            return plan_link("", 0, home.seq)
        return plan_link(plan.plan_id, plan.seq, home.seq, plan.option)

    def top_level(self, limits: PathLimits | None, staged: Sequence[Operation] = ()) -> str:
        """Returns what is at the top of the workspace and in its tests, with a draft applied.

        A model that does not know it guesses. Names that `limits` hide are left out; nothing is
        returned if they hide everything. The others are others' words: secrets are taken out.
        """
        if limits is not None and limits.hides_path(b""):
            return ""

        def is_shown(path: bytes) -> bool:
            return limits is None or not limits.hides_path(path)

        overlay = Overlay(self.ports.files, self.ports.blobs, staged)
        own = OwnFolders(self.config.plan_dir, self.config.private)
        return redact(first_look(overlay, own, is_shown))

    def show_todos(self, record: SessionRecord, todos: tuple[Todo, ...]) -> None:
        """Shows a session's todos next to its plan's tasks, for people to read."""
        plan = self.plan_of(record)
        if plan is not None and plan.state is not PlanState.DISCARDED:
            self.projections.todos(plan, self.plans.live_text(plan) or b"", todos)


# Limits how many children of one session tree work at the same time, at any depth.


class ConcurrencyLimit:
    """Limits one tree; a parent that waits for its children does not count, so they can run."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._busy = 0
        self._change = Condition()

    @contextmanager
    def acquired(self, unwanted: Callable[[], bool]) -> Iterator[None]:
        """Holds a slot; stops waiting for one when the work is no longer wanted."""
        self._take(unwanted)
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def released(self, unwanted: Callable[[], bool]) -> Iterator[None]:
        """Releases one's own slot to others in this context."""
        self._give()
        try:
            yield
        finally:
            self._take(unwanted)

    def wake(self) -> None:
        """Wakes all who wait, so that they check whether they are still wanted."""
        with self._change:
            self._change.notify_all()

    def _take(self, unwanted: Callable[[], bool]) -> None:
        with self._change:
            while self._busy >= self._most and not unwanted():
                self._change.wait()
            self._busy += 1

    def _give(self) -> None:
        with self._change:
            self._busy -= 1
            self._change.notify_all()


# What the tool calls of a turn work with, as `app` set it up for this machine and user.


class TaskLimits(msgspec.Struct, frozen=True):
    """The limits of children: `[tasks]`."""

    depth: int = 1
    max_parallel: int = 3
    seconds: float = 600
    steps: int = 60
    children: int = 20  # budget.children: of one session, before the user is asked


def no_session_copy(session: str, permissions: PermissionContext) -> "ScratchCopy":
    """Opens no scratch copy: where nothing may be run."""
    raise Refused("There is no scratch copy here, so nothing was run.", "assent doctor")


ProgramOpeners: TypeAlias = tuple[Callable[[], ProcessRunner], Callable[[], ReadOnlyShell]]


class ToolEnvironment(msgspec.Struct, frozen=True):
    """Tools with their gate, the asker for questions, the agents, and the settings of both."""

    open_process: Callable[[], ProcessRunner]  # most turns start no program
    open_shell: Callable[[], ReadOnlyShell]
    fetch: PageFetcher
    gate: PermissionGate
    asker: Asker
    dispatcher: ToolDispatcher
    agents: Mapping[str, Agent] = {}
    hosts: tuple[str, ...] = ()  # fetch.hosts
    staging: bool = True  # plan.staging
    plan_shell: PlanShell = "stage"  # plan.shell
    # Opens the scratch copy of a session, by its id; without what rules hide from its model.
    open_copy: "Callable[[str, PermissionContext], ScratchCopy]" = no_session_copy
    checks: Mapping[str, str] = {}  # check
    suggest: bool = False  # plan.suggest
    open_critic: "Callable[[], PlanCritic] | None" = None  # plan.critic; None: there is none
    formatters: Mapping[str, tuple[str, ...]] = {}  # format
    modes: Mapping[str, CustomMode] = {}  # custom modes of the user and the project
    outside: OutsideFiles | None = None
    # Returns what rules hide from a model, or keep as it is; None: no rule does.
    path_limits: Callable[[PermissionContext], PathLimits | None] = lambda posture: None
    # Returns what opens both if rules keep files from programs; None: no rule does.
    with_path_limits: Callable[[PermissionContext], ProgramOpeners | None] = lambda posture: None
    is_tested: Callable[[], bool] = lambda: True  # whether they start programs at once
    # Makes the guards of one turn: the loop guard, and hooks around calls.
    guards: Callable[[Callable[[], PermissionContext]], Sequence[CallGuard]] = lambda posture: ()
    driver: AgentDriver | None = None  # children work with others of its kind; None: there are none
    tasks: TaskLimits = TaskLimits()
    auto: bool = False  # --auto: what would be asked runs, except where that never may
    unconfined: bool = False  # shell.unconfined
    shell_s: float = 120  # shell.timeout_s
    seconds_left: Callable[[], float | None] = lambda: None  # seconds of the turn; None: no limit
    cancel_reason: Callable[[], str] = lambda: ""  # why the turn is to end at once, from any thread
    questions_s: int = 0  # questions.expires_s
    grants_s: int = 0  # questions.grants_expire_s
    redact: Callable[[str], str] = lambda text: text  # takes secrets out of what calls say
    home: bytes = b""  # what `~` means where the user types a path
    concurrency: ConcurrencyLimit | None = (
        None  # of the tree that a child works in; None: it is not a child
    )
