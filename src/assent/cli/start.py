"""`assent init`: makes a folder a workspace."""

from importlib.resources import files

import click

from assent.cli.call import Call, examples, takes_call
from assent.views.lines import Line


@click.command(epilog=examples("assent init\nassent init -C ~/src/project"))
@takes_call
def init(call: Call) -> None:
    """Make this folder a workspace: .opencode/plans, its state folder, and a plan agent."""
    agent = (files("assent") / "agents" / "plan.md").read_bytes()
    wrote = call.engine.init(agent)
    what = "written" if wrote else "left as it was"
    call.output.answer(
        {"agent_written": wrote},
        [Line("plain", f"Ready. .opencode/agents/plan.md was {what}."), Line("dim", NEXT)],
    )


NEXT = '  next: assent plan new NAME --goal "What should be true afterwards"'
