"""Runs inside a copy: many lines by bash, each for about a second; says which told a secret.

    python3 -c THIS JSON

The tree is made as it was at the beginning now and then, and when a line removed too much of it.
The canaries come reversed, so that a list of processes does not hold them. A line may kill this
process; the answers so far are already written.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

NEEDED = ("README.md", ".git/HEAD", ".git/index", "data/a.txt", "src/app/main.py", "scripts/run.sh")
FIRST = "/tmp/first"
MASKED = "deploy"  # what is in there cannot be read, nor removed
OFTEN = 20
BRIEF, LONGEST = 0.2, 1.0  # seconds


def restore(root: str) -> None:
    os.chdir("/")
    os.chmod(root, 0o755)
    for name in set(os.listdir(root)).difference([MASKED]):
        subprocess.run(["rm", "-rf", "--", name], cwd=root, check=False)
    copy(FIRST, root)


def copy(source: str, target: str) -> None:
    top = os.path.realpath(source)
    shutil.copytree(
        source,
        target,
        symlinks=True,
        dirs_exist_ok=True,
        ignore=lambda folder, names: [MASKED] if os.path.realpath(folder) == top else [],
    )


class Running:
    """A line that has begun; its output goes to a file of its own."""

    def __init__(self, number: int, line: str) -> None:
        self.number = number
        self._ends = time.monotonic() + LONGEST
        self._said = open(f"/tmp/said-{number}", "w+b")  # noqa: SIM115 - read when it has ended
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", line.split("\0")[0]],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            start_new_session=True,
        )

    def ended(self, patience: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        return self._process.returncode is not None or time.monotonic() > self._ends

    def tell(self, canaries: list[bytes]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._said.seek(0)
        text = self._said.read(1 << 20)
        self._said.close()
        leaks = any(one in text for one in canaries)
        os.write(1, b"%d %s\n" % (self.number, b"leak" if leaks else b"fine"))


if __name__ == "__main__":
    root, work = os.getcwd(), json.loads(sys.argv[1])
    canaries = [one[::-1].encode() for one in work["canaries"]]
    copy(root, FIRST)
    waiting: list[Running] = []  # for something that never comes; the next lines need not wait
    for number, line in enumerate(work["lines"]):
        there = all(os.path.lexists(os.path.join(root, name)) for name in NEEDED)
        if number % OFTEN == OFTEN - 1 or not there:
            restore(root)
        os.chdir(root)
        started = Running(number, line)
        waiting += [] if started.ended(BRIEF) else [started]
        if started not in waiting:
            started.tell(canaries)
        over = [one for one in waiting if one.ended(0)]
        waiting = [one for one in waiting if one not in over]
        for one in over:
            one.tell(canaries)
    while waiting:
        one = waiting.pop()
        while not one.ended(LONGEST):
            pass
        one.tell(canaries)
