"""What users add to an approval: notes, and the operations that they excluded.

Both are rendered as lines, as JSON and in the next plan's Markdown.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from assent.core.plan.operation import Operation
from assent.core.plan.record import PlanRecord
from assent.core.text.hidden_chars import visible, visible_line
from assent.core.text.secrets import redact
from assent.render.lines import BLANK, Line, Style, untrusted_lines, wrapped_lines
from assent.render.rows import Row, operation_row, operation_subject, operation_verb

# Approval notes: as items of the next plan's Markdown, as lines and as JSON.


HEADING: Final = "## Notes from earlier approvals"
SOURCE: Final = "From the approval of "
SHORT: Final = 12

# What could be a heading, an item, a quotation, a fence or a rule at the start of a line.
_STRUCTURE: Final = frozenset("#>*+-`~|=_:[")
_NUMBERED = r"([0-9]+)(?=[.)])"


class ApprovalNote(msgspec.Struct, frozen=True):
    """A note with its approval."""

    approval: str
    plan_id: str
    name: str
    digest: str
    user: str
    at: str
    note: str


def note_item(noted: ApprovalNote) -> str:
    """Returns a note as one open list item, whatever Markdown it contains."""
    source = f"- [ ] {SOURCE}{visible_line(noted.name)} ({noted.digest[:SHORT]}): "
    first, *rest = visible(redact(noted.note.strip())).split("\n")
    lines = [f"{source}{_inline(first)}", *map(_continued, rest)]
    return "\n".join(lines) + "\n"


def notes_section(notes: Sequence[ApprovalNote]) -> str:
    """Returns the section of a plan's text that contains notes; empty if there are none."""
    return "".join([f"\n{HEADING}\n\n", *map(note_item, notes)]) if notes else ""


def notes_in_text(notes: Iterable[ApprovalNote], text: bytes) -> tuple[ApprovalNote, ...]:
    """Returns the notes that are items of a text, done or not."""
    lines = text.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    opened = re.sub(r"^- \[[xX]\] ", "- [ ] ", lines, flags=re.MULTILINE) + "\n"
    return tuple(noted for noted in notes if f"\n{note_item(noted)}" in f"\n{opened}")


def approval_note_lines(notes: Sequence[ApprovalNote]) -> Iterator[Line]:
    """Renders the notes of approvals, each with its author."""
    for noted in notes:
        yield from wrapped_lines("heading", f"Note by {visible_line(noted.user)} at {noted.at}")
        yield from untrusted_lines(redact(noted.note))
        yield BLANK


def missing_note_lines(notes: Sequence[ApprovalNote]) -> Iterator[Line]:
    """Renders the notes that a plan's text no longer has as items."""
    for noted in notes:
        source = f"{visible_line(noted.name)} ({noted.digest[:SHORT]})"
        yield from wrapped_lines("risk", f"The plan text no longer contains the note on {source}:")
        yield from untrusted_lines(redact(noted.note))
    if notes:
        yield BLANK


def pending_note_lines(notes: Sequence[ApprovalNote]) -> Iterator[Line]:
    """Renders the notes that are not yet items of a plan."""
    for noted in notes:
        source = f"{visible_line(noted.name)} ({noted.digest[:SHORT]})"
        yield from wrapped_lines("plain", f"Note on {source}, to be added to the next plan:")
        yield from untrusted_lines(redact(noted.note))


def approval_note_rows(notes: Sequence[ApprovalNote]) -> list[Row]:
    """Returns notes as the objects that `--json` prints."""
    return [
        {
            "approval": noted.approval,
            "plan_id": noted.plan_id,
            "name": noted.name,
            "digest": noted.digest,
            "user": noted.user,
            "at": noted.at,
            "note": redact(noted.note),
        }
        for noted in notes
    ]


def _continued(line: str) -> str:
    """Returns a further line of an item; text that would start a new block is escaped."""
    plain = _inline(line.strip())
    if not plain:
        return ""
    numbered = re.match(_NUMBERED, plain)
    if numbered:
        return f"  {numbered[1]}\\{plain[numbered.end() :]}"
    return f"  \\{plain}" if plain[0] in _STRUCTURE else f"  {plain}"


def _inline(text: str) -> str:
    """Escapes tags and comments, so that they cannot hide what follows."""
    return text.replace("<", "\\<")


# Excluded operations: what users left out of a plan when they approved the rest.


EXCLUDED_COMMAND_WARNING = (
    "Later operations may depend on an excluded command. They are still in the plan, and Assent "
    "cannot check this before the build."
)


class ExcludedOperation(msgspec.Struct, frozen=True):
    """An operation that a user excluded, or, with a reason, one that depended on it."""

    id: str
    op: Operation
    reason: str = ""
    back: bool = False  # the plan has it again


def excluded_lines(
    left_out: Sequence[ExcludedOperation], *, unsure: bool = False
) -> Iterator[Line]:
    """Renders the excluded operations, and why each was excluded."""
    if not left_out:
        return
    yield Line("heading", "Excluded")
    for one in left_out:
        again = ", and in the plan again" if one.back else ""
        why = f": {visible_line(one.reason)}" if one.reason else ""
        what = "excluded too" if one.reason else "excluded"
        style: Style = "risk" if one.back else "plain"
        yield from wrapped_lines(
            style, f"{what}{again}  {operation_verb(one.op)} {operation_subject(one.op)}{why}"
        )
    if unsure:
        yield from wrapped_lines("risk", EXCLUDED_COMMAND_WARNING)
    yield BLANK


def excluded_count_lines(ids: Sequence[str]) -> Iterator[Line]:
    """Renders one line that says how many operations of a plan were excluded."""
    if ids:
        noun = "operation was" if len(ids) == 1 else "operations were"
        yield Line("plain", f"{len(ids)} {noun} excluded; `assent review` shows which and why.")


def excluded_ids(record: PlanRecord | None) -> list[str]:
    """Returns the ids of operations that users excluded, and of those that depended on them."""
    events = record.declined if record else ()
    return [name for event in events for name in (*event.declined, *event.followed)]


def excluded_rows(left_out: Sequence[ExcludedOperation]) -> Row:
    """Returns the excluded operations as the two lists that `--json` prints."""
    return {
        "declined": [operation_row(one.id, one.op) for one in left_out if not one.reason],
        "followed": [
            {**operation_row(one.id, one.op), "reason": one.reason}
            for one in left_out
            if one.reason
        ],
    }


def approved_fields(reasons: Sequence[str], next: str, discarded: Sequence[str]) -> Row:
    """Returns what else is said of an approved plan: why it cannot be built, and what it ended.

    `discarded` are the ids of the options that were not chosen.
    """
    denied: Row = {"cannot_be_built": list(reasons), "next": [next]} if reasons else {}
    return {**denied, **({"discarded": list(discarded)} if discarded else {})}
