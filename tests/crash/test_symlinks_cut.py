"""Law 5: a symlink becomes a folder and a folder a symlink, cut at every call on a real disk."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.file_trees import Entries, laid, lay, states

from assent.core.plan.draft import net_changes
from assent.core.plan.operation import DeleteFile, FileOperation, WriteFile
from assent.executor.disk import Disk
from assent.executor.executor import Executor
from assent.executor.file_writer import LocalFileWriter
from assent.store.memory import MemoryBlobStore
from assent.testing.call_trace import trace_calls
from assent.testing.memory_workspace import CrashInjector, MemoryJournal, SimulatedCrash
from assent.testing.plan_cases import approved_plan

LINKED: Entries = {b"d": ("link", 0o777, b"../outside")}
FOLDER: Entries = {
    b"d/x": ("file", 0o644, b"one"),
    b"d/e/y": ("file", 0o644, b"two"),
}
NESTED: Entries = {b"d/e": ("link", 0o777, b"../../outside"), b"d/x": ("file", 0o644, b"one")}


def between(start: Entries, end: Entries) -> tuple[FileOperation, ...]:
    """Returns the operations that lead from one tree to another."""
    old, new = states(start), states(end)
    gone = [DeleteFile(p, state, p.count(b"/")) for p, state in old.items() if p not in new]
    put = [WriteFile(p, old.get(p), state) for p, state in new.items() if old.get(p) != state]
    return (*gone, *put)


def executor(
    root: Path, fuse: CrashInjector, blobs: MemoryBlobStore, journal: MemoryJournal
) -> Executor:
    disk = trace_calls(Disk(), "hands", lambda *_: fuse.step())
    return Executor(LocalFileWriter(os.fsencode(root), disk), blobs, journal)


@pytest.mark.parametrize(
    ("start", "end"),
    [(LINKED, FOLDER), (FOLDER, LINKED), (FOLDER, NESTED), (NESTED, FOLDER), (LINKED, NESTED)],
    ids=["to folder", "to link", "nested to link", "nested to folder", "another"],
)
def test_law_5_cut_at_every_call_all_or_nothing_remains(
    tmp_path: Path, start: Entries, end: Entries
) -> None:
    lay(tmp_path / "outside", {b"x": ("file", 0o644, b"precious")})
    operations = between(start, end)
    assert net_changes(operations)
    ends = set()
    moment, cut = 0, True
    while cut:
        moment += 1
        cut, done = one(tmp_path / "root", (start, end), operations, moment)
        ends.add(done)
    assert ends == {True, False}
    assert laid(tmp_path / "outside") == {b"x": ("file", 0o644, b"precious")}


def one(
    root: Path, trees: tuple[Entries, Entries], operations: Sequence[FileOperation], moment: int
) -> tuple[bool, bool]:
    """Cuts a run at one moment and recovers it; tells whether it was cut, and then done."""
    lay(root, trees[0])
    blobs, fuse = MemoryBlobStore(), CrashInjector()
    for _, _, content in [entry for tree in trees for entry in tree.values()]:
        blobs.keep([content])
    journal, approved, cut = MemoryJournal(CrashInjector()), approved_plan(operations), False
    fuse.at = moment
    try:
        for _ in executor(root, fuse, blobs, journal).apply(approved, f"run{moment}"):
            pass
    except SimulatedCrash:
        cut = True
    fuse.at = None
    if journal.read(f"run{moment}"):
        for _ in executor(root, fuse, blobs, journal).recover(
            approved.plan, f"run{moment}", "auto"
        ):
            pass
    found = laid(root)
    assert found in trees, moment
    return cut, found == trees[1]
