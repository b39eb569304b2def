"""`assent waiting`: lists everything that waits for a person, over all sessions."""

import click

from assent.cli.invocation import Invocation, examples, with_invocation
from assent.cli.render.waiting import pending_decision_lines, pending_decision_rows


@click.command(epilog=examples("assent waiting\nassent waiting --json"))
@with_invocation
def waiting(call: Invocation) -> None:
    """List everything that waits for you. Runs that stopped, questions, plans, builds.

    Each ends with the command that decides it. `assent questions list` has more about questions.
    """
    found, now = call.engine.waiting(), call.engine.pending_questions.clock.now()
    call.output.answer(
        {"waiting": pending_decision_rows(found, now)}, pending_decision_lines(found, now)
    )
