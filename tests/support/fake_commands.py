"""A workspace whose commands are functions of a test, on a real disk, really recorded."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tests.support.engine import World

from assent.app.engine import Engine
from assent.core.errors import RunUnfinished
from assent.core.plan.operation import RunCommand
from assent.core.run.workspace_changes import NO_FILES, FileStateChanges, WorkspaceChanges
from assent.core.shell.process import INTERRUPTED_RESULT, OutputChunk, ProcessResult, never_stopped
from assent.executor.executor import Executor
from assent.executor.file_writer import LocalFileWriter
from assent.executor.projection import PLANS, LocalProjection
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.snapshot.recorder import SnapshotRecorder
from assent.workspace.files import LocalWorkspaceFiles

Act = Callable[[Path], None]


class Acting:
    """Implements ports.PlanCommandRunner: the name of a command is the number of an act."""

    outlived = ""  # what still runs of a command whose starter died

    def __init__(self, root: Path, recorder: SnapshotRecorder, acts: Sequence[Act]) -> None:
        self._root = root
        self._recorder = recorder
        self._acts = acts
        self._stopped: Callable[[], bool] = never_stopped

    def check(self, command: RunCommand, meant: FileStateChanges = NO_FILES) -> None:
        assert int(command.argv[0]) < len(self._acts)

    def check_allowed(self, command: RunCommand) -> None:
        """No rules are there."""

    def check_at_rest(self) -> None:
        if self.outlived:
            raise RunUnfinished(f"It still runs: {self.outlived}.")

    def clean_up(self, command: RunCommand, left: FileStateChanges) -> str:
        return ""

    def record(self) -> str:
        return self._recorder.store(self._recorder.take())

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        number, code = command.argv
        self._acts[int(number)](self._root)
        yield INTERRUPTED_RESULT if self._stopped() else ProcessResult(int(code))

    def stop_when(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped

    def changes(self, before: str) -> WorkspaceChanges:
        return self._recorder.changes(self._recorder.load(before))


class ActingWorld(World):
    """A world whose plans run acts."""

    def __init__(self, base: Path, *acts: Act) -> None:
        super().__init__(base)
        self.acts = acts

    def opened(self) -> Engine:
        root = os.fsencode(self.root)
        files = LocalWorkspaceFiles(root, root)
        place = WorkspaceConfig(root, os.stat(root).st_ino, PLANS, "tester")
        acting = Acting(self.root, SnapshotRecorder(files, self.blobs, place), self.acts)
        hands = LocalFileWriter(root, spares=self.spares)
        doors = Ports(
            store=self.store,
            blobs=self.blobs,
            signer=self.signer,
            locks=self.locks,
            clock=self.clock,
            files=files,
            projection=LocalProjection(root),
            executor=partial(Executor, hands, self.blobs, commander=acting),
            open_command_runner=lambda: acting,
        )
        return Engine(doors, place)

    def approved(self, *codes: int) -> str:
        """Makes a plan that runs every act, with the exit codes that they end with."""
        engine = self.opened()
        record = engine.plans.new("work", "tests", "A goal")
        for number, code in enumerate(codes):
            command = RunCommand((b"%d" % number, b"%d" % code), profile="unconfined")
            record = engine.drafts.run(record, command).record
        record = engine.approvals.propose(record)
        engine.approvals.approve(record, record.digest, "", "test")
        return record.plan_id
