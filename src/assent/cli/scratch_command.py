"""Commands that a person runs in a scratch copy: their time, the network, and their output."""

import shlex
import sys
from collections.abc import Sequence

import click

from assent.cli.invocation import Invocation
from assent.cli.options import WholeNumber
from assent.cli.output import VisibleOutput
from assent.cli.terminal import has_terminal, read_reply
from assent.core.errors import Declined, UsageError
from assent.core.shell.process import MAX_COMMAND_S
from assent.core.text.hidden_chars import visible_line

YES = ("y", "yes")
NO_TERMINAL = "--network asks on a terminal, and there is none. Nothing was run."
NO_COMMAND = "The command is missing."
DEFAULT_S = 1800  # seconds of a command, if --timeout does not say otherwise
timeout_option = click.option(
    "--timeout", metavar="SECONDS", type=WholeNumber(1, MAX_COMMAND_S), default=DEFAULT_S,
    show_default=True, help=f"Time limit for each command, in seconds; at most {MAX_COMMAND_S}.",
)  # fmt: skip


def command_line(words: Sequence[str], help: str) -> str:
    """Returns the line for a shell: one word is a line already, several are quoted."""
    line = words[0] if len(words) == 1 else shlex.join(words)
    if not line.strip():
        raise UsageError(NO_COMMAND, help)
    return line


def confirm_network(call: Invocation, lines: Sequence[str], next: str) -> None:
    """Asks whether exactly these commands get the network; raises Declined otherwise."""
    if not lines:
        return
    if call.no_input or not has_terminal():
        raise Declined(NO_TERMINAL, next)
    shown = "\n".join(f"  {visible_line(line)}" for line in lines)
    if not agreed(f"These commands get the network, in a scratch copy:\n{shown}\nRun them? [y/N] "):
        raise Declined("Not allowed; nothing was run.", next)


def agreed(question: str) -> bool:
    """Asks on the terminal; anything but `y` or `yes` declines."""
    return (read_reply(question) or "").strip().lower() in YES


class CommandStream:
    """Shows what commands print as it comes, on stderr, so that stdout has the answer alone."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._visible = VisibleOutput()

    def begin(self, title: str) -> None:
        self._write(f"{title}\n")

    def write(self, content: bytes) -> None:
        self._write(self._visible.text(content))

    def end(self) -> None:
        """Shows what a command printed last; another one may follow."""
        self._write(self._visible.text(b"", last=True))
        self._visible = VisibleOutput()

    def _write(self, text: str) -> None:
        if self._quiet:
            return
        sys.stderr.write(text)
        sys.stderr.flush()
