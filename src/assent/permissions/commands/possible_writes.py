"""Possible writes: where else a command may write, if a name is a folder or a pattern (F80).

The disk is not read. These paths count only where a rule says something about them.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile
from posixpath import basename, join
from typing import Final

from assent.permissions.commands.arity import without_global_options
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import SimpleCommand

_TARGET_OPTIONS: Final = ("-t", "--target-directory")
_DELETES: Final = words_in("-delete -exec -execdir -ok -okdir -fprint -fprintf -fls")
_GIT: Final = words_in("checkout restore clean rm mv reset stash apply switch")
_AT: Final[dict[str, tuple[str, ...]]] = {
    "tar": ("-C", "--directory", "--cd"),
    "bsdtar": ("-C", "--directory", "--cd"),
    "unzip": ("-d",),
    "git": ("-C", "--work-tree"),
    "make": ("-C", "--directory"),
    "patch": ("-d", "--directory"),
    "wget": ("-P", "--directory-prefix"),
    "curl": ("--output-dir",),
}


def _all_as_folders(command: SimpleCommand) -> list[str]:
    return [f"{path}/" for path in command.operands]


def _moved(command: SimpleCommand) -> list[str]:
    """Names where each source would be, if the target is a folder, and the sources' folders."""
    into, sources = _valued(command, _TARGET_OPTIONS), list(command.operands)
    if into:
        sources = [path for path in sources if path not in into]
    else:
        into, sources = sources[-1:], sources[:-1]
    inside = [join(folder, basename(path.rstrip("/"))) for folder in into for path in sources]
    left = [f"{path}/" for path in sources] if command.name == "mv" else []
    return [*(f"{folder}/" for folder in into), *inside, *left]


def _searched(command: SimpleCommand) -> list[str]:
    words = command.arguments
    if not _DELETES & {*words}:
        return []
    starts = list(takewhile(lambda word: not word.startswith(("-", "(", "!")), words))
    names = [then for first, then in pairwise(words) if first in ("-name", "-path")]
    inside = [join(start, basename(name)) for start in starts for name in names]
    return [*(f"{start}/" for start in starts), *starts, *inside]


def _tracked(command: SimpleCommand) -> list[str]:
    plain = SimpleCommand(without_global_options(command))
    if not plain.operands or plain.operands[0] not in _GIT:
        return []
    named = [path for path in plain.operands[1:] if not path.startswith(":")]
    return [form for path in named for form in (path, f"{path}/")]


_REACHES: Final[dict[str, Callable[[SimpleCommand], list[str]]]] = {
    **dict.fromkeys(words_in("rm rmdir shred chmod chown chgrp touch mkdir"), _all_as_folders),
    **dict.fromkeys(words_in("cp mv ln install rsync scp"), _moved),
    **dict.fromkeys(words_in("find fd"), _searched),
    "git": _tracked,
}


def possible_writes(command: SimpleCommand) -> Iterator[str]:
    """Yields what a command may write besides what it names; `/` at the end: all in a folder."""
    if command.name in _REACHES:
        yield from _REACHES[command.name](command)
    for folder in _valued(command, _AT.get(command.name, ())):
        if command.name != "git" or _GIT & {*command.operands}:
            yield f"{folder}/"


def _valued(command: SimpleCommand, options: tuple[str, ...]) -> list[str]:
    """Returns the values of some options: `-t DIR`, `-tDIR`, `--option DIR`, `--option=DIR`."""
    words = command.arguments
    found = [then for first, then in pairwise(words) if first in options]
    for word in words:
        name, sign, value = word.partition("=")
        short = word[:2] in options and not word.startswith("--") and word[2:]
        found += [value] if sign and name in options else [short] if short else []
    return found
