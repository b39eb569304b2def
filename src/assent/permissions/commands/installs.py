"""Detects commands that install packages, or fetch a program and run it."""

import re
from collections.abc import Iterator
from itertools import dropwhile

from assent.core.permission.command_analysis import installs_packages
from assent.core.plan.operation import RunCommand

_SEPARATORS = re.compile(r"[;&|\n(){}`]+")
_WRAPPER = re.compile(r"sudo|doas|env|command|exec|time|nice|nohup|then|do|-.*|\w+=.*", re.DOTALL)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_FETCHERS = frozenset({"curl", "wget"})


def installs(op: RunCommand) -> bool:
    """Tells whether a command installs something, or fetches a program and runs it."""
    commands = list(split_commands(op))
    programs = {command[0] for command in commands}
    if programs & _SHELLS and programs & _FETCHERS:
        return True
    return any(installs_packages(command) for command in commands)


def split_commands(op: RunCommand) -> Iterator[list[str]]:
    """Splits a command line roughly: a word too many is a false alarm, one too few is worse."""
    argv = [_escaped(word) for word in op.argv]
    of_shell = bool(argv) and argv[0].rpartition("/")[2] in _SHELLS
    scripts = [_escaped(op.script), *(word for word in argv[1:] if of_shell or " " in word)]
    pieces = [piece.split() for script in scripts for piece in _SEPARATORS.split(script)]
    for words in [argv, *pieces]:
        unquoted = [word.strip("\"'$") for word in words]
        command = list(dropwhile(_WRAPPER.fullmatch, unquoted))
        if command:
            yield [command[0].rpartition("/")[2], *command[1:]]


def _escaped(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")
