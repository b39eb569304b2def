"""The MCP client: starts a server when first needed, and stops it when it fails.

A server is the user's own choice and runs without a sandbox; permission for its tools is decided
elsewhere.
"""

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import IO, Any, Final, TypeVar

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
from assent.core.paths import one_line
from assent.sandbox.runner.process_tree import ProcessTree

# The stdio transport: exchanges lines with a child process, and ends it with all it started.
#
# It reads without a thread, and only while a caller waits for an answer; a child that writes too
# much in between has to wait.


LINE: Final = 8 << 20  # bytes of one line
MAX_UNSENT_BYTES: Final = (
    16 << 20
)  # bytes that wait to be read by it; one more line may still be added
STDERR_KEPT: Final = 4 << 10  # bytes of stderr that are remembered, the last ones
_READ: Final = 64 << 10
_FAREWELL: Final = 0.5  # seconds to end by itself once nothing more is sent to it


class TransportTimeout(AssentError):
    """The child did not read or write anything in time."""


class TransportClosed(AssentError):
    """The child has exited, or writes more than is allowed."""


class StdioTransport:
    """A child process that lines are exchanged with."""

    def __init__(
        self, argv: Sequence[bytes], environment: Mapping[str, str], folder: bytes
    ) -> None:
        variables = {os.fsencode(name): os.fsencode(v) for name, v in environment.items()}
        try:
            self._process = subprocess.Popen(
                argv,
                cwd=folder,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise TransportClosed(f"{one_line(argv[0])}: {error.strerror}.") from error
        self._said, self._complained, self._unsent = bytearray(), bytearray(), bytearray()
        self._events = selectors.DefaultSelector()
        for stream in (_pipe(self._process.stdout), _pipe(self._process.stderr)):
            os.set_blocking(stream.fileno(), False)
            self._events.register(stream, selectors.EVENT_READ)
        os.set_blocking(_pipe(self._process.stdin).fileno(), False)

    @property
    def stderr_tail(self) -> str:
        """The last lines that it wrote to stderr."""
        return bytes(self._complained).decode("utf-8", "replace").strip()

    def send(self, line: bytes) -> None:
        """Queues a line; it is sent while waiting for a line, or by `flush`."""
        if len(self._unsent) > MAX_UNSENT_BYTES:
            raise TransportClosed(
                "It keeps sending requests but does not read "
                f"{MAX_UNSENT_BYTES} bytes of responses."
            )
        if not self._unsent:
            self._events.register(_pipe(self._process.stdin), selectors.EVENT_WRITE)
        self._unsent += line + b"\n"

    def flush(self, deadline: float) -> None:
        """Sends what is queued; raises TransportTimeout or TransportClosed."""
        while self._unsent:
            self._pump(deadline)

    def receive_line(self, deadline: float) -> bytes:
        """Returns the next line from the child; raises TransportTimeout or TransportClosed."""
        while (end := self._said.find(b"\n")) < 0:
            if len(self._said) > LINE:
                raise TransportClosed(f"It sent more than {LINE} bytes in one line.")
            self._pump(deadline)
        found = bytes(self._said[:end])
        del self._said[: end + 1]
        return found

    def close(self) -> None:
        """Closes its input, then stops the child if it does not exit; can be repeated."""
        if self._process.returncode is not None:
            return
        self._events.close()
        _pipe(self._process.stdin).close()
        _wait(self._process.pid)
        ProcessTree(self._process, None).end()
        for stream in (self._process.stdout, self._process.stderr):
            _pipe(stream).close()

    def _pump(self, deadline: float) -> None:
        """Moves bytes in both directions, once."""
        left = deadline - time.monotonic()
        ready = self._events.select(left) if left > 0 else []
        if not ready:
            raise TransportTimeout("It timed out.")
        for key, _ in ready:
            if key.fileobj is self._process.stdin:
                self._send()
            else:
                self._take(_pipe(key.fileobj))  # type: ignore[arg-type]

    def _send(self) -> None:
        stream = _pipe(self._process.stdin)
        try:
            del self._unsent[: os.write(stream.fileno(), self._unsent[:_READ])]
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()  # it listens no more; what it still says may tell why
        if not self._unsent:
            self._events.unregister(stream)

    def _take(self, stream: IO[bytes]) -> None:
        try:
            content = os.read(stream.fileno(), _READ)
        except BlockingIOError:
            return
        if stream is self._process.stderr:
            self._complained = (self._complained + content)[-STDERR_KEPT:]
            if not content:
                self._events.unregister(stream)
        elif content:
            self._said += content
        else:
            raise TransportClosed("it exited.")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "it was started with pipes"
    return stream


def _wait(pid: int) -> None:
    """Waits a moment for an end."""
    watched = os.pidfd_open(pid)
    try:
        with selectors.DefaultSelector() as events:
            events.register(watched, selectors.EVENT_READ)
            events.select(_FAREWELL)
    finally:
        os.close(watched)


START_S: Final = 30.0  # to begin with; many first fetch what they need
PAGES: Final = 50  # of the list of tools
LISTED: Final = 8 << 20  # bytes of all of them
MAX_REFUSAL_CHARS: Final = 2000  # characters of a refusal
CHANGED: Final = "notifications/tools/list_changed"
_GOODBYE: Final = 0.2


T = TypeVar("T")


class McpServerFailed(AssentError):
    """A server failed and was stopped."""


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
        """Returns its current tools, and starts it if necessary; raises AssentError."""
        with self._alone:
            self._ready()
            return self._tools

    def call(self, tool: McpTool, arguments: dict[str, Any]) -> McpResult:
        """Calls a tool, unless its definition changed; raises AssentError."""
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
                unknown = "What it did before that is unknown."
                raise AssentError(f"{error.message} {unknown}") from error

    def close(self) -> None:
        """Stops it; a later call starts it again."""
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
            self.close()  # a server that has only half started is useless
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
            told = f"MCP server {self.name} could not be started: {error.message}"
            raise AssentError(told, error.next) from error

    def _list(self, deadline: float) -> tuple[McpTool, ...]:
        found: dict[str, McpTool] = {}
        cursor, size = "", 0
        for _ in range(PAGES):
            answer = self._ask("tools/list", {"cursor": cursor} if cursor else {}, deadline)
            size += len(msgspec.json.encode(answer))
            if size > LISTED:
                raise InvalidJsonRpc(f"its tool list has more than {LISTED} bytes")
            page, cursor = parse_tools(answer)
            found |= {each.name: each for each in page}
            if not cursor:
                return tuple(found.values())
        raise InvalidJsonRpc(f"its tool list has more than {PAGES} pages")

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
                    raise AssentError(f"MCP server {self.name} returned an error: {told} ({code}).")
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
            self._cancel("The user cancelled it.")
            raise
        except TransportTimeout as error:
            self._cancel("It timed out.")
            raise self._given_up("timed out") from error
        except TransportClosed as error:
            raise self._given_up(f"failed: {error.message}") from error
        except InvalidJsonRpc as error:
            raise self._given_up(f"sent an invalid message: {error}.") from error

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
        told = f' Last error output: "{said[0][:200]}".' if said else ""
        ending = "" if why.endswith(".") else "."
        return McpServerFailed(f"MCP server {self.name} {why}{ending}{told} It was stopped.")

    def _changed(self, tool: McpTool, now: McpTool | None) -> str:
        if now is None:
            return f"MCP server {self.name} no longer has the tool {tool.name}. Nothing was done."
        return (
            f"The tool {tool.name} of MCP server {self.name} is not the one that was offered: its "
            f"digest is now {now.digest}. Nothing was done."
        )
