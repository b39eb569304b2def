"""The shell of plan mode: runs read-only command lines without a shell interpreter."""

import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial

import msgspec

from assent.core.errors import SANDBOX, NotReadOnly, Refused, without_sandbox
from assent.core.paths import display_path, is_inside
from assent.core.permission.command_analysis import SpecialFileRefused
from assent.core.permission.rule import PathLimits
from assent.core.shell.glob import expand_glob
from assent.core.shell.parser import ListOperator, ParsedCommand, ShellWord
from assent.core.shell.process import (
    MIN_SECONDS,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
    StderrMode,
)
from assent.permissions.commands.read_only.classifier import (
    SHELL,
    ChangeFolder,
    ReadOnlyCommand,
    ReadOnlyStage,
    ReadOnlySubshell,
    ReadOnlyVerdict,
    ReadOnlyWork,
    classify_read_only,
    read_only_command,
    read_only_stages,
)
from assent.ports import ProcessRunner
from assent.sandbox.profile.exposure import MACHINE
from assent.sandbox.profile.file_system import is_covered
from assent.sandbox.visibility import how_to_show

__all__ = [
    "LocalReadOnlyShell",
    "ReadOnlyVerdict",
    "classify_read_only",
]  # faces judge through the engine, too

EXIT_NOT_FOUND, EXIT_NOT_EXECUTABLE = 127, 126  # exit codes as shells have them
NEVER_SHOWN = "is never shown in plan mode"
HIDDEN_BY_RULE = "is hidden from commands: a rule denies reading it or asks first"
OUTSIDE_WORKSPACE = "is outside the workspace"
INSTEAD = "`read` and `list` show it if the user agrees."
DEV_NULL = b"/dev/null"
# Opens a file inside the sandbox, where it is as visible as any other, and becomes the program.
FEED = b'command exec <"$0" || exit 1; exec "$@"'
MAX_WORDS, MAX_BYTES = 5000, 1 << 20  # what fits, together with what confines the program


class LocalReadOnlyShell:
    """Runs the shell calls of a planning agent."""

    def __init__(
        self,
        process: ProcessRunner,
        within: bytes = b"",
        fence: PathLimits | None = None,
        left: Callable[[], float | None] = lambda: None,
        root: bytes = b"",
    ) -> None:
        """A model's shell looks only `within` a folder; a user's, at all that can be shown.

        The process enforces the fence, whose paths are relative to `root` (or to `within`, if that
        is not given); this only says why something is hidden. `left` returns how
        many seconds a turn still has; no command outlasts it.
        """
        self._left = left
        self._process = process
        self._within = within
        self._fence = fence
        self._root = root or within

    def sandbox_status(self) -> SandboxStatus:
        """Tells whether programs can be confined here."""
        return self._process.sandbox_status()

    def run(
        self, text: str, folder: bytes, limits: ProcessLimits | None = None
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        """Runs a command line in a folder; raises Refused before anything has run.

        It raises NotReadOnly if the line itself is the reason, and not something missing here.
        """
        _check(text)
        standing = self.sandbox_status()
        if standing.hold is SandboxState.OFF:
            raise without_sandbox(f"The shell is disabled: {standing.reason}", standing.next)
        sandboxed = standing.hold is SandboxState.HELD
        try:
            stages = read_only_stages(text, sandboxed=sandboxed)
        except Refused as refused:
            if refused.lacks:
                refused.next = refused.next or standing.next
            raise
        _check_kinds(stages, _Place(folder, folder, self._process.home()))
        place = ShellLocation(folder, self._within, self._fence, self._root)
        limits, left = limits or ProcessLimits(), self._left()
        if left is not None:
            seconds = min(limits.seconds, max(left, MIN_SECONDS))
            limits = msgspec.structs.replace(limits, seconds=seconds)
        return _ShellRun(self._process, place, limits, sandboxed=sandboxed).run(stages)


def only_reads(text: str) -> bool:
    """Tells whether a command line can only read."""
    return classify_read_only(text).read_only


def _check(text: str) -> None:
    try:
        read_only_stages(text)
    except Refused as refused:
        raise NotReadOnly(refused.message, refused.next) from refused


class _Place(msgspec.Struct, frozen=True):
    """The folder that the shell is in, its path as `cd` made it, and the home of programs."""

    folder: bytes
    pwd: bytes
    home: bytes

    def entered(self, word: ShellWord) -> "_Place":
        """Returns the place after `cd`: as in bash, `..` leaves what was entered."""
        pwd = os.path.normpath(os.path.join(self.pwd, _encoded(self.filled(word).text)))
        return _Place(os.path.realpath(pwd), pwd, self.home)

    def filled(self, word: ShellWord) -> ShellWord:
        """Returns a word with the values that variables have here."""
        return word.filled({"PWD": os.fsdecode(self.pwd), "HOME": os.fsdecode(self.home)})


def _check_kinds(stages: tuple[ReadOnlyStage, ...], place: _Place) -> None:
    """Refuses a line that would read a device, a pipe or a socket through a symlink."""
    for stage in stages:
        match stage.work:
            case ChangeFolder(word):
                place = place.entered(word)
            case ReadOnlySubshell(inner, readers):
                _check_kinds(inner, place)
                _check_files(readers, place)
            case commands:
                _check_files(commands, place)


def _check_files(commands: Iterable[ReadOnlyCommand], place: _Place) -> None:
    for reading in commands:
        for path in [*_names(reading, place), *_input(reading, place)]:
            if why := _no_file(path):
                raise SpecialFileRefused(why)


def _no_file(path: bytes) -> str:
    """Returns what a path points to if that is neither a file nor a folder; else nothing."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    real = os.path.realpath(path)
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or real == DEV_NULL:
        return ""
    what = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    leads = "" if real == path else f" points to {display_path(real)}, which"
    return f"{display_path(path)}{leads} is {what}, not a file."


class ShellLocation(msgspec.Struct, frozen=True):
    """Where a command line starts, and the folder that it must stay in, if any."""

    folder: bytes
    within: bytes = b""
    fence: PathLimits | None = None
    root: bytes = b""  # of the paths of the fence

    def why_hidden(self, path: bytes) -> str:
        """Returns why a path is hidden from a program."""
        real = os.path.realpath(path)
        below = is_inside(real, self.root) and real[len(self.root) + 1 :]
        return (
            HIDDEN_BY_RULE if below and self.fence and self.fence.hides_path(below) else NEVER_SHOWN
        )


class _ShellRun:
    """One command line while it runs, with its location and remaining limits."""

    def __init__(
        self,
        process: ProcessRunner,
        place: ShellLocation,
        limits: ProcessLimits,
        *,
        sandboxed: bool,
    ) -> None:
        self._process = process
        self._at = _Place(place.folder, place.folder, process.home())
        self._place = place
        self._within = place.within
        self._left = limits
        self._sandboxed = sandboxed
        self._last = ProcessResult(0)

    def run(
        self, stages: tuple[ReadOnlyStage, ...]
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        yield from self._run_stages(stages)
        yield self._last

    def _run_stages(self, stages: tuple[ReadOnlyStage, ...]) -> Iterator[OutputChunk]:
        for stage in stages:
            if self._last.cut:
                break
            if stage.joint is ListOperator.IF_IT_WORKED and self._last.code:
                continue
            if stage.joint is ListOperator.IF_IT_FAILED and not self._last.code:
                continue
            yield from self._stage(stage.work)

    def _stage(self, work: ReadOnlyWork) -> Iterator[OutputChunk]:
        match work:
            case ChangeFolder():
                yield from self._enter(work)
            case ReadOnlySubshell(inner, ()):
                yield from self._subshell(inner)
            case ReadOnlySubshell(inner, readers):
                yield from self._read_subshell(inner, readers)
            case commands:
                yield from self._pipeline(commands)

    def _subshell(self, stages: tuple[ReadOnlyStage, ...]) -> Iterator[OutputChunk]:
        """Runs what is in parentheses, and comes back to the folder that it was in."""
        before, self._last = self._at, ProcessResult(0)
        yield from self._run_stages(stages)
        self._at = before

    def _read_subshell(
        self, stages: tuple[ReadOnlyStage, ...], readers: tuple[ReadOnlyCommand, ...]
    ) -> Iterator[OutputChunk]:
        """Runs what is in parentheses, then what reads its output."""
        room, printed, errors = self._left.output, bytearray(), 0
        for chunk in self._subshell(stages):
            if chunk.error:
                errors += len(chunk.content)
                yield chunk
            else:
                printed += chunk.content
        self._left = msgspec.structs.replace(self._left, output=max(0, room - errors))
        if not self._last.cut:
            yield from self._pipeline(readers, bytes(printed))

    def _pipeline(
        self, work: tuple[ReadOnlyCommand, ...], given: bytes | None = None
    ) -> Iterator[OutputChunk]:
        """Runs commands that read each other's output; the first reads what is given."""
        pipeline: list[Program] = []
        for reading in work:
            try:
                fed = bool(pipeline) or given is not None
                pipeline.append(self._program(reading, fed=fed))
            except _ProgramNotStarted as not_run:
                self._last = ProcessResult(not_run.code, lacks=not_run.lacks)
                yield from _said(str(not_run), reading.errors)
                return
        if given is not None:
            pipeline[0] = msgspec.structs.replace(pipeline[0], stdin=given, piped=True)
        yield from self._run_all(pipeline)
        if self._last.code:
            yield from self._explained(work)

    def _run_all(self, pipeline: Sequence[Program]) -> Iterator[OutputChunk]:
        for part in self._process.run(pipeline, self._at.folder, self._left):
            if isinstance(part, ProcessResult):
                self._last = part
                seconds = max(0.0, self._left.seconds - part.seconds)
                self._left = msgspec.structs.replace(self._left, seconds=seconds)
            else:
                output = max(0, self._left.output - len(part.content))
                self._left = msgspec.structs.replace(self._left, output=output)
                yield part

    def _enter(self, work: ChangeFolder) -> Iterator[OutputChunk]:
        try:
            place = self._at.entered(work.word)
        except Refused as refused:
            self._last = ProcessResult(EXIT_NOT_EXECUTABLE)
            yield from _said(refused.message.removesuffix("."), work.errors)
            return
        if self._leaves(place.folder):
            self._last = ProcessResult(1)
            outside = f"{display_path(place.folder)} {self._outside(place.folder)}"
            yield from _said(f"cd: {outside}", work.errors)
            return
        if os.path.isdir(place.folder) and self._process.visible(place.folder):
            self._at, self._last = place, ProcessResult(0)
            return
        self._last = ProcessResult(1)
        yield from _said(f"cd: {work.word.text}: folder not found or not visible", work.errors)

    def _program(self, reading: ReadOnlyCommand, *, fed: bool) -> Program:
        path = self._process.program(reading.programs, own=reading.spec.own)
        if path is None:
            notes = self._process.visibility_notes(reading.command.name, self._at.folder)
            message = f"{reading.command.name} is not installed. {' '.join(notes)}".rstrip(" .")
            raise _ProgramNotStarted(message, EXIT_NOT_FOUND)
        try:
            words = tuple(word for given in reading.command.words for word in self._expanded(given))
            given = None if reading.input is None else self._at.filled(reading.input)
            # Names took the place of wildcards and variables, so the table has to look again.
            judged = read_only_command(
                ParsedCommand(words, reading.errors, given), sandboxed=self._sandboxed
            )
        except Refused as refused:
            message = refused.message.removesuffix(".")
            raise _ProgramNotStarted(message, EXIT_NOT_EXECUTABLE, refused.lacks) from refused
        for named in self._opened(judged):
            if why := _no_file(named):  # by a name that a wildcard stood for
                raise _ProgramNotStarted(why.removesuffix("."), EXIT_NOT_EXECUTABLE)
        self._check_place(judged)
        if not self._sandboxed:
            self._check_reads(judged, fed=fed)
        argv = self._fed((path, *[_encoded(word.text) for word in judged.words[1:]]), judged)
        if len(argv) > MAX_WORDS or sum(map(len, argv)) > MAX_BYTES:
            message = f"its wildcards match too many names ({len(argv)}); name a folder"
            raise _ProgramNotStarted(f"{reading.command.name}: {message}", EXIT_NOT_EXECUTABLE)
        return Program(argv, tuple(judged.spec.environment.items()), judged.errors)

    def _fed(self, argv: tuple[bytes, ...], reading: ReadOnlyCommand) -> tuple[bytes, ...]:
        """Returns what starts a program with a file as its stdin, if it has one."""
        if reading.input is None:
            return argv
        shell = self._process.program((SHELL,))
        if shell is None:
            raise _ProgramNotStarted(f"{SHELL} is not installed", EXIT_NOT_FOUND)
        return (shell, b"-c", FEED, _encoded(reading.input.text), *argv)

    def _expanded(self, given: ShellWord) -> list[ShellWord]:
        word = self._at.filled(given)
        if not word.pattern:
            return [word]
        found = expand_glob(word.pattern, partial(_entries, self._process, self._at.folder))
        # A file may be called `-o`; as `./-o` no program takes it for an option.
        named = [b"./" + path if path.startswith(b"-") else path for path in found]
        return [ShellWord(os.fsdecode(path)) for path in named] or [ShellWord(word.text)]

    def _check_place(self, reading: ReadOnlyCommand) -> None:
        """Refuses paths that are or point outside the folder that all must stay in."""
        if not self._within:
            return
        base = os.path.realpath(self._base(reading))
        if self._leaves(base):
            raise _ProgramNotStarted(
                f"{display_path(base)} {self._outside(base)}", EXIT_NOT_EXECUTABLE
            )
        if reading.strays:
            message = "follows symlinks, which may point outside the workspace; omit the option"
            raise _ProgramNotStarted(f"{reading.command.name} {message}", EXIT_NOT_EXECUTABLE)
        for path in self._opened(reading):
            real = os.path.realpath(path)
            if self._leaves(real):
                leads = "" if real == path else f" points to {display_path(real)}, which"
                raise _ProgramNotStarted(
                    f"{display_path(path)}{leads} {self._outside(real)}", EXIT_NOT_EXECUTABLE
                )
            if reading.follows and os.path.isdir(real):
                message = f"{reading.command.name} follows symlinks in a folder; name files"
                raise _ProgramNotStarted(message, EXIT_NOT_EXECUTABLE)

    def _leaves(self, real: bytes) -> bool:
        if not self._within or real == DEV_NULL or is_inside(real, self._within):
            return False
        return not any(is_inside(real, path) for path in self._process.chosen())

    def _outside(self, real: bytes) -> str:
        """Says that a path is outside, and how it can be seen, if it is there at all."""
        if not os.path.lexists(real) or any(is_covered(real, (one,)) for one in MACHINE):
            return OUTSIDE_WORKSPACE
        how = how_to_show(real).removesuffix(".")
        return f"{OUTSIDE_WORKSPACE}; {INSTEAD} {how}" if how else OUTSIDE_WORKSPACE

    def _check_reads(self, reading: ReadOnlyCommand, *, fed: bool) -> None:
        """Applies the sandbox's read limits if it is off; `fed` means the command reads a pipe."""
        paths = self._named(reading)
        for path in self._opened(reading):
            if os.path.realpath(path) != DEV_NULL and not self._process.visible(path):
                raise _ProgramNotStarted(
                    f"{display_path(path)} {self._place.why_hidden(path)}", EXIT_NOT_EXECUTABLE
                )
        if reading.descends:
            for path in paths or ([] if fed else [self._at.folder]):
                self._check_below(reading, path)

    def _explained(self, work: Sequence[ReadOnlyCommand]) -> Iterator[OutputChunk]:
        """Explains that a named file is hidden on purpose, if it could not be read."""
        named = [(path, reading) for reading in work for path in self._opened(reading)]
        for path, reading in named:
            if os.path.lexists(path) and not self._process.visible(path):
                yield from _said(
                    f"{display_path(path)} {self._place.why_hidden(path)}", reading.errors
                )

    def _named(self, reading: ReadOnlyCommand) -> list[bytes]:
        return _names(reading, self._at)

    def _opened(self, reading: ReadOnlyCommand) -> list[bytes]:
        """Returns the files that a command names, and the one that is its stdin."""
        return [*_names(reading, self._at), *_input(reading, self._at)]

    def _base(self, reading: ReadOnlyCommand) -> bytes:
        return _base(reading, self._at.folder)

    def _check_below(self, reading: ReadOnlyCommand, folder: bytes) -> None:
        if reading.follows and os.path.isdir(folder):
            message = f"{reading.command.name} follows symlinks in a folder; name files"
            raise _ProgramNotStarted(message, EXIT_NOT_EXECUTABLE)
        if hidden := self._process.hidden_below(os.path.realpath(folder)):
            message = (
                f"the folder contains {display_path(hidden)}, which cannot be hidden "
                "without a sandbox"
            )
            raise _ProgramNotStarted(message, EXIT_NOT_EXECUTABLE, SANDBOX)


class _ProgramNotStarted(Exception):
    """A program could not be started; carries the exit code for that."""

    def __init__(self, message: str, code: int, lacks: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.lacks = lacks


def _names(reading: ReadOnlyCommand, place: _Place) -> list[bytes]:
    """Returns the files that a command names, relative to the folder that it runs in."""
    words = [place.filled(word) for word in reading.reads if word.text != "-"]
    base = _base(reading, place.folder)
    return [os.path.join(base, _encoded(word.text)) for word in words]


def _input(reading: ReadOnlyCommand, place: _Place) -> list[bytes]:
    """Returns the file that is a command's stdin, if there is one."""
    if reading.input is None:
        return []
    return [os.path.join(place.folder, _encoded(place.filled(reading.input).text))]


def _base(reading: ReadOnlyCommand, folder: bytes) -> bytes:
    """Returns the folder that a command's paths are relative to."""
    return os.path.join(folder, *map(_encoded, reading.folders))


def _said(message: str, errors: StderrMode) -> Iterator[OutputChunk]:
    if errors is not StderrMode.DROPPED:
        yield OutputChunk(f"assent: {message}.\n".encode(), error=errors is StderrMode.KEPT)


def _entries(process: ProcessRunner, folder: bytes, below: bytes) -> dict[bytes, bool]:
    return process.entries(os.path.join(folder, below))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
