"""Runs a program of the user's own in their terminal, such as an editor."""

import signal
import subprocess
from collections.abc import Mapping, Sequence

from assent.core.errors import UsageError


def run_in_foreground(line: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a program on the person's terminal, waits for it, and returns its exit code.

    Ctrl+C is the program's alone meanwhile, although the terminal sends it to both.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)  # ignored, it would be so there, too
    try:
        return subprocess.run(line, env=dict(environment), check=False).returncode
    except OSError as error:
        raise UsageError(f"{line[0]!a} could not be started: {error.strerror}.") from None
    finally:
        signal.signal(signal.SIGINT, before)
