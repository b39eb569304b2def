"""Simple commands of a parsed line: their words, and which of them are the subcommand."""

import re
from typing import Final

import msgspec

from assent.core.shell.parser import GLOB_CHARS
from assent.permissions.commands.program_spec import ProgramSpec
from assent.permissions.commands.programs import known_program

DEEPEST: Final = 3  # the most words that say what a program does
_QUOTED: Final = re.compile("[ \t\n'\"]")


class CommandWord(msgspec.Struct, frozen=True):
    """A word without its quotes; `plain`: it is literal text that the shell does not expand."""

    text: str
    plain: bool = True


class SimpleCommand(msgspec.Struct, frozen=True):
    """A program or builtin with its arguments, and the commands that are piped into it."""

    words: tuple[CommandWord, ...]
    sets: tuple[str, ...] = ()  # variables that it sets, as NAME=VALUE
    fed: tuple["SimpleCommand", ...] = ()
    given: bool = False  # its input is a file or text in the line
    open: bool = False  # words of its input are added to its own

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""

    @property
    def program(self) -> ProgramSpec:
        """What is known of the program."""
        return known_program(self.name)

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words[1:])

    @property
    def text(self) -> str:
        """The words with one space between them; only those with spaces or quotes are quoted."""
        return " ".join(quote_word(word.text) for word in self.words)

    @property
    def operands(self) -> tuple[str, ...]:
        """Every argument that is not an option; the separate value of an option counts as one."""
        words = self.arguments
        cut = words.index("--") if "--" in words else len(words)
        found = [word for word in words[:cut] if not word.startswith("-") or word == "-"]
        return (*found, *words[cut + 1 :])

    def has(self, letters: str, *options: str) -> bool:
        """Tells whether one of some options is given; a letter may be in a cluster: `-rf`."""
        short = [w for w in self.arguments if w[:1] == "-" and w[:2] != "--"]
        return any(letter in word for word in short for letter in letters) or any(
            word.partition("=")[0] in options for word in self.arguments
        )


class ParsedCommandLine(msgspec.Struct, frozen=True):
    """The commands of a line; `doubts` are the reasons why there may be more."""

    commands: tuple[SimpleCommand, ...] = ()
    targets: tuple[CommandWord, ...] = ()  # what redirects write
    doubts: tuple[str, ...] = ()
    nested: bool = False  # one command is in the words of another
    inputs: tuple[CommandWord, ...] = ()  # what redirects read


def quote_word(text: str) -> str:
    """Returns a word quoted so that different lists of words never look the same."""
    if text and not _QUOTED.search(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def is_wild(text: str) -> bool:
    """Tells whether unquoted text expands to something else: wildcards, braces, a home folder."""
    return text.startswith("~") or any(sign in text for sign in GLOB_CHARS + "{}")


# Command arity: how many words say what a command does, so that the rest are its arguments.


def arity(words: tuple[str, ...]) -> int:
    """Returns how many of these words name the command: the program and its subcommands."""
    program = known_program(words[0].rpartition("/")[2] if words else "")
    return DEEPEST if program.deep & {*words[1:2]} else program.depth


def without_global_options(command: SimpleCommand) -> tuple[CommandWord, ...]:
    """Returns the words without the options before a program's subcommand."""
    program = command.program
    if not program.leading:
        return command.words
    words = list(command.words[1:])
    while words and words[0].text.startswith("-"):
        takes = words[0].text in program.before
        words = words[2:] if takes else words[1:]
    return (command.words[0], *words) if words else command.words


def subcommand_words(command: SimpleCommand) -> tuple[CommandWord, ...]:
    """Returns the words that are the subcommand."""
    words = without_global_options(command)
    return words[1 : arity(tuple(word.text for word in words))]
