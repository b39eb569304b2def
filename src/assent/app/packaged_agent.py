"""The packaged definition of the plan agent, for `init` and for the start of a session."""

import os


def packaged_agent() -> bytes:
    """Returns the file that a workspace gets as .opencode/agents/plan.md."""
    folder = os.path.dirname(os.path.dirname(__file__))
    path = os.path.join(folder, "agents", "opencode-plan.md")
    content: bytes = __spec__.loader.get_data(path)  # type: ignore[union-attr]
    return content
