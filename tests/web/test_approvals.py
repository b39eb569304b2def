"""Approvals over HTTP: only of the digest that the server showed to the very cookie, to its end."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import TRUSTING, World
from tests.cli.scripts import Talker, turn
from tests.web.harness import Client, Served, served
from tests.web.plan_calls import approved, built, ended, proposed

VERIFY = '[verify]\ncommands = ["grep -q a a.txt"]\n'


def approvals(world: World) -> list[dict[str, Any]]:
    return [e["body"] for e in world.ok("log")["events"] if e["kind"] == "plan_approved"]


def test_g3_an_approval_names_what_was_shown_to_this_very_cookie(server: Served) -> None:
    world, browser, other = server.world, server.browser(), server.browser()
    plan, digest = proposed(world)
    body = {"digest": digest}
    assert browser.post(f"{plan}/approve", body, 409)["error"] == "not_reviewed"
    other.get(f"{plan}/review")
    assert browser.post(f"{plan}/approve", body, 409)["error"] == "not_reviewed"
    skipped = {**body, "skipped": True}
    assert browser.post(f"{plan}/approve", skipped, 409)["error"] == "not_reviewed"
    browser.get(f"{plan}/review")
    wrong = browser.post(f"{plan}/approve", {"digest": "0" * 64}, 409)
    assert wrong["error"] == "other_digest"
    assert browser.post(f"{plan}/approve", {"digest": digest[:8]}, 409)["error"] == "other_digest"
    assert browser.post(f"{plan}/approve", {}, 400)["error"] == "usage"
    assert browser.post(f"{plan}/approve", {**body, "note": "x" * 70_000}, 400)["error"] == "usage"
    assert browser.post(f"{plan}/approve", {**body, "expires_s": 0}, 400)["error"] == "usage"
    assert browser.post(f"{plan}/approve", {**body, "model": "x"}, 400)["error"] == "usage"
    model = {**body, "model": "x", "build": True}
    assert browser.post(f"{plan}/approve", model, 400)["error"] == "usage"
    assert approvals(world) == []

    row = browser.post(f"{plan}/approve", {**body, "note": "Checked"})
    assert (row["approved"], row["digest"]) == (True, digest)
    (event,) = approvals(world)
    assert event["approval"]["approver"]["channel"] == "web"
    assert (event["approval"]["note"], event["access"]) == ("Checked", "browser")
    assert "skipped" not in event
    assert world.ok("status")["plan"]["approved"] is True
    told = world.run("log", "--decisions").out
    assert b"(web, browser)" in told


def test_a_changed_plan_is_not_approved_and_says_what_changed(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan, digest = proposed(world)
    browser.get(f"{plan}/review")
    world.write("a.txt", b"other\n")
    world.write("b.txt", b"b\n")
    drafted = browser.post(f"{plan}/approve", {"digest": digest}, 409)
    assert drafted["error"] == "illegal_step"
    now = world.propose()
    told = browser.post(f"{plan}/approve", {"digest": digest}, 409)
    assert told["error"] == "other_digest"
    assert now in told["message"]
    assert "Since then: 1 added, 1 changed." in told["message"]
    assert browser.post(f"{plan}/approve", {"digest": now}, 409)["error"] == "not_reviewed"
    assert browser.post(f"{plan}/build", {"digest": digest}, 409)["error"] == "other_digest"
    assert browser.post(f"{plan}/build", {"digest": now}, 409)["error"] == "not_approved"
    body = {"digest": digest, "note": "no"}
    assert browser.post(f"{plan}/reject", body, 409)["error"] == "other_digest"
    world.text().write_text("# Edited meanwhile\n", encoding="utf-8")
    browser.get(f"{plan}/review")
    assert browser.post(f"{plan}/approve", {"digest": now}, 409)["error"] == "live_differs"
    assert approvals(world) == []


def test_pages_count_from_the_first_to_the_last(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan = f"/plans/{world.plan()['plan_id']}"
    patch = "".join(f"--- /dev/null\n+++ b/f{n}\n@@ -0,0 +1 @@\n+x\n" for n in range(210))
    world.ok("stage", "patch", "-", stdin=patch.encode())
    digest = world.propose()
    body = {"digest": digest}
    for page in (3, 2):
        browser.get(f"{plan}/review?page={page}")
        assert browser.post(f"{plan}/approve", body, 409)["error"] == "not_reviewed"
    skipped = {**body, "skipped": True}
    assert browser.post(f"{plan}/approve", skipped, 409)["error"] == "not_reviewed"
    browser.get(f"{plan}/review?page=1")
    told = browser.post(f"{plan}/approve", body, 409)
    assert told["next"].endswith("/review?page=2")
    browser.get(f"{plan}/review?page=3")
    assert browser.post(f"{plan}/approve", body, 409)["error"] == "not_reviewed"
    browser.get(f"{plan}/review?page=2")
    assert browser.post(f"{plan}/approve", body, 409)["error"] == "not_reviewed"
    browser.post(f"{plan}/approve", skipped)
    (event,) = approvals(world)
    assert event["skipped"] is True
    kinds = [e["kind"] for e in world.ok("log")["events"]]
    assert "review_shown" not in kinds, "what was skipped was not read"
    browser.get(f"{plan}/review?page=3")
    browser.post(f"{plan}/approve", skipped)
    assert approvals(world)[-1]["skipped"] is True, "the page knows how far a person read"
    browser.post(f"{plan}/approve", body)
    assert "skipped" not in approvals(world)[-1]
    assert "review_shown" in [e["kind"] for e in world.ok("log")["events"]]


def test_g10_a_part_of_a_plan_is_approved_with_what_was_excluded(server: Served) -> None:
    world, browser, author = server.world, server.browser(), server.token("author", "a")
    plan, digest = proposed(world, a=b"a\n", b=b"b\n")
    ids = {row["path"]: row["id"] for row in browser.get(f"{plan}/review")["operations"]}
    body = {"digest": digest, "operations": [ids["b.txt"][:10]]}
    typed = world.ok("approve", "--without", ids["b.txt"], "--dry-run")
    shown = browser.post(f"{plan}/without", body)
    assert {**shown, "next": 0} == {**typed, "next": 0}
    assert author.post(f"{plan}/without", body)["digest"] == shown["digest"]
    first = browser.post(f"{plan}/without", {**body, "page": 1})
    assert (first["digest"], first["pages"]) == (shown["digest"], 1)
    for wrong, status, error in (
        ({**body, "digest": "0" * 64}, 409, "other_digest"),
        ({**body, "operations": []}, 409, "illegal_step"),
        ({**body, "operations": ["zz"]}, 404, "not_found"),
        ({**body, "operations": list(ids.values())}, 400, "impossible"),
        ({**body, "page": 2}, 404, "not_found"),
    ):
        assert browser.post(f"{plan}/without", wrong, status)["error"] == error, wrong
    other = server.browser()
    other.get(f"{plan}/review")
    wanted = {"digest": shown["digest"], "note": "Later"}
    assert other.post(f"{plan}/approve", wanted, 409)["error"] == "other_digest"
    assert approvals(world) == []
    before = len(world.ok("log")["events"])
    row = browser.post(f"{plan}/approve", wanted)
    assert (row["digest"], [each["path"] for each in row["declined"]]) == (
        shown["digest"], ["b.txt"],
    )  # fmt: skip
    kinds = [e["kind"] for e in world.ok("log")["events"][before:]]
    assert kinds[:5] == [
        "plan_revised", "draft_changed", "operations_declined", "plan_proposed", "plan_approved",
    ]  # fmt: skip
    assert approvals(world)[-1]["access"] == "browser"
    work = browser.post(f"{plan}/build", {"digest": shown["digest"]}, 202)
    assert ended(browser, plan, work["id"])["outcome"] == "done"
    assert world.files().keys() == {b"a.txt"}
    # What was excluded from an earlier version excludes nothing from another.
    again = browser.post(f"{plan}/approve", wanted, 409)
    assert again["error"] in ("other_digest", "illegal_step")


def test_a_part_that_was_shown_before_the_plan_changed_is_not_approved(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan, digest = proposed(world, a=b"a\n", b=b"b\n")
    ids = {row["path"]: row["id"] for row in browser.get(f"{plan}/review")["operations"]}
    shown = browser.post(f"{plan}/without", {"digest": digest, "operations": [ids["b.txt"]]})
    world.write("c.txt", b"c\n")
    world.propose()
    told = browser.post(f"{plan}/approve", {"digest": shown["digest"]}, 409)
    assert told["error"] == "other_digest"
    assert approvals(world) == []


def test_f99_who_may_decide(server: Served) -> None:
    world = server.world
    plan, digest = proposed(world)
    run = f"/runs/{digest[:26]}"
    callers: dict[str, Client] = {
        "viewer": server.browser("viewer"),
        "author": server.browser("author"),
        "token": server.token("approver", "program"),
    }
    wanted = {"digest": digest}
    for role, caller in callers.items():
        caller.get(f"{plan}/review")
        for path, body in (
            (f"{plan}/approve", wanted),
            (f"{plan}/approve", {**wanted, "skipped": True, "build": True}),
            (f"{plan}/build", wanted),
            (f"{run}/undo", wanted),
            (f"{run}/redo", wanted),
            (f"{run}/recover", {"way": "resume", "seen": 1}),
        ):
            told = caller.post(path, body, 403)
            assert told["error"] == "forbidden", (role, path)
    viewer = callers["viewer"]
    for verb in ("propose", "select", "without", "reject", "rehearse", "rebase", "discard"):
        body = {**wanted, "operations": ["1"]} if verb == "without" else wanted
        told = viewer.post(f"{plan}/{verb}", None if verb in ("propose", "select") else body, 403)
        assert told["error"] == "forbidden", verb
    for verb in ("rebase", "discard"):
        assert callers["author"].post(f"{plan}/{verb}", wanted, 403)["error"] == "forbidden"
    assert approvals(world) == []
    row = callers["author"].post(f"{plan}/reject", {**wanted, "note": "Smaller"})
    assert row["state"] == "DRAFTING"


def test_a_token_decides_only_if_the_user_configured_it(tmp_path: Path) -> None:
    world = World(tmp_path, config=f"{TRUSTING}[serve]\ntoken_may_decide = true\n")
    with served(world) as server:
        token = server.token("approver", "program")
        plan, digest = proposed(world)
        assert token.post(f"{plan}/approve", {"digest": digest}, 409)["error"] == "not_reviewed"
        assert built(token, plan, digest)["outcome"] == "done"
        assert approvals(world)[0]["access"] == "program"


def test_a_rejection_sends_feedback(server: Served) -> None:
    world, author = server.world, server.token("author", "a")
    plan, digest = proposed(world)
    empty = {"digest": digest, "note": " "}
    assert author.post(f"{plan}/reject", empty, 400)["error"] == "usage"
    feedback = {"scope": "Only src", "priorities": "Tests first", "notes": "More"}
    row = author.post(f"{plan}/reject", {"digest": digest, "note": "Less", "feedback": feedback})
    assert (row["state"], row["digest"]) == ("DRAFTING", None)
    (event,) = [e for e in world.ok("log")["events"] if e["kind"] == "plan_rejected"]
    for words in ("## Scope\n\nOnly src", "## Priorities\n\nTests first", "Less\n\nMore"):
        assert words in event["body"]["note"]
    again = {"digest": digest, "note": "x"}
    assert author.post(f"{plan}/reject", again, 409)["error"] == "other_digest"


def test_what_holds_everywhere_holds_here(tmp_path: Path) -> None:
    """Independent approval, expiry, drift, and a second approval of one digest."""
    world = World(tmp_path, config=f'{TRUSTING}independent = ["deletes"]\n')
    world.put("old.txt", b"old\n")
    with served(world) as server:
        browser = server.browser()
        risky = f"/plans/{world.plan('risky')['plan_id']}"
        world.ok("stage", "delete", "old.txt")
        digest = world.propose()
        browser.get(f"{risky}/review")
        told = browser.post(f"{risky}/approve", {"digest": digest}, 422)
        assert told["error"] == "not_independent"

        world.plan("plain")
        world.write("old.txt", b"new\n")
        plain, digest = f"/plans/{world.ok('plan', 'show')['plan_id']}", world.propose()
        browser.get(f"{plain}/review")
        row = browser.post(f"{plain}/approve", {"digest": digest, "expires_s": 3600})
        assert row["expires_at"] == approvals(world)[-1]["approval"]["expires_at"]
        typed = world.run("approve", "--digest", digest, "--json")
        second = browser.request("POST", f"/api/v1{plain}/approve", {"digest": digest})
        assert (typed.code == 0) == (second.status == 200)

        world.put("old.txt", b"drifted\n")
        drifted = browser.post(f"{plain}/build", {"digest": digest}, 409)
        assert drifted["error"] == "drift"
        assert browser.get(f"{plain}/review")["drifted"]
        assert browser.post(f"{plain}/approve", {"digest": digest}, 409)["error"] == "drift"
        assert world.files()[b"old.txt"][2] == b"drifted\n"


def test_an_approval_that_is_too_old_builds_nothing(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan, digest = proposed(world)
    browser.get(f"{plan}/review")
    browser.post(f"{plan}/approve", {"digest": digest, "expires_s": 1})
    while browser.get(plan)["approved"]:
        pass
    assert browser.post(f"{plan}/build", {"digest": digest}, 409)["error"] == "expired"


def test_g12_a_required_rehearsal_is_run_over_http_without_network(tmp_path: Path) -> None:
    world = World(tmp_path, config=f"{TRUSTING}require_rehearsal = true\n{VERIFY}")
    with served(world) as server:
        browser, program = server.browser(), server.token("author", "program")
        plan, digest = proposed(world)
        browser.get(f"{plan}/review")
        body = {"digest": digest}
        assert browser.post(f"{plan}/approve", body, 422)["error"] == "not_rehearsed"
        work = program.post(f"{plan}/rehearse", body, 202)
        assert (work["kind"], work["digest"]) == ("rehearse", digest)
        assert ended(program, plan, work["id"])["outcome"] == "passed"
        assert browser.get(f"{plan}/review")["rehearsal"]["by"] == "model"
        assert browser.post(f"{plan}/approve", body, 422)["error"] == "not_rehearsed"
        given = {**body, "commands": ["true"]}
        work = browser.post(f"{plan}/rehearse", given, 202)
        assert ended(browser, plan, work["id"])["outcome"] == "passed"
        assert browser.post(f"{plan}/approve", body, 422)["error"] == "not_rehearsed"
        network = {**body, "network": True}
        assert browser.post(f"{plan}/rehearse", network, 400)["error"] == "usage"
        reach = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {}), 2)'"
        port = browser.address.rpartition(":")[2]
        tried = {**body, "commands": [reach.format(port)]}
        work = browser.post(f"{plan}/rehearse", tried, 202)
        assert ended(browser, plan, work["id"])["outcome"] == "failed"
        work = browser.post(f"{plan}/rehearse", body, 202)
        assert ended(browser, plan, work["id"])["outcome"] == "passed"
        rehearsal = browser.get(f"{plan}/review")["rehearsal"]
        assert (rehearsal["by"], rehearsal["network"]) == ("person", False)
        browser.post(f"{plan}/approve", body)
        assert [row["state"] for row in browser.get(f"{plan}/work")["work"]] == ["ended"] * 4
        assert browser.get(f"{plan}/work/none", 404)["error"] == "not_found"
        assert world.files() == {}
        for wrong in ({"timeout": 0}, {"commands": [" "]}, {"timeout": 10**9}):
            assert browser.post(f"{plan}/rehearse", wrong, 400)["error"] == "usage", wrong


@pytest.mark.parametrize("first", ["browser", "terminal"])
def test_g20_either_side_approves_and_the_other_sees_it(server: Served, first: str) -> None:
    world, browser = server.world, server.browser()
    plan, digest = proposed(world)
    assert [row["digest"] for row in browser.get("/waiting")["waiting"]] == [digest]
    if first == "browser":
        approved(browser, plan, digest)
        assert world.ok("build")["outcome"] == "done"
    else:
        world.ok("approve", "--digest", digest)
        work = browser.post(f"{plan}/build", {"digest": digest}, 202)
        assert ended(browser, plan, work["id"])["outcome"] == "done"
    assert browser.get("/waiting")["waiting"] == []
    assert browser.get(plan)["state"] == world.ok("plan", "show")["state"] == "COMPLETED"
    assert world.files() == {b"a.txt": ("file", 0o644, b"a\n")}
    (run,) = browser.get("/runs")["runs"]
    assert run["run"] == world.ok("runs", "list")["runs"][0]["run"]
    again = browser.post(f"{plan}/build", {"digest": digest}, 409)
    assert again["error"] == "spent"
    assert browser.post(f"{plan}/approve", {"digest": digest}, 409)["error"] == "illegal_step"


def test_of_several_options_one_is_approved_and_the_others_are_discarded(tmp_path: Path) -> None:
    world = World(tmp_path)
    talker = Talker(world)
    world.put("db.txt", b"sqlite\n")
    drafts = [
        call
        for label in ("Keep", "Move")
        for call in (
            ("write_plan", {"text": f"# {label}\n\nEdit db.txt.\n", "option": label}),
            ("edit", {"path": "db.txt", "old": "sqlite", "new": label, "option": label}),
        )
    ]
    both = ("present_plan", {"options": ["Keep", "Move"]})
    talker.script(turn("Two ways.", *drafts), turn("Choose.", both), turn("I see."))
    talker.json("Pick a database", code=3)
    with served(world) as server:
        browser = server.browser()
        rows = {row["option"]: row["plan_id"] for row in browser.get("/plans")["plans"]}
        first, second = f"/plans/{rows['Keep']}", f"/plans/{rows['Move']}"
        shown = browser.get(f"{first}/review")
        assert shown["discards"] == ["Move"]
        row = browser.post(f"{first}/approve", {"digest": shown["digest"]})
        assert row["discarded"] == [rows["Move"]]
        other = browser.get(f"{second}/review")["digest"]
        told = browser.post(f"{second}/approve", {"digest": other or shown["digest"]}, 409)
        assert told["error"] == "illegal_step"
        assert browser.get(second)["state"] == "DISCARDED"
