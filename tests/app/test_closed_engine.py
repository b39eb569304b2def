"""What a closed engine leaves open: nothing, however long it is kept by those who knew it."""

import os
from pathlib import Path

from tests.executor.disk_doubles import open_descriptors

from assent.app.composition import open_engine_at
from assent.config.paths import AppPaths


def test_a_closed_engine_has_no_descriptor_open(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "in").mkdir()
    (root / "in" / "a.txt").write_bytes(b"one\n")
    here = AppPaths(tmp_path / "state", tmp_path / "config")
    kept = []
    for name in ("first", "second", "third"):
        before = open_descriptors()
        engine, _ = open_engine_at(os.fspath(root), here)
        plan = engine.plans.new(name, goal="A change")
        plan = engine.drafts.write(plan, b"in/a.txt", [name.encode()], None).record
        assert engine.review_history.review(engine.approvals.propose(plan)).operations
        assert open_descriptors() != before
        engine.close()
        assert open_descriptors() == before
        kept.append(engine)
    assert kept[0].plans.all()[0].name == "third"  # for a thread that is late, it opens them again
    kept[0].close()
