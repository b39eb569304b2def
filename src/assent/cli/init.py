"""`assent init`: makes a folder a workspace."""

from typing import Final

import click

from assent.agent.project_files import AgentFileStatus
from assent.app.workspace_files import packaged_agent
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.render.lines import Line


@click.command(epilog=examples("assent init\nassent init -C ~/src/project"))
@with_invocation
def init(call: Invocation) -> None:
    """Set up this folder as a workspace: .opencode/plans, its state folder, and a plan agent."""
    agent = call.engine.init(packaged_agent())
    call.output.answer(
        {"agent": agent, "agent_written": agent in ("written", "updated")},
        [
            Line(
                "plain", f"Workspace ready. .opencode/agents/plan.md {AGENT_FILE_MESSAGES[agent]}"
            ),
            Line("dim", NEXT),
        ],
    )


NEXT = '  next: assent plan new NAME --goal "What to achieve"'
AGENT_FILE_MESSAGES: Final[dict[AgentFileStatus, str]] = {
    "written": "was created.",
    "updated": "was updated to the current version.",
    "current": "is up to date.",
    "changed_by_person": "has your own changes and was kept; to restore the default, delete it "
    "and run this again.",
}
