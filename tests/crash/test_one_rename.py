"""Law 5 for an edit of one file: its commit is not waited for, and all or nothing remains.

A machine that fails may keep the rename and lose the record of it, or the other way round; and it
may lose the names of slots, which nothing waits for here.
"""

from functools import partial
from typing import Self

import pytest
from tests.crash.test_every_moment_in_memory import SINGLES, World, sweep

from assent.core.plan.operation import WriteFile
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    CommittedEntry,
    FinishedEntry,
    JournalEntry,
    SettledEntry,
    StartedEntry,
    is_one_rename,
)
from assent.core.run.permit import Permit, permit_text, permitted
from assent.core.run.slot_move import SlotLayout
from assent.testing.memory_workspace import CrashInjector, MemoryJournal
from assent.testing.plan_cases import PlanCase

ONE_RENAME = [param for param in SINGLES if param.id in ("create", "replace", "chmod")]
FIRST = StartedEntry("", "digest", "permit", SlotLayout("run"))


class LateJournal(MemoryJournal):
    """Records a commit with what follows it, and waits for neither, as the log does."""

    def __init__(self, fuse: CrashInjector | None = None) -> None:
        super().__init__(fuse)
        self.held: list[JournalEntry] = []  # what a process that ends takes with it
        self.on_disk = 0

    def twin(self, fuse: CrashInjector) -> Self:
        twin = type(self)(fuse)
        twin.runs = {run: list(entries) for run, entries in self.runs.items()}
        twin.on_disk = self.on_disk
        return twin

    def read(self, run: str) -> list[JournalEntry]:
        return [*super().read(run), *self.held]

    def write(self, run: str, entry: JournalEntry) -> None:
        if isinstance(entry, CommittedEntry):
            self.held = [entry]
            return
        self.fuse.step()
        entries = self.runs.setdefault(run, [])
        entries += [*self.held, entry]
        self.held = []
        done = isinstance(entry, SettledEntry) and entry.outcome == "done"
        if not done and not isinstance(entry, FinishedEntry):
            self.on_disk = len(entries)
        self.fuse.step()


class Permitted(World):
    """The same operations with a permit; `keeps_log`: what was not waited for is on disk, too."""

    def __init__(self, case: PlanCase, *, keeps_log: bool) -> None:
        super().__init__(case)
        self.journal: LateJournal = LateJournal(self.fuse)
        self._keeps_log = keeps_log
        text = permit_text("s1", "c1", "mode", "auto-edit")
        plan = Plan(text, case.operations, workspace="w")
        permit = Permit("p1", "s1", "c1", "mode", "auto-edit", plan.digest, "now")
        self.approved = permitted(plan, permit)

    def lose_power(self) -> None:
        super().lose_power()
        if not self._keeps_log and self.run in self.journal.runs:
            del self.journal.runs[self.run][self.journal.on_disk :]


@pytest.mark.parametrize("keeps_log", [False, True], ids=["log lost", "log kept"])
@pytest.mark.parametrize("case", ONE_RENAME)
def test_an_edit_of_one_file_survives_any_two_crashes(case: PlanCase, keeps_log: bool) -> None:
    assert sweep(case, partial(Permitted, keeps_log=keeps_log), twice=True) > 20


@pytest.mark.parametrize("case", SINGLES)
def test_only_a_write_of_one_file_into_a_folder_that_exists_is_one_rename(case: PlanCase) -> None:
    alone = is_one_rename(FIRST, case.operations)
    assert alone == (case.name in ("create", "replace", "chmod", "create_deep"))
    elsewhere = (
        StartedEntry("plan", "digest", "approval", SlotLayout("run")),
        StartedEntry("", "digest", "permit", SlotLayout("run"), (b"folder",)),
        StartedEntry("", "digest", "permit", SlotLayout("run", exchanges=False)),
        StartedEntry("", "digest", "permit", SlotLayout("run", beside=((b"a", b""),))),
    )
    assert not any(is_one_rename(first, case.operations) for first in elsewhere)
    op = case.operations[0]
    if isinstance(op, WriteFile):
        assert not is_one_rename(FIRST, (op, op))
