"""Escape tests: what each attempt of the self-test is about, and what has to be proved."""

from enum import StrEnum
from typing import Final

import msgspec


class EscapeOutcome(StrEnum):
    """The outcome of an attempt."""

    HELD = "held"
    LEAKED = "leaked"
    UNPROVEN = "unproven"  # nothing to try, or it fails without a sandbox, too: it shows nothing


class EscapeTest(msgspec.Struct, frozen=True):
    """One thing that a program inside must not be able to do.

    `control`: it must work outside the sandbox, or its failure inside proves nothing. `vital`: if
    even the control fails, the whole self-test proves nothing. `private`: it may work inside, on
    what is thrown away; what is seen from outside decides.
    """

    name: str
    channel: str
    tried: str
    control: bool = False
    vital: bool = False
    private: bool = False


class EscapeTestResult(msgspec.Struct, frozen=True):
    """An escape test, its outcome, and details."""

    trial: EscapeTest
    proof: EscapeOutcome
    detail: str = ""


UNCHANGED: Final = EscapeTest(
    "unchanged",
    "workspace",
    "change any file, time, mode or attribute in any of these ways",
    control=True,
    vital=True,
)

_WORKSPACE: Final = {
    "create": "create a file",
    "overwrite": "overwrite a file",
    "append": "append to a file",
    "truncate": "truncate a file",
    "delete": "delete a file",
    "rename": "rename a file",
    "make_folder": "create a folder",
    "chmod": "change a mode",
    "chown": "change an owner",
    "utime": "change a time",
    "setxattr": "set an extended attribute",
    "hard_link": "create a hard link",
    "symlink": "create a symlink",
    "fifo": "create a named pipe",
    "through_proc": "write through /proc (root, cwd, fd)",
    "reopen": "reopen a descriptor for writing",
}
_OUTSIDE: Final = {
    "write_home": "create a file in the home folder",
    "write_state": "create a file in Assent's state",
    "write_temporary": "create a file in the machine's temporary folder",
}
_SHOWN: Final = {
    "write_system": "write to system folders",
    "write_etc": "write to a file in /etc",
    "write_programs": "create a file in a PATH folder",
    "write_tool": "create a file in a toolchain",
    "write_repository": "create a file in the repository of a worktree",
    "look_around": "list /root, /var, the home folder or another hidden folder",
    "read_beside": "read a file next to the workspace",
    "device_mode": "set the mode of a device (to its current mode)",
}
_MOUNTS: Final = {
    "remount": "remount the workspace writable",
    "bind": "bind a folder of the workspace",
    "mount": "mount a file system",
    "make_private": "change mount propagation",
    "unmask": "unmount what hides secrets",
    "clone_tree": "copy and move a mount (open_tree, move_mount)",
    "mount_attributes": "remove the read-only flag (mount_setattr)",
    "new_namespace": "create a user or mount namespace",
    "enter_namespace": "enter a namespace of another process",
    "chroot": "change the root",
    "pivot_root": "swap the root (pivot_root)",
    "device": "create a device",
}
_KERNEL: Final = {
    "proc_sys": "write a kernel setting in /proc/sys (its current value)",
    "sysrq": "open /proc/sysrq-trigger for writing",
    "sys": "open a kernel setting in /sys for writing",
    "raise_limits": "raise a limit",
    "terminal": "open the terminal",
    "type": "type into a terminal",
    "capabilities": "hold a capability",
    "new_privileges": "gain privileges from a setuid program",
    "refused_calls": "get a denied system call through to the kernel",
    "x32": "make an x32 system call",
    "i386": "make a 32-bit system call",
}
_NETWORK: Final = {
    "tcp": "connect to a listener on 127.0.0.1",
    "tcp6": "connect to a listener on ::1",
    "udp": "send a datagram to 127.0.0.1",
    "socket_in_workspace": "connect to a Unix socket in the workspace",
    "socket_outside": "connect to a Unix socket in the temporary folder",
    "socket_in_tool": "connect to a Unix socket that is not hidden",
    "datagram_by_pair": "send a datagram to such a socket through a socket pair",
    "families": "open a Unix, vsock or kernel crypto socket",
    "pipe_in_workspace": "write into a named pipe in the workspace",
    "pipe_in_tool": "write into a named pipe in a toolchain",
    "abstract_socket": "connect to an abstract Unix socket",
    "daemons": "connect to a container engine, a bus or a display",
    "raw_sockets": "open a raw or packet socket",
}
_PROCESSES: Final = {
    "descriptors": "write to a descriptor that was left open",
    "signal": "signal an outside process",
    "signal_by_descriptor": "signal an outside process through a pidfd",
    "signal_by_pipe": "have the kernel signal an outside process (F_SETOWN)",
    "trace": "trace an outside process",
    "peek": "read an outside process with process_vm_readv",
    "memory": "read an outside process through /proc/PID/mem",
    "take_descriptor": "take a descriptor from an outside process",
    "environment_of_process": "read the environment of an outside process",
    "shared_memory": "read shared memory of an outside process",
    "message_queue": "take a message from an outside queue",
    "posix_queue": "take a message from an outside POSIX queue",
}
_SECRETS: Final = {
    "read_key": "read the key that signs approvals",
    "read_log": "read Assent's log",
    "read_configuration": "read the user config",
    "read_env_file": "read a .env file of the workspace",
    "read_ssh_key": "read an SSH key in the home folder",
    "read_credential": "read a login in a toolchain",
    "read_tool_secret": "read a .env file in a toolchain",
    "machine_secrets": "read passwords and keys of the machine",
    "key_names": "read the names of kernel keys",
    "variable": "find a variable of the caller in any visible process",
    "keyring": "read a key from the kernel's session keyring",
}

# Outside the sandbox these need rights or things that a machine may not have.
_CALLS: Final = frozenset({"type", "refused_calls", "i386"})
_WITHOUT_CONTROL: Final = frozenset(
    {*_MOUNTS, *_KERNEL, "daemons", "raw_sockets", "write_system", "write_etc"} - _CALLS
)
_VITAL: Final = frozenset(
    {"create", "overwrite", "delete", "chmod", "tcp", "signal", "read_key", "read_env_file"}
)
_PRIVATE: Final = frozenset({*_OUTSIDE, "udp", "signal", "signal_by_descriptor", "signal_by_pipe"})

APPROVE: Final = EscapeTest(
    "approve", "approval", "run `assent approve` with the plan's digest", control=True
)


def _trials(channel: str, words: dict[str, str]) -> list[EscapeTest]:
    return [
        EscapeTest(
            name,
            channel,
            tried,
            control=name not in _WITHOUT_CONTROL,
            vital=name in _VITAL,
            private=name in _PRIVATE,
        )
        for name, tried in words.items()
    ]


ESCAPE_TESTS: Final = (
    *_trials("workspace", _WORKSPACE),
    *_trials("outside", _OUTSIDE),
    *_trials("shown", _SHOWN),
    *_trials("mounts", _MOUNTS),
    *_trials("kernel", _KERNEL),
    *_trials("network", _NETWORK),
    *_trials("processes", _PROCESSES),
    *_trials("secrets", _SECRETS),
)
