"""Draft results: how a model reads what it staged, took out, or has in its draft."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from assent.core.paths import one_line
from assent.core.plan.draft_index import NamedOperation
from assent.core.plan.operation import Operation, RunCommand, footprint
from assent.core.plan.record import PlanRecord
from assent.core.tool import UNSTAGED, DraftEffect, EffectResult, ToolOutcome
from assent.planning.drafts import Drafts, KeptOperation, Staged
from assent.planning.plans import Plans
from assent.planning.ports import Ports
from assent.render.diff import IS_NOT_SHOWN, LIMIT, operation_diff
from assent.render.rows import operation_brief, operation_kind, operation_subject
from assent.tools.outcome import limited_outcome

SHORT_ID = 7  # characters of an operation's id
MAX_NAMED = 20  # operations that a result names
MAX_LISTED = 200  # operations that the list of a whole draft names
NOTHING_NEW = "no new operation; the plan already results in this"
STAGED_COMMAND = "Staged as command {number} of {count}, runs after approval. Id {id}."
AS_BEFORE = "Files are as they were before."


class DraftResults:
    """Puts what a model did with its draft into words; takes operations out for it."""

    def __init__(self, ports: Ports, plans: Plans, drafts: Drafts) -> None:
        self._ports = ports
        self._plans = plans
        self._drafts = drafts

    def staged(self, plan: PlanRecord, staged: Staged, above: str = "") -> str:
        """Returns what became of edits; what stands above it already names some paths."""
        return staged_text(plan, staged, self._named(staged.record), above)

    def staged_command(self, staged: Staged) -> str:
        """Returns which of the commands was just staged."""
        added = [name for name, _ in staged.added]
        draft = self._named(staged.record)
        commands = [name for name, op in draft if isinstance(op, RunCommand)]
        number = next((at for at, name in enumerate(commands, 1) if name in added), len(commands))
        return STAGED_COMMAND.format(
            number=number, count=len(commands), id=", ".join(name[:SHORT_ID] for name in added)
        )

    def summary(self, plan: PlanRecord) -> str:
        """Returns the operations on further lines, as far as a result has room; or nothing."""
        draft = self._named(plan)
        return f"\n{listed_text(draft, MAX_NAMED, plan.at_end)}" if draft else ""

    def listed(self, plan: PlanRecord | None, wanted: DraftEffect) -> ToolOutcome:
        """Returns the operations of a draft, with the diffs that are wanted."""
        if plan is None:
            return ToolOutcome(listed_text(()))
        draft = self._named(plan)
        of = f"Option {plan.option}: " if plan.option else ""
        texts = [f"{of}{listed_text(draft, at_end=plan.at_end)}"]
        if wanted.diff:
            texts += [diff_text(one, wanted.paths, self._ports.blobs.read) for one in draft]
        return limited_outcome("\n\n".join(texts))

    def unstaged(self, plan: PlanRecord, ids: Sequence[str]) -> tuple[EffectResult, PlanRecord]:
        """Takes operations out of a draft; returns what to say about it, and the plan after it."""
        was = self._named(plan)
        staged = self._drafts.unstage(plan, ids)
        places = [at for at, pair in enumerate(was) if pair in staged.removed]
        later = was[places[0] :] if places else ()
        commands = [p for p in later if isinstance(p[1], RunCommand) and p not in staged.removed]
        text = unstaged_text(staged, self._named(staged.record), len(commands))
        metadata = {UNSTAGED: [name for name, _ in staged.removed]}
        return EffectResult(text, failed=not staged.removed, metadata=metadata), staged.record

    def _named(self, plan: PlanRecord) -> tuple[NamedOperation, ...]:
        draft = self._plans.staged(plan)
        return tuple(zip(draft.index.ids, draft.operations, strict=True))


def cancelled_text(named: str, where: str) -> str:
    """Returns that a change undid staged ones, so that none is left."""
    return f"It cancels out what was staged before: {named}. Nothing of it is left in {where}."


def staged_text(
    plan: PlanRecord, staged: Staged, draft: Sequence[NamedOperation], above: str = ""
) -> str:
    """Returns what became of edits in the draft, by number and id, and how to take it out.

    An operation whose path begins a line above is not described again.
    """
    where = f"option {plan.option}" if plan.option else "the plan"
    if not staged.added and staged.gone:
        named = ", ".join(_named(staged.gone))
        return cancelled_text(named, where)
    numbers = {name: number for number, (name, _) in enumerate(draft, 1)}
    rows = [
        f"{numbers[name]} {_row(name, op, above)}{_changed(staged, name)}"
        for name, op in staged.added[:MAX_NAMED]
    ]
    more = len(staged.added) - MAX_NAMED
    told = ", ".join(rows) + (f", and {more} more" if more > 0 else "") if rows else NOTHING_NEW
    gone = f" No longer needed: {', '.join(_named(staged.gone))}." if staged.gone else ""
    out = f"; unstage takes {'them' if rows[1:] else 'it'} out" if rows else ""
    into = f" in {where}" if plan.option else ""
    return f"Staged{into}: {told}{out}.{gone}{_earlier(staged, draft)}"


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
    told += [AS_BEFORE] if files else []
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
        return f"{title}: {IS_NOT_SHOWN}"
    before, after = [read(state.digest) if state else None for state in footprint(op)[0][1:]]
    patch = operation_diff(op, before, after)
    return f"{title}: {IS_NOT_SHOWN}" if patch is None else f"{title}:\n{patch.rstrip()}"


def _row(name: str, op: Operation, above: str = "") -> str:
    paths = [one_line(path) for path, *_ in footprint(op)]
    if above and paths and all(f"\n{path}: " in f"\n{above}" for path in paths):
        return name[:SHORT_ID]
    return f"{name[:SHORT_ID]} {operation_kind(op)} {operation_brief(op)}"


def _named(operations: Iterable[NamedOperation]) -> Iterator[str]:
    return (
        f"{name[:SHORT_ID]} {operation_kind(op)} {operation_subject(op)}" for name, op in operations
    )


def _changed(staged: Staged, name: str) -> str:
    was = staged.changed.get(name)
    return f" (was {was[:SHORT_ID]})" if was else ""


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
