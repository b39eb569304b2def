"""What `assent sessions` needs a model for: to go on with a session, and to suggest a title."""

from contextlib import closing

from assent.agent.loop.loop import session_title
from assent.app.models import open_models
from assent.cli.goal.command import run_goal
from assent.cli.goal.options import Goal
from assent.cli.invocation import Invocation
from assent.core.session.record import SessionRecord


def continue_session(call: Invocation, record: SessionRecord, words: str) -> int:
    """Lets the model work, like the command line of a goal."""
    goal = Goal(
        words=words, folder=call.folder, headless=True, resume=record.session,
        form="json" if call.output.as_json else "text", no_input=call.no_input,
    )  # fmt: skip
    return run_goal(goal, call.output)


def suggest_title(call: Invocation, record: SessionRecord, model: str) -> str:
    """Asks a model for a title of a session."""
    models, warnings = open_models(call.folder)
    call.output.warn(warnings)
    with closing(models):
        opened = models.open(model or record.model)
        return session_title(opened.model, call.engine.sessions.transcript(record).messages)
