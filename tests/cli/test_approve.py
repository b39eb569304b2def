"""Consent: one digest, signed, for exactly these bytes, used once, and taken back by a no."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.harness import World

from assent.planning.plans import live_text_warning

AFTER = {b"a.txt": ("file", 0o644, b"a\n")}


@pytest.fixture
def drafted(world: World) -> World:
    world.plan(goal="Write a file")
    world.write("a.txt", b"a\n")
    return world


def approval_of(world: World) -> dict[str, object]:
    """The approval as the log holds it."""
    found = [e["body"]["approval"] for e in world.ok("log")["events"] if "approval" in e["body"]]
    return next(approval for approval in found if isinstance(approval, dict))


def test_f44_the_record_of_an_approval(drafted: World) -> None:
    config = drafted.config.read_text(encoding="utf-8")
    drafted.config.write_text(config + "expires_s = 3600\n", encoding="utf-8")
    digest = drafted.propose()
    drafted.ok("approve", "--digest", digest, "--note", "Checked with Ada")
    review = drafted.ok("review")
    approval = approval_of(drafted)
    times = approval["approved_at"], approval["expires_at"]
    assert approval == {
        "id": approval["id"],
        "plan_id": review["plan_id"],
        "content_hash": review["content_hash"],
        "operations_hash": review["operations_hash"],
        "digest": digest,
        "approver": {"user": approval["approver"]["user"], "channel": "digest"},  # type: ignore[index]
        "note": "Checked with Ada",
        "approved_at": times[0],
        "expires_at": times[1],
        "key": approval["key"],
        "signature": approval["signature"],
    }
    assert str(times[0]) < str(times[1])
    assert (len(str(approval["key"])), len(str(approval["signature"]))) == (64, 128)
    copy = drafted.root / f".opencode/assent/plans/{review['plan_id']}/approvals.json"
    (written,) = json.loads(copy.read_text(encoding="utf-8"))["approvals"]
    given = {"approval": approval, "void": False, "branch": "", "seq": 5}  # its fifth event
    assert written == {**given, "run": ""}
    run = drafted.ok("build")["run"]
    (spent,) = json.loads(copy.read_text(encoding="utf-8"))["approvals"]
    assert spent == {**given, "run": run}


def test_f45_one_changed_byte_of_the_plan_stops_the_build(drafted: World) -> None:
    drafted.approve()
    text = drafted.text()
    before = text.read_bytes()
    text.write_bytes(before.replace(b"Write a file", b"write a file"))
    refused = drafted.no(5, "build")
    assert (refused["error"], refused["next"]) == ("live_differs", "assent propose")
    assert drafted.no(5, "approve", "--digest", "0" * 64)["error"] == "live_differs"
    assert drafted.files() == {}
    text.write_bytes(before)
    assert drafted.ok("build")["outcome"] == "done"


def test_f45_a_deleted_plan_file_stops_the_build(drafted: World) -> None:
    drafted.approve()
    drafted.text().unlink()
    assert drafted.no(5, "build")["error"] == "live_differs"
    assert drafted.files() == {}


def test_f48_the_approved_copy_stays_and_the_difference_is_shown(drafted: World) -> None:
    digest = drafted.approve()
    text = drafted.text()
    approved = text.read_text(encoding="utf-8")
    text.write_text(approved + "One more step.\n", encoding="utf-8")
    live = drafted.ok("diff", "--live")
    assert live["differs"] is True
    assert "+One more step.\n" in live["diff"]
    review = drafted.ok("review")
    assert (review["text"], review["digest"]) == (approved, digest)
    for command in ("review", "status"):
        told = live_text_warning(os.fsencode(text.relative_to(drafted.root)), "changed")
        assert told.encode() in drafted.run(command).err
    text.unlink()
    assert drafted.ok("diff", "--live")["differs"] is True
    text.write_text(approved, encoding="utf-8")
    same = {"differs": False, "against": "approved", "diff": ""}
    assert drafted.ok("diff", "--live") == same


def test_f48_a_text_that_nobody_approved_is_not_called_approved(drafted: World) -> None:
    text = drafted.text()

    def against() -> str:
        """What the live file is compared with, in JSON and as a person reads it."""
        kept = text.read_bytes()
        text.write_bytes(kept + b"One more line.\n")
        found = drafted.ok("diff", "--live")
        shown = drafted.run("diff", "--live").out.decode()
        text.write_bytes(kept)
        assert f"--- {found['against']}\n+++ live\n" in shown
        assert ("approved" in shown) == (found["against"] == "approved")
        return str(found["against"])

    assert against() == "recorded"
    drafted.propose()
    assert against() == "proposed"
    drafted.approve()
    assert against() == "approved"
    drafted.ok("reject", "--note", "No")
    assert against() == "recorded"
    drafted.propose()
    assert against() == "proposed"
    drafted.build()
    assert against() == "approved"


def test_f49_approving_runs_nothing(drafted: World) -> None:
    drafted.approve()
    shown = drafted.ok("status")
    assert (shown["plan"]["approved"], shown["run"]) == (True, None)
    assert drafted.files() == {}


def test_approve_and_build_is_one_command_if_wanted(drafted: World) -> None:
    digest = drafted.propose()
    answer = drafted.ok("approve", "--digest", digest, "--build")
    assert (list(answer), answer["outcome"]) == (["run", "outcome", "operations"], "done")
    assert drafted.files() == AFTER


def test_f52_a_revision_needs_its_own_approval(drafted: World) -> None:
    first = drafted.approve()
    drafted.ok("plan", "write", "-", stdin=b"# Another text\n")
    assert drafted.ok("plan", "show")["state"] == "DRAFTING"
    assert drafted.no(3, "build")["error"] == "not_approved"
    second = drafted.propose()
    assert second != first
    assert drafted.no(3, "build")["error"] == "not_approved"
    assert drafted.no(5, "approve", "--digest", first)["error"] == "other_digest"
    drafted.ok("approve", "--digest", second)
    assert drafted.ok("build")["outcome"] == "done"


def test_f52_staging_after_approval_is_a_revision(drafted: World) -> None:
    drafted.approve()
    drafted.write("b.txt", b"b\n")
    assert drafted.ok("plan", "show")["digest"] is None
    drafted.propose()
    assert drafted.no(3, "build")["error"] == "not_approved"
    assert drafted.files() == {}


def test_reject_goes_back_to_drafting_and_voids_what_was_approved(drafted: World) -> None:
    digest = drafted.approve()
    assert drafted.no(2, "reject")["error"] == "usage"
    rejected = drafted.ok("reject", "--note", "Not like this")
    assert (rejected["state"], rejected["digest"], rejected["approved"]) == (
        "DRAFTING",
        None,
        False,
    )
    assert drafted.propose() == digest
    assert drafted.ok("plan", "show")["approved"] is False
    assert drafted.no(3, "build")["error"] == "not_approved"
    (event,) = [e for e in drafted.ok("log")["events"] if e["kind"] == "plan_rejected"]
    assert event["body"]["note"] == "Not like this"


def surfaces(world: World) -> Iterator[str]:
    """Everywhere that a digest can be read."""
    yield world.ok("plan", "show")["digest"]
    yield world.ok("plan", "list")["plans"][0]["digest"]
    yield world.ok("review")["digest"]
    yield world.ok("status")["plan"]["digest"]
    yield str(approval_of(world)["digest"])
    for line in (["review"], ["status"], ["plan", "show"]):
        yield from re.findall(r"\b[0-9a-f]{64}\b", world.run(*line).out.decode())


def test_g1_one_digest_on_every_surface(drafted: World) -> None:
    digest = drafted.approve()
    assert set(surfaces(drafted)) == {digest}


BASE = [("a.txt", b"a\n", "644"), ("b.txt", b"b\n", "644")]
CHANGES: dict[str, tuple[list[tuple[str, bytes, str]], bytes, bytes]] = {
    "nothing": (BASE, b"# T\n", b"relied\n"),
    "text": (BASE, b"# t\n", b"relied\n"),
    "content": ([("a.txt", b"A\n", "644"), BASE[1]], b"# T\n", b"relied\n"),
    "path": ([("c.txt", b"a\n", "644"), BASE[1]], b"# T\n", b"relied\n"),
    "mode": ([("a.txt", b"a\n", "755"), BASE[1]], b"# T\n", b"relied\n"),
    "order": (BASE[::-1], b"# T\n", b"relied\n"),
    "fewer": (BASE[:1], b"# T\n", b"relied\n"),
    "scope": (BASE, b"---\nscope: {files: [x]}\n---\n# T\n", b"relied\n"),
    "relied on": (BASE, b"---\nrelies_on: [r]\n---\n# T\n", b"relied\n"),
    "relied on, other content": (BASE, b"---\nrelies_on: [r]\n---\n# T\n", b"Relied\n"),
}


def test_g1_any_change_gives_another_digest(world: World) -> None:
    world.plan()
    digests = {}
    for name, (files, text, relied) in CHANGES.items():
        world.put("r", relied)
        world.ok("stage", "clear")
        for path, content, mode in files:
            world.write(path, content, "--mode", mode)
        world.ok("plan", "write", "-", stdin=text)
        digests[name] = world.propose()
    assert len(set(digests.values())) == len(CHANGES)
    world.put("r", b"relied\n")
    world.ok("stage", "clear")
    for path, content, mode in BASE:
        world.write(path, content, "--mode", mode)
    world.ok("plan", "write", "-", stdin=b"# T\n")
    assert world.propose() == digests["nothing"]
    other = World(world.base / "other")
    other.env = world.env
    other.plan()
    for path, content, mode in BASE:
        other.write(path, content, "--mode", mode)
    other.ok("plan", "write", "-", stdin=b"# T\n")
    assert other.propose() not in digests.values()


def operations_hash(world: World, base: bytes | None, *steps: tuple[str, ...]) -> str:
    """The hash of staged operations on a file with this content."""
    world.ok("stage", "clear")
    for path in ("x", "y"):
        if base is None:
            Path(os.fsdecode(world.at(path))).unlink(missing_ok=True)
        else:
            world.put(path, base)
    for step in steps:
        world.ok("stage", *step, stdin=b"new\n")
    return str(world.ok("review")["operations_hash"])


def test_f47_the_operations_hash_covers_arguments_and_pre_images(world: World) -> None:
    world.plan()
    write = ("write", "x", "--from", "-")
    hashes = [
        operations_hash(world, b"old\n", write),
        operations_hash(world, b"Old\n", write),
        operations_hash(world, None, write),
        operations_hash(world, b"old\n", (*write, "--mode", "600")),
        operations_hash(world, b"old\n", ("write", "y", "--from", "-")),
        operations_hash(world, b"old\n", write, ("write", "y", "--from", "-")),
        operations_hash(world, b"old\n", ("write", "y", "--from", "-"), write),
        operations_hash(world, b"old\n", ("delete", "x")),
        operations_hash(world, b"Old\n", ("delete", "x")),
        operations_hash(world, b"old\n", ("move", "x", "z")),
        operations_hash(world, b"old\n", ("move", "x", "zz")),
        operations_hash(world, b"old\n", ("write", "x", "--link-to", "z")),
        operations_hash(world, b"old\n", ("write", "x", "--link-to", "zz")),
        operations_hash(world, b"old\n"),
    ]
    assert len(set(hashes)) == len(hashes)


def test_g3_the_copies_in_the_workspace_give_nobody_power(drafted: World) -> None:
    """A file that claims an approval, or another digest, changes nothing."""
    digest = drafted.approve()
    plan_id = drafted.ok("plan", "show")["plan_id"]
    copies = drafted.root / ".opencode/assent/plans" / plan_id
    claim = (copies / "approvals.json").read_bytes()
    drafted.write("a.txt", b"evil\n")
    revised = drafted.propose()
    forged = claim.replace(digest.encode(), revised.encode())
    (copies / "approvals.json").write_bytes(forged)
    assert drafted.ok("plan", "show")["approved"] is False
    assert drafted.no(3, "build")["error"] == "not_approved"
    shutil.rmtree(drafted.root / ".opencode/assent/plans")
    drafted.ok("approve", "--digest", revised)
    assert drafted.ok("build")["outcome"] == "done"


def test_g3_without_the_key_that_signed_nothing_is_built(drafted: World) -> None:
    drafted.approve()
    key = drafted.state / "assent/key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert not key.is_relative_to(drafted.root)
    key.unlink()
    refused = drafted.no(7, "build")
    assert "signature" in refused["message"]
    key.write_bytes(b"x" * 32)
    key.chmod(0o600)
    assert drafted.no(7, "build")["error"] == "refused"
    assert drafted.files() == {}


def test_g4_an_approval_is_used_once(drafted: World) -> None:
    digest = drafted.approve()
    run = drafted.ok("build")["run"]
    assert drafted.undo().code == 0
    refused = drafted.no(4, "build")
    assert refused["error"] == "spent"
    assert run in refused["message"]
    assert drafted.no(1, "approve", "--digest", digest)["error"] == "illegal_step"
    assert drafted.files() == {}


def test_g4_an_approval_does_not_travel_to_a_copy(drafted: World) -> None:
    drafted.approve()
    copied = drafted.base / "copied"
    shutil.copytree(drafted.root, copied, symlinks=True)
    plan_id = drafted.ok("plan", "show")["plan_id"]
    there = World(drafted.base / "unused")
    there.root, there.env = copied, drafted.env
    assert there.no(1, "build")["error"] == "not_found"
    assert there.no(5, "build", "--plan", plan_id)["error"] == "other_workspace"
    (row,) = there.ok("plan", "list")["plans"]
    assert (row["state"], row["approved"]) == ("DRAFTING", False)
    assert row["plan_id"] != plan_id
    assert drafted.ok("build")["outcome"] == "done"


def test_a_workspace_that_was_moved_stays_the_same(drafted: World) -> None:
    drafted.approve()
    moved = drafted.base / "moved"
    drafted.root.rename(moved)
    drafted.root = moved
    assert drafted.ok("build")["outcome"] == "done"
    assert drafted.files() == AFTER


def test_g7_reversibility_is_shown_before_the_yes(drafted: World) -> None:
    drafted.put("old", b"old\n")
    drafted.put("moved", b"moved\n")
    drafted.ok("stage", "delete", "old")
    drafted.ok("stage", "move", "moved", "there")
    drafted.propose()
    operations = drafted.ok("review")["operations"]
    assert [row["reversible"] for row in operations] == ["reversible"] * 3
    shown = drafted.run("review").out.decode()
    for title in ("1. create a.txt", "2. delete old", "3. move moved → there"):
        assert f"\n{title} (reversible)\n" in shown
