"""Attempts to talk to whoever listens in a folder that is shown: by sockets, pipes and queues."""

import ctypes
import os
import socket
from functools import partial

from assent.sandbox.selftest.probes.request import (
    Probe,
    ProbeRequest,
    check_errno,
    first_success,
    libc,
)

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
