"""Confinements with a hole, for showing that the self-test finds it."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest

from assent.core.shell.process import OutputChunk, ProcessLimits, ProcessResult, Program
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.runner import bubblewrap
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.runner.unconfined import NoSandboxRunner
from assent.sandbox.selftest.canaries import SelfTestPaths
from assent.sandbox.selftest.checker import bubblewrap_confinement, profile_factory
from assent.sandbox.selftest.escape_tests import EscapeOutcome, EscapeTestResult
from assent.sandbox.selftest.selftest import ConfinementFactory, PipelineRunner
from assent.sandbox.status import find_bwrap

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}

# Stands in front of the real program and takes away some of what it is told, or changes it.
IN_FRONT = """#!{python} -IS
import os, re, sys
given, passed = sys.argv[1:], []
while given:
    word = given.pop(0)
    if word in {flags!r}:
        continue
    if word in {options!r}:
        given.pop(0)
        continue
    if word == "--seccomp" and {filter!r}:
        given[0] = str(os.open({filter!r}, os.O_RDONLY))
        os.set_inheritable(int(given[0]), True)
    if word == "--ro-bind" and {writable!r} and re.search({writable!r}, given[0]):
        word = "--bind"
    if word == "--ro-bind" and {unmasked!r} and given[0] == "/dev/null":
        if re.search({unmasked!r}, given[1]):
            del given[:2]
            continue
    passed.append(word)
os.execv({tool!r}, [{tool!r}, *passed])
"""


class Less(msgspec.Struct, frozen=True):
    """What is taken from bubblewrap or changed; patterns say where it may write or not hide."""

    flags: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    writable: str = ""
    unmasked: str = ""
    filter: bytes = b""


def real_tool() -> bytes:
    """The machine's bubblewrap, or a skipped test."""
    tool = find_bwrap()
    if tool is None or bubblewrap.sandbox_unavailable():
        pytest.skip("there is no bubblewrap here")
    return tool


def confined() -> ConfinementFactory:
    """The confinement as it is meant to be."""
    return bubblewrap_confinement(ENVIRONMENT, real_tool())


def holed(folder: Path, less: Less) -> ConfinementFactory:
    """A confinement whose bubblewrap is told less."""
    file = folder / "filter"
    file.write_bytes(less.filter)
    text = IN_FRONT.format(
        python=sys.executable,
        tool=os.fsdecode(real_tool()),
        flags=list(less.flags),
        options=list(less.options),
        writable=less.writable,
        unmasked=less.unmasked,
        filter=str(file) if less.filter else "",
    )
    return bubblewrap_confinement(ENVIRONMENT, script(folder, text))


def seeing(change: Callable[[SandboxProfile], SandboxProfile]) -> ConfinementFactory:
    """A confinement with a profile that shows more, or hides less."""
    tool = real_tool()

    def confine(ground: SelfTestPaths) -> PipelineRunner:
        usual = profile_factory(ENVIRONMENT, ground)
        return BubblewrapRunner(lambda: change(usual()), tool).run

    return confine


def script(folder: Path, text: str) -> bytes:
    """Makes a program."""
    path = folder / "bwrap"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return os.fsencode(path)


def unconfined(_: SelfTestPaths) -> PipelineRunner:
    """No confinement at all."""
    return NoSandboxRunner().run


def answering(*pieces: OutputChunk | ProcessResult) -> ConfinementFactory:
    """A runner that runs nothing and gives an answer all the same."""

    def run(
        _: Sequence[Program], __: bytes, ___: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        yield from pieces

    return lambda _: run


def changing(confine: ConfinementFactory, change: Callable[[bytes], bytes]) -> ConfinementFactory:
    """A runner that changes what the probe says."""

    def run(
        runner: PipelineRunner, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        pieces = list(runner(pipeline, folder, limits))
        chunks = [p for p in pieces if isinstance(p, OutputChunk) and not p.error]
        yield OutputChunk(change(b"".join(piece.content for piece in chunks)))
        yield pieces[-1]

    return lambda ground: partial(run, confine(ground))


def names(attempts: Sequence[EscapeTestResult], proof: EscapeOutcome) -> set[str]:
    """The attempts with a proof."""
    return {attempt.trial.name for attempt in attempts if attempt.proof is proof}
