"""Attempts to reach out: sockets, pipes, queues, and a process outside."""

import ctypes
import fcntl
import os
import signal
import socket
from contextlib import suppress
from functools import partial

from assent.sandbox.selftest.probes.request import (
    Probe,
    ProbeRequest,
    check_errno,
    first_success,
    libc,
)

TIMEOUT_S = 2.0
PTRACE_PEEKDATA, PTRACE_ATTACH, PTRACE_DETACH = 2, 16, 17
PIDFD_GETFD = 438
SECRET_SIZE = 64


class _IoVector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _connect(family: int, address: object) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as end:
        end.settimeout(TIMEOUT_S)
        end.connect(address)  # type: ignore[arg-type]


def _tcp(ask: ProbeRequest) -> str:
    _connect(socket.AF_INET, ("127.0.0.1", ask.ports["tcp"]))
    return "connected to 127.0.0.1"


def _tcp6(ask: ProbeRequest) -> str:
    _connect(socket.AF_INET6, ("::1", ask.ports["tcp6"]))
    return "connected to ::1"


def _udp(ask: ProbeRequest) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.sendto(b"hello", ("127.0.0.1", ask.ports["udp"]))
    return "sent to 127.0.0.1"


def _unix(name: str, ask: ProbeRequest) -> str:
    folder, short = os.path.split(ask.sockets[name])
    os.chdir(folder)  # the kernel allows about a hundred bytes for a socket's path
    ways = {"its path": short, "/proc/self/cwd": f"/proc/self/cwd/{short}"}
    return "connected through " + first_success(
        [(way, partial(_connect, socket.AF_UNIX, place)) for way, place in ways.items()]
    )


def _abstract(ask: ProbeRequest) -> str:
    _connect(socket.AF_UNIX, "\0" + ask.sockets["abstract"])
    return "connected"


def _daemons(ask: ProbeRequest) -> str:
    connected = [
        (place, partial(_connect, socket.AF_UNIX, place)) for place in ask.places["daemons"]
    ]
    return "connected to " + first_success(connected)


def _raw(ask: ProbeRequest) -> str:
    """Opens sockets that see or forge traffic, or speak to the kernel."""
    kinds = {
        "raw": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        "packet": (socket.AF_PACKET, socket.SOCK_RAW, 0),
    }
    opened = [(name, partial(_open_socket, kind)) for name, kind in kinds.items()]
    return f"opened a {first_success(opened)} socket"


def _open_socket(kind: tuple[int, int, int]) -> None:
    socket.socket(*kind).close()


def _signal(ask: ProbeRequest) -> str:
    os.kill(ask.pid, 0)
    os.kill(ask.pid, signal.SIGUSR1)
    return "signalled a process"


def _signal_by_descriptor(ask: ProbeRequest) -> str:
    process = os.pidfd_open(ask.pid)
    try:
        signal.pidfd_send_signal(process, signal.SIGUSR2)
    finally:
        os.close(process)
    return "signalled a process"


def _signal_by_pipe(ask: ProbeRequest) -> str:
    """Makes a pipe about which the kernel signals the process, and writes to it."""
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, ask.pid)
        fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        os.write(writer, b"news")
    finally:
        os.close(reader)
        os.close(writer)
    return "had the kernel signal a process"


def _trace(ask: ProbeRequest) -> str:
    """Stops the process and reads a word of its memory."""
    libc.ptrace.restype = ctypes.c_long
    word, nothing = ctypes.c_void_p(ask.address), ctypes.c_void_p(0)
    check_errno(libc.ptrace(PTRACE_ATTACH, ask.pid, nothing, nothing))
    try:
        os.waitpid(ask.pid, 0x40000000)  # __WALL
        peeked = libc.ptrace(PTRACE_PEEKDATA, ask.pid, word, nothing)
        content = ctypes.c_ulong(peeked).value.to_bytes(8, "little")
    finally:
        libc.ptrace(PTRACE_DETACH, ask.pid, nothing, nothing)
    return ask.found("word", content)


def _peek(ask: ProbeRequest) -> str:
    buffer = ctypes.create_string_buffer(SECRET_SIZE)
    here = _IoVector(ctypes.addressof(buffer), SECRET_SIZE)
    there = _IoVector(ask.address, SECRET_SIZE)
    read = libc.process_vm_readv
    read.restype = ctypes.c_ssize_t
    check_errno(read(ask.pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
    return ask.found("token", buffer.raw)


def _memory(ask: ProbeRequest) -> str:
    with open(f"/proc/{ask.pid}/mem", "rb", buffering=0) as file:
        file.seek(ask.address)
        return ask.found("token", file.read(SECRET_SIZE))


def _take_descriptor(ask: ProbeRequest) -> str:
    process = os.pidfd_open(ask.pid)
    try:
        taken = check_errno(libc.syscall(PIDFD_GETFD, process, ask.descriptor, 0))
        return ask.found("token", os.pread(taken, SECRET_SIZE, 0))
    finally:
        os.close(process)


def _environment_of_process(ask: ProbeRequest) -> str:
    with open(f"/proc/{ask.pid}/environ", "rb") as file:
        values = [entry.partition(b"=")[2] for entry in file.read().split(b"\0")]
    for value in values:
        with suppress(OSError):
            return ask.found("token", value)
    raise FileNotFoundError(2, "it is the environment of another process")


NETWORK_PROBES: dict[str, Probe] = {
    "tcp": _tcp,
    "tcp6": _tcp6,
    "udp": _udp,
    "socket_in_workspace": partial(_unix, "socket_in_workspace"),
    "socket_outside": partial(_unix, "socket_outside"),
    "socket_in_tool": partial(_unix, "socket_in_tool"),
    "abstract_socket": _abstract,
    "daemons": _daemons,
    "raw_sockets": _raw,
    "signal": _signal,
    "signal_by_descriptor": _signal_by_descriptor,
    "signal_by_pipe": _signal_by_pipe,
    "trace": _trace,
    "peek": _peek,
    "memory": _memory,
    "take_descriptor": _take_descriptor,
    "environment_of_process": _environment_of_process,
}


# Attempts to reach listeners in a folder that is shown: by sockets, pipes and queues.


SIZE = 4096
SHM_RDONLY, IPC_NOWAIT = 0o10000, 0o4000
MQ_OPEN, MQ_RECEIVE = {"x86_64": (240, 243)}.get(os.uname().machine, (180, 183))
FAMILIES = {"Unix": 1, "crypto": 38, "vsock": 40}
KINDS = {1: socket.SOCK_STREAM, 38: socket.SOCK_SEQPACKET, 40: socket.SOCK_STREAM}


def _datagram_by_pair(ask: ProbeRequest) -> str:
    """Sends from half of a pair of sockets, which needs no call of `socket`."""
    folder, short = os.path.split(ask.sockets["datagram_by_pair"])
    os.chdir(folder)
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"hello", short)
    return "sent a datagram"


def _families(ask: ProbeRequest) -> str:
    opened = [(name, partial(_open, number)) for name, number in FAMILIES.items()]
    return f"opened a {first_success(opened)} socket"


def _open(family: int) -> None:
    socket.socket(family, KINDS[family]).close()


def _pipe(name: str, ask: ProbeRequest) -> str:
    pipe = os.open(ask.secrets[name], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.write(pipe, b"hello")
    finally:
        os.close(pipe)
    return "wrote into a pipe"


def _shared_memory(ask: ProbeRequest) -> str:
    libc.shmat.restype = ctypes.c_void_p
    nothing = ctypes.c_void_p(0)
    address = libc.shmat(ask.shared_memory, nothing, SHM_RDONLY)
    if address in (None, ctypes.c_void_p(-1).value):
        check_errno(-1)
    try:
        return ask.found("token", ctypes.string_at(address))
    finally:
        libc.shmdt(ctypes.c_void_p(address))


def _message_queue(ask: ProbeRequest) -> str:
    buffer = ctypes.create_string_buffer(SIZE)
    word = ctypes.sizeof(ctypes.c_long)  # a message begins with its kind
    size = SIZE - word
    got = check_errno(
        libc.msgrcv(ask.message_queue, buffer, ctypes.c_size_t(size), ctypes.c_long(0), IPC_NOWAIT)
    )
    return ask.found("token", buffer.raw[word : word + got])


def _posix_queue(ask: ProbeRequest) -> str:
    named = ctypes.c_char_p(ask.secrets["posix_queue"].encode())
    queue = check_errno(libc.syscall(MQ_OPEN, named, os.O_RDONLY | os.O_NONBLOCK, 0, None))
    try:
        buffer = ctypes.create_string_buffer(SIZE)
        room = ctypes.c_size_t(SIZE)
        got = check_errno(libc.syscall(MQ_RECEIVE, queue, buffer, room, None, None))
        return ask.found("token", buffer.raw[:got])
    finally:
        os.close(queue)


IPC_PROBES: dict[str, Probe] = {
    "datagram_by_pair": _datagram_by_pair,
    "families": _families,
    "pipe_in_workspace": partial(_pipe, "pipe_in_workspace"),
    "pipe_in_tool": partial(_pipe, "pipe_in_tool"),
    "shared_memory": _shared_memory,
    "message_queue": _message_queue,
    "posix_queue": _posix_queue,
}
