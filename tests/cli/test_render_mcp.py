"""Servers of tools as people and programs see them."""

from assent.cli.mcp import HOW, servers_json, servers_lines
from assent.core.mcp import KnownMcpTool, McpTool

SERVED = McpTool("peek", "Looks\u202e.", {"type": "object", "properties": {}})
KNOWN = KnownMcpTool("one", "one_peek", SERVED, reads=True)
VOID = KnownMcpTool("one", "one_peek", SERVED, reads=False, void=True)


def test_as_lines() -> None:
    shown = [line.text for line in servers_lines({"one": [KNOWN, VOID], "two": "It is\x1b gone."})]
    assert shown == [
        "one: 2 tools",
        "  one_peek reads",
        f'    "peek" = "{SERVED.digest}"',
        "  one_peek changes, but its digest is not the one in `reads`",
        f'    "peek" = "{SERVED.digest}"',
        "two: It is<U+001B> gone.",
        HOW,
    ]


def test_without_any() -> None:
    first, second = [line.text for line in servers_lines({})]
    assert first == "No MCP server configured."
    assert second.startswith("Next: ")


def test_as_json() -> None:
    assert servers_json({"one": [VOID], "two": "gone"}) == [
        {
            "server": "one",
            "problem": "",
            "tools": [
                {
                    "name": "one_peek",
                    "tool": "peek",
                    "effect": "changes",
                    "changed": True,
                    "digest": SERVED.digest,
                    "description": "Looks\u202e.",
                }
            ],
        },
        {"server": "two", "problem": "gone", "tools": []},
    ]
