"""Options: two or three plans to choose from, their labels, and how they differ."""

from collections.abc import Sequence
from typing import Final

import msgspec

from assent.core.errors import UsageError
from assent.core.plan.operation import Operation
from assent.core.text.confusables import looks_same
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact

MIN_OPTIONS: Final = 2
MAX_LABEL_CHARS: Final = 40
BLANK_LABEL: Final = (
    "option: the label is blank. Name the option, or leave `option` out to work on the one that "
    "was named last. Nothing was done."
)


def option_label(text: str) -> str:
    """Returns a label on one line; raises UsageError if people could not tell options by it."""
    label = " ".join(text.split())
    if not label:
        raise UsageError(BLANK_LABEL)
    if len(label) > MAX_LABEL_CHARS:
        raise UsageError(
            f"option: a label must have 1 to {MAX_LABEL_CHARS} characters. Nothing was done."
        )
    if visible_line(label) != label or redact(label) != label:
        raise UsageError("option: a label must be plain text. Nothing was done.")
    return label


def is_same_label(one: str, other: str) -> bool:
    """Tells whether two labels are too alike to be two options: people could mix them up."""
    return looks_same(one, other)


def distinct_labels(labels: Sequence[str]) -> list[str]:
    """Returns labels without those that look like an earlier one."""
    found: list[str] = []
    for label in labels:
        if not any(is_same_label(label, one) for one in found):
            found.append(label)
    return found


class OptionOperation(msgspec.Struct, frozen=True):
    """An operation, and where each option has it: its number there, or 0."""

    op: Operation
    numbers: tuple[int, ...]

    @property
    def is_common(self) -> bool:
        """Whether every option does the same."""
        return all(self.numbers)


def compare_operations(plans: Sequence[Sequence[Operation]]) -> tuple[OptionOperation, ...]:
    """Returns every operation of some plans once, in their order, with its number in each plan.

    The same path with another content is another operation.
    """
    seen: dict[tuple[Operation, int], dict[int, int]] = {}
    for at, operations in enumerate(plans):
        times: dict[Operation, int] = {}
        for number, op in enumerate(operations, 1):
            times[op] = times.get(op, 0) + 1  # a command may be there twice
            seen.setdefault((op, times[op]), {})[at] = number
    return tuple(
        OptionOperation(op, tuple(found.get(at, 0) for at in range(len(plans))))
        for (op, _), found in seen.items()
    )
