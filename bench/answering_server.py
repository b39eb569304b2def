"""A model server for many sessions at once: answers every request with one text, without delay.

Run as a program: prints its port, and serves all connections in one thread.
"""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench.model_server import HEAD

CHUNKS = (
    {"choices": [{"delta": {"role": "assistant", "content": "That is all."}}]},
    {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 5}},
)
_EVENTS = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in CHUNKS]
_PIECES = [*_EVENTS, b"data: [DONE]\n\n"]
RESPONSE = HEAD + b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in _PIECES) + b"0\r\n\r\n"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)
            writer.write(RESPONSE)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def answering_server() -> Iterator[int]:
    """Runs the server in a process of its own, and yields its port."""
    command = [sys.executable, "-m", "bench.answering_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.kill()


if __name__ == "__main__":
    asyncio.run(_serve())
