"""What `assent sessions` needs a model for: to continue, compact or name a session."""

from contextlib import closing

from assent.agent.loop.context import estimated_tokens
from assent.agent.loop.loop import session_title
from assent.app.models import open_models
from assent.app.session import SessionOptions, open_session_runtime
from assent.cli.asker import DenyingAsker
from assent.cli.goal.command import run_goal
from assent.cli.goal.options import Goal
from assent.cli.invocation import Invocation
from assent.cli.terminal import interruptible
from assent.core.event import StoredEvent
from assent.core.session.event import Compacted, ResultsPruned
from assent.core.session.record import SessionRecord
from assent.render.sessions import CompactionReport


def continue_session(call: Invocation, record: SessionRecord, words: str) -> int:
    """Lets the model work, like the command line of a goal."""
    goal = Goal(
        words=words, folder=call.folder, headless=True, resume=record.session,
        form="json" if call.output.as_json else "text", no_input=call.no_input,
    )  # fmt: skip
    return run_goal(goal, call.output)


def compact_session(call: Invocation, record: SessionRecord, model: str) -> CompactionReport:
    """Has a model summarize the older messages of a session."""
    sessions, before = call.engine.sessions, _tokens(call, record)
    wanted = SessionOptions(model or None)
    results, summary = 0, ""
    with interruptible():
        work = open_session_runtime(call.folder, DenyingAsker(), wanted, call.engine)
        call.output.warn(work.warnings)
        try:
            for heard in sessions.compact(record, work.driver, work.tools, model):
                match heard:
                    case StoredEvent(event=ResultsPruned(results=count)):
                        results += count
                    case StoredEvent(event=Compacted(summary=text)):
                        summary = text
                    case _:
                        pass
        finally:
            work.end()
            work.models.close()
    record = sessions.load(record.session)
    return CompactionReport(record, before, _tokens(call, record), results, summary)


def _tokens(call: Invocation, record: SessionRecord) -> int:
    """Returns roughly how many tokens the messages of a session have."""
    return sum(map(estimated_tokens, call.engine.sessions.transcript(record).messages))


def suggest_title(call: Invocation, record: SessionRecord, model: str) -> str:
    """Asks a model for a title of a session."""
    models, warnings = open_models(call.folder)
    call.output.warn(warnings)
    with closing(models):
        opened = models.open(model or record.model)
        return session_title(opened.model, call.engine.sessions.transcript(record).messages)
