"""Command lines: a lexer that follows bash, and the small planning grammar, without a shell.

What `parse_command_line` accepts has exactly the words that bash would see; all else is refused.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeAlias

import msgspec

from assent.core.errors import Refused
from assent.core.shell.process import StderrMode
from assent.core.text.confusables import confusable_letters
from assent.core.text.hidden_chars import hidden_kind

# The shell lexer: splits a command line into words as bash does: quotes, escapes, wildcards.


MAX_LINE = 16 * 1024
BLANKS = " \t"
ENDS = BLANKS + "|&;<>()"  # what ends a word that is not quoted
GLOB_CHARS = "*?["
PLAIN_DOLLAR = frozenset(" \"'|)/,.:;%=+&~^]}<>\\")  # after these, `$` in quotes is just a `$`
_REVISION = re.compile(r"\{[\w/-]*(\.[\w/-]+)*\}", re.ASCII)  # HEAD@{1}, v1^{}
_NO_ERRORS = re.compile(r"2>[ \t]*/dev/null(?=[ \t|&;)]|$)")
_MERGED = re.compile(r"2>&1(?=[ \t|&;)]|$)")
_VARIABLE = re.compile(r"\$(HOME|PWD)(?![A-Za-z0-9_]|[^\x00-\x7f])")
_SPLITS = frozenset(" \t\n*?[\\")  # in a value that is not quoted, bash makes other words of these
# Outside quotes a name may have letters, marks on them and digits. Signs look like the shell's.
_LETTERS = ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd")
_CLASS = re.compile(r"\[[:.=]")
_STAGE = "use the `write` or `edit` tool (manually: `assent stage write`)"
_SAID = {
    ">": f"`>` writes to a file; leave it out, or {_STAGE}.",
    "<": "`<` needs the name of one file, and nothing but a blank between the two.",
    "(": "`(` opens a subshell only where a command begins; quote it if it is meant as text.",
    ")": "`)` closes a subshell that was not opened; quote it if it is meant as text.",
    "\n": "A line break separates commands; join them with `&&` or `;` on one line.",
    "&": "`&` starts a command in the background; leave it out.",
    "`": "A backtick runs a command inside another; run it by itself first.",
    "{": "`{` can expand to several words; write them out, or quote it.",
    "}": "`}` belongs to a brace expansion; quote it if it is meant as text.",
    "#": "`#` starts a comment; leave it out, or quote it.",
    "~": "`~` expands to a home folder; write the path out, or quote it.",
}


class WordPiece(msgspec.Struct, frozen=True):
    """A part of a word that has variables: some text, or a variable by its name."""

    text: str
    pattern: str
    variable: str = ""
    quoted: bool = True


class ShellWord(msgspec.Struct, frozen=True):
    """One word, without its quotes. `pattern` is set if it has wildcards that are not quoted.

    In a pattern, every character that was quoted and is not a letter or digit has a backslash. A
    word with variables has `pieces`, and in its text they stand as they were written.
    """

    text: str
    pattern: str = ""
    pieces: tuple[WordPiece, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables in it."""
        return tuple(piece.variable for piece in self.pieces if piece.variable)

    @property
    def written(self) -> str:
        """The word with its variables as they were written, whatever stands for them."""
        return "".join(piece.text for piece in self.pieces) or self.text

    def filled(self, values: Mapping[str, str]) -> "ShellWord":
        """Returns the word with values in place of its variables.

        Raises Refused where bash would make several words of one, or look for files by it.
        """
        if not self.pieces:
            return self
        parts = [piece if not piece.variable else _valued(piece, values) for piece in self.pieces]
        pattern = "".join(piece.pattern for piece in parts) if self.pattern else ""
        return ShellWord("".join(piece.text for piece in parts), pattern)


def _valued(piece: WordPiece, values: Mapping[str, str]) -> WordPiece:
    value = values[piece.variable]
    if not piece.quoted and (not value or not _SPLITS.isdisjoint(value)):
        raise Refused(
            f"The value of `{piece.text}` is not one plain word; put it in double quotes."
        )
    return WordPiece(value, _escaped(value))


def _escaped(quoted: str) -> str:
    return "".join(char if char.isalnum() else "\\" + char for char in quoted)


class ShellOperator(msgspec.Struct, frozen=True):
    """`|`, `;`, `&&` or `||`, or a parenthesis."""

    sign: str


class StderrRedirect(msgspec.Struct, frozen=True):
    """Where stderr goes: away, or to stdout."""

    errors: StderrMode


class InputRedirect(msgspec.Struct, frozen=True):
    """The file that a command reads as its stdin."""

    file: ShellWord


ShellToken: TypeAlias = ShellWord | ShellOperator | StderrRedirect | InputRedirect


def tokenize(text: str) -> Iterator[ShellToken]:
    """Yields the tokens of a command line; raises Refused at the first part outside the grammar."""
    _check_characters(text)
    at = 0
    while True:
        while at < len(text) and text[at] in BLANKS:
            at += 1
        if at == len(text):
            return
        token, at = (
            _operator(text, at)
            or _redirect(text, at)
            or _input(text, at)
            or _WordReader(text, at).word()
        )
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
    for sign in ("&&", "||", ";", "|", "(", ")"):
        if not text.startswith(sign, at):
            continue
        following = text[at + len(sign) : at + len(sign) + 1]
        if sign in ";|" and following in ("&", sign):
            raise Refused(f"`{sign}{following}` is not supported; use `&&`, `||`, `;` or `|`.")
        if sign == following == "(":
            raise Refused("`((` calculates; put a blank between two parentheses of subshells.")
        return ShellOperator(sign), at + len(sign)
    return None


def _redirect(text: str, at: int) -> tuple[ShellToken, int] | None:
    for form, errors in ((_NO_ERRORS, StderrMode.DROPPED), (_MERGED, StderrMode.MERGED)):
        if found := form.match(text, at):
            return StderrRedirect(errors), found.end()
    return None


def _input(text: str, at: int) -> tuple[ShellToken, int] | None:
    """Reads `< FILE`; every other sign that begins with `<` is refused."""
    if text[at] != "<":
        return None
    at += 1
    if text[at : at + 1] and text[at] in "<>&(":
        raise Refused(f"`<{text[at]}` is not supported; only `< FILE` is.")
    while at < len(text) and text[at] in BLANKS:
        at += 1
    if at == len(text) or text[at] in ENDS:
        raise Refused(_SAID["<"])
    word, at = _WordReader(text, at).word()
    if word.pattern or not word.text:
        raise Refused(f"`< {word.text}`: {_SAID['<']}")
    return InputRedirect(word), at


class _WordReader:
    """Reads one word."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = self._start = at
        self._plain: list[str] = []  # the word
        self._pattern: list[str] = []  # the same, with quoted characters after backslashes
        self._pieces: list[WordPiece] = []  # what came before, if there are variables
        self._wild = False
        self._foreign = False  # letters of another alphabet, not quoted

    def word(self) -> tuple[ShellWord, int]:
        while self._at < len(self._text) and self._text[self._at] not in ENDS:
            self._read(self._text[self._at])
        self._check_end()
        if self._pieces:
            self._end_piece()
        text = "".join([piece.text for piece in self._pieces] or self._plain)
        whole = "".join([piece.pattern for piece in self._pieces] or self._pattern)
        pattern = whole if self._wild and text != "[" else ""
        if _CLASS.search(pattern, pattern.find("[") + 1):
            raise Refused(f"`{text}` has a character class; write the names out.")
        return ShellWord(text, pattern, tuple(self._pieces)), self._at

    def _check_end(self) -> None:
        """Refuses what belongs to a word in bash, or to the sign behind it."""
        written = self._text[self._start : self._at]
        following = self._text[self._at : self._at + 1]
        if following and following in ">(":
            raise Refused(_SAID[following])
        if not written:
            raise Refused(_SAID[following])
        if following == "<" and written.isdecimal():
            raise Refused(f"`{written}<` opens another descriptor; only `< FILE` is supported.")
        if self._foreign and (reason := confusable_letters(written)):
            raise Refused(f"`{written}` {reason}; put it in single quotes if that is meant.")

    def _read(self, char: str) -> None:
        match char:
            case "'":
                self._single()
            case '"':
                self._double()
            case "\\":
                self._escape()
            case "$" | "`":
                self._variable(quoted=False)
            case _ if not char.isascii():
                self._letter(char)
            case _:
                self._bare(char)

    def _letter(self, char: str) -> None:
        """Takes a letter of another alphabet, which bash takes as it is."""
        if unicodedata.category(char) not in _LETTERS or hidden_kind(char) is not None:
            raise Refused(f"`{char}` is not allowed outside quotes; put it in single quotes.")
        self._foreign = True
        self._take(char)

    def _variable(self, *, quoted: bool) -> None:
        found = _VARIABLE.match(self._text, self._at)
        if found is None:
            raise Refused(_expansion(self._text, self._at))
        self._end_piece()
        self._pieces.append(WordPiece(found[0], _escaped(found[0]), found[1], quoted))
        self._at = found.end()

    def _end_piece(self) -> None:
        self._pieces.append(WordPiece("".join(self._plain), "".join(self._pattern)))
        self._plain, self._pattern = [], []

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
                self._variable(quoted=True)
                continue
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
        self._pattern.append(_escaped(quoted))
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
MAX_DEPTH = 10  # subshells in each other
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
    """A program's name and arguments, as words, and the file that is its stdin, if any."""

    words: tuple[ShellWord, ...]
    errors: StderrMode = StderrMode.KEPT
    input: ShellWord | None = None

    @property
    def name(self) -> str:
        return self.words[0].text


class Subshell(msgspec.Struct, frozen=True):
    """Pipelines in parentheses: what they change of the shell ends with them."""

    pipelines: tuple["Pipeline", ...]
    errors: StderrMode = StderrMode.KEPT


class Pipeline(msgspec.Struct, frozen=True):
    """Commands that read each other's output, and what they wait for.

    Only the first can be a subshell.
    """

    commands: tuple[ParsedCommand | Subshell, ...]
    joint: ListOperator = ListOperator.ALWAYS


def parse_command_line(text: str) -> tuple[Pipeline, ...]:
    """Returns the pipelines of a command line; raises Refused, naming the part, for all else."""
    stack = [_PipelineBuilder()]
    commands = 0
    for token in tokenize(text):
        line = stack[-1]
        match token:
            case ShellWord():
                line.add_word(token)
            case StderrRedirect():
                line.redirect(token.errors)
            case InputRedirect():
                line.feed(token.file)
            case ShellOperator("("):
                line.check_group()
                stack.append(_PipelineBuilder())
                if len(stack) > MAX_DEPTH + 1:
                    raise Refused(f"`(`: more than {MAX_DEPTH} subshells are in each other.")
            case ShellOperator(")"):
                if len(stack) == 1:
                    raise Refused(_SAID[")"])
                stack.pop()
                stack[-1].group = line.finish("Before `)`")
            case ShellOperator("|"):
                line.end_command("Before `|`")
            case ShellOperator(sign):
                line.end_pipeline(ListOperator(sign), f"Before `{sign}`")
        commands += isinstance(token, ShellOperator)  # each ends or opens at least one
        if commands > 2 * MAX_COMMANDS:
            raise Refused(_TOO_MANY)
    if len(stack) > 1:
        raise Refused("A `(` is not closed.")
    found = stack[0].finish("At the end")
    if len(simple_commands(found)) > MAX_COMMANDS:
        raise Refused(_TOO_MANY)
    return found


def simple_commands(pipelines: tuple[Pipeline, ...]) -> tuple[ParsedCommand, ...]:
    """Returns all commands in their order, also those in subshells."""
    found: list[ParsedCommand] = []
    for pipeline in pipelines:
        for command in pipeline.commands:
            if isinstance(command, Subshell):
                found += simple_commands(command.pipelines)
            else:
                found.append(command)
    return tuple(found)


_TOO_MANY = f"There are more than {MAX_COMMANDS} commands; send fewer at a time."


class _PipelineBuilder:
    """What was read so far, of a line or of what is in parentheses."""

    def __init__(self) -> None:
        self.group: tuple[Pipeline, ...] = ()
        self._words: list[ShellWord] = []
        self._errors: list[StderrMode] = []
        self._input: list[ShellWord] = []
        self._commands: list[ParsedCommand | Subshell] = []
        self._pipelines: list[Pipeline] = []
        self._joint = ListOperator.ALWAYS

    def add_word(self, word: ShellWord) -> None:
        if self.group:
            raise Refused(f"`{word.text}` follows a subshell; put `&&`, `||`, `;` or `|` between.")
        self._words.append(word)

    def redirect(self, errors: StderrMode) -> None:
        if self._errors:
            raise Refused(f"`{errors}`: one command has two redirects; keep one of them.")
        self._errors.append(errors)

    def feed(self, file: ShellWord) -> None:
        if self._input or self.group:
            raise Refused(f"`< {file.text}`: one command takes one file, and a subshell none.")
        self._input.append(file)

    def check_group(self) -> None:
        """Refuses a subshell where no command begins, or where it would read another's output."""
        if self._words or self._errors or self._input or self.group:
            raise Refused(_SAID["("])
        if self._commands:
            raise Refused("`(` after `|`: a subshell cannot read from a pipe; put it first.")

    def end_command(self, where: str) -> None:
        errors = self._errors[0] if self._errors else StderrMode.KEPT
        if self.group:
            self._commands.append(Subshell(self.group, errors))
        elif not self._words:
            raise Refused(f"{where} a command is missing.")
        else:
            _check_name(self._words[0])
            given = self._input[0] if self._input else None
            self._commands.append(ParsedCommand(tuple(self._words), errors, given))
        self.group, self._words, self._errors, self._input = (), [], [], []

    def end_pipeline(self, joint: ListOperator, where: str) -> None:
        self.end_command(where)
        self._pipelines.append(Pipeline(tuple(self._commands), self._joint))
        self._commands, self._joint = [], joint

    def finish(self, where: str) -> tuple[Pipeline, ...]:
        started = (self._words, self._errors, self._input, self._commands, self.group)
        if any(started) or not self._pipelines or self._joint is not ListOperator.ALWAYS:
            self.end_pipeline(ListOperator.ALWAYS, where)
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
    if word.pattern or word.pieces:
        what = "wildcard" if word.pattern else "variable"
        raise Refused(f"`{word.text}`: a command name cannot contain a {what}; write it out.")
