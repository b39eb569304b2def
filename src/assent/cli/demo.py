"""`assent demo`: the whole program on a scratch project, with a model that is a script."""

from contextlib import ExitStack

import click

from assent.app.demo import demo_place
from assent.cli import no_screen
from assent.cli.call import Call, examples, takes_call
from assent.cli.host import LocalHost
from assent.core.errors import UsageError

NO_TERMINAL = "The demo is a screen, and there is no terminal to show it on."


class DemoHost(LocalHost):
    """Implements tui.Host for a place of its own, which is gone when it is closed."""

    def __init__(self) -> None:
        self._place = ExitStack()
        super().__init__(self._place.enter_context(demo_place()))

    def close(self) -> None:
        super().close()
        self._place.close()


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
