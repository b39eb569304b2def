"""`assent waiting`: what goes on only when a person says how, over all sessions."""

import click

from assent.cli.call import Call, examples, takes_call
from assent.views.waiting import waiting_lines, waiting_rows


@click.command(epilog=examples("assent waiting\nassent waiting --json"))
@takes_call
def waiting(call: Call) -> None:
    """List everything that waits for you. Runs that stopped, questions, plans, builds.

    Each ends with the command that decides it. `assent questions list` has more about questions.
    """
    found, now = call.engine.waiting(), call.engine.pending_questions.clock.now()
    call.output.answer({"waiting": waiting_rows(found, now)}, waiting_lines(found, now))
