"""`assent runs …`: lists, inspects and prunes past runs."""

import click

from assent.cli.invocation import Invocation, examples, reference_option, with_invocation
from assent.cli.render.runs import (
    command_row,
    item_row,
    pruned_lines,
    run_detail_lines,
    run_list_lines,
)
from assent.cli.terminal import read_reply
from assent.core.errors import Declined, UsageError
from assent.core.plan.operation import RunCommand
from assent.core.shell.process import script_line
from assent.core.text.hidden_chars import visible_line
from assent.render.operation_text import argv_text, operation_subject
from assent.render.redaction import redacted_row
from assent.render.rows import Row
from assent.runs.history import CommandReport, PastOperation, PastRun, total_size
from assent.runs.retention import PrunedRuns

YES = "yes"


@click.group(epilog=examples("assent runs list\nassent runs show 01k9"))
def runs() -> None:
    """List, show and give up past runs: what `assent undo` can take back."""


@runs.command("list", epilog=examples("assent runs list\nassent runs list --json"))
@with_invocation
def list_runs(call: Invocation) -> None:
    """List everything that was run, newest first.

    KEPT is the size of what only this run needs for an undo; `runs show` also says what it shares.
    """
    call.engine.runs.record_lost_command()
    weighed = call.engine.history.with_sizes()
    rows = [_row(kept) for kept, _ in reversed(weighed)]
    size, limit = total_size(weights for _, weights in weighed), call.engine.retention.limit
    content = {"runs": rows, "kept": size, "limit": limit or None}
    call.output.answer(content, run_list_lines(rows, size, limit))


@runs.command(epilog=examples("assent runs show 01k9\nassent runs show add-login.3 --json"))
@click.argument("run", callback=reference_option)
@with_invocation
def show(call: Invocation, run: str) -> None:
    """Show what became of each operation of a run.

    Of commands it shows how they ended, what they said and which files they changed.
    """
    kept = call.engine.history.find(run)
    operations = [_item(item) for item in call.engine.history.items(kept)]
    row = _row(kept)
    call.output.answer({**row, "operations": operations}, run_detail_lines(row, operations))


@runs.command(
    epilog=examples(
        "assent runs delete 01k9\nassent runs delete 01k9 01kb --force\nassent runs delete --unused"
    )
)
@click.argument("run", nargs=-1)
@click.option("--unused", is_flag=True, help="Only remove contents that nothing needs any more.")
@click.option("--force", is_flag=True, help="Do not ask.")
@with_invocation
def delete(call: Invocation, run: tuple[str, ...], unused: bool, force: bool) -> None:
    """Give up what runs keep for an undo.

    Files stay as they are, and the runs can no longer be undone. Contents are removed that no other
    run, plan or session needs; those of the last hour later.
    """
    if unused == bool(run):
        raise UsageError("Give runs, or --unused.", "assent runs delete --help")
    if unused:
        _answer(call, PrunedRuns((), call.engine.retention.collect()))
        return
    units = call.engine.retention.check(run)
    if not force and not _agreed(call, units):
        raise Declined(
            "Nothing was given up. It needs a yes on a terminal, or --force.",
            f"assent runs delete {' '.join(run)} --force",
        )
    _answer(call, call.engine.retention.delete(units))


def _agreed(call: Invocation, units: list[PastRun]) -> bool:
    names = ", ".join(kept.unit.name for kept in units)
    question = f"Give up for good that {names} can be undone? Type {YES}: "
    return not call.no_input and read_reply(question) == YES


def _answer(call: Invocation, given_up: PrunedRuns) -> None:
    runs, freed = given_up.runs, given_up.freed
    row = {
        "runs": list(runs),
        "contents": freed.contents,
        "freed": freed.size,
        "later": freed.later,
    }
    call.output.answer(row, pruned_lines(runs, freed.contents, freed.size, freed.later))


def _row(kept: PastRun) -> Row:
    unit = kept.unit
    return redacted_row(
        {
            "run": unit.name,
            "kind": kept.how,
            "plan": unit.record.name,
            "plan_id": unit.record.plan_id or None,
            "session": unit.record.session or None,
            "runs": list(unit.runs),
            "at": kept.at,
            "outcome": kept.outcome,
            "operations": kept.operations,
            "own": kept.own,
            "shared": kept.shared,
            "undone": kept.undone == "all",
            "partly_undone": kept.undone == "some",
            "accepted": kept.accepted,
            "given_up": kept.given_up or None,
        }
    )


def _item(item: PastOperation) -> Row:
    row = item_row(item.number, item.id, item.operation, item.line)
    line = visible_line(script_line(item.line))
    about = line if item.operation is None else operation_subject(item.operation)
    row |= redacted_row({"result": item.result, "run": item.run, "about": about})
    row |= {} if item.told is None else {"command": _told(item.told)}
    if item.back is None or not isinstance(item.operation, RunCommand):
        return row
    undo = redacted_row({"line": argv_text(item.operation.undo)})
    return {**row, "roll_back": {**undo, **_told(item.back)}}


def _told(told: CommandReport) -> Row:
    when: dict[str, object] = {
        "began": told.began or None,
        "ended": told.ended or None,
        "code": told.code,
        "cut": told.cut,
    }
    return command_row(when, told.changes, told.output)
