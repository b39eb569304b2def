"""Which changes of a target an undo covers, what it calls them, and its limits."""

from collections.abc import Sequence

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import NotFound, StaleError
from assent.core.plan.operation import FileOperation, RunCommand, footprint, matching_operations
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord
from assent.core.undo import AppliedChange, UndoExtent, UndoGap, attribution_warnings, undo_gaps
from assent.runs.undo.recorded_undo import SHORT_ID
from assent.runs.undo.targets import UndoTarget, UndoTargets

NOT_RUN_AGAIN = "it is not run again; the files that it had changed are restored"


def select_operation(back: UndoTargets, target: UndoTarget, operation: str) -> UndoTarget:
    """Returns the target that is one operation of another, by its number or the start of its id."""
    deeds = {deed.token for run in target.runs for deed in back.applied.of(run)}
    numbered = numbered_operations(back, target)
    found = [
        numbered[index] for index in matching_operations([name for *_, name in numbered], operation)
    ]
    if len(found) != 1:
        raise NotFound(
            f"{operation!a} names {len(found)} operations of run {target.name}.",
            f"assent runs show {target.name}",
        )
    run, index, name = found[0]
    token = f"{run}:{index}"
    if token not in deeds:
        raise NotFound(
            f"Operation {name[:SHORT_ID]} of run {target.name} was not done, "
            "or is put back already.",
            f"assent runs show {target.name}",
        )
    return msgspec.structs.replace(target, only=token)


def numbered_operations(back: UndoTargets, target: UndoTarget) -> list[tuple[str, int, str]]:
    """Returns all operations of a target in the order in which people count them."""
    return [
        (run, index, name)
        for run in target.runs
        for index, name in enumerate(back.applied.ids(run))
    ]


def operation_names(back: UndoTargets, target: UndoTarget, ids: Sequence[str]) -> list[str]:
    """Returns what people call operations: number and short id; a composed one has no number."""
    numbers = {name: f"{n} " for n, (*_, name) in enumerate(numbered_operations(back, target), 1)}
    return [f"{numbers.get(name, '')}({name[:SHORT_ID]})" for name in ids]


def selected_changes(back: UndoTargets, target: UndoTarget) -> list[AppliedChange]:
    """Returns what of a target is to be taken back, in order."""
    return [deed for deed in back.done(target) if target.only in ("", deed.token)]


def undo_without_commands(back: UndoTargets, target: UndoTarget) -> str:
    """Returns what takes back the newest deed that needs no command for it; empty if there is none.

    The undo of a whole run begins with the commands that its plan names for that.
    """
    plain = {
        deed.token
        for deed in selected_changes(back, target)
        if deed.undo is None and deed.operations
    }
    numbers = [
        n
        for n, (run, at, _) in enumerate(numbered_operations(back, target), 1)
        if f"{run}:{at}" in plain
    ]
    return f"assent undo {target.name} --operation {numbers[-1]}" if numbers else ""


def refuse_repeated_undo(back: UndoTargets, record: PlanRecord, plan: Plan) -> None:
    """Refuses an undo whose commands another undo has run since it was shown (law 6)."""
    commands = [op for op in plan.operations if record.undoes and isinstance(op, RunCommand)]
    runs = dict.fromkeys(token.partition(":")[0] for token in record.undoes.split())
    deeds = [deed for run in runs for deed in back.applied.of(run)] if commands else []
    waiting = [deed.undo for deed in deeds if deed.undo and not back.is_undone(deed.token)]
    for command in commands:
        if command not in waiting:
            run = next(iter(runs))
            raise StaleError(
                f"Run {run} was taken back meanwhile. Nothing was changed.",
                f"assent undo {run} --dry-run",
            )
        waiting.remove(command)


def commands_with_undo(deeds: Sequence[AppliedChange]) -> tuple[AppliedChange, ...]:
    """Returns the commands that have an undo of their own, in the order in which it is run."""
    return tuple(deed for deed in reversed(deeds) if deed.undo)


def undo_extent(target: UndoTarget, deeds: Sequence[AppliedChange], more: UndoExtent) -> UndoExtent:
    """Returns how far an undo of deeds goes, and what it cannot cover."""
    return UndoExtent(
        tuple(deed.undo for deed in commands_with_undo(deeds) if deed.undo),
        (*undo_gaps(deeds), *more.gaps),
        more.again,
        deeds[0].id[:SHORT_ID] if target.only and deeds else "",
        attribution_warnings(deeds),
        recorded=any(deed.ordered for deed in deeds),
    )


def redo_extent(back: UndoTargets, target: UndoTarget) -> UndoExtent:
    """Returns what it means to take back an undo: the commands that it undid are not run again."""
    tokens = dict.fromkeys(target.record.undoes.split())
    deeds = [deed for token in tokens for deed in back.applied.of(token.partition(":")[0])]
    undone = [deed for deed in deeds if deed.token in tokens or deed.run in tokens]
    ran = [deed.ordered for deed in undone if deed.ordered]
    not_again = tuple(UndoGap(ordered.words, NOT_RUN_AGAIN) for ordered in ran)
    return UndoExtent(gaps=tuple(dict.fromkeys(not_again)), again=True)


def skipped_changes(
    back: UndoTargets, target: UndoTarget, left: Sequence[FileOperation]
) -> tuple[str, ...]:
    """Returns the tokens of what was done and an undo leaves alone, wholly or in part."""
    if not left:
        return ()
    paths = {path for op in left for path, *_ in footprint(op)}
    return tuple(
        deed.token for deed in selected_changes(back, target) if not paths.isdisjoint(deed.paths)
    )


def original_ids(
    deeds: Sequence[AppliedChange], operations: Sequence[FileOperation]
) -> tuple[str, ...]:
    """Returns the ids of the originals; what was composed of several has one of its own."""
    if tuple(op for deed in deeds for op in deed.operations) != tuple(operations) or any(
        deed.ordered for deed in deeds
    ):
        return operation_ids(operations)
    return tuple(deed.id for deed in deeds)
