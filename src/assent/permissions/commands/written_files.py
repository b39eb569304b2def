"""Written files: which files a command writes by its arguments, where easy to tell (F80)."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from posixpath import join, normpath
from typing import Final

from assent.core.permission.command_analysis import sensitive_mentions
from assent.core.permission.sensitive_paths import configures_agents
from assent.permissions.commands.possible_writes import possible_writes
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import CommandWord, ParsedCommandLine, SimpleCommand

_HARMLESS: Final = words_in("/dev/null /dev/stdout /dev/stderr /dev/tty {}")
_OUTPUT: Final[dict[str, tuple[str, ...]]] = {
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "sort": ("-o", "--output"),
    "gcc": ("-o",),
    "cc": ("-o",),
    "clang": ("-o",),
    "rustc": ("-o",),
    "pandoc": ("-o", "--output"),
    "jq": ("-o",),
}

NO_COMMANDS: Final = ParsedCommandLine()


def _all_operands(command: SimpleCommand) -> list[str]:
    return list(command.operands)


def _last(command: SimpleCommand) -> list[str]:
    options = command.arguments
    named = [then for first, then in pairwise(options) if first == "-t"]
    named += [w.partition("=")[2] for w in options if w.startswith("--target-directory=")]
    return named or list(command.operands[-1:])


def _in_place(command: SimpleCommand) -> list[str]:
    """`sed -i`: every operand but the script, which `-e` or `-f` would have named."""
    if not command.has("i", "--in-place"):
        return []
    scripted = command.has("ef", "--expression", "--file")
    return list(command.operands if scripted else command.operands[1:])


def _of(command: SimpleCommand) -> list[str]:
    return [word[3:] for word in command.arguments if word.startswith("of=")]


_WRITERS: Final[dict[str, Callable[[SimpleCommand], list[str]]]] = {
    **dict.fromkeys(words_in("tee touch mkdir rmdir rm unlink truncate shred mv"), _all_operands),
    **dict.fromkeys(words_in("cp ln install"), _last),
    **dict.fromkeys(words_in("sed gsed perl"), _in_place),
    "dd": _of,
}


def written_files(found: ParsedCommandLine) -> tuple[str, ...]:
    """Returns the files that a line writes, as seen from where it starts."""
    named = [word.text for word in found.targets]
    named += [path for command in found.commands for path in _named(command)]
    folders = _folders(found)
    paths = [
        normpath(join(folder, path))
        for path in named
        for folder in folders
        if path and path not in _HARMLESS
    ]
    return tuple(dict.fromkeys(paths))


def possibly_written_files(found: ParsedCommandLine) -> tuple[str, ...]:
    """Returns what a line writes if names in it are folders; one with all in it ends with `/`."""
    named = [
        path for command in found.commands for path in possible_writes(command) if path.strip("/")
    ]
    folders = _folders(found)
    paths = [
        normpath(join(folder, path)) + ("/" if path.endswith("/") else "")
        for path in named
        for folder in folders
    ]
    return tuple(dict.fromkeys(path for path in paths if path not in ("./", "/")))


def sensitive_files_named(text: str, found: ParsedCommandLine = NO_COMMANDS) -> tuple[str, ...]:
    """Returns what a line names anywhere, also in code, that is protected or secret."""
    words = [word.text for each in found.commands for word in each.words]
    texts = [text, *words, *(word.text for word in found.targets)]
    names = sensitive_mentions(each.encode("utf-8", "replace") for each in dict.fromkeys(texts))
    return tuple(name.decode("utf-8", "replace") for name in names)


def agent_config_named(
    names: Iterable[str], found: ParsedCommandLine, root: str
) -> tuple[str, ...]:
    """Returns those of the names that configure agents, as seen from where the line starts.

    Who names a thing in a line that may write may write it: by code, an option or another program.
    """
    near = f"{root.rstrip('/')}/" if root.strip("/") else "\0"
    folders = [each for each in _folders(found) if not _configures(each)]  # those are named, too
    paths = [normpath(join(folder, name)) for name in names for folder in folders]
    inside = dict.fromkeys(path.removeprefix(near) for path in paths)
    return tuple(path for path in inside if _configures(path))


def uncertain_writes(found: ParsedCommandLine) -> list[str]:
    """Says why it cannot be told which files a line writes, where it writes any."""
    vague = [word for each in found.commands for word in each.words if not word.plain]
    named = {path for each in found.commands for path in _named(each)}
    if any(word.text in named and word.text != "{}" for word in vague):
        return ["which files it writes is not written out"]
    return _doubtful_places(found)


def _doubtful_places(found: ParsedCommandLine) -> list[str]:
    """Says where it goes to a folder that cannot be told, so that no file it writes can."""
    moves = [each for each in found.commands if each.name in ("cd", "pushd", "popd")]
    told = all(_is_told(each.words) for each in moves)
    return [] if told else ["it goes to a folder that is not written out"]


def _is_told(words: tuple[CommandWord, ...]) -> bool:
    match words:
        case (_, CommandWord(text, plain=True)):
            return not text.startswith("-")
        case _:
            return False


def _named(command: SimpleCommand) -> Iterator[str]:
    if command.name in _WRITERS:
        yield from _WRITERS[command.name](command)
    options = _OUTPUT.get(command.name, ())
    words = command.arguments
    for first, then in pairwise(words):
        if first in options:
            yield then
    for word in words:
        name, sign, value = word.partition("=")
        if sign and name in options:
            yield value
        elif re.fullmatch(r"-[oO]\S+", word) and word[:2] in options:
            yield word[2:]


def _configures(path: str) -> bool:
    return configures_agents(path.encode("utf-8", "replace"))


def _folders(found: ParsedCommandLine) -> list[str]:
    """Returns each folder that a command may run in; which one is the shell's to know."""
    folders = [""]
    for command in found.commands:
        if command.name in ("cd", "pushd") and len(command.words) > 1:
            folders.append(join(folders[-1], command.words[1].text))
    return folders
