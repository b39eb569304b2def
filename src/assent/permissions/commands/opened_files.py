"""Opened files: which files a line that may write seems to open, by the names in its words.

Which words are files is known of few programs, so every word that could be one counts.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from posixpath import join, normpath
from typing import Final

from assent.core.permission.command_analysis import outside_mentions
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.risk import has_code, is_interpreter
from assent.permissions.commands.simple_command import CommandWord, ParsedCommandLine, SimpleCommand

# Of these no word is a file that they read.
_NO_FILES: Final = words_in(
    "echo printf export declare typeset local readonly unset alias kill sleep exit return "
    "tee touch mkdir rmdir rm unlink truncate shred"
)
_COPIERS: Final = words_in("cp install ln mv")  # the last word is written, or a folder written to
# The first word is an expression, unless an option names it.
_SCRIPTED: Final = words_in("sed gsed awk gawk mawk nawk grep egrep fgrep rg ag perl jq yq")
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


# Of these, words are code, or have it in them.
_CODED: Final = words_in("awk gawk mawk nawk sed gsed psql sqlite3 duckdb")


def opened_files(found: ParsedCommandLine, text: str) -> tuple[str, ...]:
    """Returns the names, as seen from where the line starts; a home stays as it is written."""
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
    if not command.words or command.name in _NO_FILES:
        return
    words = list(command.words[1:])
    skipped = {id(then) for one, then in pairwise(words) if one.text in _TEXTS}
    operands = [word for word in words if not word.text.startswith("-")]
    if command.name in _SCRIPTED and not _SCRIPTS & {word.text for word in words}:
        skipped.update(id(word) for word in operands[:1])
    if (
        command.name in _COPIERS
        and len(operands) > 1
        and not command.has("t", "--target-directory")
    ):
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
    elif command.name not in _CODED:
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
