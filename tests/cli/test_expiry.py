"""An approval may be given for a while: shown everywhere, and void afterwards."""

from pathlib import Path

import pytest
from tests.cli.harness import TRUSTING, World
from tests.cli.machines import Machines

from assent.render.lines import local_time

EXPIRED = "[approve]\nwithout_terminal = true\nexpires_s = 900\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.plan()
    world.write("x.txt", b"x\n")
    return world


def seconds(row: dict[str, str], world: World) -> int:
    """How long the approval of the current plan holds, by its own two times."""
    events = world.ok("log")["events"]
    (yes,) = [e["body"]["approval"] for e in events if e["kind"] == "plan_approved"]
    assert row["expires_at"] == yes["expires_at"]
    begin, end = (_of_day(yes[at]) for at in ("approved_at", "expires_at"))
    return (end - begin) % 86400


def _of_day(at: str) -> int:
    hours, minutes, rest = at[11:].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(rest[:2])


@pytest.mark.parametrize(
    ("words", "wanted"), [("30s", 30), ("15m", 900), ("2h", 7200), ("1d", 0), ("3d", 0)]
)
def test_f53_an_approval_is_given_for_a_while(world: World, words: str, wanted: int) -> None:
    digest = world.propose()
    row = world.ok("approve", "--digest", digest, "--expires", words)
    assert seconds(row, world) == wanted
    assert world.ok("status")["plan"]["expires_at"] == row["expires_at"]
    assert world.ok("review")["expires_at"] == row["expires_at"]
    for line in ("status", "review"):
        told = f"expires  {local_time(str(row['expires_at']))}\n"
        assert told.encode() in world.run(line).out
    assert world.ok("build")["outcome"] == "done"
    assert "expires_at" not in world.ok("status")["plan"]


def test_f53_the_setting_says_how_long_and_the_option_overrides_it(tmp_path: Path) -> None:
    world = World(tmp_path, config=EXPIRED)
    world.plan()
    world.write("x.txt", b"x\n")
    digest = world.propose()
    assert seconds(world.ok("approve", "--digest", digest), world) == 900
    world.ok("reject", "--note", "Again")
    digest = world.propose()
    row = world.ok("approve", "--digest", digest, "--expires", "1h")
    assert row["expires_at"] == world.ok("status")["plan"]["expires_at"]


@pytest.mark.parametrize(
    "words", ["", "0m", "15", "m", "-1h", "1w", "1.5h", "15 m", "99999999d", "3651d"]
)
def test_f53_only_a_duration_is_one(world: World, words: str) -> None:
    digest = world.propose()
    error = world.no(2, "approve", "--digest", digest, f"--expires={words}")
    assert error["error"] == "usage"
    assert world.ok("status")["plan"]["approved"] is False


def test_f53_ten_years_are_the_longest_while(world: World) -> None:
    digest = world.propose()
    row = world.ok("approve", "--digest", digest, "--expires", "3650d")
    assert len(row["expires_at"]) == len("2026-01-01T00:00:00.000Z")
    world.config.write_text(f"{TRUSTING}expires_s = 999999999999\n", encoding="utf-8")
    row = world.ok("approve", "--digest", digest)
    assert (len(row["expires_at"]), row["approved"]) == (len("2026-01-01T00:00:00.000Z"), True)


def test_f53_a_newer_yes_for_a_shorter_while_is_the_one_that_counts(world: World) -> None:
    digest = world.propose()
    world.ok("approve", "--digest", digest)
    world.ok("approve", "--digest", digest, "--expires", "3d")
    row = world.ok("approve", "--digest", digest, "--expires", "1h")
    assert world.ok("status")["plan"]["expires_at"] == row["expires_at"]
    later = world.ok("approve", "--digest", digest, "--expires", "2h")
    assert world.ok("review")["expires_at"] == later["expires_at"] > row["expires_at"]
    assert "expires_at" not in world.ok("approve", "--digest", digest)


def test_f53_of_one_persons_approvals_in_a_file_the_newest_is_left(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.plan()
    machines.approve()
    yes = machines.approve("--expires", "15m")["approval"]
    rows = machines.person.ok("review", str(machines.file))["bundle"]["approvals"]
    assert [row["expires_at"] for row in rows] == [yes["expires_at"]]


def test_f53_without_a_word_it_holds_for_ever(world: World) -> None:
    digest = world.propose()
    assert "expires_at" not in world.ok("approve", "--digest", digest)


def test_f53_an_approval_in_a_file_says_until_when(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.plan()
    yes = machines.approve("--expires", "15m")["approval"]
    assert yes["expires_at"] > yes["approved_at"]
    row = machines.person.ok("review", str(machines.file))
    assert row["bundle"]["approvals"][0]["expires_at"] == yes["expires_at"]
    text = machines.person.run("review", str(machines.file)).out
    assert f"until {yes['expires_at']}".encode() in text
