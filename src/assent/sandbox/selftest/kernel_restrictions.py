"""Kernel restrictions: why bubblewrap is here and cannot start, and what allows it."""

from pathlib import Path
from typing import Final

import msgspec

from assent.core.shell.process import SandboxState, SandboxStatus


class KernelRestriction(msgspec.Struct, frozen=True):
    """A setting that forbids what the sandbox needs, and what to type about it."""

    file: str
    value: str
    words: str
    next: str


# The first that applies is named. An empty value means that the file's being there is enough.
KERNEL_RESTRICTIONS: Final = (
    KernelRestriction(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor forbids user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1)",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    KernelRestriction(
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "the system forbids user namespaces (kernel.unprivileged_userns_clone = 0)",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    KernelRestriction(
        "/proc/sys/user/max_user_namespaces",
        "0",
        "the system forbids user namespaces (user.max_user_namespaces = 0)",
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
    KernelRestriction(
        "/.dockerenv",
        "",
        "this is a container, whose engine may forbid namespaces; docker allows them with "
        "`--security-opt seccomp=unconfined --security-opt systempaths=unconfined`",
        "",
    ),
    KernelRestriction(
        "/run/.containerenv",
        "",
        "this is a container, whose engine may forbid namespaces; podman allows them with "
        "`--security-opt seccomp=unconfined --security-opt unmask=ALL`",
        "",
    ),
)
_LONGEST: Final = 300


def restricted_status(said: str, top: Path = Path("/")) -> SandboxStatus:
    """Returns the standing of a machine where bubblewrap does not start, with what it said."""
    words = " ".join(said.split())[:_LONGEST] or "it said nothing"
    for one in KERNEL_RESTRICTIONS:
        if _applies(top / one.file.lstrip("/"), one.value):
            reason = f"bubblewrap cannot start here: {one.words}. It said: {words}"
            return SandboxStatus(SandboxState.NONE, reason, one.next)
    return SandboxStatus(
        SandboxState.NONE, f"bubblewrap cannot start here. It said: {words}", "assent doctor"
    )


def _applies(file: Path, value: str) -> bool:
    try:
        return not value or file.read_text("utf-8").strip() == value if file.exists() else False
    except OSError:
        return False
