"""`assent stage result`: stages what a command changes in a scratch copy."""

import os
from collections.abc import Iterator
from contextlib import closing
from shlex import quote

import click

from assent.app.scratch import refused_cache_variables
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.scratch_command import (
    CommandStream,
    command_line,
    confirm_network,
    timeout_option,
)
from assent.cli.shell import LIMIT_MESSAGES
from assent.core.errors import Drift
from assent.core.plan.record import PlanRecord
from assent.core.scratch import unread_text
from assent.core.shell.process import OutputChunk
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.core.text.secrets import redact
from assent.planning.drafts import Staged, nothing_staged
from assent.render.diff import text_diff_lines
from assent.render.lines import Line, wrapped_lines
from assent.render.rows import Row, operation_row, path_fields
from assent.render.scratch import LEFT_OUT
from assent.render.status import operation_lines
from assent.runs.staged_result import ResultRequest, StagedResult

HELP = "assent stage result --help"
MAX_SHOWN = 20  # paths that were not staged and are named to a person; --json has all
REASONS = {**LEFT_OUT, "ignored": "ignored; --include takes it", "mine": "kept as you have it"}
NO_CHANGES = "Nothing staged: the command changed no files that can be staged."


@click.command(
    epilog=examples(
        "assent stage result -- make generate\n"
        "assent stage result -- sh -c 'npx prettier --write src'\n"
        "assent stage result --network -- npm install left-pad\n"
        "assent stage result --theirs package-lock.json -- npm update\n"
        "assent stage result --include 'dist/**' -- make dist"
    )
)
@click.argument("words", nargs=-1, metavar="-- CMD...", type=click.UNPROCESSED)
@click.option("--network", is_flag=True, help="Allow the network; shows the command and asks.")
@timeout_option
@click.option("--keep-failed", is_flag=True, help="Stage the changes of a command that fails, too.")
@click.option("--mine", metavar="PATH", multiple=True, help="Do not stage PATH: keep your version.")
@click.option(
    "--theirs", metavar="PATH", multiple=True, help="Stage the command's PATH over yours."
)
@click.option(
    "--include", metavar="GLOB", multiple=True, help="Also stage ignored files that match GLOB."
)
@with_invocation
def result(
    call: Invocation,
    words: tuple[str, ...],
    network: bool,
    timeout: int,
    keep_failed: bool,
    mine: tuple[str, ...],
    theirs: tuple[str, ...],
    include: tuple[str, ...],
) -> int:
    """Run a command in a scratch copy and stage what it changes.

    The copy has the draft applied, and no file of yours changes. Ignored files, git's and Assent's
    own files are not staged. Exits with 1 if CMD fails and 5 if your files changed meanwhile; then
    nothing is staged.
    """
    line = command_line(words, HELP)
    record = call.record()
    if network:
        confirm_network(call, [line], f"assent stage result -- {line}")
    request = ResultRequest(
        line,
        call.working_folder,
        network,
        keep_failed,
        tuple(map(os.fsencode, mine)),
        tuple(map(os.fsencode, theirs)),
        include,
        timeout,
    )
    call.output.warn(refused_cache_variables())
    with nothing_staged(HELP):
        found = _shown(call, record, request)
    call.output.answer(result_row(found), result_lines(found))
    if found.conflicts:
        return Drift.exit
    return 1 if found.ended.code else 0


def _shown(call: Invocation, record: PlanRecord, request: ResultRequest) -> StagedResult:
    shown = CommandStream(quiet=call.output.quiet)
    with closing(call.engine.result_stager.stage(record, request)) as parts:
        for part in parts:
            if isinstance(part, OutputChunk):
                shown.write(part.content)
                continue
            shown.end()
            return part
    raise AssertionError("it ends with what was staged")


def result_row(found: StagedResult) -> Row:
    """Returns what came of a command, as JSON."""
    staged = found.staged
    row: Row = {
        "command": redact(found.line),
        "exit_code": found.ended.code,
        "changed": found.changed,
        "complete": not found.unread,
        "staged": staged is not None,
        "operations": [operation_row(name, op) for name, op in staged.added] if staged else [],
        "removed": [operation_row(name, op) for name, op in staged.gone] if staged else [],
        "conflicts": [
            {**path_fields("path", one.path), "why": one.why, "diff": _masked(one.diff)}
            for one in found.conflicts
        ],
        "not_staged": [{**path_fields("path", path), "why": why} for path, why in found.not_staged],
        "hard_links": [path_fields("path", path) for path in found.hard_links],
        "unmatched": [path_fields("path", path) for path in found.unmatched],
        "commands_not_run": found.commands_not_run,
    }
    return {**row, "cut": found.ended.cut} if found.ended.cut else row


def result_lines(found: StagedResult) -> Iterator[Line]:
    """Renders what was staged, or why nothing was, and what was not."""
    if found.ended.code:
        shown = visible_line(redact(found.line))
        why = LIMIT_MESSAGES.get(
            found.ended.cut, f"`{shown}` ended with exit code {found.ended.code}."
        )
        yield from wrapped_lines("risk", why)
    for one in found.conflicts:
        yield from wrapped_lines("risk", f"Conflict: {visible_path(one.path)}: {one.why}.")
        yield Line("dim", "From your version (-) to the command's (+):")
        yield from text_diff_lines(_masked(one.diff))
    if found.conflicts:
        yield Line("plain", "Nothing was staged. Run it again with a choice for each:")
        for one in found.conflicts:
            path = quote(visible_path(one.path))
            yield from wrapped_lines("plain", f"  --mine {path}  or  --theirs {path}")
    elif found.staged is None:
        if found.unread:
            yield from wrapped_lines("risk", unread_text(found.unread))
        yield Line("plain", _nothing_staged(found))
    else:
        yield from _staged_lines(found.staged)
    yield from _not_staged_lines(found)


def _nothing_staged(found: StagedResult) -> str:
    if found.unread:
        return "Nothing was staged."
    changed = found.changed
    if not changed:
        return "Nothing was staged: the command changed no files."
    left = f"{changed} changed {'file' if changed == 1 else 'files'}"
    return f"Nothing was staged ({left}). --keep-failed stages it anyway."


def _masked(diff: str | None) -> str | None:
    """Returns a diff without secrets: it shows files as they are, and nothing is approved by it."""
    return None if diff is None else redact(diff)


def _staged_lines(staged: Staged) -> Iterator[Line]:
    rows = [operation_row(name, op) for name, op in staged.added]
    gone = [operation_row(name, op) for name, op in staged.gone]
    if not rows and not gone:
        yield Line("plain", NO_CHANGES)
        return
    if rows:
        yield from operation_lines(rows)
    if gone:
        yield Line("plain", "No longer staged, because the command undid it:")
        yield from operation_lines(gone)


def _not_staged_lines(found: StagedResult) -> Iterator[Line]:
    for path, why in found.not_staged[:MAX_SHOWN]:
        yield from wrapped_lines("dim", f"Not staged: {visible_path(path)} ({REASONS[why]})")
    if len(found.not_staged) > MAX_SHOWN:
        rest = len(found.not_staged) - MAX_SHOWN
        yield Line("dim", f"Not staged: {rest} more; --json lists all")
    for path in found.unmatched[:MAX_SHOWN]:
        words = f"--mine or --theirs names what the command did not change: {visible_path(path)}"
        yield from wrapped_lines("risk", words)
    for path in found.hard_links[:MAX_SHOWN]:
        told = f"Only one name of a hard link changed: {visible_path(path)}"
        yield from wrapped_lines("dim", told)
    if found.commands_not_run:
        count = found.commands_not_run
        words = "1 staged command was" if count == 1 else f"{count} staged commands were"
        yield Line("dim", f"{words} not run in the copy first.")
