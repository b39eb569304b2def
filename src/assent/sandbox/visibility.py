"""Visibility: what exists on this machine but not in the sandbox, and how the user can show it."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from assent.core.paths import display_path, is_inside
from assent.sandbox.profile.exposure import TOO_WIDE
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.profile.toolchains import path_folders

MAX_NOTES: Final = 3
VISIBLE: Final = "Commands see the workspace, the system's programs and known toolchains"
SECRET: Final = "is hidden from commands because it may contain secrets"

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_SIGNS: Final = re.compile(r"[();<>|&]+")
# What a shell does itself, and words after which another command comes.
_BUILT_IN: Final = (
    ".", ":", "[", "[[", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue",
    "declare", "echo", "esac", "eval", "exec", "exit", "export", "false", "fc", "fg", "for",
    "function", "getopts", "hash", "jobs", "kill", "let", "local", "printf", "pwd", "read",
    "readonly", "return", "select", "set", "shift", "shopt", "source", "test", "time", "times",
    "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait", "{",
)  # fmt: skip
_BEFORE_COMMAND: Final = (
    "!", "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "}",
)  # fmt: skip

ETC: Final = b"/etc"
NOT_SEEN = "exists, but commands do not see it."


class Visibility:
    """What programs in one sandbox find of what a command line names."""

    def __init__(
        self, profile: SandboxProfile, environment: Mapping[str, str], folders: Sequence[bytes]
    ) -> None:
        """`folders` are where programs are looked for inside, in order."""
        self._profile = profile
        self._environment = environment
        self._folders = folders

    def notes(self, line: str, folder: bytes) -> tuple[str, ...]:
        """Returns a sentence for each program and file that exists, or is needed, and is hidden."""
        programs, words = _named(line)
        found = [self.program_note(name) for name in programs if "/" not in name]
        found += [self.path_note(word, folder) for word in words]
        return tuple(dict.fromkeys(filter(None, found)))[:MAX_NOTES]

    def program_note(self, name: str) -> str:
        """Says why a program is not found inside; nothing if it is."""
        if name in _BUILT_IN or any(c in name for c in "$*?[`~{"):
            return ""
        wanted = os.fsencode(name)
        if any(self._is_inside(folder + b"/" + wanted) for folder in self._folders):
            return ""
        outside = [folder + b"/" + wanted for folder in path_folders(self._environment)]
        there = next((path for path in outside if os.access(path, os.X_OK)), None)
        if there is None or os.path.isdir(there):
            return f"{name} was not found. {VISIBLE}."
        return f"{name} is {display_path(there)}, which commands do not see. {self._how(there)}"

    def path_note(self, word: str, folder: bytes) -> str:
        """Says why a file that exists is not there for a command; nothing if it is."""
        typed = os.path.join(folder, os.fsencode(os.path.expanduser(word)))
        real = os.path.realpath(typed)
        if is_inside(real, self._profile.root) or not os.path.lexists(typed):
            return ""
        if real.startswith((b"/dev/", b"/proc/", b"/sys/")) or self._profile.visible(typed):
            return ""
        if any(is_inside(real, mask) for mask in self._profile.masks):
            return f"{display_path(typed)} {SECRET}."
        return f"{display_path(typed)} {NOT_SEEN} {self._how(real)}"

    def _is_inside(self, path: bytes) -> bool:
        return self._profile.visible(path) and os.access(path, os.X_OK) and os.path.isfile(path)

    def _how(self, path: bytes) -> str:
        return f"{VISIBLE}. {how_to_show(path)}".rstrip()


def how_to_show(path: bytes) -> str:
    """Returns what the user can do so that commands see a path; the model cannot do it.

    Nothing, if that is never shown as a whole, or is of the machine's own configuration.
    """
    real = os.path.realpath(path)
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    if folder in TOO_WIDE:
        folder = real
    if folder in TOO_WIDE or is_inside(folder, ETC):
        return ""
    return f'The user can show it in their own config: sandbox.show = ["{display_path(folder)}"].'


def _named(line: str) -> tuple[list[str], list[str]]:
    """Returns the names of the programs in a line, and the words that are absolute paths."""
    programs: list[str] = []
    paths: list[str] = []
    first = True
    for word in _words(line):
        if _SIGNS.fullmatch(word) or word == "\n":
            first = first if word in ("<", ">", ">>", ">&", "&>") else True
            continue
        if word.startswith(("/", "~/")):
            paths.append(word)
        if not first or _ASSIGNMENT.match(word) or word in _BEFORE_COMMAND:
            continue
        programs.append(word)
        first = False
        if word in ("for", "case", "select", "function"):
            return programs[:-1], paths  # a name follows, not a command
    return programs, paths


def _words(line: str) -> Iterator[str]:
    """Yields the words and signs of a command line; what cannot be split has none."""
    lexer = shlex.shlex(line.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        yield from list(lexer)
    except ValueError:
        return
