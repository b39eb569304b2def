"""Renders MCP servers: each tool with its permissions and its digest."""

from collections.abc import Iterable, Mapping, Sequence

from assent.core.mcp import KnownMcpTool
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line

NONE = "No server of tools is configured."
NEXT = "Next: add a table [mcp.NAME] with its command to your configuration"
HOW = "A tool counts as reading once its line stands in the table [mcp.NAME.reads]."
CHANGED = ", and is not the tool that `reads` names"

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
