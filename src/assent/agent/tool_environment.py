"""What the tool calls of a turn work with, as `app` set it up for this machine and user."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from assent.agent.subagents.concurrency import ConcurrencyLimit
from assent.core.permission.mode import CustomMode
from assent.core.session.agent import Agent
from assent.core.tool import PermissionContext
from assent.ports import OutsideFiles, PageFetcher, ProcessRunner, ReadOnlyShell
from assent.ports.session import AgentDriver, Asker, CallGuard, PermissionGate
from assent.tools.dispatcher import ToolDispatcher


class TaskLimits(msgspec.Struct, frozen=True):
    """The limits of children: `[tasks]`."""

    depth: int = 1
    max_parallel: int = 3
    seconds: float = 600
    steps: int = 60
    children: int = 20  # budget.children: of one session, before the person is asked


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
    suggest: bool = False  # plan.suggest
    formatters: Mapping[str, tuple[str, ...]] = {}  # format
    modes: Mapping[str, CustomMode] = {}  # of the person's and the project's own
    outside: OutsideFiles | None = None
    # Returns what opens both where rules keep files from programs; None: nobody has to be kept.
    with_path_limits: Callable[[PermissionContext], ProgramOpeners | None] = lambda posture: None
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
    concurrency: ConcurrencyLimit | None = (
        None  # of the tree that a child works in; None: it is nobody's child
    )
