"""Escape tests: what each attempt of the self-test is about, and what must be proven about it."""

from enum import StrEnum
from typing import Final

import msgspec


class EscapeOutcome(StrEnum):
    """What an attempt showed."""

    HELD = "held"
    LEAKED = "leaked"
    UNPROVEN = "unproven"  # nothing to try, or it fails without a sandbox, too: it shows nothing


class EscapeTest(msgspec.Struct, frozen=True):
    """One thing that a program inside must not manage.

    `control`: outside the sandbox it works, or its failure inside shows nothing.
    `vital`: where even the control does not work, the whole self-test shows nothing.
    `private`: it may work inside, on what is thrown away; what is seen from outside decides.
    """

    name: str
    channel: str
    tried: str
    control: bool = False
    vital: bool = False
    private: bool = False


class EscapeTestResult(msgspec.Struct, frozen=True):
    """An escape test, its outcome, and details in words."""

    trial: EscapeTest
    proof: EscapeOutcome
    detail: str = ""


UNCHANGED: Final = EscapeTest(
    "unchanged",
    "workspace",
    "change any file, time, mode or attribute by any of this",
    control=True,
    vital=True,
)

_WORKSPACE: Final = {
    "create": "make a file",
    "overwrite": "overwrite a file",
    "append": "append to a file",
    "truncate": "truncate a file",
    "delete": "delete a file",
    "rename": "rename a file",
    "make_folder": "make a folder",
    "chmod": "change a mode",
    "chown": "change an owner",
    "utime": "change a time",
    "setxattr": "set an extended attribute",
    "hard_link": "make a hard link",
    "symlink": "make a symlink",
    "fifo": "make a named pipe",
    "through_proc": "write by way of /proc (root, cwd, fd)",
    "reopen": "open a descriptor again for writing",
}
_OUTSIDE: Final = {
    "write_home": "make a file in the home folder",
    "write_state": "make a file in Assent's state",
    "write_temporary": "make a file in the machine's temporary folder",
}
_SHOWN: Final = {
    "write_system": "write to the system's folders",
    "write_etc": "write to a file in /etc",
    "write_programs": "make a file in a folder of PATH",
    "write_tool": "make a file in a toolchain",
    "write_repository": "make a file in the repository of a worktree",
    "look_around": "list /root, /var, the home or another folder that is not shown",
    "read_beside": "read a file beside the workspace",
    "device_mode": "set the mode of a device (its own mode)",
}
_MOUNTS: Final = {
    "remount": "remount the workspace writable",
    "bind": "bind a folder of the workspace",
    "mount": "mount a file system",
    "make_private": "change how mounts spread",
    "unmask": "unmount what hides secrets",
    "clone_tree": "copy and move a mount (open_tree, move_mount)",
    "mount_attributes": "take the read-only mark away (mount_setattr)",
    "new_namespace": "make a user or mount namespace",
    "enter_namespace": "enter a namespace of another process",
    "chroot": "change the root",
    "pivot_root": "swap the root",
    "device": "make a device",
}
_KERNEL: Final = {
    "proc_sys": "write a kernel setting in /proc/sys (its own value)",
    "sysrq": "open /proc/sysrq-trigger for writing",
    "sys": "open a kernel setting in /sys for writing",
    "raise_limits": "raise a limit",
    "terminal": "open the terminal",
    "type": "type into a terminal",
    "capabilities": "hold a capability",
    "new_privileges": "gain privileges from a set-user-id program",
    "refused_calls": "have a refused system call reach the kernel",
    "x32": "make a system call of the x32 interface",
    "i386": "make a 32-bit system call",
}
_NETWORK: Final = {
    "tcp": "connect to a listener on 127.0.0.1",
    "tcp6": "connect to a listener on ::1",
    "udp": "send a datagram to 127.0.0.1",
    "socket_in_workspace": "connect to a Unix socket in the workspace",
    "socket_outside": "connect to a Unix socket in the temporary folder",
    "socket_in_tool": "connect to a Unix socket that nothing hides",
    "datagram_by_pair": "send a datagram to such a socket by a pair of sockets",
    "families": "open a Unix, vsock or kernel crypto socket",
    "pipe_in_workspace": "write into a named pipe in the workspace",
    "pipe_in_tool": "write into a named pipe in a toolchain",
    "abstract_socket": "connect to an abstract Unix socket",
    "daemons": "connect to a container engine, a bus or a display",
    "raw_sockets": "open a raw or packet socket",
}
_PROCESSES: Final = {
    "descriptors": "write to a descriptor that was left open",
    "signal": "signal a process outside",
    "signal_by_descriptor": "signal a process outside by a pidfd",
    "signal_by_pipe": "have the kernel signal a process outside (F_SETOWN)",
    "trace": "trace a process outside",
    "peek": "read a process outside by process_vm_readv",
    "memory": "read a process outside by /proc/PID/mem",
    "take_descriptor": "take a descriptor of a process outside",
    "environment_of_process": "read the environment of a process outside",
    "shared_memory": "read shared memory of a process outside",
    "message_queue": "take a message from a queue outside",
    "posix_queue": "take a message from a POSIX queue outside",
}
_SECRETS: Final = {
    "read_key": "read the key that signs approvals",
    "read_log": "read Assent's log",
    "read_configuration": "read the user's configuration",
    "read_env_file": "read a .env file of the workspace",
    "read_ssh_key": "read an SSH key in the home folder",
    "read_credential": "read a login that lies in a toolchain",
    "read_tool_secret": "read a .env file in a toolchain",
    "machine_secrets": "read passwords and keys of the machine",
    "key_names": "read the names of kernel keys",
    "variable": "find a variable of the caller in any process in sight",
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
