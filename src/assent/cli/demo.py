"""`assent demo`: the whole program on a temporary project, with a scripted model."""

import click

from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.terminal import why_no_screen
from assent.cli.tui import LocalScreenHost, show_demo
from assent.core.errors import UsageError

NO_TERMINAL = "The demo needs an interactive terminal."


@click.command(epilog=examples("assent demo"))
@with_invocation
def demo(call: Invocation) -> int:
    """Try Assent in a temporary project with a scripted model. Needs no key and no server.

    The model explores, asks, plans and proposes; you review, comment, approve, build and undo.
    """
    if call.output.as_json or call.no_input or why_no_screen():
        raise UsageError(NO_TERMINAL, "assent demo, in a terminal")
    return show_demo(LocalScreenHost(call.folder))
