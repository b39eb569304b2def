"""`assent sessions rewind`: back to an earlier message, with or without the files."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from assent.cli.approval_prompt import ApprovalPromptOptions, prompt_for_approval
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples, reference_option
from assent.cli.run_driver import recover_first, run_and_answer, undo_answer
from assent.cli.stdin import argument_text
from assent.cli.terminal import has_terminal
from assent.core.errors import Declined, Drift, Refused, StoreError, UsageError
from assent.core.run.journal import DONE
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import UserMessage
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line
from assent.render.review import Review
from assent.render.rows import Row, session_row
from assent.render.sessions import (
    rewind_point_lines,
    rewind_point_rows,
    rewound_lines,
    rewound_row,
    session_lines,
)
from assent.render.undo import undo_lines
from assent.runs.run_rows import undo_row
from assent.runs.run_status import RunReport
from assent.runs.undo.service import UndoPlan

if TYPE_CHECKING:
    from assent.agent.rewind import RewindPreview
    from assent.agent.rewind_files import FileRewind

NOT_REWOUND = "The session was not rewound."


@click.command(
    epilog=examples(
        "assent sessions rewind add-login\nassent sessions rewind add-login --list\n"
        "assent sessions rewind add-login --to 01k9 --dry-run\n"
        "assent sessions rewind add-login --to 01k9 --files --digest 3f2a...\n"
        "assent sessions rewind add-login --keep-files"
    )
)
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@click.option(
    "--to", "message", default="", metavar="MESSAGE", help="Id of the message to rewind to."
)
@click.option("--list", "listing", is_flag=True, help="Only list your messages, with ids.")
@click.option("--files", is_flag=True, help="Also undo everything that was changed since.")
@click.option("--keep-files", is_flag=True, help="Rewind the conversation only; files stay.")
@click.option("--dry-run", is_flag=True, help="Only show what would be rewound and undone.")
@click.option("--digest", default="", help="Digest of the undo plan to approve.")
@with_invocation
def rewind(
    call: Invocation,
    reference: str,
    message: str,
    listing: bool,
    files: bool,
    keep_files: bool,
    dry_run: bool,
    digest: str,
) -> int:
    """Rewind to an earlier message. Without --to, to before your last one.

    That message and everything after it leave the model's context; the log is kept. With --files,
    everything that later turns, their commands and the builds of the session's plans changed is
    undone by one plan that you approve first; files that changed since are skipped and listed. A
    terminal asks you if there is anything to undo; elsewhere, and with --keep-files, files stay as
    they are and later runs are listed for `assent undo`.
    """
    _check_options(call, files=files or bool(digest), keep_files=keep_files, digest=digest,
                   dry_run=dry_run)  # fmt: skip
    sessions = call.engine.sessions
    record = sessions.find(reference) if reference else sessions.last()
    if listing:
        rows = rewind_point_rows(sessions.messages(record))
        about = {"session": record.session, "slug": record.slug}
        call.output.answer({**about, "messages": rows}, rewind_point_lines(rows))
        return 0
    spoken = sessions.user_message(record, argument_text(message))
    if dry_run:
        return _preview(call, record, spoken)
    asked = not call.no_input and has_terminal()
    if files or digest or (asked and not keep_files):
        return _with_files(call, record, spoken, digest)
    return _conversation_only(call, record, spoken)


def _check_options(
    call: Invocation, *, files: bool, keep_files: bool, digest: str, dry_run: bool
) -> None:
    if files and keep_files:
        raise UsageError("Pass --files or --keep-files, not both.", f"{call.command} --help")
    if dry_run and digest:
        raise UsageError("Pass --dry-run or --digest, not both.", f"{call.command} --help")


def _conversation_only(call: Invocation, record: SessionRecord, spoken: UserMessage) -> int:
    sessions = call.engine.sessions
    since = sessions.since(record, spoken.id)
    row = {**_rewound(call, sessions.rewind(record, spoken.id), spoken, since), "files": "kept"}
    call.output.answer(row, [*session_lines(row), *rewound_lines(row)])
    return 0


def _preview(call: Invocation, record: SessionRecord, spoken: UserMessage) -> int:
    """Shows what the model would forget, and the undo plan of everything since."""
    call.engine.runs.record_lost_command()  # else an undo would later be about more than was shown
    shown = call.engine.file_rewinds.preview(record, spoken.id)
    since = call.engine.sessions.since(record, spoken.id)
    diffs = _diffs(call, shown.undo)
    row = {**_rewound(call, record, spoken, since), "files": "kept", "dry_run": True}
    row |= {"undo": _undo_row(shown.undo, diffs), "next": _ways(shown)}
    lines = [*rewound_lines({**row, "files": "restored"}, would=True), BLANK]
    lines += _undo_lines(shown.undo, diffs)
    lines += [Line("plain", f"Without files: {visible_line(shown.keep_files)}")]
    call.output.answer(row, lines)
    return 0


def _with_files(call: Invocation, record: SessionRecord, spoken: UserMessage, digest: str) -> int:
    """Has the user approve the undo of everything since, applies it, and rewinds."""
    with call.engine.sessions.rewinding(record):
        pass  # what cannot be rewound now is said before anything is asked
    taken_up = recover_first(call)
    shown = call.engine.file_rewinds.preview(record, spoken.id)
    if shown.is_blocked:
        return _blocked(call, shown)
    if not shown.has_files:
        return _completed(call, shown, taken_up)
    wanted = shown.undo.plan.digest
    manner = ApprovalPromptOptions(shown.undo.command, f"{shown.undo.command} --dry-run")
    try:
        channel = prompt_for_approval(
            call, wanted, digest, lambda: _review(call, shown.undo), manner
        )
    except Declined as no:
        words = f"{no.message} {NOT_REWOUND} To rewind without files: {shown.keep_files}."
        raise Declined(words, no.next) from None
    since = call.engine.sessions.since(record, spoken.id)

    def tell(call: Invocation, report: RunReport) -> int:
        code = _answer(call, shown, since, report)
        call.engine.retention.retain(daily=True)
        return code

    return run_and_answer(call, call.engine.file_rewinds.apply(shown, channel), tell)


def _completed(call: Invocation, shown: "FileRewind", taken_up: RunReport | None) -> int:
    """Rewinds where no file is to be undone, or a rewind that died has restored them already."""
    found = call.engine.undo.recorded(taken_up) if taken_up else None
    if found is not None and found[0].target.rewound_to == shown.message.id:
        since = call.engine.sessions.since(shown.session, shown.message.id)
        call.engine.sessions.rewind(shown.session, shown.message.id)
        return _answer(call, shown, since, found[1], found[0])
    sessions = call.engine.sessions
    since = sessions.since(shown.session, shown.message.id)
    back = sessions.rewind(shown.session, shown.message.id)
    row = {**_rewound(call, back, shown.message, since), "undo": _undo_row(shown.undo)}
    row["files"] = "restored" if shown.completes else "unchanged"
    lines = [*session_lines(row), *rewound_lines(row)]
    if shown.undo.extent.gaps or shown.undo.inversion.skipped:
        lines += [BLANK, *_undo_lines(shown.undo)]
    call.output.answer(row, lines)
    return 0


def _answer(
    call: Invocation,
    shown: "FileRewind",
    since: "RewindPreview",
    report: RunReport,
    undo: UndoPlan | None = None,
) -> int:
    """Says how the undo ended, and whether the session was rewound with it."""
    result, told, code = undo_answer(call, undo or shown.undo, report)
    back = call.engine.sessions.load(shown.session.session)
    done = report.outcome in DONE
    row = {**_rewound(call, back, shown.message, since), "files": "restored" if done else "kept"}
    row |= {"undo": {**_undo_row(undo or shown.undo), "result": result}}
    if done:
        lines = [*session_lines(row), *rewound_lines(row), BLANK, *told]
    else:
        row |= {"rewound_to": None, "next": [shown.keep_files]}
        lines = [*told, Line("risk", NOT_REWOUND)]
        lines += [Line("plain", f"Without files: {visible_line(shown.keep_files)}")]
    call.output.answer(row, lines)
    return code


def _blocked(call: Invocation, shown: "FileRewind") -> int:
    """Says that nothing since can be undone, and why; then the session is not rewound either."""
    since = call.engine.sessions.since(shown.session, shown.message.id)
    row = {**_rewound(call, shown.session, shown.message, since), "files": "kept"}
    row |= {"rewound_to": None, "undo": _undo_row(shown.undo), "next": [shown.keep_files]}
    lines = [*_undo_lines(shown.undo), Line("risk", NOT_REWOUND)]
    call.output.answer(row, [*lines, Line("plain", f"Next: {visible_line(shown.keep_files)}")])
    return Drift.exit if shown.undo.inversion.conflicts else Refused.exit


def _rewound(
    call: Invocation, record: SessionRecord, spoken: UserMessage, since: "RewindPreview"
) -> Row:
    sessions = call.engine.sessions
    state = session_row(
        sessions.now(record), sessions.failure(record), sessions.missing_mode(record)
    )
    return {**state, **rewound_row(spoken, since.turns, since.runs)}


def _ways(shown: "FileRewind") -> list[str]:
    """Returns the commands that rewind with files, if there are any, and without."""
    with_files = f"{shown.undo.command} --digest {shown.undo.plan.digest}"
    return [*([with_files] if shown.has_files else []), shown.keep_files]


def _undo_row(undo: UndoPlan, diffs: Sequence[str | None] = ()) -> Row:
    """Returns an undo plan as JSON, with every run that it undoes."""
    return {**undo_row(undo, diffs), "run": None, "runs": list(undo.target.runs)}


def _undo_lines(undo: UndoPlan, diffs: Sequence[str | None] = ()) -> Iterable[Line]:
    return undo_lines(undo.run, undo.plan, undo.ids, undo.inversion, undo.extent, diffs)


def _review(call: Invocation, undo: UndoPlan) -> Review:
    return call.engine.reviews.undo_review(undo.source, undo.plan, again=False)


def _diffs(call: Invocation, undo: UndoPlan) -> list[str | None]:
    """Returns the diff of each operation; none where a stored content is damaged."""
    try:
        return [one.diff for one in _review(call, undo).operations]
    except StoreError:
        return [None for _ in undo.plan.operations]
