"""`assent mcp …`: lists MCP servers, their tools with digests, and the permissions of these."""

from collections.abc import Iterable, Mapping, Sequence

import click

from assent.app.mcp import open_mcp_servers
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.core.errors import AssentError
from assent.core.mcp import KnownMcpTool
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line

# Renders MCP servers: each tool with its permissions and its digest.


NONE = "No MCP server configured."
NEXT = "Next: add [mcp.NAME] with a command to your configuration"
HOW = "To mark a tool as read-only, add its line to [mcp.NAME.reads]."
CHANGED = ", but its digest is not the one in `reads`"

Servers = Mapping[str, Sequence[KnownMcpTool] | str]  # the tools of each, or why it has none


def servers_json(servers: Servers) -> list[dict[str, object]]:
    """Returns servers as data."""
    return [
        {
            "server": name,
            "problem": found if isinstance(found, str) else "",
            "tools": [] if isinstance(found, str) else [_json(each) for each in found],
        }
        for name, found in servers.items()
    ]


def servers_lines(servers: Servers) -> Iterable[Line]:
    """Renders each server with its tools."""
    if not servers:
        yield Line("plain", NONE)
        yield Line("plain", NEXT)
    for name, found in servers.items():
        if isinstance(found, str):
            yield Line("heading", f"{visible_line(name)}: {visible_line(found)}")
            continue
        yield Line("heading", f"{visible_line(name)}: {len(found)} tools")
        for each in found:
            yield Line("plain", f"  {each.name} {_effect(each)}{CHANGED if each.void else ''}")
            named = visible_line(each.served.name)
            yield Line("dim", f'    "{named}" = "{each.served.digest}"')
    if any(not isinstance(found, str) for found in servers.values()):
        yield Line("dim", HOW)


def _json(known: KnownMcpTool) -> dict[str, object]:
    return {
        "name": known.name,
        "tool": known.served.name,
        "effect": _effect(known),
        "changed": known.void,
        "digest": known.served.digest,
        "description": known.served.description,
    }


def _effect(known: KnownMcpTool) -> str:
    return "reads" if known.reads else "changes"


@click.group(epilog=examples("assent mcp list"))
def mcp() -> None:
    """List MCP servers and their tools."""


@mcp.command("list", epilog=examples("assent mcp list\nassent mcp list --json"))
@with_invocation
def list_servers(call: Invocation) -> int:
    """Start every MCP server, list its tools, and stop it.

    A tool counts as changing things unless the user's configuration lists its digest as read-only.
    While planning, only read-only tools are offered. Exits with 1 if no server works.
    """
    warnings: list[str] = []
    opened, names = open_mcp_servers(call.folder, warnings.append)
    found: dict[str, tuple[KnownMcpTool, ...] | str] = {}
    try:
        for name in names:
            try:
                found[name] = opened.known(name)
            except AssentError as error:
                found[name] = error.message
    finally:
        opened.close()
    call.output.warn(warnings)
    call.output.answer({"servers": servers_json(found)}, servers_lines(found))
    return 1 if found and all(isinstance(each, str) for each in found.values()) else 0
