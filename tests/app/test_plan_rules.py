"""Rules that bind plans are as the files say now, however often they are asked for."""

import os
import time
from pathlib import Path

import pytest

from assent.app.ports import PlanRulesReader, rule_file_stamps
from assent.config.paths import AppPaths
from assent.core.errors import UsageError

DENY = '[permission]\nedit = { "secret.txt" = "deny" }\n'
OTHER = '[permission]\nedit = { "public.txt" = "deny" }\n'
PATHS = (b"secret.txt", b"public.txt")


class Setup:
    def __init__(self, base: Path) -> None:
        self.root = base / "ws"
        self.here = AppPaths(base / "state", base / "config" / "assent")
        for folder in (self.root, self.here.state, self.here.config):
            folder.mkdir(parents=True)
        self.rules = PlanRulesReader(os.fsencode(self.root), self.here)

    def denied(self) -> list[bytes]:
        return sorted(self.rules.denials(PATHS))

    def write(self, text: str) -> None:
        self.here.file.write_text(text, encoding="utf-8")

    def settle(self) -> None:
        """Waits until what was read may be kept."""
        root = os.fsencode(self.root)
        while rule_file_stamps(root, self.here) is None:
            time.sleep(0.02)


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


def test_a_new_file_counts_at_once(setup: Setup) -> None:
    assert setup.denied() == setup.denied() == []
    setup.write(DENY)
    assert setup.denied() == [b"secret.txt"]
    setup.here.file.unlink()
    assert setup.denied() == []


def test_a_change_of_the_same_size_and_time_counts_at_once(setup: Setup) -> None:
    setup.write(DENY)
    setup.settle()
    assert setup.denied() == setup.denied() == [b"secret.txt"]
    times = setup.here.file.stat()
    assert len(OTHER) == len(DENY)
    setup.write(OTHER)
    os.utime(setup.here.file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert setup.denied() == [b"public.txt"]
    setup.settle()
    assert setup.denied() == setup.denied() == [b"public.txt"]


def test_a_file_of_the_project_counts_at_once(setup: Setup) -> None:
    setup.write(DENY)
    setup.settle()
    assert setup.denied() == [b"secret.txt"]
    file = setup.root / ".opencode" / "assent.toml"
    file.parent.mkdir()
    file.write_text(OTHER, encoding="utf-8")
    assert setup.denied() == [b"public.txt", b"secret.txt"]


def test_a_folder_that_became_the_workspaces_counts_at_once(setup: Setup) -> None:
    setup.write(DENY)
    setup.settle()
    known = rule_file_stamps(os.fsencode(setup.root), setup.here)
    inside = setup.root / "config"
    setup.here.config.parent.rename(inside)
    setup.here.config.parent.symlink_to(inside)
    assert rule_file_stamps(os.fsencode(setup.root), setup.here) != known


def test_a_broken_file_is_an_error_each_time(setup: Setup) -> None:
    setup.write(DENY)
    setup.settle()
    assert setup.denied() == [b"secret.txt"]
    setup.write("[permission\n")
    for _ in range(2):
        with pytest.raises(UsageError):
            setup.denied()
