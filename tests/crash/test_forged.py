"""G3, G4, F45: what nobody signed opens nothing, wherever it is written; the plan's text binds."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.crash.rig import Rig, approve
from tests.crash.stories import BY_NAME, Story, write
from tests.crash.trees import seen

STORY = BY_NAME["eight_operations"]
Forgery = Callable[[dict[str, Any]], object]

LIES: dict[str, Forgery] = {
    "another id": lambda approval: approval.update(id="0" * 26),
    "another plan": lambda approval: approval.update(plan_id="0" * 26),
    "another person": lambda approval: approval["approver"].update(user="somebody"),
    "another channel": lambda approval: approval["approver"].update(channel="terminal"),
    "another note": lambda approval: approval.update(note="checked twice"),
    "another time": lambda approval: approval.update(approved_at="2020-01-01T00:00:00.000Z"),
    "an expiry": lambda approval: approval.update(expires_at="2999-01-01T00:00:00.000Z"),
    "another key": lambda approval: approval.update(key="ab" * 32),
    "another signature": lambda approval: approval.update(signature="cd" * 64),
    "no signature": lambda approval: approval.update(signature=""),
    "another text": lambda approval: approval.update(content_hash="0" * 64),
    "other operations": lambda approval: approval.update(operations_hash="0" * 64),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("heads", ["changed", "deleted"])
def test_an_altered_approval_is_refused(lie: str, heads: str, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    _alter_approval(rig, LIES[lie], heads)
    answer = rig.command("build")
    assert (answer.exit, answer.json["error"]) == (7, "refused")
    assert rig.tree() == STORY.start
    assert rig.record(rig.open()).runs == ()


def _alter_approval(rig: Rig, forge: Forgery, heads: str) -> None:
    with closing(sqlite3.connect(rig.site.state / "log.db")) as database, database:
        select = "SELECT position, body FROM events WHERE kind = 'plan_approved'"
        for position, body in database.execute(select).fetchall():
            event = msgspec.json.decode(body)
            forge(event["approval"])
            changed = (msgspec.json.encode(event).decode(), position)
            database.execute("UPDATE events SET body = ? WHERE position = ?", changed)
        if heads == "deleted":
            database.execute("DELETE FROM heads")
            return
        for stream, body in database.execute("SELECT stream, body FROM heads").fetchall():
            record = msgspec.json.decode(body)
            for consent in record.get("consents", ()):
                forge(consent["approval"])
            folded = (msgspec.json.encode(record), stream)
            database.execute("UPDATE heads SET body = ? WHERE stream = ?", folded)


def test_the_approval_of_one_plan_does_not_serve_another(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    other = Story("other", STORY.start, (write(b"other.txt", b"other\n"),), STORY.start)
    other_id = approve(rig.site, other, name="other")
    engine = rig.open()
    theirs = engine.plans.find(other_id).consents[0].approval
    mine = rig.record(engine).consents[0].approval
    engine.close()
    borrowed = {"key": theirs.key, "signature": theirs.signature, "id": theirs.id}
    _alter_approval(
        rig, lambda one: one.update(borrowed) if one["id"] == mine.id else None, "deleted"
    )
    answer = rig.command("build", "--plan", rig.plan_id)
    assert (answer.exit, answer.json["error"]) == (7, "refused")
    assert rig.tree() == STORY.start


def test_an_approval_that_is_only_in_the_readable_copies_is_none(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    copies = rig.site.root / ".opencode" / "assent" / "plans" / rig.plan_id
    forged = (copies / "approvals.json").read_bytes()
    assert b'"signature"' in forged
    with closing(sqlite3.connect(rig.site.state / "log.db")) as database, database:
        database.execute("DELETE FROM events WHERE kind = 'plan_approved'")
        database.execute("DELETE FROM heads")
    assert (copies / "approvals.json").read_bytes() == forged
    answer = rig.command("build")
    assert (answer.exit, answer.json["error"]) == (3, "not_approved")
    assert rig.tree() == STORY.start


@pytest.mark.parametrize("content", [b"", b"{", b"\xff" * 99, b'{"approvals": []}', None])
def test_damaged_readable_copies_change_nothing(content: bytes | None, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    state = rig.site.root / ".opencode" / "assent"
    copies = [path for path in state.rglob("*") if path.is_file()]
    assert len(copies) >= 4  # approvals, tasks, operations and the workspace's id
    for copy in copies:
        if content is None:
            copy.unlink()
        else:
            copy.write_bytes(content)
    assert rig.command("status").exit == 0
    assert rig.command("build").exit == 0
    assert rig.tree() == STORY.finish


def test_readable_copies_that_lead_elsewhere_are_not_followed(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "approvals.json").write_bytes(b"mine\n")
    copies = rig.site.root / ".opencode" / "assent" / "plans" / rig.plan_id
    shutil.rmtree(copies)
    copies.symlink_to(outside)
    before = seen(bytes(outside))
    assert rig.command("build").exit == 0
    assert seen(bytes(outside)) == before
    assert rig.tree() == STORY.finish


@pytest.mark.parametrize("what", ["one byte more", "one byte less", "one byte other", "gone"])
def test_a_plan_text_that_changed_after_the_yes_stops_the_build(what: str, tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    (path,) = (rig.site.root / ".opencode" / "plans").rglob("PLAN_*.md")
    text = path.read_bytes()
    if what == "gone":
        path.unlink()
    else:
        changed = {"more": text + b"\n", "less": text[:-1], "other": text.replace(b"G", b"g", 1)}
        path.write_bytes(changed[what.split()[-1]])
    answer = rig.command("build")
    assert (answer.exit, answer.json["error"]) == (5, "live_differs")
    assert rig.tree() == STORY.start
    path.write_bytes(text)
    assert rig.command("build").exit == 0
    assert rig.tree() == STORY.finish
