"""The cache of snapshots: the program writes it, and every later process may use it or lose it."""

import os
import shutil
import time
from pathlib import Path

from assent.app.composition import open_engine_at
from assent.app.ports import SNAPSHOTS, folder_name
from assent.app.shell import open_process_at
from assent.config.paths import AppPaths


def run(root: Path, here: AppPaths, line: str) -> list[str]:
    """Runs a command that a person typed, in a process just opened; returns what it changed."""
    engine, _ = open_engine_at(os.fspath(root), here)
    running = engine.session_commands.run_as_user(
        None, line, open_process_at(os.fspath(root), here)
    )
    try:
        while True:
            next(running)
    except StopIteration as end:
        changed: list[str] = end.value.metadata["changed"]
        return changed
    finally:
        engine.close()


def test_f139_commands_are_recorded_alike_with_a_cache_and_without(tmp_path: Path) -> None:
    root, here = tmp_path / "work", AppPaths(tmp_path / "state", tmp_path / "config")
    (root / ".git").mkdir(parents=True)
    for name in ("a", "b"):
        (root / name).write_bytes(b"1\n")
        os.utime(root / name, ns=(time.time_ns(), 1))
    cache = here.state / SNAPSHOTS / folder_name(os.fsencode(root))
    assert run(root, here, "true") == []
    assert cache.stat().st_mode & 0o777 == 0o600
    assert run(root, here, "echo 2 > a") == ["a"]
    cache.write_bytes(b"damaged")
    assert run(root, here, "echo 3 > b; rm a") == ["a", "b"]
    shutil.rmtree(cache.parent)
    assert run(root, here, "echo 1 > a") == ["a"]
