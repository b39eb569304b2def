"""What a dead process left behind goes; what a living one is writing stays."""

import os
import time
from pathlib import Path

from tests.store.processes import child

from assent.store.blobs import FileBlobStore
from assent.store.packs import DAY, TempNames, is_abandoned

LEAVE = """
    import sys
    from assent.store.blobs import FileBlobStore
    blobs = FileBlobStore(sys.argv[1])
    blobs.keep([b"never flushed" * 100_000, b"."])
    print("kept", flush=True)
    sys.stdin.readline()
    blobs.flush()
"""


def left(root: Path) -> list[Path]:
    return list((root / "tmp").iterdir())


def flush_something(root: Path, content: bytes) -> None:
    blobs = FileBlobStore(root)
    blobs.keep([content * 1_000_000, b"."])  # large, and in pieces
    blobs.flush()


def test_living_process_keeps_its_files_and_a_dead_one_does_not(tmp_path: Path) -> None:
    with child(LEAVE, tmp_path) as dying, child(LEAVE, tmp_path) as living:
        assert (dying.hear(), living.hear()) == ("kept", "kept")
        assert len(left(tmp_path)) == 2
        flush_something(tmp_path, b"one")
        assert len(left(tmp_path)) == 2
        dying.kill()
        flush_something(tmp_path, b"two")
        assert len(left(tmp_path)) == 1
        living.say()
        living.end()
    assert left(tmp_path) == []


def test_very_old_file_goes_whoever_made_it(tmp_path: Path) -> None:
    flush_something(tmp_path, b"one")
    for name, age in (
        ("stranger", DAY + 60),
        ("1-1-elsewhere-1", DAY + 60),
        ("2-2-young-1", DAY - 60),
    ):
        path = tmp_path / "tmp" / name
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    flush_something(tmp_path, b"two")
    assert [path.name for path in left(tmp_path)] == ["2-2-young-1"]


def test_names_differ_and_their_maker_is_alive() -> None:
    one, other = TempNames("folder"), TempNames("folder")
    names = [one.fresh(), one.fresh(), other.fresh(), other.fresh()]
    assert len(set(names)) == 4
    assert not any(is_abandoned(os.path.basename(name), 0) for name in names)
