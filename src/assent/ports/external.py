"""Ports to programs and servers: processes, models, web pages, and files outside the workspace."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from assent.core.errors import Refused
from assent.core.llm import ModelRequest, Prices, StreamEvent
from assent.core.permission.rule import CommandLimits
from assent.core.plan.operation import RunCommand
from assent.core.run.workspace_changes import NO_FILES, FileStateChanges, WorkspaceChanges
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxStatus,
)


class ProcessRunner(Protocol):
    """Runs programs so that they cannot write, connect, signal or read secrets.

    Folders are absolute real paths. What is visible is what a program inside could open.
    """

    def sandbox_status(self) -> SandboxStatus:
        """Tells whether the sandbox holds; the first call of a boot tries to break out of it."""

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        """Returns the trusted path of the first of these programs that is installed.

        The system's come first; with `own`, the order of the person's PATH counts.
        """

    def visible(self, path: bytes) -> bool:
        """Tells whether a program may read this path: in sight, and not masked."""

    def hidden_below(self, folder: bytes) -> bytes | None:
        """Returns a masked path in a folder, if there is one."""

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        """Lists the names in a visible folder, and whether each is a folder; else nothing."""

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a pipeline and streams its output; `Ended` comes last. Closing it ends them all."""

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a command that may write in the workspace, in the profile that it names.

        Confined, it can write nowhere else, connect nowhere unless it says so, and change neither
        git's nor Assent's own files (to commit, not git's settings and hooks); raises Refused where
        no sandbox holds. Unconfined, it can do what the person can. It ends with this process.
        """

    def still_running(self) -> str:
        """Names what is alive all the same of commands that were cut off; else empty."""


class PlanCommandRunner(Protocol):
    """Runs the commands of plans, and tells what they changed."""

    def check(self, command: RunCommand, meant: FileStateChanges = NO_FILES) -> None:
        """Raises Refused if the command could not run here as its plan says.

        `meant` are the files that the plan itself changes, as it is to meet and to leave them.
        """

    def check_allowed(self, command: RunCommand) -> None:
        """Raises Refused if rules deny the command by now; asked each time, before it begins."""

    def check_at_rest(self) -> None:
        """Raises RunUnfinished if a command still runs here whose starter died."""

    def clean_up(self, command: RunCommand, left: FileStateChanges) -> str:
        """Takes back what a command that was cut off left half done elsewhere than in files.

        Says what could not be taken back. `left` are the files that the run has changed so far.
        """

    def record(self) -> str:
        """Keeps what stands in the workspace now; returns the blob that tells of it, flushed."""

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a command of the plan with this digest; `Ended` comes last. Closing it ends it.

        `left` are the files that the run has changed so far, which is what a commit is about.
        """

    def stop_when(self, stopped: Callable[[], bool]) -> None:
        """Has the command that runs, or else the next one, end once this tells so."""

    def changes(self, before: str) -> WorkspaceChanges:
        """Returns what is other than in a record, every content kept that an undo would need."""


class ReadOnlyShell(Protocol):
    """Runs command lines that only read."""

    def run(
        self, text: str, folder: bytes, limits: ProcessLimits | None = None
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a command line in a folder; raises Refused before anything has run.

        It is MayWrite if the line does not only read.
        """


class ModelStream(Iterator[StreamEvent], Protocol):
    """A model's answer as it comes; `StreamEnded` comes last."""

    def close(self) -> None:
        """Ends the request at once, from any thread; who waits for it then gets Interrupted."""


class Model(Protocol):
    """Something that turns a prompt into a stream of parts."""

    def stream(self, prompt: ModelRequest) -> ModelStream:
        """Answers. The same message object in a later prompt is not encoded again.

        Raises ModelError, which says whether another attempt, another key or less text would help.
        """


class OpenedModel(msgspec.Struct, frozen=True):
    """A model that is ready to be asked, and what is known about it; 0: unknown."""

    model: Model
    name: str
    context: int = 0
    output: int = 0
    prices: Prices | None = None
    warm: Callable[[], None] | None = None  # opens the connection ahead of the first request


class FetchResponse(msgspec.Struct, frozen=True):
    """What a server sent."""

    url: str
    status: int
    media_type: str
    content: bytes
    cut: bool = False  # there was more than the limit


class PageFetcher(Protocol):
    """Gets pages over HTTP: GET only, no cookies, no credentials."""

    def get(self, url: str, limit: int, allowed: Callable[[str], bool]) -> FetchResponse:
        """Follows redirects only to hosts that are allowed; raises Refused or Unavailable."""


class OutsideFiles(Protocol):
    """Files outside the workspace, for reading alone, by absolute path; symlinks are resolved."""

    def real(self, path: bytes) -> bytes:
        """Returns the real path; raises Refused for what is never shown, such as keys."""

    def is_folder(self, path: bytes) -> bool:
        """Tells whether a real path is a folder, without looking into it."""

    def read(self, path: bytes, limit: int) -> bytes:
        """Reads a real path; raises Refused for what is no file, or has more bytes."""

    def names(self, folder: bytes) -> dict[bytes, bool]:
        """Lists the names in a folder, and whether each is a folder; raises NotFound."""


class NoPlanCommandRunner:
    """Implements PlanCommandRunner where no command may run."""

    def check(self, command: RunCommand, meant: FileStateChanges = NO_FILES) -> None:
        raise Refused("The plan holds a command, and commands cannot run here.")

    def check_allowed(self, command: RunCommand) -> None:
        raise Refused("Commands cannot run here.")

    def check_at_rest(self) -> None:
        """None ran here, so none still runs."""

    def clean_up(self, command: RunCommand, left: FileStateChanges) -> str:
        return ""

    def record(self) -> str:
        raise Refused("Commands cannot run here.")

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        raise Refused("Commands cannot run here.")

    def stop_when(self, stopped: Callable[[], bool]) -> None:
        """None runs here, so none has to end."""

    def changes(self, before: str) -> WorkspaceChanges:
        return WorkspaceChanges(known=False)


class PlanRules(Protocol):
    """What the rules of user and project say about plans, whoever approved those.

    They are read anew with every question, so a rule that was added meanwhile counts.
    """

    def command_limits(self, line: str) -> CommandLimits:
        """Returns to what they hold a command, given as a line for a shell."""

    def denials(self, paths: Iterable[bytes], *, lenient: bool = False) -> Mapping[bytes, str]:
        """Returns the paths that no plan may change, each with the rule that denies it.

        Leniently, a project's configuration that cannot be read says nothing; else that raises.
        """


class HookResults(msgspec.Struct, frozen=True):
    """What hooks returned: an objection, if any, text for the model, and warnings."""

    objection: str = ""
    words: str = ""
    warnings: tuple[str, ...] = ()


class HookRunner(Protocol):
    """Runs the user's own programs on what happens."""

    def fire(self, on: str, facts: Mapping[str, Any]) -> HookResults:
        """Starts every hook for that moment with the facts as JSON; never raises.

        Of those that come before something, one that is missing, slow or fails says no.
        """
