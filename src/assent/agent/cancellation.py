"""What a turn does once it is cancelled: ends its model request and programs, and reads the log."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TypeVar

import msgspec

from assent.agent.services import ProgramOpeners, ToolEnvironment
from assent.core.errors import AssentError, Interrupted
from assent.core.llm import ModelRequest
from assent.core.session.event import TurnEnded
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxStatus,
)
from assent.core.tool import PermissionContext
from assent.ports import Model, ModelStream, ProcessRunner, ReadOnlyShell
from assent.ports.cancellation import CancelToken

R = TypeVar("R")

FIRST_CHECK_S = 1.0  # most requests are over by then, and calls look for themselves
CHECK_EVERY_S = 0.5
CHECK_CALL_EVERY_S = 0.05  # while waiting for what cannot be ended itself
ABANDONED_CALL = (
    "The user interrupted the call. It may have had effects; check before you repeat it."
)


@contextmanager
def watch_log(
    halted: Callable[[], TurnEnded | None], token: CancelToken[TurnEnded]
) -> Iterator[None]:
    """Cancels a turn that waits for a model, or for a program, once the log says that it is to end.

    Another process may have said so. It looks while a turn is running, and only then.
    """
    over = Event()

    def look() -> None:
        pause = FIRST_CHECK_S
        while not over.wait(pause):
            pause = CHECK_EVERY_S
            with suppress(AssentError):  # the log is busy, say; the next look will do
                if end := halted():
                    token.cancel(end)

    # A daemon: a process that ends does not wait for it.
    Thread(target=look, name="watch", daemon=True).start()
    try:
        yield
    finally:
        over.set()


class CancellableModel:
    """Implements ports.Model around another: a token ends its requests."""

    def __init__(self, model: Model, token: CancelToken[str]) -> None:
        self._model = model
        self._token = token

    def stream(self, prompt: ModelRequest) -> ModelStream:
        answers = self._model.stream(prompt)
        self._token.attach(answers.close)
        self._token.raise_if_cancelled()
        return answers


def cancellable_environment(
    tools: ToolEnvironment, token: CancelToken[TurnEnded]
) -> ToolEnvironment:
    """Returns the tooling of a turn, whose programs end once it is cancelled."""

    def wanted() -> bool:
        return token.is_cancelled

    def cancellable(opened: ProgramOpeners) -> ProgramOpeners:
        process, shell = opened
        return (
            lambda: CancellableProcess(process(), wanted),
            lambda: CancellableShell(shell(), wanted),
        )

    def fenced(permissions: PermissionContext) -> ProgramOpeners | None:
        found = tools.with_path_limits(permissions)
        return found and cancellable(found)

    open_process, open_shell = cancellable((tools.open_process, tools.open_shell))

    return msgspec.structs.replace(
        tools,
        open_process=open_process,
        open_shell=open_shell,
        with_path_limits=fenced,
        cancel_reason=lambda: token.reason.why if token.reason else tools.cancel_reason(),
    )


def run_cancellable(ending: Callable[[], str], work: Callable[[], R]) -> R:
    """Returns the result of a function, or stops waiting for it when the turn is cancelled.

    For functions that wait for an external answer, which cannot be cancelled from here.
    """
    results: list[R] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, name="attended", daemon=True)  # nothing waits for it at exit
    thread.start()
    while thread.is_alive():
        thread.join(CHECK_CALL_EVERY_S)
        if thread.is_alive() and ending():
            raise Interrupted(ABANDONED_CALL)
    if errors:
        raise errors[0]
    return results[0]


class CancellableProcess:
    """Implements ports.ProcessRunner: every program ends as soon as the turn is cancelled."""

    def __init__(self, process: ProcessRunner, stopped: Callable[[], bool]) -> None:
        self._process = process
        self._stopped = stopped

    def sandbox_status(self) -> SandboxStatus:
        return self._process.sandbox_status()

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        return self._process.program(names, own=own)

    def home(self) -> bytes:
        return self._process.home()

    def visible(self, path: bytes) -> bool:
        return self._process.visible(path)

    def hidden_below(self, folder: bytes) -> bytes | None:
        return self._process.hidden_below(folder)

    def chosen(self) -> tuple[bytes, ...]:
        return self._process.chosen()

    def visibility_notes(self, line: str, folder: bytes) -> tuple[str, ...]:
        return self._process.visibility_notes(line, folder)

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        return self._process.entries(folder)

    def still_running(self) -> str:
        return self._process.still_running()

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        return self._process.run(pipeline, folder, cancellable_limits(limits, self._stopped))

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        limits = cancellable_limits(limits, self._stopped)
        return self._process.run_command(errand, folder, limits, confined=confined)


class CancellableShell:
    """Implements ports.ReadOnlyShell: every program ends as soon as the turn is cancelled."""

    def __init__(self, shell: ReadOnlyShell, stopped: Callable[[], bool]) -> None:
        self._shell = shell
        self._stopped = stopped

    def run(
        self, text: str, folder: bytes, limits: ProcessLimits | None = None
    ) -> Iterator[OutputChunk | ProcessResult]:
        return self._shell.run(
            text, folder, cancellable_limits(limits or ProcessLimits(), self._stopped)
        )


def cancellable_limits(limits: ProcessLimits, stopped: Callable[[], bool]) -> ProcessLimits:
    """Returns limits by which a program also ends once `stopped` is true."""
    before = limits.stopped
    return msgspec.structs.replace(limits, stopped=lambda: stopped() or before())
