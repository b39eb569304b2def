"""`assent sessions …`: conversations with the model, and what is in them."""

from contextlib import closing

import click

from assent.cli.call import Call, examples, takes_call
from assent.cli.output import Output
from assent.cli.source import text
from assent.core.session import SessionRecord
from assent.views.sessions import (
    markdown_lines,
    said_lines,
    session_lines,
    session_list_lines,
    session_row,
)


@click.group()
def sessions() -> None:
    """List, show, rename, fork, export and delete sessions."""


@sessions.command("list", epilog=examples("assent sessions list\nassent sessions list --json"))
@takes_call
def list_sessions(call: Call) -> None:
    """List the sessions, newest first."""
    rows = [session_row(record) for record in call.engine.sessions.all()]
    call.output.answer({"sessions": rows}, session_list_lines(rows))


@sessions.command(epilog=examples("assent sessions show\nassent sessions show add-login"))
@click.argument("reference", metavar="ID", required=False, default="")
@takes_call
def show(call: Call, reference: str) -> None:
    """Show a session and all that was said: by id, start of an id or slug; else the last one."""
    record = _found(call, reference)
    row = session_row(record)
    events = call.engine.sessions.events(record)
    call.output.answer(row, [*session_lines(row), *said_lines(events)])


@sessions.command(
    epilog=examples(
        'assent sessions rename add-login "Logging in"\nassent sessions rename add-login'
    )
)
@click.argument("reference", metavar="ID")
@click.argument("title", required=False, default="")
@click.option("--model", default="", help="The model that finds a title where none is given.")
@takes_call
def rename(call: Call, reference: str, title: str, model: str) -> None:
    """Give a session another title; without TITLE a model is asked for one.

    The session's slug, which names its folder of plans, stays.
    """
    record = _found(call, reference)
    wanted = text(title) or _invented(call, record, model)
    _answer(call, call.engine.sessions.retitle(record, wanted))


@sessions.command(epilog=examples("assent sessions fork add-login"))
@click.argument("reference", metavar="ID", required=False, default="")
@takes_call
def fork(call: Call, reference: str) -> None:
    """Copy words and todos into a new session. Plans, approvals and grants stay behind."""
    _answer(call, call.engine.sessions.fork(_found(call, reference)))


@sessions.command(epilog=examples("assent sessions export add-login --format markdown > login.md"))
@click.argument("reference", metavar="ID", required=False, default="")
@click.option("--format", "form", type=click.Choice(["json", "markdown"]), default="json")
@takes_call
def export(call: Call, reference: str, form: str) -> None:
    """Print a whole session, as JSON or as a document."""
    record = _found(call, reference)
    if form == "json":
        Output(as_json=True).answer(call.engine.sessions.export(record))
        return
    lines = list(markdown_lines(record, call.engine.sessions.events(record)))
    document = "\n".join(line.text for line in lines) + "\n"
    call.output.answer({"session": record.session, "markdown": document}, lines)


@sessions.command(epilog=examples("assent sessions delete add-login"))
@click.argument("reference", metavar="ID")
@takes_call
def delete(call: Call, reference: str) -> None:
    """Take a session off the lists. Its plans stay, and its runs can still be undone."""
    _answer(call, call.engine.sessions.delete(_found(call, reference)))


def _found(call: Call, reference: str) -> SessionRecord:
    sessions = call.engine.sessions
    return sessions.find(reference) if reference else sessions.last()


def _answer(call: Call, record: SessionRecord) -> None:
    row = session_row(record)
    call.output.answer(row, session_lines(row))


def _invented(call: Call, record: SessionRecord, model: str) -> str:
    from assent.app.models import open_models
    from assent.drivers.native.title import title

    models, warnings = open_models(call.folder)
    call.output.warn(warnings)
    with closing(models):
        opened = models.open(model or record.model)
        return title(opened.model, call.engine.sessions.transcript(record).messages)
