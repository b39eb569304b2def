"""Command lines: a lexer that follows bash, and the small planning grammar, without a shell.

What `parse_command_line` accepts has exactly the words that bash would see; all else is refused.
"""

import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from typing import TypeAlias

import msgspec

from assent.core.errors import Refused
from assent.core.shell.process import StderrMode

# The shell lexer: splits a command line into words as bash does: quotes, escapes, wildcards.


MAX_LINE = 16 * 1024
BLANKS = " \t"
ENDS = BLANKS + "|&;<>()"  # what ends a word that is not quoted
GLOB_CHARS = "*?["
PLAIN_DOLLAR = frozenset(" \"'|)/,.:;%=+&~^]}<>\\")  # after these, `$` in quotes is just a `$`
_REVISION = re.compile(r"\{[\w/-]*(\.[\w/-]+)*\}", re.ASCII)  # HEAD@{1}, v1^{}
_NO_ERRORS = re.compile(r"2>[ \t]*/dev/null(?=[ \t|&;]|$)")
_MERGED = re.compile(r"2>&1(?=[ \t|&;]|$)")
_CLASS = re.compile(r"\[[:.=]")
_STAGE = "use the `write` or `edit` tool (manually: `assent stage write`)"
_SAID = {
    ">": f"`>` writes to a file; leave it out, or {_STAGE}.",
    "<": "`<` feeds a file or text to a command; name the file as an argument instead.",
    "(": "`(` opens a subshell; write the commands one after the other.",
    ")": "`)` closes a subshell; quote it if it is meant as text.",
    "\n": "A line break separates commands; join them with `&&` or `;` on one line.",
    "&": "`&` starts a command in the background; leave it out.",
    "`": "A backtick runs a command inside another; run it by itself first.",
    "{": "`{` can expand to several words; write them out, or quote it.",
    "}": "`}` belongs to a brace expansion; quote it if it is meant as text.",
    "#": "`#` starts a comment; leave it out, or quote it.",
    "~": "`~` expands to a home folder; write the path out, or quote it.",
}


class ShellWord(msgspec.Struct, frozen=True):
    """One word, without its quotes. `pattern` is set if it has wildcards that are not quoted.

    In a pattern, every character that was quoted and is not a letter or digit has a backslash.
    """

    text: str
    pattern: str = ""


class ShellOperator(msgspec.Struct, frozen=True):
    """`|`, `;`, `&&` or `||`."""

    sign: str


class StderrRedirect(msgspec.Struct, frozen=True):
    """Where stderr goes: away, or to stdout."""

    errors: StderrMode


ShellToken: TypeAlias = ShellWord | ShellOperator | StderrRedirect


def tokenize(text: str) -> Iterator[ShellToken]:
    """Yields the tokens of a command line; raises Refused at the first part outside the grammar."""
    _check_characters(text)
    at = 0
    while True:
        while at < len(text) and text[at] in BLANKS:
            at += 1
        if at == len(text):
            return
        token, at = _operator(text, at) or _redirect(text, at) or _WordReader(text, at).word()
        yield token


def _check_characters(text: str) -> None:
    if len(text) > MAX_LINE:
        raise Refused(f"The command is longer than {MAX_LINE} characters; send a shorter one.")
    if "\n" in text:
        raise Refused(_SAID["\n"])
    for char in text:
        if char == "\t" or " " <= char <= "~":
            continue
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            raise Refused(f"U+{ord(char):04X} is an invisible character; leave it out.")


def _operator(text: str, at: int) -> tuple[ShellToken, int] | None:
    for sign in ("&&", "||", ";", "|"):
        if not text.startswith(sign, at):
            continue
        following = text[at + len(sign) : at + len(sign) + 1]
        if sign in ";|" and following in ("&", sign):
            raise Refused(f"`{sign}{following}` is not supported; use `&&`, `||`, `;` or `|`.")
        return ShellOperator(sign), at + len(sign)
    return None


def _redirect(text: str, at: int) -> tuple[ShellToken, int] | None:
    for form, errors in ((_NO_ERRORS, StderrMode.DROPPED), (_MERGED, StderrMode.MERGED)):
        if found := form.match(text, at):
            return StderrRedirect(errors), found.end()
    return None


class _WordReader:
    """Reads one word."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = self._start = at
        self._plain: list[str] = []  # the word
        self._pattern: list[str] = []  # the same, with quoted characters after backslashes
        self._wild = False

    def word(self) -> tuple[ShellToken, int]:
        while self._at < len(self._text) and self._text[self._at] not in ENDS:
            self._read(self._text[self._at])
        if self._at < len(self._text) and self._text[self._at] in "<>()":
            raise Refused(_SAID[self._text[self._at]])
        if self._at == self._start:
            raise Refused(_SAID[self._text[self._at]])
        text = "".join(self._plain)
        pattern = "".join(self._pattern) if self._wild and text != "[" else ""
        if _CLASS.search(pattern, pattern.find("[") + 1):
            raise Refused(f"`{text}` has a character class; write the names out.")
        return ShellWord(text, pattern), self._at

    def _read(self, char: str) -> None:
        match char:
            case "'":
                self._single()
            case '"':
                self._double()
            case "\\":
                self._escape()
            case "$" | "`":
                raise Refused(_expansion(self._text, self._at))
            case _ if not char.isascii():
                raise Refused(f"`{char}` is not allowed outside quotes; put it in single quotes.")
            case _:
                self._bare(char)

    def _bare(self, char: str) -> None:
        before = self._text[self._at - 1] if self._at > self._start else ""
        if before in ("@", "^") and (found := _REVISION.match(self._text, self._at)):
            self._take(found[0])
            return
        tilde = char == "~" and before in ("", "=", ":")
        if self._text.startswith("{}", self._at):
            raise Refused(
                "`{}` is a placeholder for what another command finds; run that command first."
            )
        if char in "{}" or tilde or (char == "#" and not before):
            raise Refused(_SAID[char])
        self._wild = self._wild or char in GLOB_CHARS
        self._plain.append(char)
        self._pattern.append(char)
        self._at += 1

    def _single(self) -> None:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise Refused("A `'` is not closed.")
        self._at += 1
        self._take(self._text[self._at : end])
        self._at += 1

    def _double(self) -> None:
        self._at += 1
        while (char := self._next('A `"` is not closed.')) != '"':
            following = self._text[self._at + 1 : self._at + 2]
            if char == "`" or (char == "$" and following not in PLAIN_DOLLAR):
                raise Refused(_expansion(self._text, self._at))
            if char == "\\" and following and following in '$`"\\':
                self._at += 1
                char = following
            self._take(char)
        self._at += 1

    def _escape(self) -> None:
        self._at += 1
        char = self._next("The command ends with a `\\`.")
        if not " " <= char <= "~":
            raise Refused(
                "A `\\` cannot precede a line break or a non-ASCII character; use quotes."
            )
        self._take(char)

    def _next(self, otherwise: str) -> str:
        if self._at >= len(self._text):
            raise Refused(otherwise)
        return self._text[self._at]

    def _take(self, quoted: str) -> None:
        """Takes text as it is, which no wildcard is."""
        self._plain.append(quoted)
        self._pattern.append("".join(c if c.isalnum() else "\\" + c for c in quoted))
        self._at += len(quoted)


def _expansion(text: str, at: int) -> str:
    """Says what a `$` or backtick would have done."""
    if text[at] == "`":
        return _SAID["`"]
    if text[at + 1 : at + 2] == "(":
        return "`$(` runs a command inside another; run it by itself first."
    name = re.match(r"\$\w*", text[at:], re.ASCII)
    part = name[0] if name else "$"
    return f"`{part}` expands to something else; write its value out, or use single quotes."


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
            raise Refused(f"{where} a command is missing.")
        _check_name(self.words[0])
        errors = self._errors[0] if self._errors else StderrMode.KEPT
        self._commands.append(ParsedCommand(tuple(self.words), errors))
        self.words, self._errors = [], []
        if len(self._commands) + sum(len(p.commands) for p in self._pipelines) > MAX_COMMANDS:
            raise Refused(f"There are more than {MAX_COMMANDS} commands; send fewer at a time.")

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
        raise Refused("An empty word cannot be a command.")
    if word.text == "!":
        raise Refused("`!` inverts an exit code; leave it out.")
    if _RESERVED.fullmatch(word.text):
        raise Refused(f"`{word.text}` is shell syntax; write plain commands.")
    if word.text.startswith("%"):
        raise Refused(f"`{word.text}` refers to a shell job; there are none.")
    if _ASSIGNMENT.match(word.text):
        raise Refused(f"`{word.text}` sets a variable; planning commands run without variables.")
    if word.pattern:
        raise Refused(f"`{word.text}`: a command name cannot contain a wildcard; write it out.")
