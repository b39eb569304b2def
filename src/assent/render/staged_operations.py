"""Operations of a plan on a line each, with how much they change; and one of them in full."""

from collections.abc import Iterator, Sequence
from typing import Final

from assent.core.plan.operation import RISK_CODES, RunCommand
from assent.render.diff_lines import diff_lines
from assent.render.lines import BLANK, Line, wrapped_lines
from assent.render.operation_text import command_lines, operation_brief, operation_subject
from assent.render.review import OperationReview, undo_gap_lines
from assent.render.rows import operation_kind

RISKY: Final = "!"
NONE: Final = "Nothing is staged."
NOT_SHOWN: Final = "Not shown as text, because it is binary or too large."


def diff_line_counts(diff: str | None) -> tuple[int, int]:
    """Counts the lines that a diff adds and removes."""
    plus = minus = 0
    inside = False
    for line in (diff or "").split("\n"):
        if line.startswith("diff --git "):
            inside = False  # what follows are names, not lines of a file
        elif line.startswith("@@ "):
            inside = True
        elif inside and line.startswith("+"):
            plus += 1
        elif inside and line.startswith("-"):
            minus += 1
    return plus, minus


def staged_lines(operations: Sequence[OperationReview]) -> Iterator[Line]:
    """Renders each operation as one line: number, risk, kind, what it is about, lines changed."""
    if not operations:
        yield Line("dim", NONE)
    width = len(str(len(operations)))
    for number, operation in enumerate(operations, 1):
        sign = RISKY if operation.risks else " "
        words = (
            f"{number:>{width}}{sign} {operation_kind(operation.op):<6} "
            f"{operation_subject(operation.op)}"
        )
        yield Line("risk" if operation.risks else "plain", f"{words}{_counts(operation)}")


def operation_title(number: int, operation: OperationReview) -> str:
    """Returns an operation as a title."""
    return (
        f"{number}. {operation_kind(operation.op)} {operation_brief(operation.op)} "
        f"({operation.reversible})"
    )


def operation_detail_lines(operation: OperationReview) -> Iterator[Line]:
    """Renders one operation in full: what it risks, then its diff or its command."""
    for code in operation.risks:
        yield from wrapped_lines("risk", f"{RISKY} {code}: {RISK_CODES[code]}")
    if operation.risks:
        yield BLANK
    if operation.diff:
        yield from diff_lines(operation.diff)
    elif isinstance(operation.op, RunCommand):
        yield from command_lines(operation.op, operation.unheld)
        yield from undo_gap_lines(operation)
        for remark in operation.remarks:
            yield from wrapped_lines("plain", remark)
    elif operation.diff is None:
        yield Line("plain", NOT_SHOWN)


def _counts(operation: OperationReview) -> str:
    if isinstance(operation.op, RunCommand):
        return ""
    if operation.diff is None:
        return "  not text"
    plus, minus = diff_line_counts(operation.diff)
    told = [f"+{plus}"] * bool(plus) + [f"-{minus}"] * bool(minus)
    return f"  {' '.join(told)}" if told else ""
