"""The files that a command line reads, writes or may write, by the names in its words (F80)."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from posixpath import join, normpath
from typing import Final

from assent.core.permission.command_analysis import outside_mentions, sensitive_mentions
from assent.core.permission.sensitive_paths import configures_agents
from assent.permissions.commands.outputs import named_outputs, possible_outputs
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.risk import has_code, is_interpreter
from assent.permissions.commands.simple_command import (
    CommandWord,
    ParsedCommandLine,
    SimpleCommand,
)

# Written files: what the commands of a line write, seen from where it starts (F80).


_HARMLESS: Final = words_in("/dev/null /dev/stdout /dev/stderr /dev/tty {}")
NO_COMMANDS: Final = ParsedCommandLine()


def written_files(found: ParsedCommandLine) -> tuple[str, ...]:
    """Returns the files that a line writes, as seen from where it starts."""
    named = [word.text for word in found.targets]
    named += [path for command in found.commands for path in named_outputs(command)]
    folders = _folders(found)
    paths = [
        normpath(join(folder, path))
        for path in named
        for folder in folders
        if path and path not in _HARMLESS
    ]
    return tuple(dict.fromkeys(paths))


def possibly_written_files(found: ParsedCommandLine) -> tuple[str, ...]:
    """Returns what a line writes if names in it are folders; a final `/` means all in a folder."""
    named = [
        path for command in found.commands for path in possible_outputs(command) if path.strip("/")
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
    """Returns those of the names that configure agents, relative to where the line starts.

    A line that may write and names a path may write it: by code, an option or another program.
    """
    near = f"{root.rstrip('/')}/" if root.strip("/") else "\0"
    folders = [each for each in _folders(found) if not _configures(each)]  # those are named, too
    paths = [normpath(join(folder, name)) for name in names for folder in folders]
    inside = dict.fromkeys(path.removeprefix(near) for path in paths)
    return tuple(path for path in inside if _configures(path))


def uncertain_writes(found: ParsedCommandLine) -> list[str]:
    """Says why it is unknown which files a line writes, if it writes any."""
    vague = [word for each in found.commands for word in each.words if not word.plain]
    named = {path for each in found.commands for path in named_outputs(each)}
    if any(word.text in named and word.text != "{}" for word in vague):
        return ["it is unknown which files it writes"]
    return _doubtful_places(found)


def _doubtful_places(found: ParsedCommandLine) -> list[str]:
    """Says where it goes to a folder that cannot be told, so that no file it writes can."""
    moves = [each for each in found.commands if each.name in ("cd", "pushd", "popd")]
    told = all(_is_told(each.words) for each in moves)
    return [] if told else ["it changes to an unknown folder"]


def _is_told(words: tuple[CommandWord, ...]) -> bool:
    match words:
        case (_, CommandWord(text, plain=True)):
            return not text.startswith("-")
        case _:
            return False


def _configures(path: str) -> bool:
    return configures_agents(path.encode("utf-8", "replace"))


def _folders(found: ParsedCommandLine) -> list[str]:
    """Returns each folder that a command may run in; which one is the shell's to know."""
    folders = [""]
    for command in found.commands:
        if command.name in ("cd", "pushd") and len(command.words) > 1:
            folders.append(join(folders[-1], command.words[1].text))
    return folders


# Opened files: which files a line that may write seems to open, by the names in its words.
#
# Which words are files is known of few programs, so every word that could be one counts.


_SCRIPTS: Final = words_in("-e -f -E --expression --file --regexp")
# What follows these is text or a pattern, and no file.
_TEXTS: Final = words_in(
    "-m --message -e --expression --regexp -name -iname -path -ipath -wholename -regex -iregex "
    "-H --header -X --request"
)
_ATTACHED: Final = re.compile(r"-[A-Za-z](?=[/~]|\.\.)")
_OPTION: Final = re.compile(r"-[A-Za-z]*[ceE](?=['\"`/~.$])")
_UNSURE: Final = re.compile(
    r"\(|\|\||(?<![&>])&(?![&>])"
)  # a `cd` in such a line may not count for the rest


def opened_files(found: ParsedCommandLine, text: str) -> tuple[str, ...]:
    """Returns the files that a line may open, relative to where it starts; `~` is kept."""
    folders, names = [""], list[str]()
    for command in found.commands:
        here = folders if _UNSURE.search(text) else folders[-1:]
        named = [
            *_words(command),
            *_in_code(command, text),
            *(each.partition("=")[2] for each in command.sets),
        ]
        names += [_placed(folder, name) for name in named for folder in here if name]
        if command.name in ("cd", "pushd") and len(command.words) > 1:
            folders.append(join(folders[-1], command.words[1].text))
    names += [_placed(folder, word.text) for word in found.inputs for folder in folders]
    return tuple(dict.fromkeys(names))


def _words(command: SimpleCommand) -> Iterator[str]:
    """Yields the words of a command that could name what it reads, without the signs around."""
    if not command.words or "no_files" in command.program.kinds:
        return
    words = list(command.words[1:])
    skipped = {id(then) for one, then in pairwise(words) if one.text in _TEXTS}
    operands = [word for word in words if not word.text.startswith("-")]
    kinds = command.program.kinds
    if "scripted" in kinds and not _SCRIPTS & {word.text for word in words}:
        skipped.update(id(word) for word in operands[:1])
    if "copies" in kinds and len(operands) > 1 and not command.has("t", "--target-directory"):
        skipped.add(id(operands[-1]))
    for word in words:
        if id(word) not in skipped:
            yield from _pieces(word)


def _in_code(command: SimpleCommand, text: str) -> Iterator[str]:
    """Yields the paths in the code that a command runs: in its words, or what it is given."""
    words = command.arguments
    if is_interpreter(command):
        if not has_code(command):
            words = tuple(word for word in words if word.startswith("-"))  # `-cCODE`, `--eval=CODE`
        elif command.given or "<<" in text:
            words = (*words, text)
        else:
            words = (*words, *(word for each in command.fed for word in each.arguments))
    elif "coded" not in command.program.kinds:
        return
    for word in words:
        yield from outside_mentions(_OPTION.sub("", word, count=1))


def _pieces(word: CommandWord) -> Iterator[str]:
    text = word.text
    if "://" in text:
        yield from [text.removeprefix("file://")] if text.startswith("file://") else []
        return
    yield from (piece for piece in re.split(r"[{,}]", text) if piece != text and not word.plain)
    text = _ATTACHED.sub("", text.lstrip("<>@"), count=1)
    value = text.partition("=")[2].lstrip("@")
    yield from (piece for piece in (text, value) if piece and not piece.startswith("-"))


def _placed(folder: str, name: str) -> str:
    return name if name.startswith(("~", "$")) else normpath(join(folder, name))
