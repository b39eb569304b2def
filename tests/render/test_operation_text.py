"""A command in a review: how it is confined, what undo leaves; and what it says while it runs."""

import pytest

from assent.cli.output import ansi
from assent.core.plan.operation import RunCommand
from assent.core.run.journal import LiveCommandOutput
from assent.render.command_output import CommandOutputLines
from assent.render.rows import (
    command_lines,
    confinement_text,
    operation_brief,
    operation_subject,
    undo_gaps,
)

MAKE = RunCommand((b"make",))
KEY = "AKIA" + "IOSFODNN7EXAMPLZ"


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (MAKE, "Sandboxed: writes only in the workspace, no network."),
        (
            RunCommand((b"make",), network=True),
            "Sandboxed: writes only in the workspace, network allowed.",
        ),
        (
            RunCommand((b"make",), profile="unconfined"),
            "WITHOUT THE SANDBOX: it can do anything you can.",
        ),
        (
            RunCommand((b"git",), profile="commit"),
            "Sandboxed: commits what this run changed. Writes only git objects, refs and the "
            "index, not git config, hooks or workspace files, no network.",
        ),
    ],
)
def test_how_a_command_is_confined_is_said_in_words(op: RunCommand, words: str) -> None:
    assert confinement_text(op) == words
    assert words in "\n".join(ansi(command_lines(op), color=False))


FILES = ("git-ignored files", "files over 16 MB")
METADATA = ("owners", "extended attributes", "empty folders")
OUTSIDE = "anything outside the workspace"


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (MAKE, (*FILES, *METADATA, OUTSIDE)),
        (
            RunCommand((b"make",), network=True),
            (*FILES, *METADATA, "network effects", OUTSIDE),
        ),
        (RunCommand((b"make",), profile="unconfined"), (*FILES, *METADATA, OUTSIDE)),
        (RunCommand((b"make",), undo=(b"x",)), ("anything its undo command misses",)),
        (RunCommand((b"git",), profile="commit"), ("the commit it creates",)),
    ],
)
def test_g7_what_undo_does_not_cover_is_named(op: RunCommand, words: tuple[str, ...]) -> None:
    assert undo_gaps(op, 16) == words


def test_without_a_limit_none_is_named() -> None:
    assert undo_gaps(MAKE, 0) == ("git-ignored files", *METADATA, OUTSIDE)


def test_a_long_command_is_short_where_all_of_it_stands_nearby() -> None:
    op = RunCommand(script=b"echo " + b"x" * 200 + b"\nrm y\n")
    assert operation_brief(op) == f"echo {'x' * 67}…"
    assert "rm y" in "\n".join(ansi(command_lines(op), color=False))


def test_a_command_hides_nothing() -> None:
    text = "\n".join(ansi(command_lines(RunCommand((b"a\x1b[2J", b"\xff", b"b c"))), color=False))
    assert "\x1b" not in text
    assert "$ 'a<U+001B>[2J' '\\xff' 'b c'" in text


def test_a_command_is_shown_as_it_is_typed() -> None:
    op = RunCommand(
        (b"sh", b"-c", b"ln -s /tmp/x d ", b"x/ y"), env=((b"A", b" /b"),), undo=(b" ",)
    )
    assert operation_subject(op) == "sh -c 'ln -s /tmp/x d ' 'x/ y'"
    text = "\n".join(ansi(command_lines(op), color=False))
    assert "$ sh -c 'ln -s /tmp/x d ' 'x/ y'" in text
    assert "A=' /b'" in text
    assert "$ ' '" in text
    assert (
        operation_subject(RunCommand((b"echo", b"<U+0041> \\x41")))
        == "echo '<U+003C>U+0041> <U+005C>x41'"
    )


def _shown(*said: LiveCommandOutput) -> list[str]:
    spoken = CommandOutputLines()
    return [*[line for each in said for line in spoken.take(each)], *spoken.rest()]


def test_what_a_command_says_is_shown_in_whole_lines() -> None:
    pieces = (
        LiveCommandOutput(0, b"one\ntw"),
        LiveCommandOutput(0, b"o\nthr"),
        LiveCommandOutput(0, b"ee"),
    )
    assert _shown(*pieces) == ["one", "two", "three"]
    assert list(CommandOutputLines().take(LiveCommandOutput(0, b"not yet"))) == []


def test_two_voices_are_not_mixed_in_one_line() -> None:
    said = (
        LiveCommandOutput(0, b"out"),
        LiveCommandOutput(0, b"err", error=True),
        LiveCommandOutput(0, b"put\n"),
    )
    assert _shown(*said, LiveCommandOutput(0, b"or\n", error=True)) == ["output", "error"]


def test_the_next_command_begins_a_line_of_its_own() -> None:
    assert _shown(LiveCommandOutput(0, b"no end"), LiveCommandOutput(1, b"new\n")) == [
        "no end",
        "new",
    ]


def test_what_is_cut_in_the_middle_of_a_character_is_one() -> None:
    first, second = "é\n".encode()[:1], "é\n".encode()[1:]
    assert _shown(LiveCommandOutput(0, first), LiveCommandOutput(0, second)) == ["é"]
    assert _shown(LiveCommandOutput(0, b"\xff\n")) == ["\\xff"]


def test_f92_what_a_command_says_shows_no_secret_and_hides_nothing() -> None:
    found = _shown(
        LiveCommandOutput(0, f"key {KEY[:9]}".encode()),
        LiveCommandOutput(0, f"{KEY[9:]}\n\x1b[2Jx\n".encode()),
    )
    assert found[-1] == "<U+001B>[2Jx"
    assert KEY not in "".join(found)
    assert "[masked:" in found[0]
