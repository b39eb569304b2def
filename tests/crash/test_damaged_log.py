"""A log that is cut, overwritten, old or gone is an error with words; nothing is applied by it."""

import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.crash.rig import Rig
from tests.crash.stories import BY_NAME
from tests.crash.trees import Entry

from assent.core.errors import AssentError
from assent.core.run.journal import drive_to_end

STORY = BY_NAME["eight_operations"]
STRIDE = 67  # bytes between two places that are overwritten, one after the other


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5])
def test_a_truncated_log_is_refused(share: float, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    log = rig.site.state / "log.db"
    os.truncate(log, int(log.stat().st_size * share))
    _refused(rig)


def test_a_log_that_is_no_log_is_refused(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    (rig.site.state / "log.db").write_bytes(b"not a database\n" * 999)
    _refused(rig)


def test_a_log_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    (rig.site.state / "log.db").unlink()
    (rig.site.state / "log.db").mkdir()
    _refused(rig, (rig.site.state / "log.db").rmdir)


def _refused(rig: Rig, mend: Callable[[], object] = int) -> None:
    for command in (("build",), ("recover",), ("status",), ("approve", "--digest", "0" * 64)):
        answer = rig.command(*command)
        assert (answer.exit, answer.json["error"]) == (1, "store"), command
        assert answer.json["message"].endswith(".")
        assert answer.json["next"]
    assert rig.tree() == STORY.start
    assert rig.leftovers() == []
    mend()
    rig.restore(rig.approved)
    assert rig.command("build").exit == 0


def test_without_its_log_a_workspace_knows_no_plan_and_nothing_is_applied(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    (rig.site.state / "log.db").unlink()
    for arguments in (("build",), ("build", "--plan", rig.plan_id)):
        assert rig.command(*arguments).exit in (1, 3)
        assert rig.tree() == STORY.start


def test_an_older_log_does_not_let_a_plan_run_twice(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    assert rig.command("build").exit == 0
    for name, content in rig.approved.log.items():
        (rig.site.state / name).write_bytes(content)
    answer = rig.command("build")
    assert (answer.exit, answer.json["error"]) == (5, "drift")
    assert rig.tree() == STORY.finish


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff\xfe", b'{"plan_id": 1}'])
def test_damaged_heads_are_folded_anew(body: bytes, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    _change(rig, "UPDATE heads SET body = ?", body)
    assert rig.command("build").exit == 0
    assert rig.tree() == STORY.finish


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_a_log_that_lost_an_event_of_a_plan_is_refused(seq: int, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    _change(rig, "DELETE FROM events WHERE stream LIKE 'plan/%' AND seq = ?", seq)
    _change(rig, "DELETE FROM heads WHERE seq > ?", 0)
    assert rig.command("build").json["error"] == "store"
    assert rig.tree() == STORY.start


def _change(rig: Rig, statement: str, value: object) -> None:
    with closing(sqlite3.connect(rig.site.state / "log.db")) as database, database:
        assert database.execute(statement, (value,)).rowcount > 0


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("kept", ["with_heads", "without_heads"])
def test_wherever_the_log_is_overwritten_the_outcome_is_true(
    kept: str, part: int, quick_path: Path
) -> None:
    rig = Rig(quick_path, STORY)
    log, ends = rig.site.state / "log.db", Counter[str]()
    if kept == "without_heads":
        with closing(sqlite3.connect(log)) as database:
            database.executescript("DELETE FROM heads; PRAGMA wal_checkpoint(TRUNCATE);")
        rig.approved = rig.save()
    for place in range(part * STRIDE, len(rig.approved.log["log.db"]), 4 * STRIDE):
        rig.restore(rig.approved)
        _overwrite(log, place)
        ends[_true_end(rig, f"overwritten at {place}")] += 1
    assert ends["StoreError"] >= 3  # where the heads are kept, little of the log is read at all
    assert ends["done"] > 10  # most of a log is about other things, or about nothing any more


def test_wherever_the_log_is_cut_the_outcome_is_true(quick_path: Path) -> None:
    rig = Rig(quick_path, STORY)
    log, ends = rig.site.state / "log.db", Counter[str]()
    for size in range(0, len(rig.approved.log["log.db"]), 509):
        rig.restore(rig.approved)
        os.truncate(log, size)
        ends[_true_end(rig, f"cut at {size}")] += 1
    assert ends["StoreError"] > 10


def _true_end(rig: Rig, where: str) -> str:
    """Builds; whatever comes of it, no file is torn, and done means done."""
    end: str
    try:
        end = drive_to_end(rig.open().runs.build(rig.plan_id)).outcome
    except AssentError as error:
        end = type(error).__name__
    found = rig.tree()
    if end == "done":
        assert found == STORY.finish, where
    else:
        torn = [p for p in {**found, **STORY.start} if not _is_whole(p, found.get(p))]
        assert torn == [], f"{end}, {where}"
    return end


def _is_whole(path: bytes, entry: Entry | None) -> bool:
    return entry in (STORY.start.get(path), STORY.finish.get(path))


def _overwrite(path: Path, place: int) -> None:
    with open(path, "r+b") as file:
        file.seek(place)
        old = file.read(7)
        file.seek(place)
        file.write(bytes(byte ^ 0xFF for byte in old))


def test_a_log_lost_in_the_middle_of_a_run_leaves_every_byte(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    rig.build_killed_at("hands.rename_noreplace", 5)
    left = rig.save()
    (rig.site.state / "log.db").write_bytes(b"\0" * 4096)
    for command in ("recover", "build", "undo"):
        assert rig.command(command).exit == 1
    assert rig.save().tree == left.tree
    rig.restore(left)
    assert rig.command("recover").json["outcome"] == "done"
    assert rig.tree() == STORY.finish
