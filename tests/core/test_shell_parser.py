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
    Subshell,
    parse_command_line,
    simple_commands,
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
    assert simple_commands(parse_command_line(line))[0].words[1] == word


def test_a_line_is_pipelines_and_what_joins_them() -> None:
    line = "a|b 2>&1 && c 2>/dev/null || d 2> /dev/null; e"
    assert parse_command_line(line) == (
        Pipeline((command("a"), command("b", errors=StderrMode.MERGED))),
        Pipeline((command("c", errors=StderrMode.DROPPED),), ListOperator.IF_IT_WORKED),
        Pipeline((command("d", errors=StderrMode.DROPPED),), ListOperator.IF_IT_FAILED),
        Pipeline((command("e"),), ListOperator.ALWAYS),
    )
    assert parse_command_line("a;") == one("a")


def test_a_file_can_be_the_stdin_of_a_command() -> None:
    fed = ParsedCommand((ShellWord("a"), ShellWord("-b")), input=ShellWord("c d"))
    for line in ("a -b < 'c d'", "a -b<'c d'", "<'c d' a -b", "a <c\\ d -b"):
        assert parse_command_line(line) == (Pipeline((fed,)),), line
    behind = parse_command_line("a | b <c 2>&1")[0].commands[1]
    assert behind == ParsedCommand((ShellWord("b"),), StderrMode.MERGED, ShellWord("c"))


def test_parentheses_hold_pipelines() -> None:
    inner = (
        Pipeline((command("a"),)),
        Pipeline((command("b"),), ListOperator.IF_IT_WORKED),
    )
    assert parse_command_line("(a && b)") == (Pipeline((Subshell(inner),)),)
    assert parse_command_line("( a&&b; )2>/dev/null|c") == (
        Pipeline((Subshell(inner, StderrMode.DROPPED), command("c"))),
    )
    nested = parse_command_line("(a; (b | c) 2>&1) && d")
    assert [each.name for each in simple_commands(nested)] == ["a", "b", "c", "d"]


def test_the_values_of_two_variables_are_put_in_when_they_are_known() -> None:
    word = simple_commands(parse_command_line('a $PWD/b"$HOME c"*'))[0].words[1]
    assert (word.text, word.variables) == ("$PWD/b$HOME c*", ("PWD", "HOME"))
    filled = word.filled({"PWD": "/x", "HOME": "/h o*"})
    assert filled == ShellWord("/x/b/h o* c*", "\\/x/b\\/h\\ o\\*\\ c*")
    for value in ("/a b", "/a\tb", "/a*", "/a?", "/[a]", "/a\\b", ""):
        with pytest.raises(Refused, match="double quotes"):
            word.filled({"PWD": value, "HOME": "/"})
    assert parse_command_line("a '$PWD' \\$HOME \"\\$PWD\"") == one("a", "$PWD", "$HOME", "$PWD")


@pytest.mark.parametrize(
    "name", ["über.md", "日本", "naïve", "e\u0301.md", "привет", "файл.txt", "٣"]
)
def test_letters_of_any_alphabet_are_taken_as_they_are(name: str) -> None:
    """No form is made of another: a name that is composed differently is another file."""
    assert parse_command_line(f"a {name}") == one("a", name)


REFUSED = """
a > b|`>`
a >> b|`>`
a << b|`<<`
a <<< b|`<<`
a <<- b|`<<`
a <> b|`<>`
a <& 3|`<&`
a <(b)|`<(`
a < (b)|`<`
a 3<b|`3<`
0<b a|`0<`
a < b < c|one file
a < b*|one file
a < ''|one file
a <|one file
a < ; b|one file
<b|a command is missing
(a) < b|a subshell none
a {x}<b|`{`
a 1>&2|`>`
a 2>b|`>`
a &> b|`&`
a 2>&1 2>&1|two redirects
a &|`&`
a & b|`&`
a (b)|`(`
a(b)|`(`
a=(b)|`(`
((a))|`((`
( (a|not closed
a)|not opened
(a))|not opened
()|a command is missing
(a &&)|a command is missing
(a) b|follows a subshell
(a) (b)|where a command begins
a | (b)|cannot read from a pipe
2>&1 (a)|where a command begins
(((((((((((a)))))))))))|`((`
( ( ( ( ( ( ( ( ( ( ( a ) ) ) ) ) ) ) ) ) ) )|more than 10 subshells
$HOME|a command name
"$PWD/a" b|a command name
a $HOMEx|`$HOMEx`
a $HOME_|`$HOME_`
a $HOMEé|`$HOME`
a ${HOME}|expands to
a ${PWD%/*}|expands to
a "$HOM"|`$HOM`
a $PWDx|`$PWDx`
a $OLDPWD|`$OLDPWD`
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
a 🚀|outside quotes
a –b|outside quotes
a “b”|outside quotes
a ；b|outside quotes
a b＞c|outside quotes
a b／c|outside quotes
a bсd|mixes
a b\u3164|outside quotes
a b\ufe0f|outside quotes
a b\u034f|outside quotes
a b\u00a0c|outside quotes
а b|mistaken
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
