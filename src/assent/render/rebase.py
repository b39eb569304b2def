"""A rebase for people and programs: what became of each operation of a plan."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from assent.core.digest import operation_ids
from assent.core.paths import display_path
from assent.core.plan.operation import Operation
from assent.core.text.hidden_chars import visible_path
from assent.render.lines import BLANK, Line, counted, wrapped_lines
from assent.render.rows import Row, operation_row, operation_subject, operation_verb
from assent.render.status import of_plan

SHORT: Final = 12  # characters of an id in a list; whole ones are in --json
EMPTY: Final = "The files already contain everything in this plan; nothing was changed."
FITS: Final = "The plan fits the current files; nothing was changed."


class RebaseSummary(msgspec.Struct, frozen=True):
    """The operations that were staged, each with what it became; None: the files hold it."""

    fates: tuple[tuple[Operation, Operation | None], ...]
    was: str  # the digest; empty if the plan was not proposed
    digest: str
    relied_on: tuple[bytes, ...]
    differs: bool
    is_empty: bool = False  # the files hold everything
    name: str = ""  # what names the plan in a command
    of: str = ""  # the same, where it is not the current one


def rebase_row(found: RebaseSummary) -> Row:
    """Returns what came of a rebase as one object."""
    triples = _named(found)
    changed = [
        {"was": old, **operation_row(new, op)} for old, _, new, op in triples if op and old != new
    ]
    return {
        "was": found.was or None,
        "digest": found.digest or None,
        "differs": found.differs,
        "unchanged": [old for old, _, new, _ in triples if old == new],
        "changed": changed,
        "dropped": [operation_row(old, was) for old, was, _, op in triples if op is None],
        "relied_on": [display_path(path) for path in found.relied_on],
        **({"outcome": "nothing"} if found.is_empty else {}),
    }


def rebase_lines(found: RebaseSummary, *, dry_run: bool) -> Iterator[Line]:
    """Renders what stayed, what differs, what to look at again, and what to type next."""
    if not found.differs:
        yield Line("plain", FITS)
        return
    triples = _named(found)
    for old, was, new, op in triples:
        if op is None:
            yield from wrapped_lines(
                "dim", f"{old[:SHORT]}  already there  {operation_subject(was)}"
            )
        elif old != new:
            yield from wrapped_lines(
                "plain", f"{new[:SHORT]}  {operation_verb(op):<13}  {operation_subject(op)}"
            )
    if found.is_empty:
        yield Line("plain", EMPTY)
        yield Line("plain", f"Next: {of_plan('assent plan delete', found.name)}")
        return
    same = sum(old == new for old, _, new, _ in triples)
    yield Line("plain", f"Unchanged: {same} of {counted(len(triples), 'operation')}.")
    for path in found.relied_on:
        yield from wrapped_lines(
            "risk", f"The plan relies on {visible_path(path)}, which changed; review it."
        )
    yield BLANK
    if found.was:
        yield Line("dim", f"was  {found.was}")
        yield Line("digest", f"now  {found.digest}")
        yield Line("plain", "Not approved yet.")
    following = "review" if found.digest else "propose"
    command = f"assent {'rebase' if dry_run else following}"
    yield Line("plain", f"Next: {of_plan(command, found.of)}")


def _named(found: RebaseSummary) -> Sequence[tuple[str, Operation, str, Operation | None]]:
    """Returns each operation and what it became, with their ids."""
    old = operation_ids([was for was, _ in found.fates])
    new = iter(operation_ids([op for _, op in found.fates if op is not None]))
    return [
        (name, was, next(new) if op is not None else "", op)
        for name, (was, op) in zip(old, found.fates, strict=True)
    ]
