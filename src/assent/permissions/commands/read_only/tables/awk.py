"""awk: proves that a program cannot write, run a program, connect or read other files."""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise

import msgspec

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.spec import ParsedArguments, words_in

# The awk lexer: words that all known awks read alike; anything else is refused.


class AwkTokenKind(StrEnum):
    """The kind of a token."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    REGEX = "regex"
    SIGN = "sign"


class AwkToken(msgspec.Struct, frozen=True):
    """One token of a program."""

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
# Words after which some awks expect a value, and some an operator.
UNSURE = words_in(
    "BEGIN END BEGINFILE ENDFILE function if else while for do break continue next nextfile exit "
    "return delete in print printf length"
)
ERROR_TEXTS = {
    "|": "`|` in an awk program runs a command; pipe the output of awk instead.",
    "@": "`@` in an awk program loads code or makes an indirect call.",
    "#": "`#` starts a comment in an awk program; leave it out.",
    "\\": "`\\` is not allowed outside quotes in an awk program; leave it out.",
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
    """Yields the tokens of a program; raises Refused at one that is ambiguous."""
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
            raise Refused(
                "A regular expression in an awk program is not closed or uses unsupported syntax."
            )
        return AwkToken(AwkTokenKind.REGEX, found[0])
    value = before.kind is AwkTokenKind.NUMBER or before.text == "]"
    certain = value or (before.kind is AwkTokenKind.NAME and before.text not in UNSURE)
    if not certain and "/" in program[at + 1 :]:
        raise Refused(
            "`/` in an awk program could be a division or start a regular expression; rewrite it."
        )
    if program.startswith("/=", at):
        return AwkToken(AwkTokenKind.SIGN, "/=")
    return AwkToken(AwkTokenKind.SIGN, "/")


# awk: proves that a program cannot write, run a program, connect or read other files.
#
# A program is accepted only if gawk and mawk split it into the same words, and none of those does
# more than compute and print.


FUNCTIONS = words_in(
    "and asort asorti atan2 close compl cos exp fflush gensub gsub index int isarray length log "
    "lshift match mktime or patsplit rand rshift sin split sprintf sqrt srand strftime strtonum "
    "sub substr systime tolower toupper typeof xor"
)
STATEMENTS = words_in("if while for print printf return in delete exit")
REFUSED = {
    "system": "runs a command",
    "getline": "reads another file or the output of a command",
    "ARGV": "changes which files are read",
    "ARGC": "changes which files are read",
    "ENVIRON": "shows the environment; use `printenv NAME`",
    "PROCINFO": "changes how input is read",
    "SYMTAB": "gives access to every variable",
    "FUNCTAB": "gives access to every function",
    "CONVFMT": "changes how numbers are printed; use `printf`",
    "OFMT": "changes how numbers are printed; use `printf`",
    "TEXTDOMAIN": "reads another file",
    "_": "marks strings for translation",
    "extension": "loads code",
    "bindtextdomain": "reads another file",
    "dcgettext": "reads another file",
    "dcngettext": "reads another file",
    "func": "is not supported by every awk; write `function`",
    "switch": "is not supported by every awk; use `if`",
    "case": "is not supported by every awk; use `if`",
    "default": "is a keyword in some awks; use another name",
}
_GOES_ON = words_in(", && || { ? : = + - * % ( [ ! ~ < > == != <= >=") | {"\n"}
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_PRINTS = ("print", "printf")


def read_awk(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Parses the words of an awk command: options end where its program begins."""
    options: list[tuple[str, str]] = []
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        if words[at].text == "--":
            at += 1
            break
        name, value, taken = _option(words[at:])
        options.append((name, value))
        at += taken
    if any(word.pattern for word in words[: at + 1]):
        raise Refused("An awk program has an unquoted wildcard; put it in single quotes.")
    if at == len(words) and not ParsedArguments(tuple(options)).has("--version"):
        raise Refused("`awk` needs a program, such as '{print $1}'.")
    for program in words[at : at + 1]:
        check_awk(program.text)
    return ParsedArguments(tuple(options), words[at:], _files(words[at + 1 :]))


def _option(words: tuple[ShellWord, ...]) -> tuple[str, str, int]:
    """Returns an option, its value, and how many words they are."""
    text = words[0].text
    if text == "--version":
        return text, "", 1
    name, value, taken = text[:2], text[2:], 1
    if name not in ("-F", "-v"):
        raise Refused(f"`awk {text}` is not in the list of read-only options; use only -F and -v.")
    if not value:
        if len(words) == 1:
            raise Refused(f"`awk {name}` needs a value.")
        value, taken = words[1].text, 2
    if name == "-v":
        _check_assignment(value)
    return name, value, taken


def _check_assignment(text: str) -> None:
    found = _ASSIGNED.match(text)
    if not found or found[1] in REFUSED:
        raise Refused(f"`awk -v {text}` is not an allowed assignment; use -v NAME=TEXT.")


def _files(operands: tuple[ShellWord, ...]) -> tuple[ShellWord, ...]:
    for word in operands:
        if word.text.startswith("/inet"):
            raise Refused(f"awk treats `{word.text}` as a network connection.")
        if _ASSIGNED.match(word.text):
            _check_assignment(word.text)
    return tuple(word for word in operands if word.pattern or not _ASSIGNED.match(word.text))


def check_awk(program: str) -> None:
    """Raises Refused unless an awk program provably only computes and prints."""
    found = list(awk_tokens(program))
    for token in found:
        if token.kind is AwkTokenKind.NAME and token.text in REFUSED:
            raise Refused(f"`{token.text}` in an awk program {REFUSED[token.text]}.")
    _check_calls(found)
    _check_redirects(found)


def _check_calls(found: list[AwkToken]) -> None:
    """Allows calls only of known functions, and of those that the program defines itself."""
    own = {second.text for first, second in pairwise(found) if first.text == "function"}
    if own & (FUNCTIONS | STATEMENTS):
        raise Refused("An awk program defines a function with a reserved name.")
    for name, following in pairwise(found):
        known = name.text in FUNCTIONS or name.text in STATEMENTS or name.text in own
        if name.kind is AwkTokenKind.NAME and following.text == "(" and not known:
            raise Refused(f"`{name.text}(` in an awk program calls an unknown function.")


def _check_redirects(found: list[AwkToken]) -> None:
    """Refuses every `>` that could belong to a print; elsewhere it compares."""
    printing, depth = False, 0
    for before, token in pairwise([AwkToken(AwkTokenKind.SIGN, "\n"), *found]):
        if token.kind is AwkTokenKind.NAME and token.text in _PRINTS:
            printing, depth = True, 0
        if token.kind is not AwkTokenKind.SIGN or not printing:
            continue
        depth += (token.text == "(") - (token.text == ")")
        if token.text in (">", ">=") and depth <= 0:
            raise Refused("`>` after print in an awk program writes to a file.")
        if token.text in (";", "{", "}") and depth > 0:
            raise Refused("A print in an awk program has a `(` that is not closed.")
        goes_on = token.text == "\n" and (depth > 0 or before.text in _GOES_ON)
        printing = token.text not in (";", "}", "\n") or goes_on
