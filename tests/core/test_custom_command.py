"""Templates: placeholders, files and command lines, taken apart without touching anything."""

import pytest

from assent.core.plan.comment import fenced_block
from assent.core.session.custom_command import (
    TemplateFile,
    TemplatePart,
    TemplateShell,
    TemplateText,
    joined_template,
    template_parts,
)

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
    parts = template_parts(template, typed)
    assert {type(part) for part in parts} <= {TemplateText}
    assert joined_template(parts, {}) == text.strip()


TOKENS: dict[str, tuple[str, str, tuple[TemplatePart, ...]]] = {
    "a file": (
        "See @src/a.py.", "",
        (TemplateText("See "), TemplateFile("src/a.py"), TemplateText("."))),
    "a file that was typed": ("See @$1", "b.py", (TemplateText("See "), TemplateFile("b.py"))),
    "a line": (
        "On !`git status`:", "",
        (TemplateText("On "), TemplateShell("git status"), TemplateText(":"))),
    "a typed word stays one": (
        "!`grep $1 f`", "'a; rm -rf x'", (TemplateShell("grep 'a; rm -rf x' f"),)),
    "typed words": ("!`ls $ARGUMENTS`", "a 'b c'", (TemplateShell("ls a 'b c'"),)),
    "a quote in a word": ("!`ls $1`", '"it\'s"', (TemplateShell("ls 'it'\"'\"'s'"),)),
    "an address": ("Ask me@example.org", "", (TemplateText("Ask me@example.org"),)),
    "in backticks": ("Use `@decorator`", "", (TemplateText("Use `@decorator`"),)),
    "an open line": ("A !`line", "", (TemplateText("A !`line"),)),
}  # fmt: skip


@pytest.mark.parametrize(("template", "typed", "parts"), TOKENS.values(), ids=TOKENS)
def test_f138_files_and_lines_are_found(
    template: str, typed: str, parts: tuple[TemplatePart, ...]
) -> None:
    assert template_parts(template, typed) == parts


def test_f138_outputs_stand_in_place_and_files_below() -> None:
    parts = template_parts("Look at @a, @gone and !`ls`, then @a.", "")
    contents: dict[TemplatePart, str] = {TemplateFile("a"): "x ``` y", TemplateShell("ls"): "a\nb"}
    assert joined_template(parts, contents) == (
        "Look at @a, @gone and a\nb, then @a.\n\na:\n````\nx ``` y\n````"
    )
    assert fenced_block("t", "x\n") == "t\n```\nx\n```"
