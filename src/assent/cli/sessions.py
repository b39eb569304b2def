"""`assent sessions …`: lists, shows, changes, stops and exports sessions."""

from typing import Literal

import click

from assent.app.exports import write_new_export
from assent.app.scratch import clear_session_copy
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, OneOf, WholeNumber, examples, reference_option, with_limit
from assent.cli.output import CliOutput, current_time
from assent.cli.rewind import rewind
from assent.cli.stdin import argument_text
from assent.core.errors import IllegalState
from assent.core.session.record import SessionRecord, resume_text
from assent.core.text.hidden_chars import visible_line
from assent.render.estimate import dollars_text, estimate_text
from assent.render.lines import Line, counted, more_lines
from assent.render.rows import Row, encoded, estimate_row, session_row
from assent.render.sessions import (
    compacted_lines,
    compacted_row,
    compaction_notices,
    halted_line,
    markdown_lines,
    session_lines,
    session_list_lines,
    transcript_lines,
    with_children,
)
from assent.render.turn_changes import turn_lines, turn_list_lines, turn_row


@click.group(cls=ListGroup, epilog=examples("assent sessions list\nassent sessions show add-login"))
def sessions() -> None:
    """List, show, change and export sessions; pause, resume, cancel and retry them."""


@sessions.command(
    "list", epilog=examples("assent sessions list\nassent sessions list --all --json")
)
@with_invocation
@with_limit
def list_sessions(call: Invocation, most: int | None) -> None:
    """List sessions and their status. Newest first, children after their parents.

    What is not shown is counted, as `more` in JSON.
    """
    records = with_children(call.engine.sessions.all())
    rows = [_row(call, record) for record in records[:most]]
    more = len(records) - len(rows)
    lines = [
        *session_list_lines(rows, current_time()),
        *more_lines(more, "session", "assent sessions list"),
    ]
    call.output.answer({"sessions": rows, "more": more}, lines)


@sessions.command(epilog=examples("assent sessions show\nassent sessions show add-login"))
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@with_invocation
def show(call: Invocation, reference: str) -> None:
    """Show a session and its messages. By id, start of an id or slug (default: the last one)."""
    record = _found(call, reference)
    estimate = call.engine.estimate(record)
    row = {**_row(call, record), "estimate": estimate_row(estimate)}
    events = call.engine.sessions.events(record)
    spent = f"{dollars_text(record.cost)} spent, expected next: {estimate_text(estimate)}"
    lines = [*session_lines(row), Line("dim", spent), *transcript_lines(events)]
    call.output.answer(row, lines)


@sessions.command(
    epilog=examples(
        'assent sessions rename add-login "Logging in"\nassent sessions rename add-login'
    )
)
@click.argument("reference", metavar="ID", callback=reference_option)
@click.argument("title", required=False, default="")
@click.option("--model", default="", help="Model that suggests a title if none is given.")
@with_invocation
def rename(call: Invocation, reference: str, title: str, model: str) -> None:
    """Rename a session. Without TITLE, a model suggests one.

    The slug, which names the session's plan folder, stays.
    """
    record = _found(call, reference)
    wanted = argument_text(title)
    if not wanted:
        from assent.cli.session_turn import suggest_title

        wanted = suggest_title(call, record, model)
    _answer(call, call.engine.sessions.retitle(record, wanted))


@sessions.command(epilog=examples("assent sessions fork add-login"))
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@with_invocation
def fork(call: Invocation, reference: str) -> None:
    """Copy messages and todos to a new session. Plans, approvals and grants are not copied."""
    _answer(call, call.engine.sessions.fork(_found(call, reference)))


@sessions.command(
    epilog=examples("assent sessions compact\nassent sessions compact add-login --json")
)
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@click.option("--model", default="", help="Model that summarizes (default: the session's).")
@with_invocation
def compact(call: Invocation, reference: str, model: str) -> None:
    """Compact a session: a summary replaces older messages.

    Mode, plan, todos and approvals are kept. The messages stay in the log, but the session can no
    longer be rewound to them.
    """
    from assent.cli.session_turn import compact_session

    done = compact_session(call, _found(call, reference), model)
    row = {**_row(call, done.record), **compacted_row(done)}
    call.output.answer(row, [*session_lines(row), *compacted_lines(row)])
    call.output.warn((*call.engine.warnings, *compaction_notices(done)))


@sessions.command(epilog=examples("assent sessions export add-login --format markdown > login.md"))
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@click.option("--format", "form", type=OneOf(["json", "markdown"]), default="json")
@click.option("--out", metavar="FILE", default="", help="Output file (default: stdout).")
@with_invocation
def export(call: Invocation, reference: str, form: str, out: str) -> None:
    """Print a whole session as JSON or Markdown. With --out, write it to a file."""
    record = _found(call, reference)
    if out:
        _write(call, record, form, out)
        return
    if form == "json":
        CliOutput(as_json=True).answer(call.engine.sessions.export(record))
        return
    lines = list(markdown_lines(record, call.engine.sessions.events(record)))
    document = "\n".join(line.text for line in lines) + "\n"
    call.output.answer({"session": record.session, "markdown": document}, lines)


@sessions.command(epilog=examples("assent sessions delete add-login"))
@click.argument("reference", metavar="ID", callback=reference_option)
@with_invocation
def delete(call: Invocation, reference: str) -> None:
    """Remove a session from the lists. Its plans stay, and its runs can still be undone.

    Tool output that was kept for it, and for its children, is removed, and so are their scratch
    copies. Its messages, with the images in them, stay in the log.
    """
    record = _found(call, reference)
    family = call.engine.sessions.family(record)
    outputs = call.engine.sessions.has_outputs(record)
    _answer(call, call.engine.sessions.delete(record))
    if outputs:
        call.engine.retention.tidy()
        call.output.warn(call.engine.warnings)
    if busy := clear_session_copy(call.folder, family):
        names = ", ".join(busy)
        call.output.warn([f"Scratch copy in use, removed later: {names}"])


@sessions.command(epilog=examples('assent sessions pause add-login --reason "Not today."'))
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@click.option("--reason", default="", help="Reason to record.")
@with_invocation
def pause(call: Invocation, reference: str, reason: str) -> None:
    """Pause a session and its children. No new call starts.

    A command that it is running is stopped.
    """
    _halt(call, reference, "paused", reason)


@sessions.command(epilog=examples('assent sessions cancel add-login --reason "No longer needed."'))
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@click.option("--reason", default="", help="Reason to record.")
@with_invocation
def cancel(call: Invocation, reference: str, reason: str) -> None:
    """Cancel a session for good. Its pending questions are answered with no.

    Its changes stay and can be undone.
    """
    _halt(call, reference, "cancelled", reason)


@sessions.command(epilog=examples("assent sessions resume add-login"))
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@with_invocation
def resume(call: Invocation, reference: str) -> int:
    """Resume a session that was stopped. Same as `assent -r ID -p`."""
    record = _found(call, reference)
    words = resume_text(record)
    if words is None:
        raise IllegalState(
            f"Session {record.slug} is not paused or interrupted.",
            f'assent -r {record.slug} "what comes next"',
        )
    return _continue(call, record, words)


@sessions.command(epilog=examples("assent sessions retry add-login"))
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@with_invocation
def retry(call: Invocation, reference: str) -> int:
    """Retry the last turn. The model gets the error."""
    return _continue(call, call.engine.sessions.retry(_found(call, reference)), "")


def _continue(call: Invocation, record: SessionRecord, words: str) -> int:
    from assent.cli.session_turn import continue_session

    return continue_session(call, record, words)


sessions.add_command(rewind)


@sessions.command(
    epilog=examples("assent sessions diff add-login\nassent sessions diff add-login --turn 3")
)
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@click.option("--turn", type=WholeNumber(), metavar="N", help="Show every diff of this turn.")
@with_invocation
def diff(call: Invocation, reference: str, turn: int | None) -> None:
    """Show which files and how many lines each turn changed. With --turn, show the diffs.

    Changes by child sessions and plan builds count for the turn that started before them.
    """
    record, summary = _found(call, reference), call.engine.turn_changes
    about = {"session": record.session, "slug": record.slug}
    if turn is None:
        turns = summary.turns(record)
        rows = [turn_row(each) for each in turns]
        call.output.answer({**about, "turns": rows}, turn_list_lines(turns))
        return
    changes = summary.turn(record, turn)
    call.output.answer({**about, **turn_row(changes, diffs=True)}, turn_lines(changes))


def _write(call: Invocation, record: SessionRecord, form: str, out: str) -> None:
    """Writes a whole session to a file."""
    sessions = call.engine.sessions
    if form == "json":
        content = encoded(sessions.export(record)) + b"\n"
    else:
        lines = markdown_lines(record, sessions.events(record))
        content = "".join(f"{line.text}\n" for line in lines).encode("utf-8", "backslashreplace")
    write_new_export(call.folder, out, content)
    row = {"session": record.session, "file": out, "size": len(content)}
    told = f"Wrote {visible_line(argument_text(out))} ({counted(len(content), 'byte')})."
    call.output.answer(row, [Line("plain", told)])


def _halt(
    call: Invocation, reference: str, how: Literal["paused", "cancelled"], reason: str
) -> None:
    record = _found(call, reference)
    worked = call.engine.sessions.now(record).working
    halted = call.engine.sessions.halt(record, how, argument_text(reason))
    row = _row(call, halted)
    way_on = f"assent sessions resume {halted.slug}"
    lines = [*session_lines(row, way_on), halted_line(how, working=worked)]
    call.output.answer({**row, "next": way_on}, lines)


def _found(call: Invocation, reference: str) -> SessionRecord:
    sessions = call.engine.sessions
    return sessions.find(reference) if reference else sessions.last()


def _row(call: Invocation, record: SessionRecord) -> Row:
    """Returns a session as it is at this moment."""
    sessions = call.engine.sessions
    return session_row(
        sessions.now(record), sessions.failure(record), sessions.missing_mode(record)
    )


def _answer(call: Invocation, record: SessionRecord) -> None:
    row = _row(call, record)
    call.output.answer(row, session_lines(row))
