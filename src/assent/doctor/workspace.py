"""A temporary workspace with its own state directory and engine, for a check."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from assent.app.composition import open_engine_at
from assent.app.engine import Engine
from assent.config.paths import AppPaths
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.runs.run_status import RunReport
from assent.sandbox.temp_folder import TempFolder, temp_folder

PROJECT = "project"
CHANNEL = "doctor"


class DoctorWorkspace:
    """Where a check runs; the workspace, its state and its configuration are temporary."""

    def __init__(self, folder: TempFolder) -> None:
        self.place = folder
        self.root = folder.folder(PROJECT)
        folder.folder(f"{PROJECT}/.opencode/plans")  # whatever is above it, this is the workspace
        self.outside = folder.folder("outside")
        self.places = AppPaths(folder.folder("state"), folder.folder("config"))
        self.put("kept.txt", b"kept\n")
        self.put("sub/inner.txt", b"inner\n")
        self.engine: Engine = open_engine_at(str(self.root), self.places)[0]

    def put(self, name: str, content: bytes) -> Path:
        """Writes a file of the workspace, as another program would."""
        return self.place.write(f"{PROJECT}/{name}", content, 0o644)

    def content(self, name: str) -> bytes | None:
        """Returns the content of a file of the workspace."""
        return self.place.read(f"{PROJECT}/{name}")

    def proposed(self, files: Mapping[str, bytes]) -> PlanRecord:
        """Proposes a plan that writes files."""
        record = self.engine.plans.new("work", "doctor", "A check")
        for name, content in files.items():
            record = self.engine.drafts.write(record, name.encode(), [content], None).record
        return self.engine.approvals.propose(record)

    def approved(self, files: Mapping[str, bytes]) -> PlanRecord:
        """Proposes and approves a plan that writes files."""
        record = self.proposed(files)
        return self.engine.approvals.approve(record, record.digest, "", CHANNEL)

    def build(self, record: PlanRecord) -> RunReport:
        return drive_to_end(self.engine.runs.build(record.plan_id))


@contextmanager
def doctor_workspace(folder: Path | None = None) -> Iterator[DoctorWorkspace]:
    """Creates a temporary workspace, and always removes it."""
    with temp_folder(folder) as place:
        found = DoctorWorkspace(place)
        try:
            yield found
        finally:
            found.engine.close()
