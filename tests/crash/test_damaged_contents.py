"""Law 2: contents and keys that are not what they were are noticed before anything is changed."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.crash.rig import Rig
from tests.crash.stories import BY_NAME
from tests.support.stored_contents import store_alone

from assent.core.digest import sha256
from assent.core.plan.operation import DeleteFile, WriteFile
from assent.core.plan.plan import Plan
from assent.executor.displaced_files import LocalDisplacedFiles
from assent.planning.repositories import plan_mismatch_text

STORY = BY_NAME["eight_operations"]
Damage = Callable[[Path], object]


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def grown(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"!")


def gone(path: Path) -> None:
    path.unlink()


def linked_away(path: Path) -> None:
    path.rename(path.with_name("aside"))
    path.symlink_to("aside")


DAMAGES: tuple[Damage, ...] = (flipped, cut, emptied, grown, gone, linked_away)


@pytest.mark.parametrize("damage", DAMAGES)
def test_new_content_that_is_damaged_never_reaches_the_workspace(
    damage: Damage, tmp_path: Path
) -> None:
    rig = Rig(tmp_path, STORY)
    for digest in _new_contents(rig):
        rig.restore(rig.approved)
        blob = _blob(rig, digest)
        whole = blob.read_bytes()
        damage(blob)
        answer = rig.command("build")
        told = answer.json.get("outcome", answer.json.get("error"))
        assert (answer.exit, told) in {(1, "rolled_back"), (5, "drift"), (1, "store")}
        assert rig.tree() == STORY.start
        assert rig.leftovers() == []
        blob.unlink(missing_ok=True)
        blob.write_bytes(whole)


@pytest.mark.parametrize("damage", [damage for damage in DAMAGES if damage is not gone])
def test_old_content_that_is_damaged_makes_an_undo_roll_back_not_lie(
    damage: Damage, tmp_path: Path
) -> None:
    rig = _built(tmp_path, damage)
    LocalDisplacedFiles(os.fsencode(rig.site.state / "spares"), 0).trim(0)
    digest = rig.command("undo", "--dry-run").json["digest"]
    answer = rig.command("undo", "--digest", digest)
    assert answer.exit in (1, 5)
    assert rig.tree() == STORY.finish
    assert rig.leftovers() == []


def test_old_content_that_is_damaged_is_not_missed_while_the_file_itself_is_kept(
    tmp_path: Path,
) -> None:
    rig = _built(tmp_path, flipped)
    digest = rig.command("undo", "--dry-run").json["digest"]
    answer = rig.command("undo", "--digest", digest)
    assert (answer.exit, answer.json["outcome"]) == (0, "done")
    assert rig.tree() == STORY.start
    assert rig.leftovers() == []


def test_old_content_that_is_gone_is_named_and_the_rest_is_taken_back(tmp_path: Path) -> None:
    rig = _built(tmp_path, gone)
    preview = rig.command("undo", "--dry-run").json
    assert [(row["path"], row["reason"]) for row in preview["conflicts"]] == [
        ("one", "the old content of one was not kept")
    ]
    answer = rig.command("undo", "--digest", preview["digest"])
    assert (answer.exit, answer.json["outcome"]) == (1, "partial")
    assert rig.tree() == {**STORY.start, b"one": STORY.finish[b"one"]}
    assert rig.leftovers() == []


def _built(folder: Path, damage: Damage) -> Rig:
    """Builds the story, and damages what stood in `one` before."""
    rig = Rig(folder, STORY)
    blob = _blob(rig, sha256(STORY.start[b"one"].content))
    rig.build()
    damage(blob)
    (rig.folder / "config" / "assent").mkdir(parents=True)
    trusting = "[approve]\nwithout_terminal = true\n"
    (rig.folder / "config" / "assent" / "config.toml").write_text(trusting, encoding="utf-8")
    return rig


@pytest.mark.parametrize("damage", DAMAGES)
def test_old_content_that_is_damaged_stops_the_build_before_it_starts(
    damage: Damage, tmp_path: Path
) -> None:
    rig = Rig(tmp_path, STORY)
    blob = _blob(rig, sha256(STORY.start[b"one"].content))
    whole = blob.read_bytes()
    damage(blob)
    answer = rig.command("build")
    assert (answer.exit, answer.json["error"]) == (1, "store")
    assert rig.tree() == STORY.start
    blob.unlink(missing_ok=True)
    blob.write_bytes(whole)
    assert rig.command("build").exit == 0  # so nothing was spent


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_frozen_plan_that_is_damaged_is_refused_and_spends_nothing(
    damage: Damage, tmp_path: Path
) -> None:
    rig = Rig(tmp_path, STORY)
    blob = _blob(rig, rig.record(rig.open()).frozen)
    whole = blob.read_bytes()
    damage(blob)
    answer = rig.command("build")
    assert (answer.exit, answer.json["error"]) == (1, "store")
    assert rig.tree() == STORY.start
    blob.unlink(missing_ok=True)
    blob.write_bytes(whole)
    assert rig.command("build").exit == 0


def test_another_plan_in_the_place_of_the_frozen_one_is_refused(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    engine = rig.open()
    record = rig.record(engine)
    plan = engine.plans.repository().plan(record)
    engine.close()
    evil = msgspec.structs.replace(plan, operations=plan.operations[:1])
    body = msgspec.json.encode(evil)
    blob = _blob(rig, sha256(body))
    blob.parent.mkdir(exist_ok=True)
    blob.write_bytes(body)
    with closing(sqlite3.connect(rig.site.state / "log.db")) as database, database:
        for table in ("events", "heads"):
            renamed = f"UPDATE {table} SET body = replace(CAST(body AS TEXT), ?, ?)"
            assert database.execute(renamed, (record.frozen, sha256(body))).rowcount
    answer = rig.command("build")
    assert (answer.exit, answer.json["error"]) == (1, "store")
    assert answer.json["message"].startswith(plan_mismatch_text(plan.digest))
    assert rig.tree() == STORY.start
    assert evil.digest != plan.digest


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_key_approves_and_builds_nothing(damage: Damage, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    key = rig.site.state / "key"
    seed = key.read_bytes()
    damage(key)
    assert rig.command("build").exit in (1, 7)
    assert rig.tree() == STORY.start
    key.unlink(missing_ok=True)
    key.write_bytes(seed)
    key.chmod(0o600)
    assert rig.command("build").exit == 0  # so nothing was spent


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_signs_and_verifies_nothing(mode: int, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    (rig.site.state / "key").chmod(mode)
    answer = rig.command("build")
    assert (answer.exit, answer.json["error"]) == (1, "store")
    assert "chmod 600" in answer.json["next"]
    assert rig.tree() == STORY.start
    (rig.site.state / "key").chmod(0o600)
    assert rig.command("build").exit == 0


def _new_contents(rig: Rig) -> list[str]:
    plan: Plan = rig.open().plans.repository().plan(rig.record(rig.open()))
    new = [op.after.digest for op in plan.operations if isinstance(op, WriteFile)]
    old = [
        op.before.digest
        for op in plan.operations
        if isinstance(op, WriteFile | DeleteFile) and op.before
    ]
    assert len(new) > 3
    return [digest for digest in dict.fromkeys(new) if digest not in old]


def _blob(rig: Rig, digest: str) -> Path:
    return store_alone(rig.site.state / "blobs", digest)
