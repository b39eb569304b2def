"""Where runs left the displaced files that an undo restores, looked up when first needed."""

from collections.abc import Iterator
from functools import cache

import msgspec

from assent.core.errors import AssentError
from assent.core.plan.record import PlanRecord
from assent.core.run.results import (
    DisplacedLookup,
    DisplacedSlots,
    displaced_slots,
    no_displaced,
)
from assent.planning.plan_repository import PlanRepository
from assent.planning.ports import Ports
from assent.runs.applied_changes import AppliedChanges


def displaced_by(doors: Ports, ledger: PlanRepository, undoes: str) -> DisplacedLookup:
    """Returns where files may be that stood in the workspace before these runs, or deeds of one."""
    if not undoes:
        return no_displaced

    @cache
    def slots() -> DisplacedSlots:
        found: DisplacedSlots = {}
        try:
            deeds = AppliedChanges(doors, ledger)
            for run in _related(undoes, deeds.records):
                # What they name is checked to the byte before it is used, so no digest is.
                found |= displaced_slots(deeds.named(run), deeds.entries(run))
        except (AssentError, msgspec.MsgspecError):
            return {}  # spares are never needed
        return found

    return lambda path, state: slots().get((path, state))


def _related(undoes: str, records: list[PlanRecord]) -> Iterator[str]:
    """Yields the runs that are taken back, and all that took back and did again what they did."""
    runs = dict.fromkeys(_runs(undoes))
    yield from runs
    for record in reversed(records):  # the oldest comes first
        if not runs.keys().isdisjoint(_runs(record.undoes)):
            for note in record.runs:
                runs[note.run] = None
                yield note.run


def _runs(tokens: str) -> list[str]:
    return [token.partition(":")[0] for token in tokens.split()]
