"""Write tests: from a writable workspace, nothing else may be changed, reached or read."""

import os
import secrets
import socket
from collections.abc import Mapping
from typing import Final

from assent.core.shell.process import OutputChunk, ProcessLimits, Program
from assent.sandbox.selftest.canaries import Canaries
from assent.sandbox.selftest.escape_tests import EscapeOutcome, EscapeTest, EscapeTestResult
from assent.sandbox.selftest.host_paths import COMMAND
from assent.sandbox.selftest.selftest import ConfinementFactory
from assent.sandbox.temp_folder import FileFingerprint, temp_folder

CHANNEL: Final = "writing"
_BRIEFLY: Final = ProcessLimits(seconds=20)
_MADE: Final = "workspace/made"
_ALLOWED: Final = frozenset({"workspace", _MADE})

_PROBE: Final = """
import os, socket, sys
root, home, state, beside, key, port = sys.argv[1:]
def tried(act, *args):
    try:
        return act(*args)
    except OSError:
        return None
def write(path):
    with open(path, "a") as file:
        file.write("made\\n")
def read(path):
    with open(path) as file:
        print(file.read())
def remove(path):
    os.rename(path, path + ".away")
for path in (root + "/made", home + "/made", beside + "/made", state + "/made", root + "/.git",
             root + "/.git/made", root + "/.opencode/made", root + "/.opencode/plans/made"):
    tried(write, path)
for path in (root + "/.git", root + "/.opencode", root + "/private", root + "/private/state"):
    tried(remove, path)
tried(os.mkdir, root + "/.git/hooks")
tried(os.chmod, root + "/.opencode", 0o777)
tried(read, key)
tried(read, root + "/.env")
tried(socket.create_connection, ("127.0.0.1", int(port)), 2)
"""

WRITE_TESTS: Final = {
    name: EscapeTest(name, CHANNEL, tried)
    for name, tried in {
        "writing_outside": "change a file outside a writable workspace",
        "writing_git": "change or move away the .git of a writable workspace",
        "writing_ours": "change or move away the .opencode of a writable workspace",
        "writing_state": "change or move away Assent's state in a writable workspace",
        "writing_reads": "read the key or a .env file from a writable workspace",
        "writing_connects": "connect from a writable workspace",
    }.items()
}
_PLACES: Final = {
    "workspace/.git": "writing_git",
    "workspace/.opencode": "writing_ours",
    "workspace/private": "writing_state",
}


def run_write_tests(confine: ConfinementFactory) -> tuple[EscapeTestResult, ...]:
    """Makes every attempt in a scratch workspace; what is seen from outside decides."""
    token = secrets.token_hex(16)
    with temp_folder() as place, socket.create_server(("127.0.0.1", 0)) as listener:
        canaries = Canaries(place, token, None)
        before = place.seen()
        said = _said(confine, canaries, listener.getsockname()[1])
        leaks = _leaks(before, place.seen())
        leaks |= {"writing_reads"} if token.encode() in said else set()
        leaks |= {"writing_connects"} if _came(listener) else set()
        wrote = place.read(_MADE) is not None
    return tuple(_judged(trial, leaks, wrote=wrote) for trial in WRITE_TESTS.values())


def _said(confine: ConfinementFactory, canaries: Canaries, port: int) -> bytes:
    ground, key = canaries.ground, canaries.secrets["read_key"]
    places = (ground.root, ground.home, ground.state, canaries.place.at("beside"), key, port)
    program = Program(tuple(os.fsencode(str(w)) for w in (*COMMAND, "-c", _PROBE, *places)))
    pieces = list(confine(ground)((program,), os.fsencode(ground.root), _BRIEFLY))
    return b"".join(piece.content for piece in pieces if isinstance(piece, OutputChunk))


def _leaks(before: Mapping[str, FileFingerprint], after: Mapping[str, FileFingerprint]) -> set[str]:
    """Returns the attempts of which something is seen on the disk."""
    other = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    return {_place(path) for path in other - _ALLOWED}


def _place(path: str) -> str:
    found = (name for top, name in _PLACES.items() if path.startswith(top))
    return next(found, "writing_outside")


def _came(listener: socket.socket) -> bool:
    listener.setblocking(False)
    try:
        listener.accept()[0].close()
    except OSError:
        return False
    return True


def _judged(trial: EscapeTest, leaks: set[str], *, wrote: bool) -> EscapeTestResult:
    if trial.name in leaks:
        return EscapeTestResult(
            trial, EscapeOutcome.LEAKED, "It worked: its effect was seen from outside."
        )
    if not wrote:
        return EscapeTestResult(
            trial, EscapeOutcome.UNPROVEN, "The workspace itself could not be written."
        )
    return EscapeTestResult(trial, EscapeOutcome.HELD, "no effect outside was seen")
