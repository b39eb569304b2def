"""What an undo would do, did, skipped and cannot cover: as lines and as JSON."""

from collections.abc import Iterable, Iterator, Sequence

from assent.core.plan.operation import Operation
from assent.core.plan.plan import Plan
from assent.core.run.journal import OperationResult
from assent.core.text.hidden_chars import visible_line
from assent.core.undo import FILES_ONLY, NOT_APPLIED, Inversion, UndoExtent, UndoGap, undo_command
from assent.render.diff import diff_lines
from assent.render.lines import BLANK, Line, wrapped_lines
from assent.render.review import not_shown_lines
from assent.render.rows import (
    Row,
    operation_row,
    operation_subject,
    operation_verb,
    path_fields,
    redacted_row,
)
from assent.render.status import SHORT, done_text


def undo_lines(
    run: str,
    plan: Plan,
    ids: Sequence[str],
    inversion: Inversion,
    extent: UndoExtent = FILES_ONLY,
    diffs: Sequence[str | None] = (),
) -> Iterator[Line]:
    """Renders what an undo would do, what it skips or cannot cover, and its digest.

    `diffs`, if given, are those of the plan's operations, in order. An undo shows the ids of the
    operations that it undoes, and a redo its own, as their reports do.
    """
    verb = "redo" if extent.again else "undo"
    name = visible_line(run)
    what = name if extent.rewind else f"run {name}"  # a rewind undoes several at once
    yield Line("heading", f"{verb.capitalize()} of {what}")
    for own, command in zip(plan.ids, extent.commands, strict=False):
        yield from wrapped_lines(
            "plain", f"{own[:SHORT]}  {operation_verb(command):<6}  {operation_subject(command)}"
        )
    changes = diffs[len(extent.commands) :] or [""] * len(inversion.operations)
    files = [*plan.ids[len(extent.commands) :]]
    names = files if extent.again else [ids[index] for index, _ in inversion.operations]
    for name, (_, op), diff in zip(names, inversion.operations, changes, strict=True):
        yield from wrapped_lines(
            "plain", f"{name[:SHORT]}  {operation_verb(op):<6}  {operation_subject(op)}"
        )
        yield from diff_lines(diff) if diff else not_shown_lines(op) if diff is None else ()
    for index, reason in inversion.skipped:
        yield from wrapped_lines("risk", f"{ids[index][:SHORT]}  skipped: {visible_line(reason)}")
    for told in (*extent.overwrites, *extent.guessed):
        yield from wrapped_lines("risk", visible_line(told))
    yield from gap_lines(extent.gaps)
    yield BLANK
    if not plan.operations:
        yield Line("plain", f"Nothing to {verb}.")
        return
    yield Line("heading", "Digest")
    yield Line("digest", plan.digest)
    again = visible_line(undo_command(run, extent))
    yield Line("plain", f"Next: {again} --digest {plan.digest}")


def partly_text(verb: str) -> str:
    """Returns that not all was undone, or redone."""
    return f"Partly {verb}; the items below were skipped."


def undo_end_lines(
    lines: Iterable[Line],
    results: Sequence[OperationResult],
    notes: Sequence[str],
    extent: UndoExtent,
) -> Iterator[Line]:
    """Yields how an undo ended, under a sentence that says how much of it was done.

    One that a user accepted in its current state may have undone nothing.
    """
    first, *rest = lines
    good, verb = ("done", "redone") if extent.again else ("undone", "undone")
    if good not in results:
        yield Line("risk", f"Accepted as is: nothing was {verb}.")
    elif not NOT_APPLIED.isdisjoint(results):
        yield Line("risk", f"Accepted as is: not everything was {verb}.")
    elif not {"conflict", "denied"}.isdisjoint(results):
        yield Line("risk", partly_text(verb))
    else:
        yield Line(first.style, done_text(results, notes, recorded=extent.recorded))
    yield from rest


def gap_lines(gaps: Iterable[UndoGap]) -> Iterator[Line]:
    """Renders what an undo does not cover, and why."""
    for gap in gaps:
        yield from wrapped_lines("risk", f"not covered: {visible_line(gap.line)}")


def gap_rows(gaps: Iterable[UndoGap]) -> list[Row]:
    """Returns what an undo does not cover as rows; a path is null if none is meant."""
    return redacted_row(
        [{"command": gap.command, **path_fields("path", gap.path), "why": gap.why} for gap in gaps]
    )


def undo_preview_row(
    run: str,
    plan: Plan,
    undone: tuple[Sequence[str], Sequence[Operation]],
    inversion: Inversion,
    extent: UndoExtent,
    diffs: Sequence[str | None] = (),
) -> Row:
    """Returns what an undo would do as one object; `undone` are the originals with their ids.

    `diffs`, if given, are those of the plan's operations, in order. An undo lists what it undoes,
    and a redo its own operations.
    """
    rows = [operation_row(name, op) for name, op in zip(*undone, strict=True)]
    pairs = zip(plan.ids, extent.commands, strict=False)
    commands = [operation_row(name, command) for name, command in pairs]
    told = (*extent.overwrites, *extent.guessed)
    operations = [*commands, *[rows[index] for index, _ in inversion.operations]]
    if extent.again:
        own = zip(plan.ids, plan.operations, strict=True)
        operations = [operation_row(name, op) for name, op in own]
    with_diffs = [{**row, "diff": diff} for row, diff in zip(operations, diffs, strict=False)]
    found: Row = {
        "run": run,
        "digest": plan.digest if plan.operations else None,
        "operations": with_diffs or operations,
        "conflicts": [{**rows[index], "reason": reason} for index, reason in inversion.conflicts],
        "denied": [{**rows[index], "reason": reason} for index, reason in inversion.denied],
        "not_covered": gap_rows(extent.gaps),
        **({"notes": redacted_row(list(told))} if told else {}),
    }
    return found if plan.operations else {**found, "outcome": "nothing"}
