"""The pager: long results, where a person sits at a terminal."""

import os
import sys
from collections.abc import Iterable, Iterator

import click

from assent.cli.output import CAPTURED_LINES, STDIN, CliOutput, ansi, colored, ignore_closed_stdout
from assent.render.lines import Line


def print_paged(
    output: CliOutput, lines: Iterable[Line], texts: Iterator[str] | None = None
) -> bool:
    """Prints lines, through a pager if stdout is a terminal and they are many.

    If it is not, `texts` are printed, if there are any: the same, in larger pieces. Tells whether
    all lines are on the terminal: how far a user pages is not known.
    """
    if CAPTURED_LINES.get() is not None:
        output.lines(lines)
        return False
    if not sys.stdout.isatty():
        output.write_texts(ansi(lines, color=False) if texts is None else texts)
        return False
    found = list(lines)
    if os.isatty(STDIN) and not _fits(found):
        _page(found)
        return False
    output.lines(found)
    return True


def _fits(lines: Iterable[Line]) -> bool:
    """Tells whether lines fit on the screen, with what a terminal makes of too wide ones."""
    from shutil import get_terminal_size

    width, height = get_terminal_size()
    return sum(1 + max(len(line.text) - 1, 0) // width for line in lines) < height


def _page(lines: Iterable[Line]) -> None:
    """Sends lines to the user's pager; `less` shows colour only if an option says so."""
    color: bool | None = colored(sys.stdout)
    if color:
        os.environ.setdefault("LESS", "-R")
        name, *_ = os.environ.get("PAGER", "").split() or ["less"]
        if os.path.basename(name) == "less":
            color = None  # then click checks whether the user's options for `less` allow colour
    texts = [text + "\n" for text in ansi(lines, color=color is not False)]
    with ignore_closed_stdout():
        click.echo_via_pager(texts, color=color)
