"""Options: only exact names pass, however they are written; values and operands are told apart."""

import pytest

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord, parse_command_line
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
    parse_arguments,
)

OPTIONS = OptionSpec.of("abv --all --verbose", "nk --lines", "f --file", "U --color", number=True)
TOOL = ReadOnlyCommandSpec("tool", OPTIONS, OperandSpec(texts=1, texts_unless=("-f", "--file")))


@pytest.mark.parametrize(
    ("line", "options", "operands"),
    [
        ("tool", [], []),
        ("tool x", [], ["x"]),
        ("tool -a x -v y", [("-a", ""), ("-v", "")], ["x", "y"]),
        ("tool -abv x", [("-a", ""), ("-b", ""), ("-v", "")], ["x"]),
        ("tool -n 3 x", [("-n", "3")], ["x"]),
        ("tool -n3 x", [("-n", "3")], ["x"]),
        ("tool -an3b x", [("-a", ""), ("-n", "3b")], ["x"]),
        ("tool -n -3 x", [("-n", "-3")], ["x"]),
        ("tool --lines=3 --lines 4 x", [("--lines", "3"), ("--lines", "4")], ["x"]),
        ("tool --lines=3* x", [("--lines", "3*")], ["x"]),
        ("tool --lines= x", [("--lines", "")], ["x"]),
        ("tool --color --color=never x", [("--color", ""), ("--color", "never")], ["x"]),
        ("tool -U3 -U x", [("-U", "3"), ("-U", "")], ["x"]),
        ("tool -5 x", [("-", "5")], ["x"]),
        ("tool x -- -a --all", [], ["x", "-a", "--all"]),
        ("tool - x", [], ["-", "x"]),
    ],
)
def test_words_are_sorted_out(
    line: str, options: list[tuple[str, str]], operands: list[str]
) -> None:
    found = _sorted(TOOL, line)
    assert (list(found.options), [word.text for word in found.operands]) == (options, operands)


@pytest.mark.parametrize(
    "line",
    [
        "tool -x",
        "tool -ax",
        "tool -5a x",
        "tool --al",
        "tool --all=1",
        "tool --line=3",
        "tool --no-all",
        "tool -n",
        "tool --lines",
        "tool -n -a x",
        "tool -n --all x",
        "tool --lines -a",
        "tool -n 3*",
        "tool -a*",
        "tool -n3*",
        "tool --lin*=3",
        "tool --file=* x",
        "tool --color=* x",
        "tool a* x",
        "tool '-x'",
    ],
)
def test_anything_else_is_refused(line: str) -> None:
    with pytest.raises(Refused):
        _sorted(TOOL, line)


def test_texts_are_not_read_and_files_are() -> None:
    assert _sorted(TOOL, "tool text a b*").reads == (ShellWord("a"), ShellWord("b*", "b*"))
    assert _sorted(TOOL, "tool -f list a").reads == (ShellWord("list"), ShellWord("a"))
    assert _sorted(TOOL, "tool --file=list a").reads == (ShellWord("list"), ShellWord("a"))


def test_an_operand_too_many_would_be_written() -> None:
    one = ReadOnlyCommandSpec("one", OptionSpec.of("c"), OperandSpec(most=1))
    assert _sorted(one, "one -c x").reads == (ShellWord("x"),)
    for line in ("one x out", "one x -c out", "one -- x out", "one x*"):
        with pytest.raises(Refused):
            _sorted(one, line)


def test_the_reason_names_the_option_in_its_cluster() -> None:
    with pytest.raises(Refused) as refused:
        _sorted(TOOL, "tool -abz x")
    assert refused.value.message == (
        "`tool -z` in `-abz` is not in the list of read-only options; leave it out."
    )


def _sorted(spec: ReadOnlyCommandSpec, line: str) -> ParsedArguments:
    return parse_arguments(spec, parse_command_line(line)[0].commands[0].words[1:])
