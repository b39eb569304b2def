"""`assent debug`: shows the system prompt by layer, and the tools of a mode.

Both come with sizes and reasons.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import click
import msgspec

from assent.app.explanation import explain_context
from assent.app.session import SessionOptions, SessionRuntime, open_session_runtime
from assent.cli.asker import DenyingAsker
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.core.llm import ToolDefinition
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import BLANK, Line, counted, table_lines, untrusted_lines, wrapped_lines
from assent.render.rows import Row

# Renders the layers of the system prompt and the tools, with sizes and reasons.


CHARS_PER_TOKEN = 4  # of a token, on average: good enough to compare by


def estimate_tokens(text: str) -> int:
    """Returns about how many tokens a text has."""
    return -(-len(text) // CHARS_PER_TOKEN)


def prompt_row(
    agent: str, mode: str, layers: Sequence[tuple[str, str]], offers: Sequence[ToolDefinition]
) -> Row:
    """Returns the layers by name, the tools, and what the first request has altogether."""
    rows = [
        {"name": name, "tokens": estimate_tokens(text), "text": redact(text)}
        for name, text in layers
    ]
    told = "".join([text for _, text in layers])
    spoken = "".join([_spelled(offer) for offer in offers])
    return {
        "agent": agent,
        "mode": mode,
        "layers": rows,
        "tools": {"count": len(offers), "tokens": estimate_tokens(spoken)},
        "tokens": estimate_tokens(told + spoken),
    }


def prompt_lines(row: Row) -> Iterator[Line]:
    """Renders every layer under its name and size, and the sum at the end."""
    layers, tools = row["layers"], row["tools"]
    assert isinstance(layers, list), "prompt_row made it"
    assert isinstance(tools, dict), "prompt_row made it"
    for layer in layers:
        yield Line("heading", f"{layer['name']} ({counted(layer['tokens'], 'token')})")
        if layer["text"]:
            yield from untrusted_lines(layer["text"])
        yield BLANK
    yield Line("heading", f"tools: {tools['count']} offered ({counted(tools['tokens'], 'token')})")
    who = visible_line(f"{row['agent']} in {row['mode']} mode")
    yield from wrapped_lines("plain", f"First request of {who}: {row['tokens']:,} tokens.")


def tools_row(
    agent: str,
    mode: str,
    offers: Sequence[ToolDefinition],
    withheld: Mapping[str, str],
    on_demand: Sequence[ToolDefinition] = (),
) -> Row:
    """Returns every tool: offered, at once or on demand, or withheld and why."""
    rare = {offer.name for offer in on_demand}
    given = [
        {
            "name": offer.name,
            "offered": True,
            "on_demand": offer.name in rare,
            "why": "",
            "tokens": estimate_tokens(_spelled(offer)),
            "description": offer.description,
            "schema": offer.schema,
        }
        for offer in (*offers, *on_demand)
    ]
    kept = [
        {"name": name, "offered": False, "on_demand": False, "why": why, "tokens": 0}
        for name, why in withheld.items()
    ]
    return {"agent": agent, "mode": mode, "tools": [*given, *kept]}


def tools_lines(row: Row) -> Iterator[Line]:
    """Renders how many tools a mode leaves, and each with the reason where it is withheld."""
    tools = row["tools"]
    assert isinstance(tools, list), "tools_row made it"
    offered = sum(tool["offered"] for tool in tools)
    rare = sum(tool["on_demand"] for tool in tools)
    told = f"{row['mode']} mode: {counted(offered - rare, 'tool')} offered, {rare} on demand, "
    told += f"{len(tools) - offered} withheld"
    yield Line("heading", f"{told} (agent {visible_line(str(row['agent']))}).")
    if tools:
        yield from table_lines("plain", [_tool(tool) for tool in tools])


def _tool(tool: Mapping[str, object]) -> tuple[str, ...]:
    name = visible_line(str(tool["name"]))
    if not tool["offered"]:
        return name, "withheld", str(tool["why"])
    return name, "on demand" if tool["on_demand"] else "offered", ""


def _spelled(offer: ToolDefinition) -> str:
    """Returns a tool as a request spells it."""
    return offer.name + offer.description + msgspec.json.encode(offer.schema).decode()


_mode = click.option("--mode", default="", help="Mode to use, built-in or custom.")
_agent = click.option("--agent", default="", help="Agent to use (default: the mode's agent).")


@click.group(epilog=examples("assent debug prompt\nassent debug tools --mode ask"))
def debug() -> None:
    """Show the prompt and tools a model gets. No model is called."""


@debug.command(
    epilog=examples("assent debug prompt\nassent debug prompt --agent explore --mode ask --json")
)
@_agent
@_mode
@with_invocation
def prompt(call: Invocation, agent: str, mode: str) -> None:
    """Show every layer of the system prompt with its size. Ends with the first request's size."""
    with closing(_opened(call, agent)) as work:
        seat = explain_context(work, mode, agent)
        box = work.tools.dispatcher
        absent = box.absent(seat.context.posture, seat.agent)
        told = work.prompt_layers(seat.record, seat.agent, absent)
        layers = [(layer.name, layer.text) for layer in told]
        offers = box.available_tools(seat.context.posture, seat.agent)
        row = prompt_row(seat.agent.name, seat.mode, layers, offers)
        call.output.answer(row, prompt_lines(row))
        call.output.warn((*work.warnings, *work.engine.warnings))


@debug.command(epilog=examples("assent debug tools\nassent debug tools --mode ask --json"))
@_agent
@_mode
@with_invocation
def tools(call: Invocation, agent: str, mode: str) -> None:
    """List every tool: offered, on demand, or withheld and why."""
    with closing(_opened(call, agent)) as work:
        seat = explain_context(work, mode, agent)
        toolbox, permissions = work.tools.dispatcher, seat.context.posture
        row = tools_row(
            seat.agent.name,
            seat.mode,
            toolbox.available_tools(permissions, seat.agent),
            toolbox.unavailable_tools(permissions, seat.agent),
            toolbox.on_demand_tools(permissions, seat.agent),
        )
        call.output.answer(row, tools_lines(row))
        call.output.warn((*work.warnings, *work.engine.warnings))


def _opened(call: Invocation, agent: str) -> SessionRuntime:
    return open_session_runtime(call.folder, DenyingAsker(), SessionOptions(None, agent))
