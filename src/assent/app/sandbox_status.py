"""What the last self-test found out about the sandbox, without running anything."""

from assent.app.settings import user_paths
from assent.core.shell.process import SandboxState, SandboxStatus
from assent.sandbox.runner.bwrap_program import find_bwrap
from assent.sandbox.selftest.package_install import install_command
from assent.sandbox.selftest.status_cache import FILE, cached_status


def known_sandbox_status() -> SandboxStatus | None:
    """Tells what the last self-test found; None before the first."""
    tool = find_bwrap()
    if tool is None:
        return SandboxStatus(
            SandboxState.NONE, "bubblewrap is not installed.", install_command("bubblewrap")
        )
    return cached_status(user_paths().state / FILE, tool)
