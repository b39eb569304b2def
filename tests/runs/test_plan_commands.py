"""The commands of plans: which are refused before anything is done, and how the others are run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.session import NoProcess

from assent.core.digest import sha256
from assent.core.errors import Refused
from assent.core.plan.operation import FileState, RunCommand, WriteFile
from assent.core.run.workspace_changes import WorkspaceChanges
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    SandboxState,
    SandboxStatus,
)
from assent.planning.ports import WorkspaceConfig
from assent.runs.plan_commands import LocalPlanCommandRunner
from assent.store.memory import MemoryBlobStore
from assent.workspace.files import LocalWorkspaceFiles

MAKE = RunCommand((b"make",))


class Noted(NoProcess):
    """Implements ports.ProcessRunner: notes what it should do, and says that it did."""

    def __init__(self, hold: SandboxState = SandboxState.HELD) -> None:
        self._hold = hold
        self.done: list[tuple[CommandSpec, bytes, ProcessLimits, bool]] = []

    def sandbox_status(self) -> SandboxStatus:
        return SandboxStatus(self._hold, "There is none.", "apt install bubblewrap")

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        self.done.append((errand, folder, limits, confined))
        yield OutputChunk(b"made\n")
        yield ProcessResult(0)


def commander(root: Path, process: Noted) -> LocalPlanCommandRunner:
    folder = os.fsencode(root)
    place = WorkspaceConfig(folder, 0, b".opencode/plans", "me")
    return LocalPlanCommandRunner(
        lambda: process, LocalWorkspaceFiles(folder, folder), MemoryBlobStore(), place
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "sub/deep").mkdir(parents=True)
    (root / "file").write_bytes(b"x")
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to("sub")
    return root


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (RunCommand(), "either a program with arguments or a script"),
        (RunCommand((b"ls",), b"ls"), "either a program with arguments or a script"),
        (RunCommand((b"",)), "needs a program name"),
        (RunCommand((b"ls", b"a\0b")), "null byte"),
        (RunCommand((), b"ls\0"), "null byte"),
        (RunCommand((b"ls",), timeout=0), "time limit"),
        (RunCommand((b"ls",), timeout=86_401), "time limit"),
        (RunCommand((b"ls",), env=((b"PATH", b"."),)), "PATH controls"),
        (RunCommand((b"ls",), env=((b"A B", b""),)), "not a valid variable name"),
        (RunCommand((b"ls",), env=((b"A", b"1"), (b"A", b"2"))), "twice"),
        (RunCommand((b"ls",), cwd=b"../x"), "outside the workspace"),
        (RunCommand((b"ls",), cwd=b"/etc"), "not a path inside"),
        (RunCommand((b"ls",), cwd=b"sub/."), "not a folder in the workspace"),
        (RunCommand((b"ls",), cwd=b"out"), "symbolic link"),
        (RunCommand((b"ls",), cwd=b"in/deep"), "symbolic link"),
        (RunCommand((b"ls",), cwd=b"file"), "is a file"),
        (RunCommand((b"git", b"push"), profile="commit"), "Only the commit"),
    ],
)
def test_f65_what_could_not_run_is_refused_before_anything_is_done(
    root: Path, command: RunCommand, why: str
) -> None:
    process = Noted()
    with pytest.raises(Refused, match=why):
        commander(root, process).check(command)
    assert process.done == []


@pytest.mark.parametrize("hold", [SandboxState.NONE, SandboxState.OFF])
def test_f65_without_a_sandbox_only_an_unconfined_command_may_begin(
    root: Path, hold: SandboxState
) -> None:
    bare = commander(root, Noted(hold))
    with pytest.raises(Refused, match="There is none") as refused:
        bare.check(MAKE)
    assert refused.value.next == "apt install bubblewrap"
    bare.check(RunCommand((b"make",), profile="unconfined"))


def test_a_folder_that_an_earlier_operation_makes_may_be_missing(root: Path) -> None:
    commander(root, Noted()).check(RunCommand((b"make",), cwd=b"later"))


def test_a_command_runs_as_its_plan_says(root: Path) -> None:
    process = Noted()
    command = RunCommand((), b"echo \xff", b"sub", ((b"A", b"1"),), 7, network=True)
    parts = list(commander(root, process).run(command, "d" * 64, ()))
    assert parts == [OutputChunk(b"made\n"), ProcessResult(0)]
    errand = CommandSpec("echo \udcff", (), ((b"A", b"1"),), "workspace", network=True)
    limits = ProcessLimits(7, 1 << 30, 1024, 8 << 30, file=0)
    assert process.done == [(errand, os.fsencode(root / "sub"), limits, True)]


def test_a_folder_that_became_a_symlink_since_is_refused_when_it_runs(root: Path) -> None:
    process = Noted()
    with pytest.raises(Refused, match="symbolic link"):
        commander(root, process).run(RunCommand((b"make",), cwd=b"out"), "d" * 64, ())
    assert process.done == []


def test_f139_a_record_tells_later_what_changed(root: Path) -> None:
    before = commander(root, Noted())
    record = before.record()
    (root / "file").write_bytes(b"y")
    expected = WorkspaceChanges(
        (
            WriteFile(
                b"file",
                FileState(sha256(b"x"), 1, 0o644),
                FileState(sha256(b"y"), 1, 0o644),
            ),
        )
    )
    assert before.changes(record) == expected
