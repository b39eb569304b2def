"""The MCP client: starts a server when first needed, and ends it when it fails.

A server is the person's own choice and runs without a sandbox; what may be asked of it is decided
elsewhere.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

from assent import __version__
from assent.core.errors import AssentError, Refused
from assent.core.jsonrpc import (
    InvalidJsonRpc,
    RpcError,
    RpcMessage,
    RpcNotification,
    RpcRequest,
    RpcResponse,
    decode_message,
    encode_notification,
    encode_request,
    encode_response,
)
from assent.core.mcp import (
    McpResult,
    McpTool,
    has_tools,
    initialize_params,
    parse_result,
    parse_tools,
)
from assent.sandbox.stdio_transport import StdioTransport, TransportClosed, TransportTimeout

START_S: Final = 30.0  # to begin with; many first fetch what they need
PAGES: Final = 50  # of the list of tools
LISTED: Final = 8 << 20  # bytes of all of them
MAX_REFUSAL_CHARS: Final = 2000  # characters of a refusal
CHANGED: Final = "notifications/tools/list_changed"
_GOODBYE: Final = 0.2


T = TypeVar("T")


class McpServerFailed(AssentError):
    """A server failed, and was ended."""


class McpClient:
    """One server by its name. Several threads may call; calls run one at a time."""

    def __init__(
        self,
        name: str,
        start: Callable[[], StdioTransport],
        timeout_s: float,
        *,
        start_s: float = START_S,
    ) -> None:
        self.name = name
        self._start = start
        self._timeout_s, self._start_s = timeout_s, start_s
        self._child: StdioTransport | None = None
        self._tools: tuple[McpTool, ...] = ()
        self._stale = False
        self._asked = 0
        self._alone = Lock()

    def tools(self) -> tuple[McpTool, ...]:
        """Returns what it offers now, and starts it if need be; raises AssentError."""
        with self._alone:
            self._ready()
            return self._tools

    def call(self, tool: McpTool, arguments: dict[str, Any]) -> McpResult:
        """Calls a tool, unless that is another one by now; raises AssentError."""
        with self._alone:
            self._ready()
            now = next((each for each in self._tools if each.name == tool.name), None)
            if now != tool:
                raise Refused(self._changed(tool, now))
            params = {"name": tool.name, "arguments": arguments}
            deadline = time.monotonic() + self._timeout_s
            try:
                return self._careful(
                    lambda: parse_result(self._ask("tools/call", params, deadline))
                )
            except McpServerFailed as error:
                unknown = "Whether it had done anything by then is not known."
                raise AssentError(f"{error.message} {unknown}") from error

    def close(self) -> None:
        """Ends it; what is called later starts it anew."""
        if self._child is not None:
            self._child.close()
        self._child = None

    def _ready(self) -> None:
        """Sees to it that it runs, and that its tools are known as they are."""
        if self._child is not None and not self._stale:
            return
        deadline = time.monotonic() + self._start_s
        try:
            self._careful(lambda: self._begin(deadline))
        except BaseException:
            self.close()  # one that has only half begun is no use to anybody
            raise

    def _begin(self, deadline: float) -> None:
        if self._child is None:
            self._child = self._started()
            able = has_tools(self._ask("initialize", initialize_params(__version__), deadline))
            self._child.send(encode_notification("notifications/initialized", {}))
            self._tools, self._stale = (), able
        if self._stale:
            self._stale = False
            self._tools = self._list(deadline)

    def _started(self) -> StdioTransport:
        try:
            return self._start()
        except AssentError as error:
            told = f"The server {self.name} could not be started: {error.message}"
            raise AssentError(told, error.next) from error

    def _list(self, deadline: float) -> tuple[McpTool, ...]:
        found: dict[str, McpTool] = {}
        cursor, size = "", 0
        for _ in range(PAGES):
            answer = self._ask("tools/list", {"cursor": cursor} if cursor else {}, deadline)
            size += len(msgspec.json.encode(answer))
            if size > LISTED:
                raise InvalidJsonRpc(f"its list of tools has more than {LISTED} bytes")
            page, cursor = parse_tools(answer)
            found |= {each.name: each for each in page}
            if not cursor:
                return tuple(found.values())
        raise InvalidJsonRpc(f"its list of tools has more than {PAGES} pages")

    def _ask(self, method: str, params: object, deadline: float) -> Any:
        """Asks, and returns the result; a late answer to an earlier question is passed over."""
        assert self._child is not None, "it is ready"
        self._asked += 1
        self._child.send(encode_request(self._asked, method, params))
        while True:
            match self._next(deadline):
                case RpcResponse(id, result) if id == self._asked:
                    return result
                case RpcError(id, code, message) if id in (self._asked, None):
                    told = (
                        message
                        if len(message) <= MAX_REFUSAL_CHARS
                        else f"{message[:MAX_REFUSAL_CHARS]}…"
                    )
                    raise AssentError(f"The server {self.name} refused: {told} ({code}).")
                case _:
                    continue

    def _next(self, deadline: float) -> RpcMessage:
        assert self._child is not None, "it is ready"
        found = decode_message(self._child.receive_line(deadline))
        match found:
            case RpcRequest():
                self._child.send(encode_response(found))
            case RpcNotification(method) if method == CHANGED:
                self._stale = True
            case _:
                pass
        return found

    def _careful(self, work: Callable[[], T]) -> T:
        """Works, and gives the server up if it is slow, gone or makes no sense."""
        try:
            return work()
        except KeyboardInterrupt:
            self._cancel("The person stopped it.")
            raise
        except TransportTimeout as error:
            self._cancel("It took too long.")
            raise self._given_up("did not answer in time") from error
        except TransportClosed as error:
            raise self._given_up(f"failed: {error.message}") from error
        except InvalidJsonRpc as error:
            raise self._given_up(f"makes no sense: {error}.") from error

    def _cancel(self, reason: str) -> None:
        if self._child is None:
            return
        params = {"requestId": self._asked, "reason": reason}
        self._child.send(encode_notification("notifications/cancelled", params))
        with suppress(AssentError):
            self._child.flush(time.monotonic() + _GOODBYE)

    def _given_up(self, why: str) -> McpServerFailed:
        said = self._child.stderr_tail.splitlines()[-1:] if self._child else []
        self.close()
        told = f' Its last words: "{said[0][:200]}".' if said else ""
        ending = "" if why.endswith(".") else "."
        return McpServerFailed(f"The server {self.name} {why}{ending}{told} It was ended.")

    def _changed(self, tool: McpTool, now: McpTool | None) -> str:
        if now is None:
            return f"The server {self.name} has no tool {tool.name} any more. Nothing was done."
        return (
            f"The tool {tool.name} of the server {self.name} is not the one that was offered: its "
            f"digest is {now.digest} now. Nothing was done."
        )
