"""The stdio transport: exchanges lines with a child process, and ends it with all it started.

It reads without a thread, and only while somebody waits for an answer; a child that writes too
much meanwhile has to wait.
"""

import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO, Final

from assent.core.errors import AssentError
from assent.core.paths import one_line
from assent.sandbox.runner.process_tree import ProcessTree

LINE: Final = 8 << 20  # bytes of one line
MAX_UNSENT_BYTES: Final = (
    16 << 20
)  # bytes that wait to be read by it; one more line may still be added
STDERR_KEPT: Final = 4 << 10  # bytes of stderr that are remembered, the last ones
_READ: Final = 64 << 10
_FAREWELL: Final = 0.5  # seconds to end by itself when nobody talks to it any more


class TransportTimeout(AssentError):
    """The child did not read or write anything in time."""


class TransportClosed(AssentError):
    """The child has ended, or writes more than is allowed."""


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
        """Says a line; it is sent while somebody listens, or when it is flushed."""
        if len(self._unsent) > MAX_UNSENT_BYTES:
            raise TransportClosed(f"It asks on and on, and reads none of {MAX_UNSENT_BYTES} bytes.")
        if not self._unsent:
            self._events.register(_pipe(self._process.stdin), selectors.EVENT_WRITE)
        self._unsent += line + b"\n"

    def flush(self, deadline: float) -> None:
        """Sends what is said and not sent; raises Slow or Gone."""
        while self._unsent:
            self._pump(deadline)

    def receive_line(self, deadline: float) -> bytes:
        """Returns the next line that it says; raises Slow or Gone."""
        while (end := self._said.find(b"\n")) < 0:
            if len(self._said) > LINE:
                raise TransportClosed(f"It said more than {LINE} bytes in one line.")
            self._pump(deadline)
        found = bytes(self._said[:end])
        del self._said[: end + 1]
        return found

    def close(self) -> None:
        """Lets it go, and ends it if it does not; a second time there is nothing to do."""
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
            raise TransportTimeout("It did not answer in time.")
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
            raise TransportClosed("It has ended.")


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
