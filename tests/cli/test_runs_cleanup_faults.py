"""F146: what goes wrong after runs were given up denies nothing of what was done by then."""

import os
import time

import pytest
from tests.cli.harness import TRUSTING, World
from tests.support.stored_contents import small_records, store_alone

from assent.runs.retention import COLLECTION_FAILED, PRUNED, retired_text

STAYS = "Run {run} was pruned, but its backup list remains: "
SAFE = "Nothing can be restored from that list any more; you can delete it."
LEFT = f"{COLLECTION_FAILED}: "


@pytest.fixture
def run(world: World) -> str:
    return built(world, "one")


def built(world: World, name: str) -> str:
    world.plan(name)
    world.write("a", name.encode())
    return str(world.build()["run"])


def cannot_collect(world: World) -> None:
    """Has all contents be old, and a file in the way of the folder that they are moved to."""
    blobs = world.state / "assent" / "blobs"
    for digest, _ in small_records(blobs):
        store_alone(blobs, digest)
    for path in blobs.rglob("*"):
        os.utime(path, (time.time() - 7200,) * 2)
    (blobs / "aside").write_bytes(b"")


def test_a_list_that_stays_is_named_and_the_run_is_given_up_all_the_same(
    world: World, run: str
) -> None:
    (copy,) = world.root.glob(f".opencode/assent/plans/*/backups/{run}.json")
    copy.unlink()
    copy.mkdir()
    answer = world.run("runs", "delete", run, "--force")
    told = " ".join(answer.err.decode().split())
    assert answer.code == 0
    assert STAYS.format(run=run) in told
    assert SAFE in told
    assert "Nothing was changed" not in told
    assert world.ok("runs", "list")["runs"][0]["given_up"]


def test_what_cannot_be_removed_does_not_deny_that_the_run_is_given_up(
    world: World, run: str
) -> None:
    cannot_collect(world)
    message = world.no(1, "runs", "delete", run, "--force")["message"]
    assert message.startswith(f"{PRUNED}: {run}. {LEFT}Could not remove unused content")
    assert world.ok("runs", "list")["runs"][0]["given_up"]


def test_a_build_tells_both_what_it_gave_up_and_what_it_could_not_remove(
    world: World, run: str
) -> None:
    world.config.write_text(f"{TRUSTING}[undo]\nkeep_mb = 1\n", encoding="utf-8")
    built(world, "two")
    cannot_collect(world)
    world.plan("three")
    world.write("a", b"3" * 2_000_000)
    world.approve()
    told = " ".join(world.run("build").err.decode().split())
    assert f"{LEFT}Could not remove unused content" in told
    assert retired_text(2) in told
    assert [bool(row["given_up"]) for row in world.ok("runs", "list")["runs"]] == [
        False,
        True,
        True,
    ]
