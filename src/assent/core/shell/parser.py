"""The shell parser: the small grammar of planning, parsed without running a shell.

What `parse` accepts has exactly the words that bash would have made of it; all else is refused.
"""

import re
from enum import StrEnum

import msgspec

from assent.core.errors import Refused
from assent.core.shell.lexer import ShellOperator, ShellWord, StderrRedirect, tokenize
from assent.core.shell.process import StderrMode

MAX_COMMANDS = 50
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[.*\])?\+?=", re.DOTALL)
_RESERVED = re.compile(
    r"\[\[|\]\]|case|coproc|do|done|elif|else|esac|fi|for|function"
    r"|if|select|then|time|until|while"
)


class ListOperator(StrEnum):
    """When a pipeline runs, seen from the one before it."""

    ALWAYS = ";"
    IF_IT_WORKED = "&&"
    IF_IT_FAILED = "||"


class ParsedCommand(msgspec.Struct, frozen=True):
    """A program's name and arguments, as words."""

    words: tuple[ShellWord, ...]
    errors: StderrMode = StderrMode.KEPT

    @property
    def name(self) -> str:
        return self.words[0].text


class Pipeline(msgspec.Struct, frozen=True):
    """Commands that read each other's output, and what they wait for."""

    commands: tuple[ParsedCommand, ...]
    joint: ListOperator = ListOperator.ALWAYS


def parse_command_line(text: str) -> tuple[Pipeline, ...]:
    """Returns the pipelines of a command line; raises Refused, naming the part, for all else."""
    line = _PipelineBuilder()
    for token in tokenize(text):
        match token:
            case ShellWord():
                line.words.append(token)
            case StderrRedirect():
                line.redirect(token.errors)
            case ShellOperator("|"):
                line.end_command("Before `|`")
            case ShellOperator(sign):
                line.end_pipeline(ListOperator(sign), f"Before `{sign}`")
    return line.finish()


class _PipelineBuilder:
    """What was read so far."""

    def __init__(self) -> None:
        self.words: list[ShellWord] = []
        self._errors: list[StderrMode] = []
        self._commands: list[ParsedCommand] = []
        self._pipelines: list[Pipeline] = []
        self._joint = ListOperator.ALWAYS

    def redirect(self, errors: StderrMode) -> None:
        if self._errors:
            raise Refused(f"`{errors}`: one command has two redirects; keep one of them.")
        self._errors.append(errors)

    def end_command(self, where: str) -> None:
        if not self.words:
            raise Refused(f"{where} there is no command.")
        _check_name(self.words[0])
        errors = self._errors[0] if self._errors else StderrMode.KEPT
        self._commands.append(ParsedCommand(tuple(self.words), errors))
        self.words, self._errors = [], []
        if len(self._commands) + sum(len(p.commands) for p in self._pipelines) > MAX_COMMANDS:
            raise Refused(f"These are more than {MAX_COMMANDS} commands; send fewer at a time.")

    def end_pipeline(self, joint: ListOperator, where: str) -> None:
        self.end_command(where)
        self._pipelines.append(Pipeline(tuple(self._commands), self._joint))
        self._commands, self._joint = [], joint

    def finish(self) -> tuple[Pipeline, ...]:
        unfinished = bool(self.words or self._errors or self._commands)
        if unfinished or not self._pipelines or self._joint is not ListOperator.ALWAYS:
            self.end_pipeline(ListOperator.ALWAYS, "At the end")
        return tuple(self._pipelines)


def _check_name(word: ShellWord) -> None:
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
