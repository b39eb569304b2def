"""Targets outside the sandbox: a process, listeners, queues and a key; out of reach inside."""

import ctypes
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from assent.core.decoding import decode_json
from assent.sandbox.selftest.host_paths import COMMAND

# A bystander: a process outside the sandbox that nothing inside may signal, trace or read.


VARIABLE = "ASSENT_CANARY"
WATCHED = {
    "signal": signal.SIGUSR1,
    "signal_by_descriptor": signal.SIGUSR2,
    "signal_by_pipe": signal.SIGIO,
}

# It holds a secret in its memory, its environment and a descriptor, and lets others of its user
# trace it, where the system asks for that. Signals wait until they are counted.
SCRIPT = """
import ctypes, json, os, signal, sys
token = os.environ[sys.argv[1]].encode()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2, signal.SIGIO})
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
buffer = ctypes.create_string_buffer(token)
file = os.memfd_create("canary")
os.write(file, token)
print(json.dumps([ctypes.addressof(buffer), file]), flush=True)
sys.stdin.read()
print(json.dumps([int(number) for number in signal.sigpending()]), flush=True)
"""


class Bystander:
    """The running process, and what a probe needs to know to attack it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.pid = process.pid
        found: list[int] = decode_json(self._answer(), list[int])
        self.address, self.descriptor = found

    def signalled(self) -> list[str]:
        """Stops the process and returns the attempts that reached it; all of them if it is gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            pending = json.loads(self._answer())
        except (OSError, ValueError):
            return list(WATCHED)
        return [name for name, number in WATCHED.items() if number in pending]

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def bystander(token: str) -> Iterator[Bystander]:
    """Starts a process with a secret, and always stops it afterwards."""
    with subprocess.Popen(
        [*COMMAND, "-c", SCRIPT, VARIABLE],
        env={**os.environ, VARIABLE: token},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield Bystander(process)
        finally:
            process.kill()


# Shared memory and message queues outside the sandbox, with a secret in each.


_PRIVATE, _REMOVE, _MODE = 0, 0, 0o600
_MAKE = 0o1000
_QUEUE_CALLS = {"x86_64": (240, 241, 242)}  # mq_open, mq_unlink, mq_timedsend
_OPEN, _MQ_UNLINK, _SEND = _QUEUE_CALLS.get(os.uname().machine, (180, 181, 182))


class _QueueMessage(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_long), ("text", ctypes.c_char * 256))


class _QueueAttributes(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_long),
        ("most", ctypes.c_long),
        ("longest", ctypes.c_long),
        ("waiting", ctypes.c_long),
        ("unused", ctypes.c_long * 4),
    )


class IpcObjects(msgspec.Struct, frozen=True):
    """The ids of what was created; -1 for what this machine does not have."""

    shared_memory: int
    message_queue: int


@contextmanager
def ipc_objects(name: str, token: str) -> Iterator[IpcObjects]:
    """Keeps the secret in shared memory, in a queue, and in a POSIX queue of this name."""
    system = ctypes.CDLL(None, use_errno=True)
    content = token.encode()
    made = IpcObjects(_shared(system, content), _queued(system, content))
    posix = _posix(system, name, content)
    try:
        yield made
    finally:
        if made.shared_memory != -1:
            system.shmctl(made.shared_memory, _REMOVE, None)
        if made.message_queue != -1:
            system.msgctl(made.message_queue, _REMOVE, None)
        if posix:
            system.syscall(_MQ_UNLINK, ctypes.c_char_p(os.fsencode(name)))


def _shared(system: ctypes.CDLL, content: bytes) -> int:
    number = int(system.shmget(_PRIVATE, ctypes.c_size_t(len(content) + 1), _MAKE | _MODE))
    if number == -1:
        return -1
    system.shmat.restype = ctypes.c_void_p
    address = system.shmat(number, None, 0)
    if address not in (None, ctypes.c_void_p(-1).value):
        ctypes.memmove(address, content + b"\0", len(content) + 1)
        system.shmdt(ctypes.c_void_p(address))
    return number


def _queued(system: ctypes.CDLL, content: bytes) -> int:
    number = int(system.msgget(_PRIVATE, _MAKE | _MODE))
    if number != -1:
        message = _QueueMessage(1, content)
        system.msgsnd(number, ctypes.byref(message), ctypes.c_size_t(len(content)), 0o4000)
    return number


def _posix(system: ctypes.CDLL, name: str, content: bytes) -> bool:
    size = _QueueAttributes(0, 1, 256)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NONBLOCK | os.O_CLOEXEC
    named = ctypes.c_char_p(os.fsencode(name))
    queue = int(system.syscall(_OPEN, named, flags, _MODE, ctypes.byref(size)))
    if queue == -1:
        return False
    length = ctypes.c_size_t(len(content))
    system.syscall(_SEND, queue, ctypes.c_char_p(content), length, 0, None)
    os.close(queue)
    return True


# A key in the kernel's session keyring, for as long as a self-test needs it there.


_KEY_CALLS = {"x86_64": (248, 250)}  # add_key, keyctl; the others share one table
_ADD_KEY, _KEYCTL = _KEY_CALLS.get(os.uname().machine, (217, 219))
_SESSION = -3
_KEYCTL_UNLINK, _TIMEOUT = 9, 15
_SECONDS = 60


@contextmanager
def planted_key(name: str, token: str) -> Iterator[None]:
    """Keeps a key in the session keyring; does nothing if there is no keyring."""
    system = ctypes.CDLL(None, use_errno=True).syscall
    kind, named = ctypes.c_char_p(b"user"), ctypes.c_char_p(os.fsencode(name))
    content = token.encode()
    key = system(_ADD_KEY, kind, named, ctypes.c_char_p(content), len(content), _SESSION)
    if key != -1:
        system(_KEYCTL, _TIMEOUT, key, _SECONDS)  # in case this process is killed before the end
    try:
        yield
    finally:
        if key != -1:
            system(_KEYCTL, _KEYCTL_UNLINK, key, _SESSION)


# Listeners outside the sandbox that nothing inside may reach, and what reached them.


_LOOPBACK = {"tcp": (socket.AF_INET, "127.0.0.1"), "tcp6": (socket.AF_INET6, "::1")}
_KINDS = {"datagram_by_pair": socket.SOCK_DGRAM}


class Listeners:
    """Listening sockets. The kernel queues each connection, so nothing has to accept them."""

    def __init__(self, ends: Mapping[str, socket.socket], pipes: Mapping[str, int]) -> None:
        self._ends, self._pipes = ends, pipes

    @property
    def ports(self) -> dict[str, int]:
        """The ports of those that have one; 1, where nothing listens, for the others."""
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
