"""The filter refuses what it says, and nothing else; run by a small machine here, and for real."""

import errno
import os
import socket
import struct
from pathlib import Path

import pytest
from tests.sandbox.profiles import Outcome, inside, needs_bubblewrap, outside, profile, python

from assent.sandbox.runner.seccomp import (
    ALWAYS_DENIED,
    DENIED_READ_ONLY,
    FAMILIES,
    NUMBERS,
    PAIRS,
    TERMINAL,
    UNIX,
    is_supported,
    seccomp_filter,
)

MARKS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMN = {"x86_64": 0, "aarch64": 1}
ALLOW, ERROR, KILL = 0x7FFF0000, 0x00050000, 0x80000000
MACHINE = os.uname().machine
LIBC = "libc = ctypes.CDLL(None, use_errno=True)\n"


def answer(code: bytes, mark: int, number: int, *arguments: int) -> int:
    """What the kernel would do: a reading of the filter, one step after the other."""
    given = struct.pack("=IIQ6Q", number, mark, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("=HBBI", code))
    at, held = 0, 0
    while True:
        what, yes, no, value = steps[at]
        at += 1
        match what:
            case 0x20:
                (held,) = struct.unpack_from("=I", given, value)
            case 0x05:
                at += value
            case 0x54:
                held &= value
            case 0x15:
                at += yes if held == value else no
            case 0x35:
                at += yes if held >= value else no
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"unknown step {what:#x}")


def refused(*, writable: bool) -> dict[str, int]:
    rows = ALWAYS_DENIED if writable else (*ALWAYS_DENIED, *DENIED_READ_ONLY)
    return {call: row.error for row in rows for call in row.calls.split()}


@pytest.mark.parametrize("machine", MARKS)
@pytest.mark.parametrize("writable", [False, True])
def test_each_number_gets_its_answer(machine: str, writable: bool) -> None:
    code = seccomp_filter(machine, writable=writable)
    errors = refused(writable=writable)
    numbers = {NUMBERS[call][COLUMN[machine]]: error for call, error in errors.items()}
    conditional = {NUMBERS[call][COLUMN[machine]] for call in ("socket", "socketpair", "ioctl")}
    for number in set(range(600)) - conditional:
        expected = ERROR | numbers[number] if number in numbers else ALLOW
        assert answer(code, MARKS[machine], number) == expected, number


@pytest.mark.parametrize("machine", MARKS)
@pytest.mark.parametrize("writable", [False, True])
def test_sockets_and_terminals_are_judged_by_their_arguments(machine: str, writable: bool) -> None:
    code, mark = seccomp_filter(machine, writable=writable), MARKS[machine]
    families = {*FAMILIES, UNIX} if writable else {*FAMILIES}
    socket, ioctl = (NUMBERS[call][COLUMN[machine]] or 0 for call in ("socket", "ioctl"))
    for family in range(64):
        expected = ALLOW if family in families else ERROR | errno.EAFNOSUPPORT
        assert answer(code, mark, socket, family) == expected
    for request in (*TERMINAL, *(r | 7 << 32 for r in TERMINAL)):  # the kernel drops the upper half
        assert answer(code, mark, ioctl, 0, request) == ERROR | errno.EPERM
    assert answer(code, mark, ioctl, 0, 0x5401) == ALLOW


@pytest.mark.parametrize("machine", MARKS)
def test_pairs_of_datagram_sockets_are_refused(machine: str) -> None:
    number = NUMBERS["socketpair"][COLUMN[machine]] or 0
    flags = (0, 0o4000, 0o2000000, 0o2004000)  # not to wait, to close on exec, both
    for kind in range(16):
        for writable in (False, True):
            code = seccomp_filter(machine, writable=writable)
            expected = ALLOW if writable or kind in PAIRS else ERROR | errno.EPERM
            found = {answer(code, MARKS[machine], number, UNIX, kind | flag) for flag in flags}
            assert found == {expected}, kind


@needs_bubblewrap
def test_half_a_pair_reaches_nobody(tmp_path: Path) -> None:
    """A read-only mount does not hold a datagram back, and no mask hides what was made late."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "ear"))
        ear.setblocking(False)
        code = (
            "import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
            f"a.sendto(b'hello', {str(tmp_path / 'ear')!r})"
        )
        assert outside(python(code)).code == 0
        assert ear.recv(9) == b"hello"
        assert b"PermissionError" in inside(profile(tmp_path), python(code)).errors
        with pytest.raises(BlockingIOError):
            ear.recv(9)


@pytest.mark.parametrize("machine", MARKS)
def test_calls_of_another_kind_of_machine_are_fatal(machine: str) -> None:
    code = seccomp_filter(machine)
    for mark in {*MARKS.values(), 0x40000003, 0x40000028} - {MARKS[machine]}:
        assert answer(code, mark, 1) == KILL
    assert answer(code, MARKS[machine], 0x40000001) == ERROR | errno.ENOSYS


def test_every_row_has_a_reason_and_known_calls() -> None:
    rows = (*ALWAYS_DENIED, *DENIED_READ_ONLY)
    named = [call for row in rows for call in row.calls.split()]
    assert sorted([*named, "ioctl", "socket", "socketpair"]) == sorted(NUMBERS)
    assert [row.calls for row in rows if not row.why.endswith(".")] == []
    assert (is_supported("x86_64"), is_supported("aarch64"), is_supported("riscv64")) == (
        True,
        True,
        False,
    )


@needs_bubblewrap
@pytest.mark.parametrize("call", sorted(refused(writable=False)))
def test_inside_the_call_is_refused(tmp_path: Path, call: str) -> None:
    number = NUMBERS[call][COLUMN[MACHINE]]
    if number is None:
        assert MACHINE == "aarch64"
        return
    code = f"libc.syscall({number}, -1, -1, -1, -1, -1, -1); print(ctypes.get_errno())"
    expected = refused(writable=False)[call]
    assert inside(profile(tmp_path), python(LIBC + code)) == Outcome(0, b"%d\n" % expected)


@needs_bubblewrap
def test_the_keys_of_the_session_cannot_be_asked_for(tmp_path: Path) -> None:
    number = NUMBERS["keyctl"][COLUMN[MACHINE]]
    code = (
        f"key = libc.syscall({number}, 0, -3, 0); print(key > 0, open('/proc/keys').read() != '')"
    )
    assert outside(python(LIBC + code)) == Outcome(0, b"True True\n")
    asked = inside(profile(tmp_path), python(LIBC + f"print(libc.syscall({number}, 0, -3, 0))"))
    assert asked == Outcome(0, b"-1\n")
    assert b"PermissionError" in inside(profile(tmp_path), python("open('/proc/keys')")).errors


PTY = """
import fcntl, pty
pid, master = pty.fork()
if pid == 0:
    try:
        fcntl.ioctl(0, 0x5412, b'x')
        os._exit(0)
    except OSError as error:
        os._exit(error.errno)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@needs_bubblewrap
def test_nobody_types_for_the_person(tmp_path: Path) -> None:
    # Newer kernels refuse it themselves, but with another error.
    assert outside(python(PTY)).output in (b"0\n", b"%d\n" % errno.EIO)
    assert inside(profile(tmp_path), python(PTY)) == Outcome(0, b"%d\n" % errno.EPERM)


@needs_bubblewrap
def test_no_socket_reaches_around_the_network_namespace(tmp_path: Path) -> None:
    code = "for f in args:\n    try: socket.socket(int(f))\n    except OSError as e: print(e.errno)"
    virtual, local = python(code, "40"), python(code, "2", "10")
    assert outside(virtual).output in (b"", b"%d\n" % errno.EAFNOSUPPORT)
    assert inside(profile(tmp_path), virtual) == Outcome(0, b"%d\n" % errno.EAFNOSUPPORT)
    assert inside(profile(tmp_path), local) == Outcome(0)
    unix = python(code, "1")
    assert inside(profile(tmp_path), unix) == Outcome(0, b"%d\n" % errno.EAFNOSUPPORT)
    assert inside(profile(tmp_path, writable=True), unix) == Outcome(0)


OLD_CALL = """
import mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')  # mov eax, 20; int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print(ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid(), flush=True)
"""


@needs_bubblewrap
def test_the_old_door_of_the_kernel_is_shut_too(tmp_path: Path) -> None:
    if MACHINE != "x86_64":
        assert MACHINE == "aarch64"  # has no such door
        return
    assert outside(python(OLD_CALL)).output in (b"True\n", b"")  # a kernel may be without it
    assert inside(profile(tmp_path), python(OLD_CALL)) == Outcome(128 + 31)
