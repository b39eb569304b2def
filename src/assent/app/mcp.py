"""Tools of MCP servers: started when first offered, with the same permissions as others."""

import atexit
import os
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final

from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.config.settings import McpSettings
from assent.core.errors import AssentError
from assent.core.mcp import KnownMcpTool
from assent.core.paths import is_inside
from assent.core.tool import MAX_TOOL_NAME, Action, ResourceAccess, ToolOutcome, mcp_tool_name
from assent.sandbox.mcp_client import McpClient, StdioTransport
from assent.sandbox.runner.user_program import START, user_program
from assent.tools.aliases import is_reserved_name
from assent.tools.outcome import limited_outcome
from assent.tools.tool import RawArguments, Tool, ToolContext

# All that a server inherits; anything else it needs is in its own `environment`.
INHERITED: Final = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
)  # fmt: skip
WORKSPACE: Final = "{workspace}"  # in a word of a server's command: the path of the workspace
DESCRIPTION: Final = 8000  # characters of a description that a model reads


class McpTools:
    """The tools of all configured servers; keep it for the whole session, and close it."""

    def __init__(
        self,
        servers: Mapping[str, McpSettings],
        root: bytes,
        taken: Collection[str],
        warn: Callable[[str], object],
    ) -> None:
        self._settings = {name: each for name, each in servers.items() if each.enabled}
        self._servers = {
            name: McpClient(name, partial(_start, each, root), each.timeout_s)
            for name, each in self._settings.items()
        }
        self._names: dict[tuple[str, str], str] = {}
        self._taken = set(taken)
        self._warn = warn
        self._known: dict[str, tuple[KnownMcpTool, ...]] = {}
        self._made: dict[bool, tuple[Tool, ...]] = {}
        self._alone = Lock()
        atexit.register(self.close)

    def tools(self, mode: str) -> tuple[Tool, ...]:
        """Returns the tools to offer in a mode; unchanged tools are the same objects.

        In plan mode, only servers with tools that count as reading are started at all.
        """
        planning = mode == "plan"
        with self._alone:  # children offer tools, too, each in its own thread
            if planning not in self._made:
                wanted = [n for n, each in self._settings.items() if each.reads or not planning]
                self._made[planning] = tuple(
                    self._tool(known) for name in wanted for known in self._list(name)
                )
        return self._made[planning]

    def known(self, server: str) -> tuple[KnownMcpTool, ...]:
        """Starts a server, if necessary, and returns its tools; raises AssentError."""
        reads = self._settings[server].reads
        found = self._servers[server].tools()
        return tuple(
            KnownMcpTool(
                server,
                self._name(server, each.name),
                each,
                reads.get(each.name) in ("*", each.digest),
                each.name in reads and reads[each.name] not in ("*", each.digest),
            )
            for each in found
        )

    def close(self) -> None:
        """Ends all servers."""
        atexit.unregister(self.close)
        for server in self._servers.values():
            server.close()

    def _list(self, server: str) -> tuple[KnownMcpTool, ...]:
        """Returns a server's tools, listed once; one that fails has none, with a warning."""
        if server not in self._known:
            try:
                self._known[server] = self.known(server)
            except AssentError as error:
                self._known[server] = ()
                self._warn(f"{error.message} Its tools are not offered.")
            else:
                self._remark(server)
        return self._known[server]

    def _remark(self, server: str) -> None:
        names = [known.served.name for known in self._known[server]]
        for wanted in self._settings[server].reads:
            if wanted not in names:
                self._warn(
                    f"`mcp.{server}.reads` lists {wanted!a}, but the server has no such tool."
                )
        for known in self._known[server]:
            if known.void:
                self._warn(_voided(known))

    def _name(self, server: str, tool: str) -> str:
        """Returns a unique name; the same tool keeps it."""
        if (server, tool) not in self._names:
            wanted = name = mcp_tool_name(server, tool)
            n = 1
            while name in self._taken or is_reserved_name(name):
                n += 1
                name = f"{wanted[: MAX_TOOL_NAME - 4]}_{n}"
            self._taken.add(name)
            self._names[server, tool] = name
        return self._names[server, tool]

    def _tool(self, known: KnownMcpTool) -> Tool:
        server, name = self._servers[known.server], known.name
        action = Action.READ if known.reads else Action.TOOL

        def touches(args: RawArguments, context: ToolContext) -> tuple[ResourceAccess, ...]:
            return (ResourceAccess(action, name, key=name),)

        def run(args: RawArguments, context: ToolContext) -> ToolOutcome:
            answer = server.call(known.served, args.values)
            return limited_outcome(answer.text, name, failed=answer.failed)

        words = _visible(known.served.description)[:DESCRIPTION]
        text = f"{words}\n\nThis is a tool of the MCP server {known.server}.".strip()
        schema = known.served.schema
        return Tool(name, RawArguments, touches, run, action, text=text, schema=schema)


def open_mcp_servers(
    folder: str, warn: Callable[[str], object]
) -> tuple[McpTools, tuple[str, ...]]:
    """Returns the servers configured for a folder, not started, and their names."""
    _, root = locate_workspace(folder)
    loaded = load_settings(root, user_paths(), lenient=False)
    for warning in loaded.warnings:
        warn(warning)
    servers = loaded.settings.mcp
    enabled = tuple(name for name, each in servers.items() if each.enabled)
    return McpTools(servers, root, (), warn), enabled


def start_problem(folder: str, command: Sequence[str]) -> str:
    """Says why a server's command cannot be started now; empty if nothing is known against it."""
    root = locate_workspace(folder)[1]
    words = [word.replace(WORKSPACE, os.fsdecode(root)) for word in command]
    try:
        user_program(words, os.environ, root)
    except AssentError as error:
        return error.message
    return ""


def _start(settings: McpSettings, root: bytes) -> StdioTransport:
    environment = {n: os.environ[n] for n in INHERITED if n in os.environ}
    words = [word.replace(WORKSPACE, os.fsdecode(root)) for word in settings.command]
    path = user_program(words, os.environ, root)
    argv = (path, *map(os.fsencode, words[1:]))
    return StdioTransport(argv, {**environment, **settings.environment}, _folder(root))


def _folder(root: bytes) -> bytes:
    """Returns where a server starts: in the home folder, unless that is in the workspace."""
    home = os.path.realpath(os.fsencode(Path.home()))
    return START if is_inside(home, root) or not os.path.isdir(home) else home


def _voided(known: KnownMcpTool) -> str:
    return (
        f"Tool {known.served.name!a} of MCP server {known.server} changed since you listed it as "
        f"read-only: its digest is now {known.served.digest}. It is treated as a tool that changes "
        "things. Run `assent mcp list` to check it."
    )


def _visible(text: str) -> str:
    """Returns a text without invisible characters."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C")
