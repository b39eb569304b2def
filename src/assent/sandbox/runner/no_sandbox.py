"""Runs pipelines where there is no sandbox: limited, but not confined."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from assent.core.shell.process import OutputChunk, ProcessLimits, ProcessResult, Program
from assent.sandbox.runner.environment import PROGRAM_FOLDERS, ProgramPaths, environment
from assent.sandbox.runner.pipeline import ProcessSpec, run_pipeline
from assent.sandbox.runner.resource_usage import unconfined_limit_exceeded
from assent.sandbox.runner.rlimits import prlimit_prefix


class NoSandboxRunner:
    """Runs programs that can do what the person can; only harmless ones may come here.

    A program that starts a session of its own can outlive the call.
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
