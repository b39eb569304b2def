"""Watchers: whole trees with everything the disk knows of them, and a listener on loopback."""

import os
import socket
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

Facts = tuple[int | bytes | tuple[tuple[str, bytes], ...], ...]
Picture = dict[bytes, Facts]


class Leaks(NamedTuple):
    """What a watcher saw since it last looked: paths that differ, and callers."""

    changed: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()


class Listener:
    """A TCP and a UDP port of the same number on loopback; remembers who knocked."""

    def __init__(self) -> None:
        self._tcp, self._udp = _both()
        self.port = int(self._tcp.getsockname()[1])
        self._tcp.setblocking(False)
        self._udp.setblocking(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tcp.close()
        self._udp.close()

    def heard(self) -> tuple[str, ...]:
        """Who connected or sent something since the last look; the kernel keeps them until then."""
        return (*self._knocks(), *self._words())

    def _knocks(self) -> Iterable[str]:
        while True:
            try:
                caller, address = self._tcp.accept()
            except BlockingIOError:
                return
            caller.close()
            yield f"tcp {address}"

    def _words(self) -> Iterable[str]:
        while True:
            try:
                content, address = self._udp.recvfrom(65536)
            except BlockingIOError:
                return
            yield f"udp {address} {content!r}"


def _both() -> tuple[socket.socket, socket.socket]:
    """Opens both ports; where somebody else has the one of that number, others are tried."""
    while True:
        tcp = socket.create_server(("127.0.0.1", 0), backlog=1024)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.bind(tcp.getsockname())
        except OSError:
            tcp.close()
            udp.close()
        else:
            return tcp, udp


class Watch:
    """Trees and a listener that must stay as they are."""

    def __init__(self, trees: Iterable[Path], listener: Listener) -> None:
        self._trees = tuple(trees)
        self._listener = listener
        self._quick = self._look(deep=False)
        self._deep = self._look(deep=True)

    def leaks(self) -> Leaks:
        """What changed since the last look by the facts that no writer can hide (ctime, inode)."""
        now, before = self._look(deep=False), self._quick
        self._quick = now
        return Leaks(_differences(before, now), self._listener.heard())

    def deep_leaks(self) -> Leaks:
        """What changed since the last deep look, contents and extended attributes included."""
        now, before = self._look(deep=True), self._deep
        self._deep = now
        return Leaks(_differences(before, now), self._listener.heard())

    def _look(self, *, deep: bool) -> Picture:
        return {path: facts for tree in self._trees for path, facts in picture(tree, deep).items()}


def picture(tree: Path, deep: bool) -> Picture:
    """Everything in a tree, the top included, with mode, owner, size, links, times and inode."""
    top = os.fsencode(tree)
    found = {top: _facts(top, os.lstat(top), deep)}
    waiting = [top]
    while waiting:
        try:
            entries = [*os.scandir(waiting.pop())]
        except OSError:  # not a folder that can be listed
            continue
        for entry in entries:
            state = entry.stat(follow_symlinks=False)
            found[entry.path] = _facts(entry.path, state, deep)
            if stat.S_ISDIR(state.st_mode):
                waiting.append(entry.path)
    return found


def _facts(path: bytes, s: os.stat_result, deep: bool) -> Facts:
    whole = (s.st_mode, s.st_uid, s.st_gid, s.st_size, s.st_nlink, s.st_ino)
    times = (s.st_mtime_ns, s.st_ctime_ns)
    return (*whole, *times, _content(path, s.st_mode), _attributes(path)) if deep else whole + times


def _content(path: bytes, mode: int) -> bytes:
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    if not stat.S_ISREG(mode):
        return b""
    with open(path, "rb") as file:
        return file.read()


def _attributes(path: bytes) -> tuple[tuple[str, bytes], ...]:
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError:  # a file system without them
        return ()
    return tuple((name, os.getxattr(path, name, follow_symlinks=False)) for name in sorted(names))


def _differences(before: Picture, now: Picture) -> tuple[str, ...]:
    if before == now:  # as almost always
        return ()
    paths = sorted(before.keys() | now.keys())
    return tuple(os.fsdecode(p) for p in paths if before.get(p) != now.get(p))
