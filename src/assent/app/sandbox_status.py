"""What is known about the sandbox, without opening or trying anything."""

from assent.app.settings import user_paths
from assent.core.shell.process import SandboxState, SandboxStatus
from assent.sandbox.running.tool import find_tool
from assent.sandbox.trial.install import install
from assent.sandbox.trial.kept import FILE, known


def known_sandbox_status() -> SandboxStatus | None:
    """Tells what the last self-test found; None before the first."""
    tool = find_tool()
    if tool is None:
        return SandboxStatus(
            SandboxState.NONE, "bubblewrap is not installed.", install("bubblewrap")
        )
    return known(user_paths().state / FILE, tool)
