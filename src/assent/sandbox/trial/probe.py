"""The probe: runs inside the sandbox, tries to get out in every way it knows, and says what worked.

It uses the standard library alone. It answers with one JSON object a line, and a last one that
counts them, so that an answer that was cut short is not taken for a whole one.
"""

import json
import os
import signal
import sys

from assent.sandbox.trial.probing import calls, doors, files, kernel, mounts, reach, secrets, shown
from assent.sandbox.trial.probing.request import NothingToTry, Request, Try

TRIES: dict[str, Try] = {
    **files.TRIES,
    **shown.TRIES,
    **kernel.TRIES,
    **calls.TRIES,
    **mounts.TRIES,
    **reach.TRIES,
    **doors.TRIES,
    **secrets.TRIES,
}
# They change what the process itself is, or may stop it: each gets a process of its own.
APART = frozenset({*mounts.TRIES, *calls.TRIES, "raise_limits", "trace", "type"})
LONGEST = 15  # seconds of one attempt, on a machine that may be busy


def main(arguments: list[str]) -> int:
    """Makes every attempt of a request, in the order of the table."""
    ask = Request(**json.loads(arguments[0]))
    for quiet in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGIO):
        signal.signal(quiet, signal.SIG_IGN)  # where a number outside is by chance our own
    answers = 0
    for name in filter(ask.names.__contains__, TRIES):
        _say({"name": name, **(_apart if name in APART else _tried)(name, ask)})
        answers += 1
    _say({"answers": answers})
    return 0


def _say(answer: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _tried(name: str, ask: Request) -> dict[str, object]:
    try:
        return {"worked": True, "detail": TRIES[name](ask)}
    except NothingToTry as error:
        return {"absent": True, "detail": error.strerror}
    except OSError as error:
        return {"worked": False, "detail": error.strerror or str(error), "errno": error.errno}
    except Exception as error:  # an attempt that could not be made proves nothing
        return {"broken": True, "detail": f"{type(error).__name__}: {error}"}


def _apart(name: str, ask: Request) -> dict[str, object]:
    """Makes an attempt in a child process, so that its success harms no other attempt."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(LONGEST)
            os.write(theirs, json.dumps(_tried(name, ask)).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    if not answer:
        return {"broken": True, "detail": "The attempt ended without an answer."}
    found: dict[str, object] = json.loads(answer)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
