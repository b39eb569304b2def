"""Wrappers and nested shells: programs that run the command or script in their arguments."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from assent.permissions.commands.program_spec import WrapperSpec
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import CommandWord, SimpleCommand

# Nested shells: the script that a shell is given by its arguments, or why that is unknown.


_LETTERS: Final = frozenset("abefhlmnptuvxBCEHPTc")
_LONG: Final = words_in("--norc --noprofile --posix --login --verbose --restricted --")
_MODES: Final = words_in("errexit nounset pipefail xtrace errtrace noclobber verbose")


_BASH: Final = re.compile(r"&>|\|&|[<>]&(?!\d|-(?:\s|$))|<<<|[<>]\(|\$['\"\[]|\[\[|\(\(|;;?&")
_SHARED: Final = re.compile(r"[\w\s./:,@%+;&|\"'$>-]*", re.ASCII)
_INPUT: Final = re.compile(r"-|-[a-zA-Z]*f-|--?[\w-]+=-|.*\b(?:dev|proc)/.*", re.DOTALL)


def is_input(text: str) -> bool:
    """Tells whether a word means the standard input, or a path that may lead to it."""
    return _INPUT.fullmatch(text) is not None


class _ShellOptions(msgspec.Struct, frozen=True):
    """How many words options take, whether `-c` is among them, and whether all are known."""

    size: int
    runs: bool
    known: bool = True


def shell_script_of(command: SimpleCommand) -> tuple[str, str]:
    """Returns the script that a shell runs, or the doubt if that is unknown."""
    if "shell" not in command.program.kinds:
        return "", ""
    words = command.words[1:]
    if len(words) == 1 and words[0].text in ("--version", "--help"):
        return "", ""
    options = _options(words)
    if not options.known or "foreign_shell" in command.program.kinds:
        return "", f"it is unknown what `{command.name}` runs"
    rest = words[options.size :]
    if not options.runs and (not rest or is_input(rest[0].text)):
        return "", f"`{command.name}` runs commands from its input"
    if not rest or not rest[0].plain:
        return "", f"the script that `{command.name}` runs is not literal text"
    script = rest[0].text if options.runs else ""
    other = _parts_ways(command.name, script)
    return script, f"`{command.name}` may parse it differently from bash" if other else ""


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


class WrappedCommands(msgspec.Struct, frozen=True):
    """The commands that a wrapper runs; `told`: these are known to be all."""

    commands: tuple[SimpleCommand, ...] = ()
    told: bool = True


_EXEC: Final = words_in("-exec -execdir -ok -okdir")
_MOST: Final = 10  # programs that one search runs


def wrapped_commands(command: SimpleCommand) -> WrappedCommands:
    """Returns the commands that a wrapper runs, each with the input of the wrapper."""
    if command.name == "find":
        return _by_find(command)
    wrapper, start = _wrapper(command)
    if wrapper is None:
        return WrappedCommands()
    rest, sets, told = _after(wrapper, command.words[start:])
    if rest and command.name == "xargs":
        return WrappedCommands((_by_xargs(command, rest),), told)
    if rest:
        run = SimpleCommand(rest, sets, command.fed, command.given, command.open)
        return WrappedCommands((run,), told)
    return WrappedCommands(told=told and not command.open)


def _wrapper(command: SimpleCommand) -> tuple[WrapperSpec | None, int]:
    program = command.program
    if program.runs is not None or not command.arguments:
        return program.runs, 1
    return program.runs_by.get(command.arguments[0]), 2


def _after(
    wrapper: WrapperSpec, words: Sequence[CommandWord]
) -> tuple[tuple[CommandWord, ...], tuple[str, ...], bool]:
    """Returns the words of the inner command, the variables set for it, and if all is known."""
    left, at, sets, ended, told = wrapper.operands, 0, [], False, True
    while at < len(words):
        text = words[at].text
        if text in wrapper.silent:
            return (), (), told
        size = 1
        if text.startswith("-") and not ended:
            ended = text == "--"
            size = 1 if ended else wrapper.size(text)
        elif wrapper.sets and "=" in text:
            sets.append(text)
        elif left:
            left -= 1
        else:
            break
        told = told and size > 0 and all(word.plain for word in words[at : at + size])
        at += size or 1
    return tuple(words[at:]), tuple(sets), told


def _by_xargs(command: SimpleCommand, rest: tuple[CommandWord, ...]) -> SimpleCommand:
    """Returns what is run for the words of its input, which come last or where a mark stands."""
    before = command.arguments[: len(command.words) - len(rest) - 1]
    marks = [then for one, then in pairwise(before) if one == "-I"]
    marks += [text[2:] or "{}" for text in before if text[:2] in ("-I", "-i")]
    marks += [text.partition("=")[2] for text in before if text.startswith("--replace=")]
    marks += ["{}" for text in before if text == "--replace"]
    marks = [mark for mark in marks if mark]
    return SimpleCommand(_marked(rest, marks), (), command.fed, command.given, not marks)


def _marked(words: Sequence[CommandWord], marks: Sequence[str]) -> tuple[CommandWord, ...]:
    return tuple(
        CommandWord(word.text, plain=False) if any(mark in word.text for mark in marks) else word
        for word in words
    )


def _by_find(command: SimpleCommand) -> WrappedCommands:
    told = all(_is_told(word) for word in command.words) and not command.open
    runs = tuple(_runs(command.words))
    return WrappedCommands(runs[:_MOST], told and len(runs) <= _MOST)


def _is_told(word: CommandWord) -> bool:
    return word.plain or word.text == "{}"


def _runs(words: Sequence[CommandWord]) -> Iterator[SimpleCommand]:
    starts = [at for at, word in enumerate(words) if word.text in _EXEC]
    for at in starts[: _MOST + 1]:
        ends = (i for i in range(at + 1, len(words)) if words[i].text in (";", "+"))
        if rest := words[at + 1 : next(ends, len(words))]:
            yield SimpleCommand(_marked(rest, ("{}",)))
