"""Command effects: what the commands of a line do, by the table of programs."""

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import Final, TypeAlias

from assent.core.permission.command_analysis import CommandEffectKind, sorted_effects
from assent.permissions.commands.program_spec import Use
from assent.permissions.commands.programs import is_kind, known_program
from assent.permissions.commands.simple_command import (
    ParsedCommandLine,
    SimpleCommand,
    without_global_options,
)

Words: TypeAlias = tuple[str, ...]

_LONGEST: Final = 100  # characters of a word that can tell something
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*")
# What has no output, so that a file it is redirected to is left empty.
_SILENT: Final[tuple[Words, ...]] = (
    (":",), ("true",), ("echo", "-n"), ("printf", ""), ("cat", "/dev/null"),
)  # fmt: skip
_SEPARATORS: Final = re.compile(r"[;&|\n(){}`]+")
_BEFORE: Final = re.compile(
    r"sudo|doas|env|command|exec|time|nice|nohup|then|do|-.*|\w+=.*", re.DOTALL
)
_FETCHED: Final[frozenset[CommandEffectKind]] = frozenset(("installs", "network"))


def command_uses(command: Sequence[str]) -> list[Use]:
    """Returns how a command uses its program: the name without a folder, and its words."""
    program, *more = command[0].split() or [""]  # one that contains a space counts as two words
    words = [*more, *command[1:]]
    found = list(_fitting(program, words))
    if _PYTHON.fullmatch(program) and "-m" in words[:-1]:
        module, *rest = words[words.index("-m") + 1 :]
        found += _fitting(module, rest)
    return found


def command_effects(command: Sequence[str]) -> frozenset[CommandEffectKind]:
    """Returns what one command does."""
    return frozenset(effect for use in command_uses(command) for effect in use.effects)


def _fitting(program: str, words: Sequence[str]) -> Iterator[Use]:
    text = "".join(f" {word[:_LONGEST]}" for word in words)
    return (use for use in known_program(program).uses if use.fits(words, text))


def telling_words(command: SimpleCommand) -> Words:
    """Returns the program's name and its words, without options before the second of them."""
    return (command.name, *(word.text for word in without_global_options(command)[1:]))


def line_effects(
    text: str, found: ParsedCommandLine, rough: Sequence[Words], *, certain: bool, writes: bool
) -> tuple[CommandEffectKind, ...]:
    """Returns what a line does: its commands, and roughly what could hide in it.

    Of a line that is certain, a rough look counts only where it finds something that installs.
    """
    commands = [each for each in found.commands if each.words]
    told = [(each.name, *each.arguments) for each in commands]
    told += [telling_words(each) for each in commands]
    effects = {effect for each in told for effect in command_effects(each)}
    for each in map(command_effects, rough):
        effects |= each & _FETCHED if certain and "installs" in each else set()
        effects |= set() if certain else each
    programs = {each[0] for each in rough}
    if any(is_kind(name, "shell") for name in programs) and any(
        is_kind(name, "downloads") for name in programs
    ):
        effects |= _FETCHED  # it fetches a program and runs it, perhaps
    if not certain and any("writes_outside" in command_effects((w,)) for w in {*text.split()}):
        effects.add("writes_outside")
    if writes and _may_empty(text, told, [] if certain else rough):
        effects.add("deletes")
    return sorted_effects(effects)


def _may_empty(text: str, told: Sequence[Words], rough: Sequence[Words]) -> bool:
    """Tells whether a line that writes a file may leave nothing in it, without removing it."""
    bare = not told and text.startswith(">") and not text.startswith(">>")
    return bare or any(command in _SILENT for command in (*told, *rough))


def rough_commands(text: str, found: ParsedCommandLine) -> list[Words]:
    """Splits a line roughly: a command too many is a false alarm, one too few is worse."""
    scripts = [text]
    for command in found.commands:
        is_shell = "shell" in command.program.kinds
        scripts += [word for word in command.arguments if is_shell or " " in word]
    pieces = [piece.split() for script in scripts for piece in _SEPARATORS.split(script)]
    commands = [
        tuple(dropwhile(_BEFORE.fullmatch, [word.strip("\"'$") for word in words]))
        for words in pieces
    ]
    named = [(each[0].rpartition("/")[2], *each[1:]) for each in commands if each]
    return list(dict.fromkeys(named))


def possible_places(commands: Sequence[Words]) -> tuple[str, ...]:
    """Returns the words of commands that could be places outside the folder they run in."""
    words = [word for command in commands for word in command[1:]]
    return tuple(
        dict.fromkeys(w for w in words if any(sign in w for sign in ("/", "~", "..", "$")))
    )
