"""A stage for every test, and one for those that try to do harm on it."""

from pathlib import Path

import pytest
from tests.adversarial.harness import Stage
from tests.adversarial.hostile_calls import PATIENT


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def victim(stage: Stage) -> Stage:
    """A workspace with everything that a hostile model could wish for, and canaries around it."""
    stage.config.write_text(PATIENT, encoding="utf-8")
    stage.git("init", "-q")
    outside = stage.base / "outside"
    outside.mkdir()
    (outside / "canary.txt").write_text("one\n", encoding="utf-8")
    (stage.base / "home" / "canary.txt").write_text("one\n", encoding="utf-8")
    stage.put("src/app.py", b"one\n")
    stage.put(".env", b"SECRET=hunter2\n")
    stage.link("link-to-outside", str(outside / "canary.txt"))
    stage.link("folder-outside", str(outside))
    stage.link("dangling", str(outside / "missing.txt"))
    stage.git("add", "-A")
    stage.git("commit", "-q", "-m", "one")
    stage.ok("init")
    return stage
