"""Profiles made by hand, and programs that run inside them or, for comparison, outside."""

import os
import subprocess
import sys
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import msgspec
import pytest

from assent.core.shell.process import OutputChunk, ProcessLimits, ProcessResult, Program, StderrMode
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.runner.bubblewrap import NAMESPACE_OPTIONS, BubblewrapRunner, bind_arguments
from assent.sandbox.runner.unconfined import NoSandboxRunner
from assent.sandbox.status import find_bwrap

TOOL = find_bwrap()
needs_bubblewrap = pytest.mark.skipif(TOOL is None, reason="bubblewrap is not installed")

PYTHON = os.fsencode(os.path.realpath(sys.executable))
SYSTEM = tuple(p for p in (b"/usr", b"/bin", b"/sbin", b"/lib", b"/lib64") if os.path.lexists(p))
HOME = os.path.realpath(os.path.expanduser(b"~"))
USUAL = ProcessLimits()
# Limits of time for what has to begin before it is ended: a busy machine may need a longer one.
TIMES = (1, 5, 25, 60)
_COUNT = count(1)


class Outcome(msgspec.Struct, frozen=True):
    """What a pipeline said and how it ended."""

    code: int
    output: bytes = b""
    errors: bytes = b""
    cut: str = ""


def profile(
    root: Path, masks: Iterable[Path] = (), *, home: bytes = HOME, writable: bool = False
) -> SandboxProfile:
    """Shows the system, this interpreter and one workspace."""
    shown = (*SYSTEM, os.fsencode(os.path.realpath(sys.base_prefix)))
    hidden = tuple(os.fsencode(mask) for mask in masks)
    return SandboxProfile(os.fsencode(root), home, shown, hidden, writable=writable)


def confined(profile: SandboxProfile) -> BubblewrapRunner:
    assert TOOL is not None
    return BubblewrapRunner(lambda: profile, TOOL)


def run(
    runner: BubblewrapRunner | NoSandboxRunner,
    *programs: Program,
    folder: bytes = b"/",
    limits: ProcessLimits = USUAL,
) -> Outcome:
    return gathered(runner.run(programs, folder, limits))


def inside(profile: SandboxProfile, *programs: Program, limits: ProcessLimits = USUAL) -> Outcome:
    """Runs programs in the profile's workspace."""
    return run(confined(profile), *programs, folder=profile.root, limits=limits)


def outside(*programs: Program, folder: bytes = b"/") -> Outcome:
    return run(NoSandboxRunner(), *programs, folder=folder)


def unfiltered(profile: SandboxProfile, program: Program, *, without: bytes = b"") -> Outcome:
    """Runs a program with all that bubblewrap does, but without the filter of system calls."""
    assert TOOL is not None
    view = bind_arguments(profile)
    if without:  # one remount less, to see what it is good for
        at = [i for i, a in enumerate(view) if a == without and view[i - 1] == b"--remount-ro"]
        view = [a for i, a in enumerate(view) if i not in {*at, *(i - 1 for i in at)}]
    argv = [TOOL, *NAMESPACE_OPTIONS, *view, b"--", *program.argv]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return Outcome(done.returncode, done.stdout, done.stderr)


def gathered(pieces: Iterable[OutputChunk | ProcessResult]) -> Outcome:
    """Puts the pieces together; nothing may come after the end."""
    *chunks, ended = pieces
    assert isinstance(ended, ProcessResult)
    said = {False: b"", True: b""}
    for chunk in chunks:
        assert isinstance(chunk, OutputChunk)
        said[chunk.error] += chunk.content
    return Outcome(ended.code, said[False], said[True], ended.cut)


def shell(script: str, errors: StderrMode = StderrMode.KEPT) -> Program:
    return Program((b"/bin/sh", b"-c", script.encode()), errors=errors)


def python(code: str, *arguments: str | bytes | Path) -> Program:
    """A program that runs a bit of Python; it finds its arguments in `args`."""
    head = "import ctypes, errno, os, signal, socket, sys\nargs = sys.argv[1:]\n"
    words = [os.fsencode(argument) for argument in arguments]
    return Program((PYTHON, b"-I", b"-S", b"-c", (head + code).encode(), *words))


def long_time() -> str:
    """How long to sleep: for ever, and for a time that no other test sleeps."""
    return f"1000.{os.getpid():08}{next(_COUNT)}"


def left_over(mark: str) -> list[str]:
    """Returns the command lines of all living processes of this machine that hold a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if mark.encode() in line and int(entry.name) != os.getpid():
            found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found
