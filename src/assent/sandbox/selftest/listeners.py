"""Listeners outside the sandbox that nothing inside may reach, and what reached them."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_LOOPBACK = {"tcp": (socket.AF_INET, "127.0.0.1"), "tcp6": (socket.AF_INET6, "::1")}
_KINDS = {"datagram_by_pair": socket.SOCK_DGRAM}


class Listeners:
    """Listening sockets. The kernel queues each connection, so nothing has to accept them."""

    def __init__(self, ends: Mapping[str, socket.socket], pipes: Mapping[str, int]) -> None:
        self._ends, self._pipes = ends, pipes

    @property
    def ports(self) -> dict[str, int]:
        """The ports of those that have one; 1, where nobody listens, for those that have none."""
        named = ("tcp", "tcp6", "udp")
        return {n: self._ends[n].getsockname()[1] if n in self._ends else 1 for n in named}

    def connections(self) -> list[str]:
        """Returns the attempts that reached a listener."""
        written = [name for name, pipe in self._pipes.items() if _written(pipe)]
        return [*written, *(name for name, end in self._ends.items() if _heard(end))]


@contextmanager
def listeners(
    paths: Mapping[str, Path], pipes: Mapping[str, Path], abstract: str
) -> Iterator[Listeners]:
    """Listens on loopback, on Unix sockets and pipes at these paths, and under an abstract name."""
    with ExitStack() as stack:
        ends = {"udp": stack.enter_context(_datagrams())}
        for name, (family, host) in _LOOPBACK.items():
            with suppress(OSError):  # a machine without IPv6; then its control fails, too
                ends[name] = stack.enter_context(_stream(family, (host, 0)))
        for name, path in paths.items():
            ends[name] = stack.enter_context(_named(path, _KINDS.get(name, socket.SOCK_STREAM)))
        ends["abstract_socket"] = stack.enter_context(_stream(socket.AF_UNIX, "\0" + abstract))
        readers = {name: _pipe(path) for name, path in pipes.items()}
        for reader in readers.values():
            stack.callback(os.close, reader)
        yield Listeners(ends, readers)


def _datagrams() -> socket.socket:
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind(("127.0.0.1", 0))
    return end


def _stream(family: int, address: str | tuple[str, int]) -> socket.socket:
    return _bound(family, socket.SOCK_STREAM, address)


def _bound(family: int, kind: int, address: str | tuple[str, int]) -> socket.socket:
    end = socket.socket(family, kind)
    try:
        end.bind(address)
        if kind == socket.SOCK_STREAM:
            end.listen()
    except OSError:
        end.close()
        raise
    return end


def _named(path: Path, kind: int) -> socket.socket:
    """Binds a short name: the kernel allows about a hundred bytes for one."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _bound(socket.AF_UNIX, kind, f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def _pipe(path: Path) -> int:
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _written(pipe: int) -> bool:
    try:
        return bool(os.read(pipe, 64))
    except OSError:
        return False


def _heard(end: socket.socket) -> bool:
    end.setblocking(False)
    try:
        if end.type == socket.SOCK_DGRAM:
            end.recv(64)
        else:
            end.accept()[0].close()
    except OSError:
        return False
    return True
