"""The grammar of planning: which lines it takes, the words it makes of them, and how it refuses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.properties import examples

from assent.core.errors import Refused
from assent.core.shell.parser import (
    MAX_COMMANDS,
    MAX_LINE,
    ListOperator,
    ParsedCommand,
    Pipeline,
    ShellWord,
    parse_command_line,
)
from assent.core.shell.process import StderrMode


def command(*texts: str, errors: StderrMode = StderrMode.KEPT) -> ParsedCommand:
    return ParsedCommand(tuple(map(ShellWord, texts)), errors)


def one(*texts: str) -> tuple[Pipeline, ...]:
    return (Pipeline((command(*texts),)),)


def answer(line: str) -> tuple[Pipeline, ...] | str:
    try:
        return parse_command_line(line)
    except Refused as refused:
        return refused.message


WORDS = {
    "a": ("a",),
    "  a\tb  c ": ("a", "b", "c"),
    "a 'b c' \"d e\" f\\ g": ("a", "b c", "d e", "f g"),
    "a ''": ("a", ""),
    "a b'c'\"d\"\\e": ("a", "bcde"),
    "a '$b `c` \\'": ("a", "$b `c` \\"),
    'a "\\$b \\`c\\` \\" \\\\ \\d"': ("a", '$b `c` " \\ \\d'),
    'a "cost: 5$" "$/" "^a$"': ("a", "cost: 5$", "$/", "^a$"),
    "a 'é' \"漢\"": ("a", "é", "漢"),
    "a b#c b~ ''~ ''#": ("a", "b#c", "b~", "~", "#"),
    "a HEAD@{1} @{u} v1^{} HEAD^{tree}": ("a", "HEAD@{1}", "@{u}", "v1^{}", "HEAD^{tree}"),
    "a b=c -d=e": ("a", "b=c", "-d=e"),
    "a !b": ("a", "!b"),
    "[ -f b ]": ("[", "-f", "b", "]"),
    "a if time": ("a", "if", "time"),
}


@pytest.mark.parametrize(("line", "words"), WORDS.items())
def test_words_are_those_of_bash(line: str, words: tuple[str, ...]) -> None:
    assert parse_command_line(line) == one(*words)


PATTERNS = {
    "a *.py": ShellWord("*.py", "*.py"),
    "a '*'.py": ShellWord("*.py"),
    "a \\*.py": ShellWord("*.py"),
    "a '*'*": ShellWord("**", "\\**"),
    "a b[c'-'d]?": ShellWord("b[c-d]?", "b[c\\-d]?"),
    "a 'x y'*": ShellWord("x y*", "x\\ y*"),
}


@pytest.mark.parametrize(("line", "word"), PATTERNS.items())
def test_wildcards_count_only_outside_quotes(line: str, word: ShellWord) -> None:
    assert parse_command_line(line)[0].commands[0].words[1] == word


def test_a_line_is_pipelines_and_what_joins_them() -> None:
    line = "a|b 2>&1 && c 2>/dev/null || d 2> /dev/null; e"
    assert parse_command_line(line) == (
        Pipeline((command("a"), command("b", errors=StderrMode.MERGED))),
        Pipeline((command("c", errors=StderrMode.DROPPED),), ListOperator.IF_IT_WORKED),
        Pipeline((command("d", errors=StderrMode.DROPPED),), ListOperator.IF_IT_FAILED),
        Pipeline((command("e"),), ListOperator.ALWAYS),
    )
    assert parse_command_line("a;") == one("a")


REFUSED = """
a > b|`>`
a >> b|`>`
a < b|`<`
a << b|`<`
a 1>&2|`>`
a 2>b|`>`
a &> b|`&`
a 2>&1 2>&1|two redirects
a &|`&`
a & b|`&`
(a)|`(`
a $(b)|`$(`
a `b`|backtick
a "`b`"|backtick
a $b|`$b`
a "$b"|`$b`
a "${b}"|expands to
a $'b'|expands to
a $((1))|`$(`
a "$["|expands to
a {b,c}|`{`
a b}|`}`
a @{b,c}|`{`
a ^{1..2}|`{`
a ~|`~`
a ~b/c|`~`
a b=~/c|`~`
a b:~|`~`
a #b|`#`
a é|outside quotes
a \\é|non-ASCII
a 'b|not closed
a "b|not closed
a \\|ends with
b=c|variable
b=c a|variable
b[1]=c|variable
b+=c|variable
! a|exit code
if a|shell syntax
time a|shell syntax
[[ -f a ]]|shell syntax
%1|job
*|wildcard
a [[:alpha:]]|character class
a '\\'[[:alpha:]]|character class
a && |At the end
a ;; b|not supported
a |& b|not supported
a ||| b|a command is missing
; a|a command is missing
| a|a command is missing
2>&1|a command is missing
"""


@pytest.mark.parametrize("row", REFUSED.strip("\n").splitlines())
def test_all_else_is_refused_by_name(row: str) -> None:
    line, _, part = row.rpartition("|")
    with pytest.raises(Refused) as refused:
        parse_command_line(line)
    assert part in refused.value.message
    assert refused.value.message.endswith(".")


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        "\n",
        "a\n",
        "a\nb",
        "a 'b\nc'",
        "a \\\nb",
        'a "b\\\nc"',
        "a\rb",
        "a\0",
        "a '\u202e'",
        "a '\u200b'",
        "a \x1b",
    ],
)
def test_what_nobody_sees_is_refused(line: str) -> None:
    with pytest.raises(Refused):
        parse_command_line(line)


def test_a_line_has_limits() -> None:
    most = ";".join(["a"] * MAX_COMMANDS)
    assert len(parse_command_line(most)) == MAX_COMMANDS
    with pytest.raises(Refused, match="more than"):
        parse_command_line(most + "|a")
    assert parse_command_line("a" * MAX_LINE) == one("a" * MAX_LINE)
    with pytest.raises(Refused, match="longer than"):
        parse_command_line("a" * (MAX_LINE + 1))


@settings(max_examples=examples(100), deadline=None)
@given(st.text() | st.text(" \t\n|&;<>()$`\\\"'{}*?[]#~!@^=:a2/é"))
def test_parsing_only_ever_refuses_and_is_the_same_twice(line: str) -> None:
    assert answer(line) == answer(line)


HOSTILE = (
    "'",
    '"',
    "\\",
    "[",
    "[[",
    "[a",
    "*",
    "a[b*",
    "@{",
    "@{a",
    "@{a.",
    "^{-",
    "$",
    "'\"",
    "2>",
    "= ",
)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("end", ["", "'", '"', "]", "}", ",}", "[:"])
def test_long_hostile_text_does_not_take_long(piece: str, end: str) -> None:
    line = "a " + piece * ((MAX_LINE - 10) // len(piece)) + end
    assert answer(line)
