"""find: its starting points, and an expression made of tests and prints alone."""

import re

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.spec import ParsedArguments, words_in

FLAG_TESTS = words_in(
    "( ) ! , -not -a -and -o -or -true -false -empty -executable -readable -writable -nouser "
    "-nogroup -daystart -depth -d -mount -xdev -noleaf -follow -ignore_readdir_race "
    "-noignore_readdir_race -warn -nowarn -print -print0 -ls -prune -quit -help --help -version "
    "--version"
)
WITH_TEXT = words_in(
    "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype "
    "-type -xtype -size -perm -mtime -atime -ctime -mmin -amin -cmin -user -group -uid -gid -links "
    "-inum -fstype -used -maxdepth -mindepth -printf -context"
)
WITH_FILE = words_in("-newer -anewer -cnewer -samefile")
ACTIONS = {
    "-exec": "runs a program",
    "-execdir": "runs a program",
    "-ok": "runs a program",
    "-okdir": "runs a program",
    "-delete": "deletes files; use the `delete` tool (by hand: `assent stage delete PATH`)",
    "-fprint": "writes a file; -print does not",
    "-fprint0": "writes a file; -print0 does not",
    "-fprintf": "writes a file; -printf does not",
    "-fls": "writes a file; -ls does not",
    "-files0-from": "takes names from a file; name the folders",
}
_LEADING = re.compile(r"-[HLP]|-O[0-3]")
_NEWER = re.compile(r"-newer[aBcm]([aBcmt])")


def read_find(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Sorts out the words of a find command, or raises Refused."""
    at = 0
    while at < len(words) and _LEADING.fullmatch(words[at].text):
        at += 1
    starts = at
    while at < len(words) and not _begins_expression(words[at].text):
        at += 1
    leading = tuple((word.text, "") for word in words[:starts])
    options, files = _expression(words[at:])
    operands = words[starts:at]
    return ParsedArguments((*leading, *options), operands, (*operands, *files))


def _begins_expression(text: str) -> bool:
    return text in ("(", ")", "!", ",") or (text.startswith("-") and text != "-")


def _expression(
    words: tuple[ShellWord, ...],
) -> tuple[tuple[tuple[str, str], ...], list[ShellWord]]:
    options: list[tuple[str, str]] = []
    files: list[ShellWord] = []
    left = list(reversed(words))
    while left:
        name = left.pop().text
        newer = _NEWER.fullmatch(name)
        if name in FLAG_TESTS:
            options.append((name, ""))
        elif newer or name in WITH_TEXT or name in WITH_FILE:
            value = _value(name, left)
            options.append((name, value.text))
            files += [value] if name in WITH_FILE or (newer and newer[1] != "t") else []
        else:
            raise Refused(_why(name))
    return tuple(options), files


def _value(name: str, left: list[ShellWord]) -> ShellWord:
    if not left:
        raise Refused(f"`find {name}` needs a value.")
    word = left.pop()
    if word.pattern:
        raise Refused(f"`{word.text}` behind `{name}` has a wildcard; put it in quotes.")
    return word


def _why(name: str) -> str:
    if name in ACTIONS:
        return f"`find {name}` {ACTIONS[name]}."
    if name.startswith("-"):
        return f"`find {name}` is not among the tests and actions that only read."
    return f"`{name}` stands behind the tests of find; folders come first, patterns in quotes."
