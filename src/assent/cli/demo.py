"""`assent demo`: the whole program on a scratch project, with a model that is a script."""

import click

from assent.cli.call import Call, examples, takes_call
from assent.cli.host import LocalHost
from assent.cli.tty import no_screen
from assent.core.errors import UsageError

NO_TERMINAL = "The demo is a screen, and there is no terminal to show it on."


@click.command(epilog=examples("assent demo"))
@takes_call
def demo(call: Call) -> int:
    """Try it all in a scratch folder: no key, no server, nothing of yours.

    A scripted model explores, asks, plans and presents; you review, comment, approve, build, undo.
    """
    from assent.cli.tui import show_demo

    if call.output.as_json or call.no_input or no_screen():
        raise UsageError(NO_TERMINAL, "assent demo, in a terminal")
    return show_demo(LocalHost(call.folder))
