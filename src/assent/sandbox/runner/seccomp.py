"""The seccomp filter: which system calls are refused inside the sandbox."""

import errno
import struct

import msgspec


class DeniedSyscalls(msgspec.Struct, frozen=True):
    """System calls that return an error, and why no ordinary program needs them."""

    calls: str
    error: int
    why: str


# Numbers on x86_64 and on aarch64; None where the machine has no such call.
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "ioctl": (16, 29),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
}

ALWAYS_DENIED = (
    DeniedSyscalls(
        "add_key request_key keyctl",
        errno.EPERM,
        "The keyring of the user's session is inherited, and no namespace hides it.",
    ),
    DeniedSyscalls(
        "mount umount2 pivot_root open_tree move_mount fsopen fsconfig fsmount fspick "
        "mount_setattr open_tree_attr",
        errno.EPERM,
        "What is visible is decided before the program starts.",
    ),
    DeniedSyscalls("open_by_handle_at", errno.EPERM, "It opens files despite every mask."),
    DeniedSyscalls(
        "ptrace process_vm_readv process_vm_writev",
        errno.EPERM,
        "Planning needs no debugging, and programs of one call must not access each other.",
    ),
    DeniedSyscalls(
        "bpf perf_event_open kexec_load kexec_file_load init_module finit_module delete_module",
        errno.EPERM,
        "They affect the kernel of the whole machine.",
    ),
    DeniedSyscalls(
        "memfd_create memfd_secret",
        errno.ENOSYS,
        "Memory that is not counted for any process; libraries work without it.",
    ),
    DeniedSyscalls(
        "userfaultfd io_uring_setup io_uring_enter io_uring_register",
        errno.ENOSYS,
        "A large attack surface of the kernel; libraries that use it work without it.",
    ),
)

# Device nodes in the sandbox are those of the machine, on mounts that cannot be made read-only
# without making the devices useless; root owns them and could change their mode for everybody.
# In a writable workspace modes have to change, so there a program that root starts still could.
DENIED_READ_ONLY = (
    DeniedSyscalls(
        "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat "
        "utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr setxattrat "
        "removexattrat file_setattr",
        errno.EROFS,
        "A read-only program changes no mode, owner, time or attribute.",
    ),
)

TERMINAL = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into a terminal as if the user did

# A network namespace does not restrict other families: AF_VSOCK reaches a virtual machine's host,
# and a Unix socket any listener in a folder that is shown, through any read-only mount.
FAMILIES = (0, 2, 10, 16)  # unspecified, IPv4, IPv6, netlink
UNIX = 1  # for builds, which talk to their own parts; who only looks needs none

# Half of a pair of datagram sockets can send to any other; these two only know each other.
PAIRS = (1, 5)  # streams, and sequences of packets
_KIND = 0xF  # the rest of the number are flags

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000  # calls of the x32 interface have their own numbers from here on

_LOAD, _AND, _JUMP, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
_KILL, _ERROR, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets of what a filter may look at

_Step = tuple[int, int, int, int]  # what to do, steps to skip if so, if not, with which value


def is_supported(machine: str) -> bool:
    """Tells whether a filter can be made for this kind of machine."""
    return machine in _MACHINES


def seccomp_filter(machine: str, *, writable: bool = False, unix: bool | None = None) -> bytes:
    """Returns the filter for the kernel; calls for another architecture are fatal.

    Without `unix`, which comes with a writable workspace, Unix sockets are refused.
    """
    column, mark = _MACHINES[machine]
    unix = writable if unix is None else unix
    refusals = ALWAYS_DENIED if writable else (*ALWAYS_DENIED, *DENIED_READ_ONLY)
    steps: list[_Step] = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, mark),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
    ]
    for refusal in refusals:
        numbers = [NUMBERS[call][column] for call in refusal.calls.split()]
        steps += _refuse([n for n in numbers if n is not None], refusal.error)
    families = (*FAMILIES, UNIX) if unix else FAMILIES
    steps += _only_if(NUMBERS["socket"][column], _families(families))
    if not unix:
        steps += _only_if(NUMBERS["socketpair"][column], _pairs())
    steps += _only_if(NUMBERS["ioctl"][column], _terminal())
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _refuse(numbers: list[int], error: int) -> list[_Step]:
    """Returns one comparison for each number, followed by their common answer."""
    steps = [(_EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    return [*steps, (_JUMP, 0, 0, 1), (_RETURN, 0, 0, _ERROR | error)]


def _only_if(number: int | None, steps: list[_Step]) -> list[_Step]:
    return [(_EQUAL, 0, len(steps), number or 0), *steps]


def _families(families: tuple[int, ...]) -> list[_Step]:
    allowed = [(_EQUAL, len(families) - i, 0, family) for i, family in enumerate(families)]
    answer = [(_RETURN, 0, 0, _ERROR | errno.EAFNOSUPPORT), (_RETURN, 0, 0, _ALLOW)]
    return [(_LOAD, 0, 0, _FIRST), *allowed, *answer]


def _pairs() -> list[_Step]:
    allowed = [(_EQUAL, len(PAIRS) - i, 0, kind) for i, kind in enumerate(PAIRS)]
    answer = [(_RETURN, 0, 0, _ERROR | errno.EPERM), (_RETURN, 0, 0, _ALLOW)]
    return [(_LOAD, 0, 0, _SECOND), (_AND, 0, 0, _KIND), *allowed, *answer]


def _terminal() -> list[_Step]:
    refused = [(_EQUAL, len(TERMINAL) - i, 0, request) for i, request in enumerate(TERMINAL)]
    answer = [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | errno.EPERM)]
    return [(_LOAD, 0, 0, _SECOND), *refused, *answer]
