"""`assent agents …`: lists and shows the agents that can be used here."""

from collections.abc import Iterator

import click

from assent.app.session import workspace_agents
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, examples, reference_option
from assent.cli.stdin import argument_text
from assent.core.errors import NotFound, nearest
from assent.core.session.agent import Agent
from assent.core.text.hidden_chars import visible_line, visible_text
from assent.render.lines import BLANK, Line, table_lines


@click.group(cls=ListGroup, epilog=examples("assent agents list\nassent agents show plan"))
def agents() -> None:
    """List and show agents."""


@agents.command("list", epilog=examples("assent agents list\nassent agents list --json"))
@with_invocation
def list_agents(call: Invocation) -> None:
    """List all agents: built-in, yours and the project's."""
    found, warnings = workspace_agents(call.folder)
    rows = [_row(agent) for agent in found.values()]
    cells = [
        (visible_line(each.name), each.kind, each.source, visible_line(each.description))
        for each in found.values()
    ]
    call.output.answer({"agents": rows}, table_lines("plain", cells))
    call.output.warn(warnings)


@agents.command(epilog=examples("assent agents show plan\nassent agents show plan --json"))
@click.argument("name", callback=reference_option)
@with_invocation
def show(call: Invocation, name: str) -> None:
    """Show an agent: its model, its tools, its limits and its prompt."""
    found, warnings = workspace_agents(call.folder)
    agent = found.get(argument_text(name))
    if agent is None:
        near = nearest(name, found)
        hint = f"Did you mean {near}?" if near else f"Known: {', '.join(map(visible_line, found))}."
        raise NotFound(
            f"There is no agent {argument_text(name)!a}. {hint}",
            f"assent agents show {near}" if near else "assent agents list",
        )
    call.output.answer({**_row(agent), "prompt": agent.prompt}, _agent_lines(agent))
    call.output.warn(warnings)


def _row(agent: Agent) -> dict[str, object]:
    return {
        "name": agent.name,
        "description": agent.description,
        "kind": agent.kind,
        "source": agent.source,
        "model": agent.model,
        "steps": agent.steps,
        "tools": agent.tools,
    }


def _agent_lines(agent: Agent) -> Iterator[Line]:
    yield Line("heading", f"{visible_line(agent.name)}: {visible_line(agent.description)}")
    removed = [visible_line(name) for name, on in agent.tools.items() if not on]
    yield from table_lines(
        "plain",
        [
            ("from", agent.source),
            ("used as", agent.kind),
            ("model", visible_line(agent.model) or "default model"),
            ("steps", str(agent.steps or "no limit")),
            ("without tools", ", ".join(removed) or "none"),
        ],
    )
    yield BLANK
    for line in agent.prompt.splitlines():
        yield Line("plain", visible_text(line))
