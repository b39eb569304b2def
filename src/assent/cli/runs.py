"""`assent runs …`: lists, inspects and prunes past runs.

It shows what each run did, what is kept of it, and the result of each operation.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click

from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, examples, reference_option, with_limit
from assent.cli.output import current_time
from assent.cli.terminal import read_reply
from assent.core.errors import Declined, UsageError
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.lines import (
    BLANK,
    Line,
    local_time,
    more_lines,
    relative_time,
    table_lines,
    time_ago,
    untrusted_lines,
    wrapped_lines,
)
from assent.render.rows import (
    Row,
    exit_code_text,
)
from assent.render.status import SHORT, short_run
from assent.runs.history import PastRun
from assent.runs.retention import PrunedRuns
from assent.runs.run_rows import past_operation_row, past_run_row

# Renders past runs: what each did, what is kept of it, and the result of each operation.


_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_THOUSAND: Final = 1000
TITLE: Final = ("RUN", "WHAT", "BEGAN", "OUTCOME", "OPS", "KEPT", "PLAN")
_WIDE: Final = 80  # columns of a terminal at its default width
_LEAST: Final = 8  # characters of a plan's name that are always shown, however wide the rest is


def size_text(size: int) -> str:
    """Returns a number of bytes as people read it."""
    number, unit = float(size), 0
    while number >= _THOUSAND and unit < len(_UNITS) - 1:
        number, unit = number / _THOUSAND, unit + 1
    return f"{size} B" if not unit else f"{number:.1f} {_UNITS[unit]}"


def run_list_lines(
    rows: Sequence[Row], more: int, size: int, limit: int, now: str
) -> Iterator[Line]:
    """Renders past runs in aligned columns, newest first, and what all of them keep."""
    if not rows:
        yield Line("plain", "No runs yet.")
        return
    first, *rest = table_lines("plain", _fitting([TITLE, *(_listed(row, now) for row in rows)]))
    yield Line("heading", first.text)
    yield from rest
    yield from more_lines(more, "run", "assent runs list")
    yield BLANK
    most = f"limit {size_text(limit)} (undo.keep_mb)" if limit else "no limit"
    yield Line("plain", f"{size_text(size)} kept for undo, {most}.")


def run_detail_lines(row: Row, operations: Sequence[Row]) -> Iterator[Line]:
    """Renders one run with every operation, what commands said, and what they changed."""
    kept = f"{size_text(int(str(row['own'])))}, plus {size_text(int(str(row['shared'])))} shared"
    yield from table_lines(
        "plain",
        [
            ("run", visible_line(str(row["run"]))),
            ("what", str(row["kind"])),
            ("plan", visible_line(str(row["plan"]))),
            ("began", visible_line(relative_time(str(row["at"]), current_time()))),
            ("outcome", _standing(row)),
            ("kept", visible_line(str(row["given_up"])) if row["given_up"] else kept),
        ],
    )
    yield BLANK
    for operation in operations:
        yield from _operation(operation)


def pruned_lines(runs: Iterable[str], contents: int, size: int, later: int) -> Iterator[Line]:
    """Renders what was pruned, and how much space that freed."""
    for run in runs:
        yield Line("plain", f"Pruned, can no longer be undone: {visible_line(run)}")
    yield Line("plain", f"Stored contents removed: {contents} ({size_text(size)}).")
    if later:
        yield from wrapped_lines(
            "plain", f"{size_text(later)} more is unused but too recent; it is removed later."
        )


def _listed(row: Row, now: str) -> tuple[str, ...]:
    return (
        short_run(visible_line(str(row["run"]))),
        str(row["kind"]),
        time_ago(str(row["at"]), now) or visible_line(str(row["at"])),
        ("pruned" if row["given_up"] else _taken(row)) or _ended(row),
        str(row["operations"]),
        size_text(int(str(row["own"]))),
        visible_line(str(row["plan"])),
    )


def _fitting(cells: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Cuts the last column so that all of them fit a terminal."""
    others = sum(max(map(len, column)) + 2 for column in list(zip(*cells, strict=True))[:-1])
    room = max(_WIDE - others, _LEAST)
    for *row, last in cells:
        yield (*row, last if len(last) <= room else f"{last[: room - 1]}…")


def _standing(row: Row) -> str:
    taken = _taken(row)
    return f"{_ended(row)}{f', {taken}' if taken else ''}"


def _ended(row: Row) -> str:
    return "accepted" if row["accepted"] else str(row["outcome"] or "unfinished")


def _taken(row: Row) -> str:
    return "undone" if row["undone"] else "partly undone" if row["partly_undone"] else ""


def _operation(row: Row) -> Iterator[Line]:
    name = str(row["id"])[:SHORT]
    yield from wrapped_lines(
        "plain",
        f"{row['number']!s:>3}  {name}  {row['result']!s:<11}  {row['kind']!s:<6}  {row['about']}",
    )
    match row.get("command"):
        case dict() as command:
            yield from _command(command)
        case _:
            pass
    match row.get("roll_back"):
        case dict() as undo:
            yield from wrapped_lines(
                "plain", f"     rolled back by its undo command: {undo['line']}"
            )
            yield from _command(undo)
        case _:
            pass


def _command(row: Row) -> Iterator[Line]:
    code = exit_code_text(row["code"]) if isinstance(row["code"], int) else "unknown"
    cut = f" ({visible_line(str(row['cut']))})" if row["cut"] and row["cut"] != code else ""
    ended = local_time(str(row["ended"])) if row["ended"] else "unknown"
    times = visible_line(f"{local_time(str(row['began']))} to {ended}")
    yield Line("dim", f"     exit {code}{cut}, {times}")
    for changed in _rows(row["changed"]):
        yield from wrapped_lines("plain", f"     {changed['how']!s:<8}{_path(changed)}")
    for left in _rows(row["skipped"]):
        yield from wrapped_lines(
            "risk", f"     {left['how']!s:<8}{_path(left)}, not kept: {left['why']}"
        )
    if not row["known"]:
        yield Line("risk", "     Its changes are unknown or were not kept.")
    if row["output"]:
        yield from untrusted_lines(str(row["output"]))


def _rows(value: object) -> list[Row]:
    return value if isinstance(value, list) else []


def _path(row: Row) -> str:
    return visible_path(str(row["path"]).encode())


YES = "yes"


@click.group(cls=ListGroup, epilog=examples("assent runs list\nassent runs show 01k9"))
def runs() -> None:
    """List, inspect and prune past runs."""


@runs.command("list", epilog=examples("assent runs list\nassent runs list --all --json"))
@with_invocation
@with_limit
def list_runs(call: Invocation, most: int | None) -> None:
    """List past runs, newest first.

    KEPT is the size of what only this run needs for undo; `runs show` also shows what it shares.
    What is not shown is counted, as `more` in JSON.
    """
    call.engine.runs.record_lost_command()
    page = call.engine.history.page(most)
    rows, limit = [past_run_row(kept) for kept in page.runs], call.engine.retention.limit
    content = {"runs": rows, "more": page.more, "kept": page.size, "limit": limit or None}
    call.output.answer(content, run_list_lines(rows, page.more, page.size, limit, current_time()))


@runs.command(epilog=examples("assent runs show 01k9\nassent runs show add-login.3 --json"))
@click.argument("run", callback=reference_option)
@with_invocation
def show(call: Invocation, run: str) -> None:
    """Show the result of each operation of a run.

    For commands it shows the exit code, the output and the changed files.
    """
    kept = call.engine.history.find(run)
    operations = [past_operation_row(item) for item in call.engine.history.items(kept)]
    row = past_run_row(kept)
    call.output.answer({**row, "operations": operations}, run_detail_lines(row, operations))


@runs.command(
    epilog=examples(
        "assent runs delete 01k9\nassent runs delete 01k9 01kb --force\nassent runs delete --unused"
    )
)
@click.argument("run", nargs=-1)
@click.option("--unused", is_flag=True, help="Only remove stored content that nothing needs.")
@click.option("--force", is_flag=True, help="Don't ask for confirmation.")
@with_invocation
def delete(call: Invocation, run: tuple[str, ...], unused: bool, force: bool) -> None:
    """Prune runs: delete what they keep for undo.

    Your files stay as they are, but the runs can no longer be undone. Stored content is removed
    unless another run, plan or session needs it; content of the last hour is removed later.
    """
    if unused == bool(run):
        raise UsageError("Pass runs or --unused.", "assent runs delete --help")
    if unused:
        _answer(call, PrunedRuns((), call.engine.retention.collect()))
        return
    units = call.engine.retention.check(run)
    if not force and not _agreed(call, units):
        raise Declined(
            "Nothing was pruned. Confirm on a terminal, or pass --force.",
            f"assent runs delete {' '.join(run)} --force",
        )
    _answer(call, call.engine.retention.delete(units))


def _agreed(call: Invocation, units: list[PastRun]) -> bool:
    names = ", ".join(kept.unit.name for kept in units)
    question = f"Prune {names}? It can no longer be undone afterwards. Type {YES}: "
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
