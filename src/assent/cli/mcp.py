"""`assent mcp …`: adds, removes and lists MCP servers, with the digests of their tools."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import click

from assent.app.config import ConfigEditor
from assent.app.mcp import open_mcp_servers, start_problem
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, Number, examples, reference_option
from assent.cli.stdin import argument_text
from assent.core.errors import AssentError, NotFound, UsageError
from assent.core.mcp import KnownMcpTool
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line

# Renders MCP servers: each tool with its permissions and its digest.


NONE = "No MCP server configured."
NEXT = "Next: assent mcp add NAME -- COMMAND"
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
        yield Line(
            "heading", f"{visible_line(name)}: {len(found)} tool{'' if len(found) == 1 else 's'}"
        )
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


_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")  # it is part of the names of tools


@click.group(
    cls=ListGroup, epilog=examples("assent mcp list\nassent mcp add files -- npx files-server .")
)
def mcp() -> None:
    """Add, remove and list MCP servers and their tools."""


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


@mcp.command(
    epilog=examples(
        "assent mcp add files -- npx files-server .\n"
        "assent mcp add search --env TOKEN=... --timeout 20 -- search-server"
    )
)
@click.argument("name", callback=reference_option)
@click.argument("command", nargs=-1, required=True)
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set a variable.")
@click.option(
    "--timeout", metavar="SECONDS", type=Number(min=1), help="Seconds until a call times out."
)
@click.option("--project", is_flag=True, help="Add it to the project's file, not your own.")
@with_invocation
def add(
    call: Invocation,
    name: str,
    command: tuple[str, ...],
    variables: tuple[str, ...],
    timeout: float | None,
    project: bool,
) -> None:
    """Add an MCP server to your configuration.

    COMMAND starts it and speaks MCP on stdio. It runs as you, without a sandbox, and is started
    the next time its tools are needed.
    """
    editor = ConfigEditor(call.folder, project=project)
    table: dict[str, object] = {"command": list(map(argument_text, command))}
    if variables:
        table["environment"] = dict(map(_variable, variables))
    if timeout is not None:
        table["timeout_s"] = timeout
    path = ("mcp", argument_text(name))
    if not _NAME.fullmatch(path[1]):
        raise UsageError(
            f"{path[1]!a} cannot be the name of a server: use letters, digits, - and _. "
            "Nothing was changed.",
            "assent mcp add --help",
        )
    editor.put(path, table)
    call.output.answer(
        {"server": path[1], "file": editor.path_text},
        [
            Line("plain", f"MCP server {visible_line(path[1])} added to {editor.path_text}."),
            Line("dim", "  next: assent mcp list"),
        ],
    )
    call.output.warn(editor.warnings)
    if editor.needs_trust(path):
        call.output.warn(["It counts after you trust the file: assent trust give"])
    if why := start_problem(call.folder, command):
        call.output.warn([f"The server cannot be started yet: {why}"])


@mcp.command(epilog=examples("assent mcp remove files"))
@click.argument("name", callback=reference_option)
@click.option("--project", is_flag=True, help="Remove it from the project's file, not your own.")
@with_invocation
def remove(call: Invocation, name: str, project: bool) -> None:
    """Remove an MCP server from your configuration."""
    editor = ConfigEditor(call.folder, project=project)
    server = argument_text(name)
    try:
        editor.remove(("mcp", server))
    except NotFound:
        raise NotFound(
            f"{editor.path_text} has no MCP server {server!a}. Nothing was changed.",
            "assent mcp list",
        ) from None
    call.output.answer(
        {"server": server, "file": editor.path_text},
        [Line("plain", f"MCP server {visible_line(server)} removed from {editor.path_text}.")],
    )
    call.output.warn(editor.warnings)


def _variable(given: str) -> tuple[str, str]:
    name, sign, value = argument_text(given).partition("=")
    if not sign or not name:
        raise UsageError("--env takes NAME=VALUE.", "assent mcp add --help")
    return name, value
