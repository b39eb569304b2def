"""What a tool is: a name, typed arguments, what it accesses, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from assent.core.tool import Action, PermissionContext, ResourceAccess, ToolOutcome
from assent.ports import OutsideFiles, PageFetcher, ProcessRunner, ReadOnlyShell
from assent.tools.overlay import Overlay


class ToolContext(msgspec.Struct, frozen=True):
    """What a call may read; nothing here writes."""

    overlay: Overlay
    open_process: Callable[[], ProcessRunner]  # most calls start no program
    open_shell: Callable[[], ReadOnlyShell]
    fetch: PageFetcher
    posture: PermissionContext
    root: bytes  # of the workspace, absolute
    plan: bytes = b""  # the plan file's path in the workspace
    plan_text: Callable[[], bytes] = bytes
    plan_dir: bytes = b".opencode/plans"
    private: tuple[bytes, ...] = ()  # further places of Assent's own in the workspace
    seen: Mapping[str, str] = {}  # digests of files as the model last saw them, by path
    readable: Callable[[bytes], bool] = lambda path: True  # without asking a person
    outside: OutsideFiles | None = None
    absent: frozenset[str] = frozenset()  # tools that the model does not have here
    judged: tuple[ResourceAccess, ...] = ()  # what the gate has seen of this call, once it may run
    session: str = ""
    kinds: tuple[str, ...] | None = None  # of sub-agents that there are; None: it is not known
    # Waits for an outcome that only somebody else can bring about, as long as the person does.
    attend: Callable[[Callable[[], ToolOutcome]], ToolOutcome] = lambda work: work()

    @property
    def process(self) -> ProcessRunner:
        """What starts programs."""
        return self.open_process()

    @property
    def shell(self) -> ReadOnlyShell:
        """What runs command lines that only read."""
        return self.open_shell()


class RawArguments(msgspec.Struct, frozen=True):
    """Arguments as they came, for a tool whose schema is not known beforehand."""

    values: dict[str, Any]


class Tool(msgspec.Struct, frozen=True):
    """One tool; its description for the model is the Markdown file next to it."""

    name: str
    args: type[msgspec.Struct]
    touches: Callable[[Any, ToolContext], Sequence[ResourceAccess]]
    run: Callable[[Any, ToolContext], ToolOutcome]
    action: Action = Action.EDIT  # what is not declared counts as changing files
    only: str = ""  # offered while planning ("plan"), or only outside it ("build")
    text: str = ""  # its description, where no file beside it has one
    schema: dict[str, Any] | None = None  # a server's own; then `args` is `Free`
    title: Callable[[Any], str] = lambda args: ""  # of a call, where a person tells calls by it


# As plugins know them from before `assent.plugins`.
Around, Free = ToolContext, RawArguments
