"""F64: an error of log or disk in the middle of a run is an answer that names the run."""

from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.failing_log import Failed

VERBS = ("build", "stream", "approve", "recover", "undo", "redo")
CASES = [
    *[(verb, "store", "EIO", "sticky") for verb in VERBS],
    *[(verb, "store", "ENOSPC", "once") for verb in VERBS],
    ("build", "store", "EIO", "after"),
    ("undo", "store", "EIO", "after"),
    ("build", "disk", "EIO", "once"),
    ("build", "disk", "ENOSPC", "sticky"),
    ("undo", "disk", "EIO", "sticky"),
]


@PATIENT
@pytest.mark.parametrize(("verb", "whose", "code", "manner"), CASES)
def test_whatever_call_fails_the_answer_names_the_run(
    verb: str, whose: str, code: str, manner: str, quick_path: Path
) -> None:
    report = apart(Failed, "tests.crash.failing_log", verb, whose, code, manner, quick_path)
    assert report.complaints == []
    assert report.fired > 10
    # A disk that fails once lets the run be taken back at once; all else leaves a run to recover.
    unlucky = "1" if (whose, manner) == ("disk", "once") else "6"
    assert {"0", unlucky} <= report.answers.keys()
