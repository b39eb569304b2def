"""Excluded operations: what users left out of a plan when they approved the rest."""

from collections.abc import Iterator, Sequence

import msgspec

from assent.core.plan.operation import Operation
from assent.core.plan.record import PlanRecord
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, Style, wrapped_lines
from assent.render.operation_text import operation_subject
from assent.render.rows import Row, operation_kind, operation_row

EXCLUDED_COMMAND_WARNING = (
    "A declined command may have done what later operations rest on; nobody can know that before "
    "they are applied. They are still in the plan."
)


class ExcludedOperation(msgspec.Struct, frozen=True):
    """An operation that a user excluded, or, with a reason, one that could not stay then."""

    id: str
    op: Operation
    reason: str = ""
    back: bool = False  # the plan has it again


def excluded_lines(
    left_out: Sequence[ExcludedOperation], *, unsure: bool = False
) -> Iterator[Line]:
    """Renders what was left out, and why."""
    if not left_out:
        return
    yield Line("heading", "Declined")
    for one in left_out:
        again = ", and in the plan again" if one.back else ""
        why = f": {visible_line(one.reason)}" if one.reason else ""
        what = "went with it" if one.reason else "declined"
        style: Style = "risk" if one.back else "plain"
        yield from wrapped_lines(
            style, f"{what}{again}  {operation_kind(one.op)} {operation_subject(one.op)}{why}"
        )
    if unsure:
        yield from wrapped_lines("risk", EXCLUDED_COMMAND_WARNING)
    yield BLANK


def excluded_count_lines(ids: Sequence[str]) -> Iterator[Line]:
    """Says in one line that something of a plan was declined."""
    if ids:
        noun = "operation was" if len(ids) == 1 else "operations were"
        yield Line("plain", f"{len(ids)} {noun} declined; `assent review` lists what and why.")


def excluded_ids(record: PlanRecord | None) -> list[str]:
    """Returns what people left out of a plan, with what could not stay then."""
    events = record.declined if record else ()
    return [name for event in events for name in (*event.declined, *event.followed)]


def excluded_rows(left_out: Sequence[ExcludedOperation]) -> Row:
    """Returns what was left out as the two lists that `--json` prints."""
    return {
        "declined": [operation_row(one.id, one.op) for one in left_out if not one.reason],
        "followed": [
            {**operation_row(one.id, one.op), "reason": one.reason}
            for one in left_out
            if one.reason
        ],
    }
