"""Runs what takes many tries in a process of its own, and reads its report."""

import subprocess
import sys
from typing import Final, TypeVar

import msgspec
import pytest
from tests.support import forked_python

A = TypeVar("A")

_PATIENCE_S: Final = 840  # a machine may have much else to do; what hangs is ended all the same
PATIENT: Final = pytest.mark.timeout(_PATIENCE_S + 60)


def apart(
    kind: type[A], module: str, *words: object, around: tuple[str, ...] = (), fresh: bool = False
) -> A:
    """Runs a module, inside what is around it, and returns the report that it prints.

    What measures its own memory needs a fresh start.
    """
    command = [*around, sys.executable, "-m", module, *map(str, words)]
    run = subprocess.run if fresh or around else forked_python.run
    ran = run(command, capture_output=True, timeout=_PATIENCE_S, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    return msgspec.json.decode(ran.stdout, type=kind)
