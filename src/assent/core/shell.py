"""A command line as data: the small grammar of planning, parsed without asking a shell.

What `parse` accepts has exactly the words that bash would have made of it; all else is refused.
"""

import re
from enum import StrEnum

import msgspec

from assent.core.errors import Refused
from assent.core.process import Errors
from assent.core.shell_words import Operator, Redirect, Word, tokens

MOST_COMMANDS = 50
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[.*\])?\+?=", re.DOTALL)
_RESERVED = re.compile(
    r"\[\[|\]\]|case|coproc|do|done|elif|else|esac|fi|for|function"
    r"|if|select|then|time|until|while"
)


class Joint(StrEnum):
    """When a pipeline runs, seen from the one before it."""

    ALWAYS = ";"
    IF_IT_WORKED = "&&"
    IF_IT_FAILED = "||"


class Command(msgspec.Struct, frozen=True):
    """A program's name and arguments, as words."""

    words: tuple[Word, ...]
    errors: Errors = Errors.KEPT

    @property
    def name(self) -> str:
        return self.words[0].text


class Pipeline(msgspec.Struct, frozen=True):
    """Commands that read each other's output, and what they wait for."""

    commands: tuple[Command, ...]
    joint: Joint = Joint.ALWAYS


def parse(text: str) -> tuple[Pipeline, ...]:
    """Returns the pipelines of a command line; raises Refused, naming the part, for all else."""
    line = _Line()
    for token in tokens(text):
        match token:
            case Word():
                line.words.append(token)
            case Redirect():
                line.redirect(token.errors)
            case Operator("|"):
                line.end_command("Before `|`")
            case Operator(sign):
                line.end_pipeline(Joint(sign), f"Before `{sign}`")
    return line.finish()


class _Line:
    """What was read so far."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self._errors: list[Errors] = []
        self._commands: list[Command] = []
        self._pipelines: list[Pipeline] = []
        self._joint = Joint.ALWAYS

    def redirect(self, errors: Errors) -> None:
        if self._errors:
            raise Refused(f"`{errors}`: one command has two redirects; keep one of them.")
        self._errors.append(errors)

    def end_command(self, where: str) -> None:
        if not self.words:
            raise Refused(f"{where} there is no command.")
        _check_name(self.words[0])
        errors = self._errors[0] if self._errors else Errors.KEPT
        self._commands.append(Command(tuple(self.words), errors))
        self.words, self._errors = [], []
        if len(self._commands) + sum(len(p.commands) for p in self._pipelines) > MOST_COMMANDS:
            raise Refused(f"These are more than {MOST_COMMANDS} commands; send fewer at a time.")

    def end_pipeline(self, joint: Joint, where: str) -> None:
        self.end_command(where)
        self._pipelines.append(Pipeline(tuple(self._commands), self._joint))
        self._commands, self._joint = [], joint

    def finish(self) -> tuple[Pipeline, ...]:
        unfinished = bool(self.words or self._errors or self._commands)
        if unfinished or not self._pipelines or self._joint is not Joint.ALWAYS:
            self.end_pipeline(Joint.ALWAYS, "At the end")
        return tuple(self._pipelines)


def _check_name(word: Word) -> None:
    if not word.text:
        raise Refused("An empty word stands where a command should.")
    if word.text == "!":
        raise Refused("`!` turns an exit code round; leave it out.")
    if _RESERVED.fullmatch(word.text):
        raise Refused(f"`{word.text}` belongs to the shell's language; write plain commands.")
    if word.text.startswith("%"):
        raise Refused(f"`{word.text}` names a job of the shell; there are none.")
    if _ASSIGNMENT.match(word.text):
        raise Refused(f"`{word.text}` sets a variable; planning commands run without any.")
    if word.pattern:
        raise Refused(f"`{word.text}`: a command's name cannot hold a wildcard; write it out.")
