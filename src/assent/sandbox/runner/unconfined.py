"""Runners without a sandbox, and how a command that may write is started."""

import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Final

import msgspec

from assent.core.errors import Refused
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    refuse_variables,
)
from assent.sandbox.runner.pipeline import (
    BASE_ENVIRONMENT,
    PROGRAM_FOLDERS,
    ProcessSpec,
    ProgramPaths,
    environment,
    run_pipeline,
)
from assent.sandbox.runner.process_tree import wait_for_exit
from assent.sandbox.runner.resource_limits import prlimit_prefix, unconfined_limit_exceeded
from assent.sandbox.runner.watchdog import CommandLocks, describe_processes, start_watchdog

# Runs pipelines where there is no sandbox: limited, but not confined.


class NoSandboxRunner:
    """Runs programs with all rights of the user; only harmless ones may run here.

    A program that starts its own session can outlive the call.
    """

    def __init__(self, folders: Sequence[bytes] = PROGRAM_FOLDERS) -> None:
        self._folders = folders

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs a pipeline in a folder, with an empty home that is removed afterwards."""
        front = prlimit_prefix(limits)
        with tempfile.TemporaryDirectory(prefix="assent-", ignore_cleanup_errors=True) as name:
            own = os.fsencode(name)
            place = ProgramPaths(own, own, self._folders)

            def prepare(program: Program, briefly: ExitStack, throughout: ExitStack) -> ProcessSpec:
                return ProcessSpec((*front, *program.argv), environment(place, program), folder)

            yield from run_pipeline(pipeline, prepare, unconfined_limit_exceeded, limits)


# Commands that may write: their program and environment, and the runner without a sandbox.


SHELLS: Final = ("bash", "sh")
_QUIET: Final = {b"bash": (b"--noprofile", b"--norc")}

# Ours, the keys of models, and files that a shell would run before the line.
_WITHHELD: Final = re.compile(r"ASSENT_\w*|\w*_API_KEY|ANTHROPIC_AUTH_TOKEN|BASH_ENV|ENV")
_GRACE: Final = 0.5  # seconds for what a command left running to end by itself
_KEPT: Final = (b"LANG", b"LC_ALL", b"PYTHONDONTWRITEBYTECODE")  # these keep the user's values


def command_program(errand: CommandSpec, shell: bytes | None) -> Program:
    """Returns the program of a command; refuses one that cannot be started."""
    refuse_variables(errand.environment)
    if bool(errand.line) == bool(errand.argv):
        raise Refused(
            "The command did not run: it must be either a command line or a list of arguments."
        )
    if errand.argv:
        program = _plain(errand.argv)
    elif shell is None or "\0" in errand.line:
        raise Refused("The command did not run: no shell can run it. Nothing was changed.")
    else:
        program = shell_program(shell, errand.line)
    own = tuple((os.fsdecode(name), os.fsdecode(value)) for name, value in errand.environment)
    return msgspec.structs.replace(program, environment=own, stdin=errand.stdin)


def _plain(argv: tuple[bytes, ...]) -> Program:
    if not argv[0] or any(b"\0" in word for word in argv):
        raise Refused("The command did not run: it has no valid program name. Nothing was changed.")
    return Program(argv)


def shell_program(shell: bytes, line: str) -> Program:
    """Returns the shell that runs a line, without reading any startup file."""
    quiet = _QUIET.get(os.path.basename(shell), ())
    return Program((shell, *quiet, b"-c", b"--", os.fsencode(line)))


def user_environment(
    environment: Mapping[str, str], withheld: Collection[str] = ()
) -> dict[bytes, bytes]:
    """Returns the user's variables without model keys; disables pagers, colors and prompts."""
    own = {
        os.fsencode(name): os.fsencode(value)
        for name, value in environment.items()
        if name not in withheld and not _WITHHELD.fullmatch(name)
    }
    return own | {name: value for name, value in BASE_ENVIRONMENT.items() if name not in _KEPT}


class UnconfinedRunner:
    """Runs a program as the user would; in a session that ends with it, or with this process."""

    def __init__(self, variables: Mapping[bytes, bytes], marks: CommandLocks | None = None) -> None:
        self._variables = dict(variables)
        self._marks = marks

    def run(
        self, program: Program, folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        front, paths, cut = prlimit_prefix(limits), list[str](), True

        def prepare(program: Program, briefly: ExitStack, throughout: ExitStack) -> ProcessSpec:
            own = {os.fsencode(name): os.fsencode(value) for name, value in program.environment}
            given: tuple[int, ...] = ()
            if self._marks:
                mark, path = self._marks.acquire(throughout)
                given = (mark,)
                paths.append(path)
            words, variables = (*front, *program.argv), self._variables | own
            return ProcessSpec(words, variables, folder, given, watch=start_watchdog(throughout))

        try:
            with closing(
                run_pipeline([program], prepare, unconfined_limit_exceeded, limits)
            ) as parts:
                for part in parts:
                    cut = not isinstance(part, ProcessResult) or bool(part.cut)
                    yield from (
                        [part]
                        if not isinstance(part, ProcessResult) or cut
                        else self._end(part, paths)
                    )
        finally:
            for path in paths:
                assert self._marks is not None, "it made them"
                if cut:
                    self._marks.kill_remaining(path)
                self._marks.release(path, cut=cut)

    def _end(
        self, ended: ProcessResult, paths: Sequence[str]
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Names what a command that ended by itself left running: it may be meant to stay."""
        for path in paths:
            assert self._marks is not None, "it made them"
            wait_for_exit(self._marks.remaining_processes(path), _GRACE)
            if left := self._marks.remaining_processes(path):
                ended = msgspec.structs.replace(ended, running=describe_processes(left))
                yield OutputChunk(
                    "assent: The command ended but left running: "
                    f"{describe_processes(left)}.\n".encode(),
                    error=True,
                )
        yield ended
