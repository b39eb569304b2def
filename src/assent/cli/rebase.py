"""`assent rebase`: adapts a plan to files that changed, and shows each operation's outcome."""

from collections.abc import Iterator, Sequence

import click
import msgspec

from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.core.digest import operation_ids
from assent.core.paths import display_path
from assent.core.plan.operation import Operation
from assent.core.text.hidden_chars import visible_path
from assent.render.lines import BLANK, Line, wrapped_lines
from assent.render.rows import Row, operation_kind, operation_row, operation_subject, plan_row
from assent.render.status import of_plan

# Renders a rebase: what became of each operation of the plan.


SHORT = 12  # characters of an id in a list; whole ones are in --json
EMPTY = "The files already contain everything in this plan; nothing was changed."
FITS = "The plan fits the current files; nothing was changed."


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
                "plain", f"{new[:SHORT]}  {operation_kind(op):<13}  {operation_subject(op)}"
            )
    if found.is_empty:
        yield Line("plain", EMPTY)
        yield Line("plain", f"Next: {of_plan('assent plan delete', found.name)}")
        return
    same = sum(old == new for old, _, new, _ in triples)
    yield Line("plain", f"Unchanged: {same} of {len(triples)} operations.")
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


@click.command(epilog=examples("assent rebase --dry-run\nassent rebase"))
@click.option("--dry-run", is_flag=True, help="Only show how the plan would change.")
@with_invocation
def rebase(call: Invocation, dry_run: bool) -> None:
    """Adapt a plan to files that changed. The result needs a new review and approval.

    Changes are kept where the lines around them are the same. If one does not fit, nothing is
    changed and all conflicts are listed. It also says if the files already contain everything.
    """
    record = call.record()
    found = call.engine.rebaser.preview(record)
    if not dry_run:
        record = call.engine.rebaser.apply(found)
    digest = found.plan.digest if found.plan else ""
    shown = RebaseSummary(
        found.outcomes,
        found.was.digest if found.was else "",
        digest,
        found.relied_on,
        found.differs,
        found.is_empty,
        call.engine.plans.reference(record),
        call.engine.plans.reference(record, current=False),
    )
    row = plan_row(record, approved=call.engine.approvals.is_approved(record))
    answer = {**row, **rebase_row(shown), "dry_run": dry_run}
    call.output.answer(answer, rebase_lines(shown, dry_run=dry_run))
