"""Laws 5 and 6: recovery acts on no record that was damaged, and says nothing the disk denies."""

import sqlite3
from collections import Counter
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.command_sweep import FINISH, START, CommandSweep
from tests.crash.journal_damage import (
    RUN,
    WAYS,
    Damage,
    Damaged,
    cut,
    flipped,
    led_outside_and_chained,
    put_back,
    removed,
    renamed,
    run_cut,
)
from tests.crash.rig import Moment, Rig
from tests.crash.stories import BY_NAME, STORIES
from tests.crash.trees import Tree

from assent.core.run.journal import drive_to_end

NAMES = [story.name for story in STORIES]
STORY = BY_NAME["eight_operations"]
BY_COMMAND = (b"log.txt", b"gone.txt", b"made/out.txt")


@PATIENT
@pytest.mark.parametrize("story", NAMES)
def test_a_damaged_record_leads_to_no_answer_that_the_disk_denies(
    story: str, quick_path: Path
) -> None:
    report = apart(Damaged, "tests.crash.journal_damage", story, quick_path)
    assert report.complaints == []
    assert report.states >= 5
    assert report.tried > 50
    assert {"needs_you", "done", "rolled_back"} <= report.answers.keys()


@pytest.mark.parametrize("damage", [flipped, led_outside_and_chained])
def test_a_damaged_record_is_told_with_exit_6_and_the_way_on(
    damage: Damage, tmp_path: Path
) -> None:
    rig = Rig(tmp_path, STORY)
    rig.build_killed_at("hands.rename_noreplace", 3)
    with closing(sqlite3.connect(rig.site.state / "log.db")) as database, database:
        assert damage(database, 1)
    left = rig.save().tree
    answer = rig.command("recover")
    assert (answer.exit, answer.json["outcome"]) == (6, "needs_you")
    assert "damaged" in answer.told
    assert answer.json["next"] == ["assent recover --accept"]
    assert rig.save().tree == left
    assert rig.command("build").exit == 6
    assert rig.command("recover", "--roll-back").exit == 6  # how it began is not known any more
    assert rig.save().tree == left
    assert "recover --accept" in rig.said("recover")
    assert rig.command("recover", "--accept").exit == 0
    assert rig.command("recover").json["outcome"] == "nothing"
    assert not (tmp_path / "escaped").exists()
    for slot in rig.leftovers():
        assert slot in rig.save().tree


@pytest.mark.parametrize(
    ("way", "tree"), [("--resume", STORY.finish), ("--roll-back", STORY.start)]
)
@pytest.mark.parametrize("lost", [cut, put_back])
def test_a_log_that_lost_its_end_after_a_whole_run_leads_out(
    lost: Damage, way: str, tree: Tree, tmp_path: Path
) -> None:
    rig = Rig(tmp_path, STORY)
    rig.build()
    with closing(sqlite3.connect(rig.site.state / "log.db")) as database, database:
        assert lost(database, 2)
    if lost is put_back:
        (rig.site.state / "log.db-anchor").unlink()
    assert rig.command("recover").exit == 6
    assert _files(rig.tree()) == _files(STORY.finish)
    rig.command("recover", way)
    assert _files(rig.tree()) == _files(tree)
    assert rig.command("recover").json["outcome"] == "nothing"


@PATIENT
@pytest.mark.parametrize("damage", [flipped, removed, cut, put_back], ids=lambda one: one.__name__)
def test_the_damaged_journal_of_commands_runs_none_again_unasked(
    damage: Damage, tmp_path: Path
) -> None:
    sweep = CommandSweep(tmp_path, "auto")
    rig = sweep.rig
    rig.build()
    whole = rig.save()
    with closing(sqlite3.connect(rig.site.state / "log.db")) as database:
        records = database.execute(f"SELECT count(*) FROM events WHERE {RUN}").fetchone()[0]
    assert records > 8
    ends = Counter[str]()
    for n, way in product(range(2, records + 1), WAYS):
        rig.restore(whole)
        sweep.count.write_bytes(b"ran\n")
        with closing(sqlite3.connect(rig.site.state / "log.db")) as database, database:
            assert damage(database, n)
            database.execute("DELETE FROM heads")
            # As if the end of the run had never been told to its plan.
            database.execute("DELETE FROM events WHERE kind = 'run_ended'")
        (rig.site.state / "log.db-anchor").unlink(missing_ok=True)
        engine = rig.open()
        report = drive_to_end(engine.runs.recover())
        assert sweep.count.read_bytes() == b"ran\n", (n, way)
        where = (n, way, report.outcome, report.notes)
        # Without a fault in the log, the run goes on until the doubt shows, and says so at once.
        warned = damage is put_back and report.operations[1][1] == "unknown"
        for said in range(1, 4):
            if report.outcome == "done" and way != "accept":
                assert _files(rig.tree()) == _files(FINISH), where
            if report.outcome == "rolled_back":
                left = "Not covered by a rollback" in " ".join(report.notes)
                there, begun = _files(rig.tree()), _files(START)
                for path in BY_COMMAND if left else ():  # what it did is not on record any more
                    there.pop(path, None)
                    begun.pop(path, None)
                assert there == begun, where
            if report.outcome != "needs_you":
                break
            report = drive_to_end(engine.runs.recover(way))
            if said == 1 and way == "resume" and not warned:
                assert sweep.count.read_bytes() == b"ran\n", where
        ends[f"{way} {report.outcome}"] += 1
        engine.close()
    assert ends["roll_back needs_you"] == ends["accept needs_you"] == 0
    # An older copy of the whole log shows no fault: then a file of a later segment is a conflict.
    assert ends["resume needs_you"] == 0 or damage is put_back
    assert ends["resume done"] > 2
    assert ends["roll_back rolled_back"] > 2


@pytest.mark.parametrize("damage", [renamed, removed, run_cut, flipped])
def test_where_the_first_record_is_lost_status_names_recover(
    damage: Damage, tmp_path: Path
) -> None:
    rig = Rig(tmp_path, STORY)
    rig.build_killed_at("hands.rename_noreplace", 3)
    with closing(sqlite3.connect(rig.site.state / "log.db")) as database, database:
        assert damage(database, 1)
    answer = rig.command("status")
    assert answer.exit == 0, answer.told
    assert "aside" not in answer.told
    assert "Next: assent recover" in rig.said("status")
    assert rig.command("recover").exit == 6
    assert rig.command("recover", "--accept").exit == 0
    assert rig.command("status").exit == 0


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[CommandSweep, Moment]:
    """A build whose command ended with an error, and its site right after."""
    sweep = CommandSweep(tmp_path_factory.mktemp("failed"), "auto")
    sweep.fail.touch()
    assert sweep.rig.build().outcome == "needs_you"
    sweep.fail.unlink()
    return sweep, sweep.rig.save()


LOSSES = [(damage, n) for damage in (flipped, removed, cut, run_cut) for n in range(2, 8)]


@pytest.mark.parametrize(
    ("damage", "n"), LOSSES, ids=[f"{damage.__name__}-{n}" for damage, n in LOSSES]
)
def test_a_command_whose_records_are_lost_is_unknown_and_runs_after_a_second_word(
    damage: Damage, n: int, failed: tuple[CommandSweep, Moment]
) -> None:
    sweep, left = failed
    rig = sweep.rig
    rig.restore(left)
    sweep.count.write_bytes(b"ran\n")
    with closing(sqlite3.connect(rig.site.state / "log.db")) as database, database:
        assert damage(database, n)
    damaged = rig.save()

    engine = rig.open()
    report = drive_to_end(engine.runs.recover())
    assert (report.outcome, report.operations[1][1]) == ("needs_you", "unknown")
    assert any("may have run" in note for note in report.notes)
    report = drive_to_end(engine.runs.recover("resume"))
    assert (report.outcome, report.operations[1][1]) == ("needs_you", "unknown")
    assert any("assent recover --resume: runs the command again" in note for note in report.notes)
    assert sweep.count.read_bytes() == b"ran\n"
    report = drive_to_end(engine.runs.recover("resume"))
    assert report.outcome == "done"
    assert sweep.count.read_bytes() == b"ran\nran\n"
    assert _files(rig.tree()) == _files(FINISH)
    engine.close()

    rig.restore(damaged)
    sweep.count.write_bytes(b"ran\n")
    engine = rig.open()
    report = drive_to_end(engine.runs.recover("roll_back"))
    assert (report.outcome, report.operations[1][1]) == ("needs_you", "unknown")
    report = drive_to_end(engine.runs.recover("roll_back"))
    assert (report.outcome, report.operations[1][1]) == ("rolled_back", "unknown")
    assert any("Not covered by a rollback" in note for note in report.notes)
    assert rig.tree()[b"in.txt"] == START[b"in.txt"]
    assert drive_to_end(engine.runs.recover()).outcome == "nothing"
    engine.close()
    assert sweep.count.read_bytes() == b"ran\n"


def _files(found: Tree) -> Tree:
    return {path: entry for path, entry in found.items() if entry.kind != "folder"}
