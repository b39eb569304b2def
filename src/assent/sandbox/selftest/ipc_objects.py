"""Shared memory and message queues outside the sandbox, with a secret in each."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

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
    """The numbers of what was made; -1 for what this machine does not have."""

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
