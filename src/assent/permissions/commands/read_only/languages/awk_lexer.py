"""The awk lexer: words that all known awks read alike; anything else is refused."""

import re
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from assent.core.errors import Refused
from assent.permissions.commands.read_only.spec import words_in


class AwkTokenKind(StrEnum):
    """What a word is."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    REGEX = "regex"
    SIGN = "sign"


class AwkToken(msgspec.Struct, frozen=True):
    """One word of a program."""

    kind: AwkTokenKind
    text: str


BLANKS = " \t"
OPERATORS = (
    "&&", "||", "++", "--", "+=", "-=", "*=", "%=", "^=", "==", "!=", "<=", ">=", "!~",
    "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "%", "^", "!", "<", ">", "?", ":", "~",
    "$", "=", "\n",
)  # fmt: skip
# Where a value is expected, `/` begins a regular expression.
BEFORE_REGEX = words_in("{ } ; ( , ~ !~ ! && || = == != ? : print return else do") | {"\n"}
# Words behind which some awks expect a value, and some an operator.
UNSURE = words_in(
    "BEGIN END BEGINFILE ENDFILE function if else while for do break continue next nextfile exit "
    "return delete in print printf length"
)
ERROR_TEXTS = {
    "|": "`|` in an awk program runs a command; pipe the output of awk instead.",
    "@": "`@` in an awk program loads code, or calls what only shows later.",
    "#": "`#` starts a comment in an awk program; leave it out.",
    "\\": "`\\` outside of quotes in an awk program; leave it out.",
    "'": "`'` has no meaning in an awk program; use double quotes in it.",
}
_PIECES = re.compile(
    r"(?P<name>[A-Za-z_]\w*)|(?P<number>0[xX][0-9a-fA-F]+|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)"
    r'|(?P<string>"(\\[^\n]|[^"\\\n])*")',
    re.ASCII,
)
# A bracket holds no slash, and no bracket but a class: awks differ about all others.
_REGEX = re.compile(
    r"/(\[\^?+(?:\[:[a-z]+:\]|\\[^\[\]\n]|[^\[\]\\/\n])+\]|\\[^\n]|[^\[\]\\/\n])+/", re.ASCII
)


def awk_tokens(program: str) -> Iterator[AwkToken]:
    """Yields the words of a program; raises Refused at one that could be read in two ways."""
    before, at = AwkToken(AwkTokenKind.SIGN, "\n"), 0
    while at < len(program):
        if program[at] in BLANKS:
            at += 1
            continue
        before = _next(program, at, before)
        at += len(before.text)
        yield before


def _next(program: str, at: int, before: AwkToken) -> AwkToken:
    if program[at] == "/":
        return _slash(program, at, before)
    if found := _PIECES.match(program, at):
        return AwkToken(AwkTokenKind(found.lastgroup or ""), found[0])
    if program.startswith(">>", at):
        raise Refused("`>>` in an awk program writes to a file.")
    for sign in OPERATORS:
        if program.startswith(sign, at):
            return AwkToken(AwkTokenKind.SIGN, sign)
    if program[at] == '"':
        raise Refused('A `"` in an awk program is not closed.')
    raise Refused(
        ERROR_TEXTS.get(program[at], f"`{program[at]}` has no meaning in an awk program.")
    )


def _slash(program: str, at: int, before: AwkToken) -> AwkToken:
    """Tells a division from a regular expression by the word before it."""
    if before.text in BEFORE_REGEX and before.kind in (AwkTokenKind.SIGN, AwkTokenKind.NAME):
        found = _REGEX.match(program, at)
        if not found:
            raise Refused("A regular expression in an awk program is not closed, or unusual.")
        return AwkToken(AwkTokenKind.REGEX, found[0])
    value = before.kind is AwkTokenKind.NUMBER or before.text == "]"
    certain = value or (before.kind is AwkTokenKind.NAME and before.text not in UNSURE)
    if not certain and "/" in program[at + 1 :]:
        raise Refused("`/` in an awk program could be a division or begin a pattern; rewrite it.")
    if program.startswith("/=", at):
        return AwkToken(AwkTokenKind.SIGN, "/=")
    return AwkToken(AwkTokenKind.SIGN, "/")
