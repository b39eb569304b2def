"""Many subscribers to the events of a server, and when each of them got what.

Run as a program with an address, a token, a number, `markers` or nothing, and lines of a head:
connects that often, prints `ready`, and then, if asked for them, for each marker that all of them
received, a line with the moments on the clock that all processes of a machine share.
"""

import json
import re
import resource
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

MARKER = re.compile(rb"mark-(\d+)-")
OVERLAP = 16  # bytes in which a marker may be cut
SPARE = 100  # descriptors for everything else


class Subscribers:
    """Connections that read what comes."""

    def __init__(self, host: str, token: str, count: int, *headers: str) -> None:
        self._poll = select.epoll()
        self._socks: dict[int, socket.socket] = {}
        self._ends: dict[int, bytes] = {}
        self._room = memoryview(bytearray(1 << 18))
        self._seen: dict[bytes, dict[int, float]] = {}
        address, _, port = host.partition(":")
        lines = [f"Host: {host}", f"Authorization: Bearer {token}", *headers]
        request = "\r\n".join(["GET /api/v1/events HTTP/1.1", *lines])
        for _ in range(count):
            sock = socket.create_connection((address, int(port)))
            sock.sendall(f"{request}\r\n\r\n".encode())
            if b" 200 " not in sock.recv(1 << 16):
                raise AssertionError("A subscriber was refused.")
            self._socks[sock.fileno()] = sock
            self._poll.register(sock, select.EPOLLIN)

    def read(self, *, markers: bool) -> None:
        """Reads until the server ends; may print each marker that everybody has.

        To look for one costs more than all that the server does for what it is looked for in, and
        takes the processor from it.
        """
        while self._socks:
            for fd, _ in self._poll.poll():
                length = self._socks[fd].recv_into(self._room)
                if not length:
                    self._poll.unregister(fd)
                    self._socks.pop(fd).close()
                elif markers:
                    self._look(fd, bytes(self._room[:length]))

    def _look(self, fd: int, piece: bytes) -> None:
        now = time.monotonic()
        text = self._ends.get(fd, b"") + piece
        self._ends[fd] = text[-OVERLAP:]
        for marker in MARKER.findall(text):
            seen = self._seen.setdefault(marker, {})
            seen.setdefault(fd, now)
            if len(seen) == len(self._socks):
                print(json.dumps([int(marker), *self._seen.pop(marker).values()]), flush=True)


@contextmanager
def subscribers(
    host: str, token: str, count: int, *headers: str, markers: bool = False
) -> Iterator[Iterator[str]]:
    """Runs that many in a process of their own; yields the lines that it prints."""
    command = [sys.executable, "-m", "bench.subscribers", host, token, str(count)]
    command += ["markers" if markers else "", *headers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise AssertionError("The subscribers could not connect.")
            yield iter(process.stdout)
        finally:
            process.kill()


def main(host: str, token: str, count: str, markers: str, *headers: str) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, int(count) + SPARE), hard))
    everybody = Subscribers(host, token, int(count), *headers)
    print("ready", flush=True)
    everybody.read(markers=bool(markers))


if __name__ == "__main__":
    main(*sys.argv[1:])
