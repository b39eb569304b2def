"""Output: one JSON object or lines for a person, on stdout; errors and progress on stderr."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import TextIO

import click
import msgspec

from assent.core.errors import AssentError
from assent.core.journal import Progress
from assent.views.ansi import ansi
from assent.views.lines import Line
from assent.views.visible import visible


class Output:
    """Writes the answer of one command in the form that was asked for."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def answer(self, content: Mapping[str, object], lines: Iterable[Line] = ()) -> None:
        """Prints exactly one object, or the lines."""
        if self.as_json:
            sys.stdout.buffer.write(msgspec.json.encode(content) + b"\n")
            sys.stdout.buffer.flush()
        else:
            self.lines(lines)

    def lines(self, lines: Iterable[Line]) -> None:
        """Prints lines, in colour on a terminal."""
        for text in ansi(lines, color=colored(sys.stdout)):
            sys.stdout.write(text + "\n")

    def paged(self, lines: Iterable[Line]) -> None:
        """Prints lines through a pager where a person sits at a terminal and they are many."""
        if not sys.stdout.isatty():
            self.lines(lines)
            return
        color = colored(sys.stdout)
        texts = [text + "\n" for text in ansi(lines, color=color)]
        if len(texts) < shutil.get_terminal_size().lines:
            sys.stdout.writelines(texts)
        else:
            click.echo_via_pager(texts, color=color)

    def progress(self, step: Progress) -> None:
        """Shows how far a run is, on a terminal only."""
        if sys.stderr.isatty() and not self.as_json:
            sys.stderr.write(f"\r\x1b[K{step.step.value}: {step.done} of {step.total}")
            sys.stderr.flush()

    def progress_over(self) -> None:
        if sys.stderr.isatty() and not self.as_json:
            sys.stderr.write("\r\x1b[K")

    def warn(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            sys.stderr.write(f"assent: {visible(warning)}\n")

    def fail(self, error: AssentError) -> int:
        """Says what happened and what to do next, and returns the exit code."""
        if self.as_json:
            content = {"error": error.word, "message": error.message, "next": error.next}
            sys.stderr.write(msgspec.json.encode(content).decode() + "\n")
        else:
            sys.stderr.write(f"assent: {visible(error.message)}\n")
            if error.next:
                sys.stderr.write(f"  next: {visible(error.next)}\n")
        return error.exit

    def unread(self) -> int:
        """The reader went away, as `head` does; nothing may complain about that at exit either."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0

    def interrupted(self, code: int) -> int:
        sys.stderr.write("\nassent: interrupted. `assent status` says where things stand.\n")
        return code


def colored(stream: TextIO) -> bool:
    """Colour on a terminal, unless the person does not want any."""
    return stream.isatty() and want_color()


def want_color() -> bool:
    """Colour, unless the person set NO_COLOR or the terminal has none."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
