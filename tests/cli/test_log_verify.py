"""`assent log --verify` finds what somebody did to the log, and says what it cannot prove (F60)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.harness import World

from assent.store.sqlite import cut_off_text


@pytest.fixture
def built(tmp_path: Path) -> World:
    """A workspace in which a plan was rejected, approved and built."""
    world = World(tmp_path)
    world.plan()
    world.write("a.txt", b"one\n")
    world.propose()
    world.ok("reject", "--note", "Not yet.")
    world.build()
    return world


def edit(world: World, statement: str) -> None:
    """Changes the database as anybody with the account can."""
    with closing(sqlite3.connect(world.state / "assent" / "log.db")) as log, log:
        log.execute(statement)


def test_f60_a_whole_log_holds_and_says_what_that_does_not_prove(built: World) -> None:
    checked = built.ok("log", "--verify")
    events = built.ok("log")["events"]
    every = len(events) + 1  # and that an id was minted, which is no workspace's own
    assert checked == {
        "holds": True,
        "events": every,
        "broken": None,
        "anchored": events[-1]["seq"],
        "leftovers": False,
        "not_proved": checked["not_proved"],
    }
    lines = built.run("log", "--verify").out.decode().splitlines()
    assert lines == [
        f"Log intact. Events verified: {every}.",
        "Not proven by this check:",
        *[f"- {text}" for text in checked["not_proved"]],
    ]
    assert "Anyone with access to your account" in lines[3]


def test_f60_an_edited_approval_is_found(built: World) -> None:
    edit(built, "UPDATE events SET at = '2020' WHERE kind = 'plan_approved'")
    answer = built.run("log", "--verify", "--json")
    seq = next(e["seq"] for e in built.ok("log")["events"] if e["kind"] == "plan_approved")
    assert (answer.code, answer.json["holds"]) == (1, False)
    assert answer.json["broken"].startswith(f"Event {seq} (plan_approved, ")
    assert b"The log was modified outside Assent" in built.run("log", "--verify").out


def test_f60_a_removed_rejection_is_found(built: World) -> None:
    edit(built, "DELETE FROM events WHERE kind = 'plan_rejected'")
    answer = built.run("log", "--verify", "--json")
    assert (answer.code, "missing from the log" in answer.json["broken"]) == (1, True)


def test_f60_a_cut_end_is_found(built: World) -> None:
    had = built.ok("log", "--verify")["events"]
    edit(built, "DELETE FROM events WHERE position > 5")
    edit(built, "UPDATE sqlite_sequence SET seq = 5")
    answer = built.run("log", "--verify", "--json")
    assert (answer.code, answer.json["events"]) == (1, 5)
    assert answer.json["broken"] == cut_off_text(5, had)


def test_f60_checking_a_log_that_does_not_exist_makes_none(tmp_path: Path) -> None:
    world = World(tmp_path).on_a_fresh_machine()
    assert world.ok("log", "--verify")["events"] == 0
    assert not world.state.exists()


def test_f60_decisions_are_listed_with_who_digest_and_reason(built: World) -> None:
    rows = built.ok("log", "--decisions")["decisions"]
    digest = built.ok("status")["plan"]["digest"]
    assert [(row["kind"], row["decision"], row["digest"]) for row in rows] == [
        ("plan_rejected", "rejected", digest),
        ("plan_approved", "approved", digest),
    ]
    assert rows[0]["reason"] == "Not yet."
    assert built.ok("log", "--decisions", "--after", str(rows[0]["seq"]))["decisions"] == rows[1:]
    assert len(built.run("log", "--decisions").out.splitlines()) == len(rows)


def test_f60_a_damaged_event_says_how_to_look_for_it(built: World) -> None:
    edit(built, "UPDATE events SET body = '{' WHERE kind = 'plan_rejected'")
    assert built.no(1, "log")["next"] == "assent log --verify"


def test_f60_a_check_goes_alone(built: World) -> None:
    error = built.no(2, "log", "--verify", "--decisions")
    assert error["next"] == "assent log --verify"
    assert built.no(2, "log", "--verify", "--after", "1") == error


def test_f60_a_decision_that_is_hidden_by_its_kind_of_value_is_found(built: World) -> None:
    edit(built, "UPDATE events SET stream = CAST(stream AS BLOB) WHERE kind = 'plan_rejected'")
    edit(built, "DELETE FROM heads")
    answer = built.run("log", "--verify", "--json")
    assert (answer.code, answer.json["holds"]) == (1, False)
    assert "(plan_rejected, " in answer.json["broken"]
    status = built.run("status")
    assert status.code != 0
    assert b"assent log --verify" in status.err


def test_f60_a_log_that_was_emptied_with_its_mark_is_no_good_sign(built: World) -> None:
    edit(built, "DELETE FROM events")
    edit(built, "DELETE FROM sqlite_sequence")
    (built.state / "assent" / "log.db-anchor").unlink()
    answer = built.run("log", "--verify", "--json")
    assert (answer.code, answer.json["events"], answer.json["leftovers"]) == (0, 0, True)
    said = built.run("log", "--verify").out.decode()
    assert "The log is empty, but its folder contains" in said
    assert "The log has no end mark, so events at its end may have been removed" in said


def test_f60_a_log_that_never_was_is_empty_and_nothing_else(tmp_path: Path) -> None:
    said = World(tmp_path).run("log", "--verify").out.decode()
    assert "The log is empty; no events to check." in said
