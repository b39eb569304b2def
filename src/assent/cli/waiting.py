"""`assent waiting`: lists everything that waits for a person, over all sessions.

Each entry has the command that decides it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import click

from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, GUTTER, Line, wrapped_lines
from assent.render.pending_decisions import PendingDecision, pending_decision_rows
from assent.render.questions import age_text, seconds_since
from assent.render.rows import redacted_row

# Renders everything that waits for a person, each with the command that decides it.


SHORT: Final = 12  # characters of a digest in a list
NOTHING: Final = "Nothing is waiting for you."


def pending_decision_lines(waits: Sequence[PendingDecision], now: str) -> Iterator[Line]:
    """Renders everything that waits, each with a preview, and with what decides it at its end."""
    if not waits:
        yield Line("plain", NOTHING)
        return
    for one in redacted_row(tuple(waits)):
        yield from wrapped_lines("heading", f"{visible_line(one.title)} ({_since(one, now)})")
        yield from wrapped_lines("dim", "  ".join(_facts(one)))
        for text in one.preview:
            yield Line("plain", f"{GUTTER}{text}")
        if one.look:
            yield Line("plain", f"Show all: {visible_line(one.look)}")
        for command in one.commands:
            yield Line("plain", f"  {visible_line(command)}")
        yield BLANK
    yield Line("plain", "1 item waiting." if len(waits) == 1 else f"{len(waits)} items waiting.")


def _facts(one: PendingDecision) -> Iterator[str]:
    if one.session:
        yield f"session {visible_line(one.session)}"
    if one.depth:
        yield f"asked by a child session, depth {one.depth}"
    if one.operations is not None:
        yield f"{one.operations} operation{'' if one.operations == 1 else 's'}"
    if one.risks is not None:
        yield f"{one.risks} with risks" if one.risks else "no risks found"
    if one.digest:
        yield f"digest {one.digest[:SHORT]}"


def _since(one: PendingDecision, now: str) -> str:
    return f"{age_text(seconds_since(one.at, now))} ago"


@click.command(epilog=examples("assent waiting\nassent waiting --json"))
@with_invocation
def waiting(call: Invocation) -> None:
    """List everything waiting for you. Stopped runs, questions, plans and builds.

    Each entry ends with the command that decides it. `assent questions list` shows more about
    questions.
    """
    found, now = call.engine.waiting(), call.engine.pending_questions.clock.now()
    call.output.answer(
        {"waiting": pending_decision_rows(found, now)}, pending_decision_lines(found, now)
    )
