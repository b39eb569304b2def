"""Nested shells: the script that a shell is given by its arguments, or why that is unknown."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import CommandWord, SimpleCommand

SHELLS: Final = words_in("sh bash zsh dash ksh mksh ash fish csh tcsh rbash")
_FOREIGN: Final = words_in("fish csh tcsh")  # they read words in another way than bash
_LETTERS: Final = frozenset("abefhlmnptuvxBCEHPTc")
_LONG: Final = words_in("--norc --noprofile --posix --login --verbose --restricted --")
_MODES: Final = words_in("errexit nounset pipefail xtrace errtrace noclobber verbose")


_BASH: Final = re.compile(r"&>|\|&|[<>]&(?!\d|-(?:\s|$))|<<<|[<>]\(|\$['\"\[]|\[\[|\(\(|;;?&")
_SHARED: Final = re.compile(r"[\w\s./:,@%+;&|\"'$>-]*", re.ASCII)
_INPUT: Final = re.compile(r"-|-[a-zA-Z]*f-|--?[\w-]+=-|.*\b(?:dev|proc)/.*", re.DOTALL)


def is_input(text: str) -> bool:
    """Tells whether a word stands for the input, or for a file that only seems to be one."""
    return _INPUT.fullmatch(text) is not None


class _ShellOptions(msgspec.Struct, frozen=True):
    """How many words options take, whether `-c` is among them, and whether all are known."""

    size: int
    runs: bool
    known: bool = True


def shell_script_of(command: SimpleCommand) -> tuple[str, str]:
    """Returns the text that a shell is told to run; or the doubt, if that cannot be told."""
    if command.name not in SHELLS:
        return "", ""
    words = command.words[1:]
    if len(words) == 1 and words[0].text in ("--version", "--help"):
        return "", ""
    options = _options(words)
    if not options.known or command.name in _FOREIGN:
        return "", f"what `{command.name}` runs cannot be told"
    rest = words[options.size :]
    if not options.runs and (not rest or is_input(rest[0].text)):
        return "", f"`{command.name}` runs what it reads from its input"
    if not rest or not rest[0].plain:
        return "", f"what `{command.name}` runs is not written out"
    script = rest[0].text if options.runs else ""
    other = _parts_ways(command.name, script)
    return script, f"`{command.name}` may read it in another way than bash" if other else ""


def _parts_ways(name: str, script: str) -> bool:
    """Tells whether a shell other than bash could see other commands in a text: `a &>f b`."""
    if name in ("bash", "rbash"):
        return False
    odd = name not in ("sh", "dash", "ash") and not _SHARED.fullmatch(script)
    return odd or _BASH.search(script) is not None


def _options(words: Sequence[CommandWord]) -> _ShellOptions:
    at, runs = 0, False
    while at < len(words) and words[at].text[:1] in ("-", "+"):
        text = words[at].text
        at += 1
        if text == "--":
            break
        if text.startswith("--"):
            if text not in _LONG:
                return _ShellOptions(at, runs, known=False)
            continue
        letters = text[1:].replace("o", "")
        modes = [word.text for word in words[at : at + text[1:].count("o")]]
        at += text.count("o")
        runs = runs or "c" in letters
        if text[0] == "+" and "c" in letters:
            return _ShellOptions(at, runs, known=False)
        if not (text[1:] and set(letters) <= _LETTERS and set(modes) <= _MODES):
            return _ShellOptions(at, runs, known=False)
    return _ShellOptions(at, runs, known=all(word.plain for word in words[:at]))
