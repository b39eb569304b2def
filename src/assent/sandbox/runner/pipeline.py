"""Starts the programs of a pipeline, streams their output, and always stops them."""

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from signal import SIGKILL
from typing import Final

import msgspec

from assent.core.paths import display_path
from assent.core.run.state import UNKNOWN_END
from assent.core.shell.process import (
    INTERRUPTED_RESULT,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    StderrMode,
)
from assent.sandbox.runner.process_tree import ProcessTree, child_subreaper
from assent.sandbox.runner.resource_limits import UsageCheck
from assent.sandbox.runner.watchdog import tied_to_watchdog

# The few environment variables that every program gets; none is inherited.


PROGRAM_FOLDERS = (
    b"/usr/local/bin",
    b"/usr/bin",
    b"/bin",
    b"/usr/local/sbin",
    b"/usr/sbin",
    b"/sbin",
)

BASE_ENVIRONMENT = {
    b"LANG": b"C.UTF-8",
    b"LC_ALL": b"C.UTF-8",
    b"TERM": b"dumb",
    b"NO_COLOR": b"1",
    b"PAGER": b"cat",
    b"GIT_PAGER": b"cat",
    b"MANPAGER": b"cat",
    b"GIT_TERMINAL_PROMPT": b"0",
    # There is no terminal: an editor that a program starts would wait for one. It leaves texts as
    # they are, so that `git commit` without a message ends at once, and a merge has its own.
    b"EDITOR": b"true",
    b"VISUAL": b"true",
    b"GIT_EDITOR": b"true",
    b"PYTHONDONTWRITEBYTECODE": b"1",
}


class ProgramPaths(msgspec.Struct, frozen=True):
    """Where a program finds its home, its scratch folder and other programs."""

    home: bytes
    scratch: bytes
    folders: Sequence[bytes] = PROGRAM_FOLDERS
    user: bytes = b"nobody"


def environment(paths: ProgramPaths, program: Program) -> dict[bytes, bytes]:
    """Returns all variables of a program; its own ones win."""
    own = {name.encode(): _encoded(value) for name, value in program.environment}
    given = {
        b"HOME": paths.home,
        b"TMPDIR": paths.scratch,
        b"PATH": b":".join(paths.folders),
        b"USER": paths.user,
        b"LOGNAME": paths.user,
    }
    return {**BASE_ENVIRONMENT, **given, **own}


def _encoded(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


NOT_STARTED: Final = ProcessResult(126, "start")

_CODES: Final = {"time": 124, INTERRUPTED_RESULT.cut: INTERRUPTED_RESULT.code}
_KILLED: Final = 128 + SIGKILL
_READ: Final = 64 << 10
_FIRST_LOOK: Final = 0.02  # seconds; a program that runs away does so at once
_LOOKS: Final = 0.05
_GRACE: Final = 0.5  # seconds for processes that a program left running to release its output


class ProcessSpec(msgspec.Struct, frozen=True):
    """One process to start, with the descriptors that it gets in addition to the usual three.

    Bubblewrap's reports can be read at `status`; `watch` gets the process id.
    """

    argv: tuple[bytes, ...]
    environment: dict[bytes, bytes]
    folder: bytes
    given: tuple[int, ...] = ()
    status: int | None = None
    watch: int | None = None


# Makes a command of a program. What only the start needs goes into the first stack, what has to
# stay open until the end into the second.
ProcessPreparer = Callable[[Program, ExitStack, ExitStack], ProcessSpec]


def run_pipeline(
    programs: Sequence[Program], prepare: ProcessPreparer, watch: UsageCheck, limits: ProcessLimits
) -> Generator[OutputChunk | ProcessResult, None, None]:
    """Runs a pipeline. Limits are checked while the output is read.

    A sandbox ends with the thread that started it: one thread must read all the output.
    """
    if limits.stopped():
        yield INTERRUPTED_RESULT
        return
    with child_subreaper(), ExitStack() as held:
        call = _PipelineRun(watch, limits, held)
        try:
            call.start(programs, prepare)
            yield from call.chunks()
            yield call.ended()
        except _StartFailed as error:
            yield OutputChunk(f"{error}\n".encode(), error=True)
            yield NOT_STARTED
        finally:
            call.end()


class _StartFailed(Exception):
    """A program could not even be tried."""


class _PipelineRun:
    """The processes of one pipeline, from start to end."""

    def __init__(self, watch: UsageCheck, limits: ProcessLimits, stack: ExitStack) -> None:
        self._watch, self._limits, self._stack = watch, limits, stack
        self._programs: list[ProcessTree] = []
        self._events = stack.enter_context(selectors.DefaultSelector())
        self._running, self._taken, self._cut = 0, 0, ""
        self._began = time.monotonic()
        self._deadline, self._next_look = self._began + limits.seconds, self._began + _FIRST_LOOK
        self._last_words = 0.0  # until when is listened after the end of all programs

    def start(self, programs: Sequence[Program], prepare: ProcessPreparer) -> None:
        """Starts all programs, each reading what the one before it writes."""
        with ExitStack() as briefly:
            source = _given(briefly, programs[0].stdin, piped=programs[0].piped)
            errors = self._stream(briefly, error=True)
            for program in programs[:-1]:
                reader, writer = _pipe(briefly, briefly)
                self._spawn(program, prepare, (source, writer, errors))
                source = reader
            output = self._stream(briefly, error=False)
            self._spawn(programs[-1], prepare, (source, output, errors))

    def chunks(self) -> Iterator[OutputChunk]:
        """Streams the output until everything has ended or a limit is reached.

        Time in which the caller takes no output does not count against the programs.
        """
        while not self._cut and self._events.get_map() and not self._is_abandoned():
            for key, _ in self._events.select(self._pause()):
                for chunk in key.data(key.fd):
                    given = time.monotonic()
                    yield chunk
                    self._deadline += time.monotonic() - given
            self._cut = self._cut or self._over()

    def ended(self) -> ProcessResult:
        """Ends what remains, and returns how the last program ended."""
        self.end()
        seconds = time.monotonic() - self._began
        if self._cut:
            return ProcessResult(_CODES.get(self._cut, _KILLED), self._cut, seconds)
        if any(program.lost for program in self._programs):
            return ProcessResult(_KILLED, UNKNOWN_END, seconds)
        if not all(program.ran for program in self._programs):
            return NOT_STARTED
        code = self._programs[-1].process.returncode
        return ProcessResult(code if code >= 0 else 128 - code, "", seconds)

    def _spawn(
        self, program: Program, prepare: ProcessPreparer, ends: tuple[int, int, int]
    ) -> None:
        source, output, errors = ends
        with ExitStack() as briefly:
            command = prepare(program, briefly, self._stack)
            match program.errors:
                case StderrMode.KEPT:
                    sink = errors
                case StderrMode.MERGED:
                    sink = output
                case StderrMode.DROPPED:
                    sink = _null(briefly, os.O_WRONLY)
            process = _started(command, (source, output, sink))
        self._programs.append(ProcessTree(process, command.status))
        watched = os.pidfd_open(process.pid)
        self._stack.callback(os.close, watched)
        self._events.register(watched, selectors.EVENT_READ, self._exited)
        self._running += 1

    def _stream(self, briefly: ExitStack, *, error: bool) -> int:
        """Returns where to write what shall come out as chunks."""
        reader, writer = _pipe(self._stack, briefly)
        self._events.register(reader, selectors.EVENT_READ, lambda fd: self._take(fd, error=error))
        return writer

    def _take(self, stream: int, *, error: bool) -> Iterator[OutputChunk]:
        content = os.read(stream, _READ)
        if not content:
            self._events.unregister(stream)
        room = self._limits.output - self._taken
        self._taken += len(content)
        if self._cut:
            return
        if len(content) > room:
            self._cut = "output"
        if kept := content[:room]:
            yield OutputChunk(kept, error)

    def _exited(self, watched: int) -> Iterator[OutputChunk]:
        """Records an exit; after the last one, no remaining process holds a stream open."""
        self._events.unregister(watched)
        self._running -= 1
        if not self._running:
            self.end()
            self._last_words = time.monotonic() + _GRACE
        return iter(())

    def _is_abandoned(self) -> bool:
        """Tells whether only a process that left the session still holds the output open."""
        return not self._running and time.monotonic() >= self._last_words

    def _pause(self) -> float:
        due = self._next_look if self._running else self._last_words
        return max(0, min(self._deadline, due) - time.monotonic())

    def _over(self) -> str:
        """Returns the limit that is reached, or an empty string."""
        now = time.monotonic()
        if self._limits.stopped():
            return INTERRUPTED_RESULT.cut
        if not self._running:
            return ""
        if now >= self._deadline:
            return "time"
        if now < self._next_look:
            return ""
        cut = self._watch([program.process.pid for program in self._programs], self._limits)
        self._next_look = time.monotonic() + _LOOKS
        return cut

    def end(self) -> None:
        """Ends and reaps every process; a second time there is nothing to do."""
        for program in self._programs:
            program.end()


def _started(command: ProcessSpec, ends: tuple[int, int, int]) -> subprocess.Popen[bytes]:
    source, output, errors = ends
    try:
        return subprocess.Popen(
            command.argv
            if command.watch is None
            else tied_to_watchdog(command.argv, command.watch),
            cwd=command.folder,
            env=command.environment,
            stdin=source,
            stdout=output,
            stderr=errors,
            pass_fds=command.given,
            start_new_session=True,
        )
    except OSError as error:
        name = display_path(command.argv[0])
        raise _StartFailed(f"{name} could not be started: {error.strerror}.") from error


def _given(stack: ExitStack, content: bytes, *, piped: bool) -> int:
    """Returns what holds the content from its start; no program can be too slow to take it."""
    if not content and not piped:
        return _null(stack, os.O_RDONLY)
    memory = _closing(stack, os.memfd_create("stdin"))
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(memory, rest) :]
    # A separate file offset, and no permission to write.
    return _closing(stack, os.open(f"/proc/self/fd/{memory}", os.O_RDONLY))


def _null(stack: ExitStack, mode: int) -> int:
    return _closing(stack, os.open(os.devnull, mode))


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    reader, writer = os.pipe()
    return _closing(reading, reader), _closing(writing, writer)


def _closing(stack: ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor
