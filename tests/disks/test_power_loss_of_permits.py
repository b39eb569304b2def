"""G5, law 5 for permits: a power cut during an edit leaves all or nothing, and no question."""

from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.sweep import Report
from tests.disks.possible import needs_mounts
from tests.disks.power import TYPES

pytestmark = PATIENT

ONE_RENAME = ("replace", "create")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("story", [*ONE_RENAME, "eight_operations"])
def test_g5_an_edit_cut_at_every_change_is_done_or_rolled_back(
    story: str, kind: str, tmp_path: Path
) -> None:
    needs_mounts("unshare", "losetup", TYPES[kind][0][0])
    report = apart(Report, "tests.disks.permit_power", kind, story, tmp_path)
    assert report.complaints == []
    assert report.killed > 12
    assert {"rolled_back", "done"} <= report.ends.keys()
