"""Programs that the user chose: never found in the workspace, nor started there.

They also start outside of it: many interpreters load modules from the folder they start in.
"""

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Final

from assent.core.errors import NotFound, Refused, UsageError
from assent.core.paths import is_inside, one_line
from assent.sandbox.profile.toolchains import path_folders

IN_WORKSPACE = "is in the workspace, where an agent could change it."
NO_PROGRAM = "not found or not executable."


START: Final = b"/"


def user_program(words: Sequence[str], environment: Mapping[str, str], root: bytes) -> bytes:
    """Returns the path of the program that a command line in the user's configuration starts.

    A program in the workspace, or a word that is a path of a file there, is refused, because an
    agent could have written it. Raises Refused or NotFound.
    """
    if not words or not words[0]:
        raise Refused("No program is named.")
    name = os.fsencode(words[0])
    if b"/" in name and not name.startswith(b"/"):
        raise Refused(f"{one_line(name)} is a relative path; use an absolute path.")
    if within := _of_the_workspace(words, root):
        raise Refused(f"{one_line(within)} {IN_WORKSPACE}")
    places = [name] if b"/" in name else _on_path(name, environment)
    found = next((path for path in places if _is_program(path, root)), None)
    if found is None:
        raise NotFound(f"{one_line(name)} {NO_PROGRAM}")
    return found


def _on_path(name: bytes, environment: Mapping[str, str]) -> list[bytes]:
    return [folder + b"/" + name for folder in path_folders(environment)]


def _of_the_workspace(words: Sequence[str], root: bytes) -> bytes:
    """Returns the first word that names a file of the workspace, directly or by a symlink."""
    for word in map(os.fsencode, words):
        path = os.path.join(START, word)
        if b"\0" not in word and os.path.isfile(path) and _leads_inside(path, root):
            return word
    return b""


def _is_program(path: bytes, root: bytes) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK) and not _leads_inside(path, root)


def _leads_inside(path: bytes, root: bytes) -> bool:
    top = os.path.realpath(root)
    return is_inside(os.path.realpath(path), top) or is_inside(os.path.normpath(path), top)


# Runs a program of the user's own in their terminal, such as an editor or a pager.

GRACE_S: Final = 2.0  # for a program to leave the terminal as it was


def run_in_foreground(line: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a program on the user's terminal, waits for it, and returns its exit code.

    Until then only the program reacts to Ctrl+C, although the terminal sends it to both.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)  # ignored, it would be so there, too
    try:
        return subprocess.run(line, env=dict(environment), check=False).returncode
    except OSError as error:
        raise UsageError(f"{line[0]!a} could not be started: {error.strerror}.") from None
    finally:
        signal.signal(signal.SIGINT, before)


def pipe_to_foreground(
    line: Sequence[bytes],
    environment: Mapping[str, str],
    texts: Iterable[bytes],
    *,
    ends_on_interrupt: bool,
) -> int:
    """Runs a program that reads texts from its stdin, waits for it, and returns its exit code.

    It may end before it has read everything. With `ends_on_interrupt` an interrupt of this process
    ends it, too, and is passed on; else only the program reacts to Ctrl+C.
    """
    before = signal.getsignal(signal.SIGINT)
    if not ends_on_interrupt:
        signal.signal(signal.SIGINT, lambda *_: None)
    try:
        # Unbuffered: closing it must not wait for a reader that is about to be ended.
        program = subprocess.Popen(
            line, bufsize=0, env=dict(environment), stdin=subprocess.PIPE, cwd=START
        )
        try:
            if program.stdin is not None:
                with suppress(BrokenPipeError), program.stdin as pipe:
                    _write_all(pipe, texts)
            return program.wait()
        except BaseException:
            _end(program)
            raise
    except OSError as error:
        raise UsageError(f"{one_line(line[0])} could not be started: {error.strerror}.") from None
    finally:
        signal.signal(signal.SIGINT, before)


def _write_all(pipe: IO[bytes], texts: Iterable[bytes]) -> None:
    for text in texts:
        rest = text
        while rest:
            rest = rest[pipe.write(rest) :]


def _end(program: subprocess.Popen[bytes]) -> None:
    """Ends a program that would otherwise stay on the terminal alone."""
    program.terminate()
    try:
        program.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
