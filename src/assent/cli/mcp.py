"""`assent mcp …`: lists MCP servers and the permissions of their tools."""

import click

from assent.cli.invocation import Invocation, examples, with_invocation
from assent.cli.render.mcp import servers_json, servers_lines
from assent.core.errors import AssentError
from assent.core.mcp import KnownMcpTool


@click.group(epilog=examples("assent mcp list"))
def mcp() -> None:
    """Show the servers of tools that are configured."""


@mcp.command("list", epilog=examples("assent mcp list\nassent mcp list --json"))
@with_invocation
def list_servers(call: Invocation) -> int:
    """Start every server, list its tools, and end it again.

    A tool changes things unless the user's configuration says, by its digest, that it only reads.
    While planning, only tools that read are offered. Exits with 1 if no server works.
    """
    from assent.app.mcp import open_mcp_servers

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
