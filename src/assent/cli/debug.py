"""`assent debug`: shows what a model is told, layer by layer, and which tools a mode leaves it."""

from contextlib import closing
from typing import cast

import click

from assent.app.session import Wanted, Work, open_work
from assent.cli.asker import Nobody
from assent.cli.call import Call, examples, takes_call
from assent.core.agent import Agent
from assent.core.errors import UsageError
from assent.core.mode import MODES, Mode, agent_of
from assent.core.session import SessionRecord
from assent.core.tool import Posture
from assent.views.prompt import prompt_lines, prompt_row, tools_lines, tools_row

_mode = click.option("--mode", type=click.Choice(MODES), default=None, help="The mode.")
_agent = click.option("--agent", default="", help="The agent (default: the mode's own).")


@click.group()
def debug() -> None:
    """Show what a model is told and which tools it gets. No model is asked."""


@debug.command(
    epilog=examples("assent debug prompt\nassent debug prompt --agent explore --mode ask --json")
)
@_agent
@_mode
@takes_call
def prompt(call: Call, agent: str, mode: str | None) -> None:
    """Show every layer of the system prompt with its size, and the first request's in all."""
    with closing(_opened(call, agent)) as work:
        who, posture = _chosen(work, agent, mode)
        record = SessionRecord("", "", "", posture.mode, "", "", 0, agent=who.name)
        layers = [(layer.name, layer.text) for layer in work.prompt_layers(record)]
        offers = work.tooling.toolbox.offers(posture, who)
        row = prompt_row(who.name, posture.mode, layers, offers)
        call.output.answer(row, prompt_lines(row))
        call.output.warn(work.warnings)


@debug.command(epilog=examples("assent debug tools\nassent debug tools --mode ask --json"))
@_agent
@_mode
@takes_call
def tools(call: Call, agent: str, mode: str | None) -> None:
    """List every tool: offered, or withheld in this mode and why."""
    with closing(_opened(call, agent)) as work:
        who, posture = _chosen(work, agent, mode)
        toolbox = work.tooling.toolbox
        offers, withheld = toolbox.offers(posture, who), toolbox.withheld(posture, who)
        row = tools_row(who.name, posture.mode, offers, withheld)
        call.output.answer(row, tools_lines(row))
        call.output.warn(work.warnings)


def _opened(call: Call, agent: str) -> Work:
    return open_work(call.folder, Nobody(), Wanted(None, agent))


def _chosen(work: Work, agent: str, mode: str | None) -> tuple[Agent, Posture]:
    """Returns the agent and the posture that a first request would have."""
    wanted = cast(Mode, mode or work.mode)
    name = agent or agent_of(wanted)
    agents = work.tooling.agents
    if name not in agents:
        raise UsageError(f"There is no agent {name!a}. There are: {', '.join(sorted(agents))}.")
    tooling = work.tooling
    who = agents[name]
    return who, Posture(wanted, tooling.hosts, staging=tooling.staging, agents=(who,))
