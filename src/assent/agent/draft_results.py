"""Draft results: how a model reads what it staged, took out, or has in its draft."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from assent.core.paths import one_line
from assent.core.plan.draft_index import NamedOperation
from assent.core.plan.operation import Operation, RunCommand, footprint
from assent.core.plan.record import PlanRecord
from assent.planning.drafts import KeptOperation, Staged
from assent.render.diff import LIMIT, operation_diff
from assent.render.rows import operation_brief, operation_kind, operation_subject

SHORT_ID = 12  # characters of an operation's id
MAX_NAMED = 20  # operations that a result names
MAX_LISTED = 200  # operations that the list of a whole draft names
NOTHING_NEW = "no new operation; the plan already results in this"
TAKE_OUT = "`unstage` takes it out by its id."
NOT_SHOWN = "not shown: binary or too large."
READ_AGAIN = "Files are as they were before; read them again before you edit them."


def staged_text(plan: PlanRecord, staged: Staged, draft: Sequence[NamedOperation]) -> str:
    """Returns what became of edits in the draft, by number and id, and how to take it out."""
    where = f"option {plan.option}" if plan.option else "the plan"
    if not staged.added and staged.gone:
        named = ", ".join(_named(staged.gone))
        return f"It cancels out what was staged before: {named}. Nothing of it is left in {where}."
    numbers = {name: number for number, (name, _) in enumerate(draft, 1)}
    rows = [
        f"{numbers[name]}. {_row(name, op)}{_changed(staged, name)}"
        for name, op in staged.added[:MAX_NAMED]
    ]
    more = len(staged.added) - MAX_NAMED
    told = ", ".join(rows) + (f", and {more} more" if more > 0 else "") if rows else NOTHING_NEW
    gone = f" No longer needed: {', '.join(_named(staged.gone))}." if staged.gone else ""
    out = f" {TAKE_OUT}" if rows else ""
    return f"Staged in {where}, not on disk: {told}.{gone}{out}{_earlier(staged, draft)}"


def unstaged_text(staged: Staged, draft: Sequence[NamedOperation], before: int) -> str:
    """Returns what left a draft, what stays and why, and what is in it now.

    `before` is the number of commands that were staged after the first that left.
    """
    told = [f"Taken out: {', '.join(_named(staged.removed))}."] if staged.removed else []
    told += [_kept(each) for each in staged.kept]
    if staged.gone:
        told.append(f"Gone with it, as it cancels out now: {', '.join(_named(staged.gone))}.")
    for name, op in staged.added:
        told.append(f"Folded together: {_row(name, op)}{_changed(staged, name)}.")
    files = [op for _, op in staged.removed if not isinstance(op, RunCommand)]
    if files and before:
        count = "The command" if before == 1 else f"The {before} commands"
        told.append(f"{count} staged after it stayed: unstage what cannot run without it.")
    told += [READ_AGAIN] if files else []
    return "\n".join([*told, listed_text(draft)])


def listed_text(draft: Sequence[NamedOperation], most: int = MAX_LISTED, at_end: int = 0) -> str:
    """Returns the operations of a draft in order, with numbers and ids."""
    if not draft:
        return "Nothing is staged."
    noun = "operation is" if len(draft) == 1 else "operations are"
    rows = [
        f"{number}. {_row(name, op)}{' (stays at the end)' if number > len(draft) - at_end else ''}"
        for number, (name, op) in enumerate(draft[:most], 1)
    ]
    more = len(draft) - most
    rows += [f"… and {more} more; `draft` lists them."] if more > 0 else []
    return "\n".join([f"{len(draft)} {noun} staged:", *rows])


def diff_text(named: NamedOperation, shown: Collection[bytes], read: Callable[[str], bytes]) -> str:
    """Returns one operation as a patch, if its path is among those that may be shown."""
    name, op = named
    states = [state for state in footprint(op)[0][1:] if state] if footprint(op) else []
    title = f"{name[:SHORT_ID]} {operation_kind(op)} {operation_subject(op)}"
    if isinstance(op, RunCommand):
        return title
    if op.path not in shown:
        return f"{title}: not shown, as reading it is not allowed without asking."
    if any(state.size > LIMIT for state in states):
        return f"{title}: {NOT_SHOWN}"
    before, after = [read(state.digest) if state else None for state in footprint(op)[0][1:]]
    patch = operation_diff(op, before, after)
    return f"{title}: {NOT_SHOWN}" if patch is None else f"{title}:\n{patch.rstrip()}"


def _row(name: str, op: Operation) -> str:
    return f"{name[:SHORT_ID]} {operation_kind(op)} {operation_brief(op)}"


def _named(operations: Iterable[NamedOperation]) -> Iterator[str]:
    return (
        f"{name[:SHORT_ID]} {operation_kind(op)} {operation_subject(op)}" for name, op in operations
    )


def _changed(staged: Staged, name: str) -> str:
    was = staged.changed.get(name)
    return f" (changed, was {was[:SHORT_ID]})" if was else ""


def _earlier(staged: Staged, draft: Sequence[NamedOperation]) -> str:
    """Says where a file is changed again after a command, so that it has two operations."""
    new = {name for name, _ in staged.added}
    paths = {
        path
        for name, op in staged.added
        if name not in staged.changed
        for path, *_ in footprint(op)
    }
    for number, (name, op) in enumerate(draft, 1):
        twice = [path for path, *_ in footprint(op) if path in paths and name not in new]
        if twice:
            return (
                f" {one_line(twice[0])} is also changed by {number}. {name[:SHORT_ID]}: a command "
                "in between may need that content. If it only checks, unstage it and stage it "
                "again with `at_end`."
            )
    return ""


def _kept(each: KeptOperation) -> str:
    """Says why an operation was not taken out."""
    rows = ", ".join(_named(each.others))
    match each.why:
        case "unknown":
            why = "nothing in the draft has this id; an operation that was changed has a new one"
        case "ambiguous":
            why = f"it names several: {rows}"
        case "needed":
            them = "that one" if len(each.others) == 1 else "those"
            why = f"after a command, {rows} builds on it; take {them} out as well"
    return f"Not taken out: {each.reference}: {why}."
