"""`assent debug`: shows the system prompt by layer, and the tools of a mode."""

from contextlib import closing

import click

from assent.app.explanation import explain_context
from assent.app.session import SessionOptions, SessionRuntime, open_session_runtime
from assent.cli.asker import DenyingAsker
from assent.cli.invocation import Invocation, examples, with_invocation
from assent.cli.render.debug import prompt_lines, prompt_row, tools_lines, tools_row

_mode = click.option("--mode", default="", help="The mode, also one of your own.")
_agent = click.option("--agent", default="", help="The agent (default: the mode's own).")


@click.group(epilog=examples("assent debug prompt\nassent debug tools --mode ask"))
def debug() -> None:
    """Show what a model is told and which tools it gets. No model is asked."""


@debug.command(
    epilog=examples("assent debug prompt\nassent debug prompt --agent explore --mode ask --json")
)
@_agent
@_mode
@with_invocation
def prompt(call: Invocation, agent: str, mode: str) -> None:
    """Show every layer of the system prompt with its size. And the first request's, in all."""
    with closing(_opened(call, agent)) as work:
        seat = explain_context(work, mode, agent)
        box = work.tooling.dispatcher
        absent = box.absent(seat.around.posture, seat.agent)
        told = work.prompt_layers(seat.record, seat.agent, absent)
        layers = [(layer.name, layer.text) for layer in told]
        offers = box.available_tools(seat.around.posture, seat.agent)
        row = prompt_row(seat.agent.name, seat.mode, layers, offers)
        call.output.answer(row, prompt_lines(row))
        call.output.warn((*work.warnings, *work.engine.warnings))


@debug.command(epilog=examples("assent debug tools\nassent debug tools --mode ask --json"))
@_agent
@_mode
@with_invocation
def tools(call: Invocation, agent: str, mode: str) -> None:
    """List every tool: offered, or withheld in this mode and why."""
    with closing(_opened(call, agent)) as work:
        seat = explain_context(work, mode, agent)
        toolbox, posture = work.tooling.dispatcher, seat.around.posture
        offers, withheld = (
            toolbox.available_tools(posture, seat.agent),
            toolbox.unavailable_tools(posture, seat.agent),
        )
        row = tools_row(seat.agent.name, seat.mode, offers, withheld)
        call.output.answer(row, tools_lines(row))
        call.output.warn((*work.warnings, *work.engine.warnings))


def _opened(call: Invocation, agent: str) -> SessionRuntime:
    return open_session_runtime(call.folder, DenyingAsker(), SessionOptions(None, agent))
