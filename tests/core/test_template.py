"""Templates: placeholders, files and command lines, taken apart without touching anything."""

import pytest

from assent.core.template import Attached, Piece, Printed, Words, fenced, joined, pieces

PLACES = {
    "all arguments": ("Fix $ARGUMENTS now", "a  'b c'", "Fix a  'b c' now"),
    "by number": ("$2 before $1", "one two", "two before one"),
    "the last takes the rest": ("$1: $2", "one two three", "one: two three"),
    "in quotes": ("<$1> <$2>", "\"a b\" 'c d'", "<a b> <c d>"),
    "missing": ("<$1> <$2>", "one", "<one> <>"),
    "none given": ("<$ARGUMENTS>", "", "<>"),
    "no place for them": ("Review it.", "quickly please", "Review it.\n\nquickly please"),
    "no such place": ("$0 $10 $ARGUMENTSX $x", "", "$0 $10 $ARGUMENTSX $x"),
    "a dollar is one": ("It costs $ 5.", "", "It costs $ 5."),
    "never twice": ("$1", "$2 @x !`ls`", "$2 @x !`ls`"),
}


@pytest.mark.parametrize(("template", "typed", "text"), PLACES.values(), ids=PLACES)
def test_f138_placeholders_stand_for_what_was_typed(template: str, typed: str, text: str) -> None:
    parts = pieces(template, typed)
    assert {type(part) for part in parts} <= {Words}
    assert joined(parts, {}) == text.strip()


TOKENS: dict[str, tuple[str, str, tuple[Piece, ...]]] = {
    "a file": ("See @src/a.py.", "", (Words("See "), Attached("src/a.py"), Words("."))),
    "a file that was typed": ("See @$1", "b.py", (Words("See "), Attached("b.py"))),
    "a line": ("On !`git status`:", "", (Words("On "), Printed("git status"), Words(":"))),
    "a typed word stays one": (
        "!`grep $1 f`", "'a; rm -rf x'", (Printed("grep 'a; rm -rf x' f"),)),
    "typed words": ("!`ls $ARGUMENTS`", "a 'b c'", (Printed("ls a 'b c'"),)),
    "a quote in a word": ("!`ls $1`", '"it\'s"', (Printed("ls 'it'\"'\"'s'"),)),
    "an address": ("Ask me@example.org", "", (Words("Ask me@example.org"),)),
    "in backticks": ("Use `@decorator`", "", (Words("Use `@decorator`"),)),
    "an open line": ("A !`line", "", (Words("A !`line"),)),
}  # fmt: skip


@pytest.mark.parametrize(("template", "typed", "parts"), TOKENS.values(), ids=TOKENS)
def test_f138_files_and_lines_are_found(
    template: str, typed: str, parts: tuple[Piece, ...]
) -> None:
    assert pieces(template, typed) == parts


def test_f138_outputs_stand_in_place_and_files_below() -> None:
    parts = pieces("Look at @a, @gone and !`ls`, then @a.", "")
    contents: dict[Piece, str] = {Attached("a"): "x ``` y", Printed("ls"): "a\nb"}
    assert joined(parts, contents) == (
        "Look at @a, @gone and a\nb, then @a.\n\na:\n````\nx ``` y\n````"
    )
    assert fenced("t", "x\n") == "t\n```\nx\n```"
