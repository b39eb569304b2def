"""What was undone so far: runs and single changes, and what each undo skipped."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal

import msgspec

from assent.core.plan.operation import RunCommand, footprint
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.undo import AppliedChange
from assent.runs.applied_changes import AppliedChanges, can_be_undone
from assent.runs.undo.recorded_undo import changes_undone_by

UndoneAmount = Literal["", "some", "all"]
UndoRun = tuple[PlanRecord, PlanRun]  # an undo or a redo, and the run that carried it out


class UndoHistory:
    """The state of everything that undos were about; an undo that was redone does not count.

    A deed is taken back once any undo that counts took all of it.
    """

    def __init__(self, deeds: AppliedChanges, undos: Sequence[UndoRun]) -> None:
        self._deeds = deeds
        self.names: set[str] = set()  # runs, builds and deeds that undos were about
        self.idle: set[str] = set()  # undos that were accepted as they stood, and did nothing
        # Deeds among them that were left alone, each with the paths that are back all the same.
        self._left: dict[str, frozenset[bytes]] = {}
        for record, note in reversed(undos):  # the newest first: it may take back others
            if not self.is_over(note.run):
                self._add(record, note)

    def has(self, token: str, whole: str = "") -> bool:
        """Tells whether a deed was taken back, alone or with its run or build."""
        names = {token, token.partition(":")[0], whole}
        return token not in self._left and not self.names.isdisjoint(names)

    def is_over(self, run: str, whole: str = "") -> bool:
        """Tells whether a run was taken back as one, and nothing of it was left alone."""
        if self.names.isdisjoint({run, whole}):
            return False
        return not any(token.startswith(f"{run}:") for token in self._left)

    def rest(self, deed: AppliedChange) -> AppliedChange:
        """Returns what is left of a deed; a command may be taken back in parts, file by file."""
        back = self._left.get(deed.token)
        if not back or deed.ordered is None or deed.undo:
            return deed
        left = [op for op in deed.operations if not {p for p, *_ in footprint(op)} <= back]
        return msgspec.structs.replace(deed, operations=tuple(left))

    def of(self, runs: Iterable[str], whole: str = "") -> UndoneAmount:
        """Says how much of runs was taken back that are undone as one."""
        named = list(runs)
        if self._about_runs.isdisjoint({*named, whole}):
            return ""
        deeds = [deed for run in named for deed in self._deeds.of(run)]
        if all(self.has(deed.token, whole) for deed in deeds):
            return "all"
        some = any(self.has(deed.token, whole) or self._left.get(deed.token) for deed in deeds)
        return "some" if some else ""

    @cached_property
    def _about_runs(self) -> set[str]:
        """The runs and builds of which anything was taken back."""
        return {name.partition(":")[0] for name in (*self.names, *self._left)}

    def _add(self, record: PlanRecord, note: PlanRun) -> None:
        end = self._deeds.end(note.run)
        rows = list(enumerate(end.results)) if end else []
        stand = [at for at, found in rows if found == "done" and not self.has(f"{note.run}:{at}")]
        if rows and not stand and not can_be_undone(self._deeds.of(note.run)):
            self.idle.add(note.run)
        missed = self._missed(record, note, sorted({at for at, _ in rows}.difference(stand)))
        back = self._paths(note, stand) if missed or record.spared else frozenset()
        left = {*record.spared, *[deed.token for deed in missed if deed.paths & back]}
        names = set(record.undoes.split())
        if missed:
            lost = {deed.token for deed in missed}
            names = {deed.token for deed in self._about(record)} - lost
        self._count(names, left, back)

    def _count(self, names: set[str], left: set[str], back: frozenset[bytes]) -> None:
        """Counts one more undo: what it was about, and what it left alone."""
        for token in left:
            if not self.has(token):
                self._left[token] = self._left.get(token, frozenset()) | back
        for token in [one for one in self._left if one not in left]:
            if not names.isdisjoint((token, token.partition(":")[0])):
                del self._left[token]
        self.names |= names

    def _paths(self, note: PlanRun, stand: Sequence[int]) -> frozenset[bytes]:
        """Returns the paths that an undo put back itself."""
        operations = self._deeds.named(note.run)
        done = [operations[at] for at in stand if not isinstance(operations[at], RunCommand)]
        return frozenset(path for op in done for path, *_ in footprint(op))

    def _missed(
        self, record: PlanRecord, note: PlanRun, places: Sequence[int]
    ) -> list[AppliedChange]:
        """Returns the deeds that an undo did not take back, because it was accepted halfway.

        Nor did it where that was taken back again.
        """
        if not places:
            return []
        about = self._about(record)
        operations = [self._deeds.operations(note.run)[at] for at in places]
        tokens = set(changes_undone_by(operations, about))
        return [deed for deed in about if deed.token in tokens]

    def _about(self, record: PlanRecord) -> list[AppliedChange]:
        """Returns the deeds that an undo was to take back."""
        named = dict.fromkeys(token.partition(":") for token in record.undoes.split())
        every = [(deed, index) for run, _, index in named for deed in self._deeds.of(run)]
        return [deed for deed, index in every if index in ("", str(deed.index))]
