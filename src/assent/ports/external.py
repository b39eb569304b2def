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

    Folders are absolute real paths. Visible is what a program inside could open.
    """

    def sandbox_status(self) -> SandboxStatus:
        """Returns whether the sandbox works; the first call after a boot runs its self-test."""

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        """Returns the trusted path of the first of these programs that is installed.

        The system's come first; with `own`, the order of the user's PATH counts.
        """

    def home(self) -> bytes:
        """Returns the value of `HOME` that programs get: the user's, with nothing of theirs in it.

        Where no sandbox works, each call has an empty home of its own instead.
        """

    def visible(self, path: bytes) -> bool:
        """Tells whether a program may read this path: visible, and not masked."""

    def hidden_below(self, folder: bytes) -> bytes | None:
        """Returns a masked path in a folder, if there is one."""

    def chosen(self) -> tuple[bytes, ...]:
        """Returns the real paths that the user chose to show to programs."""

    def visibility_notes(self, line: str, folder: bytes) -> tuple[str, ...]:
        """Says which programs and files of a command line a program inside does not find, and why.

        Only what is outside the workspace counts; what is there may be made by another command.
        """

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        """Lists the names in a visible folder, and whether each is a folder; else nothing."""

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a pipeline and streams its output; `ProcessResult` comes last. Closing ends it."""

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a command that may write in the workspace, in the profile that it names.

        Confined, it cannot write elsewhere, cannot connect unless it declares so, and cannot change
        git's or Assent's own files (to commit, not git's settings and hooks); raises Refused if the
        sandbox does not work. Unconfined, it can do what the user can. It ends with this process.
        """

    def still_running(self) -> str:
        """Returns which processes of cancelled commands are still alive; else empty."""


class PlanCommandRunner(Protocol):
    """Runs the commands of plans, and returns what they changed."""

    def check(self, command: RunCommand, meant: FileStateChanges = NO_FILES) -> None:
        """Raises Refused if the command could not run here as its plan says.

        `meant` are the files that the plan itself changes, with their states before and after.
        """

    def check_allowed(self, command: RunCommand) -> None:
        """Raises Refused if rules now deny the command; called each time before it begins."""

    def check_at_rest(self) -> None:
        """Raises RunUnfinished if a command still runs here whose starter died."""

    def clean_up(self, command: RunCommand, left: FileStateChanges) -> str:
        """Reverts what a cancelled command left half done other than in files.

        Returns what could not be reverted. `left` are the files that the run has changed so far.
        """

    def record(self) -> str:
        """Stores a snapshot of the workspace; returns its blob, flushed."""

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a command of the plan with this digest; `ProcessResult` comes last.

        Closing it ends the command. `left` are the files that the run has changed so far, which a
        commit is about.
        """

    def stop_when(self, stopped: Callable[[], bool]) -> None:
        """Ends the current command, or else the next one, once this function returns true."""

    def changes(self, before: str) -> WorkspaceChanges:
        """Returns the changes since a snapshot; every content that an undo needs is stored."""


class ReadOnlyShell(Protocol):
    """Runs command lines that only read."""

    def run(
        self, text: str, folder: bytes, limits: ProcessLimits | None = None
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a command line in a folder; raises Refused before anything has run.

        It raises NotReadOnly if the line does more than read.
        """


class ModelStream(Iterator[StreamEvent], Protocol):
    """A model's answer as it comes; `StreamEnded` comes last."""

    def close(self) -> None:
        """Ends the request at once, from any thread; code that waits for it gets Interrupted."""


class Model(Protocol):
    """Something that turns a prompt into a stream of parts."""

    def stream(self, prompt: ModelRequest) -> ModelStream:
        """Streams an answer; the same message object in a later prompt is not encoded again.

        Raises ModelError, which says whether another attempt, another key or less text would help.
        """


class OpenedModel(msgspec.Struct, frozen=True):
    """A model that is ready for requests, and what is known about it; 0: unknown."""

    model: Model
    name: str
    context: int = 0
    output: int = 0
    prices: Prices | None = None
    warm: Callable[[], None] | None = None  # opens the connection ahead of the first request
    sees_images: bool = True  # also where it is not known


class FetchResponse(msgspec.Struct, frozen=True):
    """The response of a server."""

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
    """Files outside the workspace, read-only, by absolute path; symlinks are resolved."""

    def real(self, path: bytes) -> bytes:
        """Returns the real path; raises Refused for files that are never shown, such as keys."""

    def exists(self, path: bytes) -> bool:
        """Tells whether anything is at a real path, without opening it."""

    def is_folder(self, path: bytes) -> bool:
        """Tells whether a real path is a folder, without listing it."""

    def read(self, path: bytes, limit: int) -> bytes:
        """Reads a real path; raises Refused if it is not a file, or is too large."""

    def names(self, folder: bytes) -> dict[bytes, bool]:
        """Lists the names in a folder, and whether each is a folder; raises NotFound."""


class NoPlanCommandRunner:
    """Implements PlanCommandRunner where no command may run."""

    def check(self, command: RunCommand, meant: FileStateChanges = NO_FILES) -> None:
        raise Refused("The plan contains a command, but commands cannot run here.")

    def check_allowed(self, command: RunCommand) -> None:
        raise Refused("Commands cannot run here.")

    def check_at_rest(self) -> None:
        """Does nothing: no command runs here."""

    def clean_up(self, command: RunCommand, left: FileStateChanges) -> str:
        return ""

    def record(self) -> str:
        raise Refused("Commands cannot run here.")

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        raise Refused("Commands cannot run here.")

    def stop_when(self, stopped: Callable[[], bool]) -> None:
        """Does nothing: no command runs here."""

    def changes(self, before: str) -> WorkspaceChanges:
        return WorkspaceChanges(known=False)


class PlanRules(Protocol):
    """The rules of user and project that apply to plans, even approved ones.

    They are read again for every call, so that a rule that was added since applies.
    """

    def command_limits(self, line: str) -> CommandLimits:
        """Returns the limits on a command, given as a shell command line."""

    def denials(self, paths: Iterable[bytes], *, lenient: bool = False) -> Mapping[bytes, str]:
        """Returns the paths that no plan may change, each with the rule that denies it.

        With `lenient`, an unreadable project configuration is ignored; else it raises.
        """


class HookResults(msgspec.Struct, frozen=True):
    """What hooks returned: an objection, if any, text for the model, and warnings."""

    objection: str = ""
    words: str = ""
    warnings: tuple[str, ...] = ()


class HookRunner(Protocol):
    """Runs the user's own programs on events."""

    def fire(self, on: str, facts: Mapping[str, Any]) -> HookResults:
        """Runs every hook for an event with the facts as JSON; never raises.

        For hooks that run before something, one that is missing, slow or fails is an objection.
        """

    def listens(self, on: str) -> bool:
        """Tells whether there is a hook for an event whose facts are costly to collect."""
