"""What the sandbox adds to the start of a program, against the bare command."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure, within
from bench.pace import Action, Scale, best, timed

from assent.core.shell.process import ProcessLimits, ProcessResult, Program
from assent.sandbox.profile.profile import ProfileBuilder, SandboxProfile
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.status import find_bwrap

SYSTEM = (b"/usr", b"/bin", b"/sbin", b"/lib", b"/lib64", b"/etc")
TRUE = b"/usr/bin/true"
BINDS, MASKS = 40, 20
FOLDERS, FILES = 200, 25
SETTLED_S = 2.1  # a folder that changed just now is searched each time

ADDED = within(0.030)  # absolute: a person waits for it, however fast the bare program is


def sandbox_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures a sandbox of few parts, one of many, and a pipeline of three."""
    tool = find_bwrap()
    if tool is None:
        return
    few, many = _profile(work / "few", 0, 0), _profile(work / "many", BINDS, MASKS)
    cases = {
        "confined true": _confined(tool, few, 1),
        f"confined true, {BINDS} binds, {MASKS} masks": _confined(tool, many, 1),
        "confined true | true | true": _confined(tool, few, 3),
        f"confined true, {FOLDERS * FILES} files searched again": _searched(tool, work / "large"),
    }
    bare = [_bare([TRUE]), _bare([b"/bin/sh", b"-c", b" | ".join([TRUE] * 3)])]
    one, three, *times = best(scale.starts, *bare, *cases.values())
    for name, seconds in zip(cases, times, strict=True):
        reference = three if "|" in name else one
        yield Figure(f"{name}: added", seconds - reference, reference, ADDED)


def _bare(command: list[bytes]) -> Action:
    """The reference: the same programs, started without a sandbox; the bar is for what it adds."""
    return lambda: timed(
        lambda: subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    )


def _confined(tool: bytes, profile: SandboxProfile, count: int) -> Action:
    runner = BubblewrapRunner(lambda: profile, tool)
    return lambda: timed(lambda: _run(runner, [Program((TRUE,))] * count, profile.root))


def _searched(tool: bytes, root: Path) -> Action:
    """Runs as a later call of one process does: what to show and hide is decided anew."""
    for number in range(FOLDERS * FILES):
        file = root / str(number % FOLDERS) / f"{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    time.sleep(SETTLED_S)
    sight = ProfileBuilder(os.fsencode(root), os.fsencode(Path.home()), (), os.environ)
    runner = BubblewrapRunner(sight.profile, tool)
    return lambda: timed(lambda: _run(runner, [Program((TRUE,))], os.fsencode(root)))


def _run(runner: BubblewrapRunner, pipeline: list[Program], folder: bytes) -> None:
    *_, ended = runner.run(pipeline, folder, ProcessLimits())
    if not isinstance(ended, ProcessResult) or ended.code:
        raise RuntimeError(f"{TRUE!r} did not run: {ended}.")


def _profile(work: Path, binds: int, masks: int) -> SandboxProfile:
    """Shows folders of a home and hides files of a workspace."""
    home, root = work / "home", work / "workspace"
    shown = [home / f"tool{number}" for number in range(binds)]
    hidden = [root / f"secret{number}" for number in range(masks)]
    for folder in (home, root, *shown):
        folder.mkdir(parents=True, exist_ok=True)
    for file in hidden:
        file.write_bytes(b"")
    system = [path for path in SYSTEM if os.path.lexists(path)]
    return SandboxProfile(
        os.fsencode(root),
        os.fsencode(home),
        (*system, *map(os.fsencode, shown)),
        tuple(map(os.fsencode, hidden)),
    )
