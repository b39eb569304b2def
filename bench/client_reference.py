"""The reference for steps: a model client of the standard library that keeps its encoded history.

It sends the same kinds of requests over one connection, encodes each message once, and decodes the
streamed answers. It stores nothing, checks nothing and retries nothing: what it costs is the least
that a step costs in Python.

This file is frozen, so that figures of different versions compare: a test knows its digest.
"""

import http.client
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

SYSTEM = "You plan changes. " * 60
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}

END = b"]}"


class ReferenceClient:
    """Asks a model by `http.client`; the request grows by what is new and is never encoded anew."""

    def __init__(self, port: int, base: str = "/v1") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._path = f"{base}/chat/completions"
        function = {"name": "read", "description": "Reads.", "parameters": SCHEMA}
        head = {"model": "m", "stream": True, "tools": [{"type": "function", "function": function}]}
        self._body = bytearray(json.dumps(head).encode()[:-1] + b', "messages": [')
        self._body += json.dumps({"role": "system", "content": SYSTEM}).encode() + END

    @property
    def body(self) -> bytes:
        """The next request."""
        return bytes(self._body)

    def step(self, run: Callable[[dict[str, Any]], str]) -> bool:
        """Asks, runs the call of the answer and keeps both; False if the answer calls nothing."""
        self._connection.request("POST", self._path, self._body)
        answer = _decode(self._connection.getresponse().read())
        self._keep(answer)
        for call in answer["tool_calls"]:
            result = run(json.loads(call["function"]["arguments"]))
            self._keep({"role": "tool", "tool_call_id": call["id"], "content": result})
        return bool(answer["tool_calls"])

    def close(self) -> None:
        self._connection.close()

    def _keep(self, message: dict[str, Any]) -> None:
        self._body[-len(END) :] = b"," + json.dumps(message).encode() + END


def _decode(stream: bytes) -> dict[str, Any]:
    """Puts a message together from the events of its stream."""
    message: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
    for line in stream.splitlines():
        if line.startswith(b"data: {"):
            for choice in json.loads(line[6:])["choices"]:
                message["content"] += choice["delta"].get("content", "")
                message["tool_calls"] += choice["delta"].get("tool_calls", [])
    return message


def file_reader(work: Path) -> Callable[[dict[str, Any]], str]:
    """Reads the lines of a call from its file."""

    def read(args: dict[str, Any]) -> str:
        lines = (work / args["path"]).read_text(encoding="utf-8").splitlines(keepends=True)
        start = args.get("offset", 1) - 1
        return "".join(lines[start : start + args.get("limit", len(lines))])

    return read


def file_editor(work: Path) -> Callable[[dict[str, Any]], str]:
    """Replaces a text that occurs once, and writes the file without a sync."""

    def edit(args: dict[str, Any]) -> str:
        file = work / args["path"]
        text = file.read_text(encoding="utf-8")
        assert text.count(args["old"]) == 1
        file.write_text(text.replace(args["old"], args["new"]), encoding="utf-8")
        return "Done."

    return edit
