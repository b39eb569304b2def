"""Command lines by the system's shell: what it is started with, and as whom it runs unconfined."""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from typing import Final

from assent.core.process import Chunk, Ended, Limits, Program
from assent.sandbox.running.environment import ALWAYS
from assent.sandbox.running.pipeline import Command, run
from assent.sandbox.running.rlimits import capped
from assent.sandbox.running.watch import unconfined

SHELLS: Final = ("bash", "sh")
_QUIET: Final = {b"bash": (b"--noprofile", b"--norc")}

# Ours, the keys of models, and files that a shell would run before the line.
_WITHHELD: Final = re.compile(r"ASSENT_\w*|\w*_API_KEY|ANTHROPIC_AUTH_TOKEN|BASH_ENV|ENV")
_KEPT: Final = (b"LANG", b"LC_ALL", b"PYTHONDONTWRITEBYTECODE")  # these stay the person's own


def shell_program(shell: bytes, line: str) -> Program:
    """Returns the shell that runs a line and reads no file of settings before it."""
    quiet = _QUIET.get(os.path.basename(shell), ())
    return Program((shell, *quiet, b"-c", b"--", os.fsencode(line)))


def personal(environment: Mapping[str, str], withheld: Collection[str] = ()) -> dict[bytes, bytes]:
    """Returns the person's variables without keys of models; nothing pages, colours or asks."""
    own = {
        os.fsencode(name): os.fsencode(value)
        for name, value in environment.items()
        if name not in withheld and not _WITHHELD.fullmatch(name)
    }
    return own | {name: value for name, value in ALWAYS.items() if name not in _KEPT}


class Unconfined:
    """Runs a program as the person would; in a group of its own that ends with it."""

    def __init__(self, variables: Mapping[bytes, bytes]) -> None:
        self._variables = dict(variables)

    def run(self, program: Program, folder: bytes, limits: Limits) -> Iterator[Chunk | Ended]:
        front = capped(limits)

        def prepare(program: Program, briefly: ExitStack, throughout: ExitStack) -> Command:
            return Command((*front, *program.argv), self._variables, folder)

        return run([program], prepare, unconfined, limits)
