"""Runs over HTTP: built, shown, undone, redone, and recovered after a crash."""

import http.client
import os
import time
from pathlib import Path
from typing import Any

import msgspec
from tests.cli.harness import TRUSTING, World
from tests.cli.scripts import MODEL, PRESENT, Talker, turn, write
from tests.web.harness import Client, Served, served
from tests.web.plan_calls import approved, built, ended, proposed, wait_until

UNKNOWN = "01zzzzzzzzzzzzzzzzzzzzzzzz"


def without_workspace(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "workspace"}


def test_g20_the_whole_story(server: Served) -> None:
    """Staged, proposed, reviewed, approved and built, undone and redone, all of it over HTTP."""
    world, browser = server.world, server.browser()
    plan = f"/plans/{world.plan()['plan_id']}"
    world.put("b.txt", b"old\n")
    browser.post(f"{plan}/operations", {"kind": "write", "path": "a.txt", "content": "a\n"})
    browser.post(f"{plan}/operations", {"kind": "edit", "path": "b.txt", "find": "old", "put": "1"})
    command = {"kind": "run", "script": "echo said; echo c > c.txt"}
    browser.post(f"{plan}/operations", command)
    digest = browser.post(f"{plan}/propose")["digest"]
    assert browser.get(f"{plan}/review")["digest"] == digest
    row = browser.post(f"{plan}/approve", {"digest": digest, "build": True}, 202)
    assert row["approved"] is True
    work = ended(browser, plan, row["work"]["id"])
    assert (work["state"], work["outcome"]) == ("ended", "done")
    assert browser.get(plan)["work"] == work
    after = world.files()
    assert {name: found[2] for name, found in after.items()} == {
        b"a.txt": b"a\n", b"b.txt": b"1\n", b"c.txt": b"c\n",
    }  # fmt: skip

    run = f"/runs/{work['run']}"
    shown = browser.get(run)
    assert (shown.pop("unfinished"), shown.pop("seen")) == (False, None)
    assert without_workspace(shown) == world.ok("runs", "show", work["run"])
    listed = [without_workspace(row) for row in browser.get("/runs")["runs"]]
    assert listed == world.ok("runs", "list")["runs"]
    (told,) = browser.get(f"{run}/output")["commands"]
    assert (told["command"]["output"], told["command"]["code"]) == ("said\n", 0)
    evidence = world.base / "evidence.json"
    evidence.write_bytes(browser.request("GET", f"/api/v1{run}/evidence").body)
    proved = world.ok("verify", str(evidence))
    assert (proved["run"], proved["approval"]["channel"]) == (work["run"], "web")

    assert browser.post(f"{run}/undo", {"digest": "0" * 64}, 409)["error"] == "other_digest"
    typed = world.ok("undo", "--dry-run")
    assert browser.post(f"{run}/undo", {"digest": typed["digest"]}, 409)["error"] == "not_reviewed"
    preview = browser.get(f"{run}/undo")
    assert preview == typed
    undone = browser.post(f"{run}/undo", {"digest": preview["digest"]})
    assert undone["outcome"] == "done"
    assert len(undone["restored"]) == 3
    assert world.files() == {b"b.txt": ("file", 0o644, b"old\n")}
    assert browser.get(run)["undone"] is True
    again = browser.request("POST", f"/api/v1{run}/undo", {"digest": preview["digest"]})
    assert again.status == 409

    assert browser.post(f"{run}/redo", {"digest": "0" * 64}, 409)["error"] == "other_digest"
    preview = browser.get(f"{run}/redo")
    assert preview == world.ok("redo", "--dry-run")
    redone = browser.post(f"{run}/redo", {"digest": preview["digest"]})
    assert redone["outcome"] == "done"
    assert world.files() == after
    channels = [
        event["body"]["approval"]["approver"]["channel"]
        for event in world.ok("log")["events"]
        if event["kind"] == "plan_approved"
    ]
    assert channels == ["web"] * 3
    assert world.ok("log", "--verify")["holds"] is True


def test_unknown_runs_are_not_found(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan, digest = proposed(world)
    run = built(browser, plan, digest)["run"]
    for path in ("", "/undo", "/redo", "/output", "/evidence"):
        assert browser.get(f"/runs/{UNKNOWN}{path}", 404)["error"] == "not_found"
        if path:
            assert browser.get(f"/runs/{run[:20]}{path}", 404)["error"] == "not_found"
    for verb, body in (
        ("undo", {"digest": digest}),
        ("redo", {"digest": digest}),
        ("recover", {"way": "accept", "seen": 1}),
    ):
        assert browser.post(f"/runs/{UNKNOWN}/{verb}", body, 404)["error"] == "not_found"
    assert browser.get(f"/runs/{run}/redo", 404)["error"] == "not_found"
    wrong = {"way": "forwards", "seen": 1}
    assert browser.post(f"/runs/{run}/recover", wrong, 400)["error"] == "usage"
    over = {"way": "accept", "seen": 1}
    assert browser.post(f"/runs/{run}/recover", over, 409)["error"] == "stale"
    assert browser.get("/runs?limit=x", 400)["error"] == "usage"
    assert browser.get("/runs?workspace=none", 404)["error"] == "not_found"


def test_an_undo_of_files_that_changed_is_another_one(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan, digest = proposed(world, a=b"a\n", b=b"b\n")
    run = f"/runs/{built(browser, plan, digest)['run']}"
    preview = browser.get(f"{run}/undo")
    world.put("a.txt", b"mine\n")
    told = browser.post(f"{run}/undo", {"digest": preview["digest"]}, 409)
    assert told["error"] == "other_digest"
    now = browser.get(f"{run}/undo")
    assert [row["path"] for row in now["conflicts"]] == ["a.txt"]
    done = browser.post(f"{run}/undo", {"digest": now["digest"]})
    assert [row["path"] for row in done["restored"]] == ["b.txt"]
    assert world.files() == {b"a.txt": ("file", 0o644, b"mine\n")}
    one = browser.get(f"{run}/undo?operation=1")
    assert one["digest"] is None
    assert browser.post(f"{run}/undo", {"digest": "", "operation": "1"})["outcome"] == "nothing"


def halting(world: World, script: str) -> tuple[str, str]:
    """Proposes a plan with a command between two files."""
    plan = world.plan()["plan_id"]
    world.write("a.txt", b"a\n")
    world.ok("stage", "run", "--script", "-", stdin=script.encode())
    world.write("b.txt", b"b\n")
    return f"/plans/{plan}", world.propose()


def test_a_run_that_stopped_is_decided_by_what_was_seen(server: Served) -> None:
    world, browser, other = server.world, server.browser(), server.browser()
    plan, digest = halting(world, "test -e go")
    work = built(browser, plan, digest)
    assert (work["state"], work["outcome"]) == ("ended", "needs_you")
    run = f"/runs/{work['run']}"
    body = {"way": "resume", "seen": 1}
    assert browser.post(f"{run}/recover", body, 409)["error"] == "stale"
    shown = browser.get(run)
    assert shown["unfinished"] is True
    assert shown["next"] == [
        "assent recover --resume", "assent recover --roll-back", "assent recover --accept",
    ]  # fmt: skip
    body["seen"] = shown["seen"]
    assert other.post(f"{run}/recover", body, 409)["error"] == "not_reviewed"
    (waiting,) = [row for row in browser.get("/waiting")["waiting"] if row["kind"] == "run"]
    assert waiting["id"] == work["run"]
    assert browser.post(f"{plan}/build", {"digest": digest}, 409)
    undo = browser.request("POST", f"/api/v1{run}/undo", {"digest": digest})
    assert undo.status == 409

    halted = browser.post(f"{run}/recover", body)
    assert halted["outcome"] == "needs_you", "it still cannot go on"
    assert browser.post(f"{run}/recover", body, 409)["error"] == "stale"
    world.put("go")
    body["seen"] = browser.get(run)["seen"]
    done = browser.post(f"{run}/recover", body)
    assert done["outcome"] == "done"
    assert world.files().keys() == {b"a.txt", b"b.txt", b"go"}
    assert browser.get(run)["unfinished"] is False
    assert browser.post(f"{run}/recover", body, 409)["error"] == "stale"


def test_a_run_that_stopped_is_rolled_back(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan, digest = halting(world, "false")
    run = f"/runs/{built(browser, plan, digest)['run']}"
    body = {"way": "roll_back", "seen": browser.get(run)["seen"]}
    assert browser.post(f"{run}/recover", body)["outcome"] == "rolled_back"
    assert world.files() == {}


def running(world: World) -> None:
    """Waits until the command of a plan says that it runs."""
    until = time.monotonic() + 60
    while not os.path.exists(world.at("began")):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_build_blocks_no_reader_and_no_second_build_begins(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan, digest = halting(world, "touch began; while ! test -e go; do sleep 0.05; done")
    approved(browser, plan, digest)
    work = browser.post(f"{plan}/build", {"digest": digest}, 202)
    running(world)
    shown = browser.get(f"{plan}/work/{work['id']}")
    assert shown["state"] == "running"
    assert browser.get(f"{plan}/review")["digest"] == digest
    assert browser.get("/plans")["plans"]
    (run,) = browser.get("/runs")["runs"]
    assert browser.get(f"/runs/{run['run']}")["working"] is True
    assert browser.post(f"{plan}/build", {"digest": digest}, 423)["error"] == "busy"
    began = time.monotonic()
    body = {"way": "accept", "seen": 1}
    assert browser.post(f"/runs/{run['run']}/recover", body, 423)["error"] == "busy"
    assert time.monotonic() - began < 5, "a request does not wait for a run"
    second, other = proposed_beside(world)
    approved(browser, second, other)
    queued = browser.post(f"{second}/build", {"digest": other}, 202)
    assert browser.get(f"{second}/work/{queued['id']}")["state"] == "queued"
    world.put("go")
    assert ended(browser, plan, work["id"])["outcome"] == "done"
    assert ended(browser, second, queued["id"])["outcome"] == "done"
    assert {b"a.txt", b"b.txt", b"beside.txt"} <= world.files().keys()


def test_g21_a_killed_server_leaves_what_it_did_to_be_recovered(tmp_path: Path) -> None:
    world = World(tmp_path)
    with served(world) as server:
        browser = server.browser()
        plan, digest = halting(world, "touch began; sleep 600")
        untouched, _ = proposed_beside(world)
        browser.get(f"{untouched}/review")
        tried = browser.post(f"{untouched}/rehearse", {"commands": ["sleep 600"]}, 202)
        wait_until(browser, f"{untouched}/work/{tried['id']}", "state", "running")
        approved(browser, plan, digest)
        work = browser.post(f"{plan}/build", {"digest": digest}, 202)
        running(world)
        headers = browser.headers
        server.kill()
    before = world.files()
    with served(world) as server:
        browser = Client(server.url, {**headers, "origin": server.url})
        assert browser.get(f"{plan}/work/{work['id']}")["state"] == "interrupted"
        assert browser.get(f"{untouched}/work/{tried['id']}")["state"] == "interrupted"
        assert browser.get(f"{untouched}/review")["rehearsal"] is None
        assert browser.get(plan)["work"]["state"] == "interrupted"
        assert world.files() == before, "a restart builds nothing"
        (run,) = browser.get("/runs")["runs"]
        path = f"/runs/{run['run']}"
        shown = browser.get(path)
        assert (shown["unfinished"], shown["working"]) == (True, False)
        assert [row["kind"] for row in browser.get("/waiting")["waiting"]].count("run") == 1
        # What was shown before the restart has to be shown again, and nothing was approved by it.
        fresh = server.browser()
        body = {"way": "roll_back", "seen": shown["seen"]}
        assert fresh.post(f"{path}/recover", body, 409)["error"] == "not_reviewed"
        first = browser.post(f"{path}/recover", body)
        assert first["outcome"] == "needs_you", "what the command did has to be seen first"
        assert browser.post(f"{path}/recover", body, 409)["error"] == "stale"
        body["seen"] = browser.get(path)["seen"]
        assert browser.post(f"{path}/recover", body)["outcome"] == "rolled_back"
        assert world.files() == {}
        assert browser.get(untouched)["approved"] is False


def proposed_beside(world: World) -> tuple[str, str]:
    plan = world.plan("beside")["plan_id"]
    world.write("beside.txt", b"x\n")
    return f"/plans/{plan}", world.propose()


def test_g21_a_server_that_is_stopped_leaves_what_it_did_to_be_recovered(tmp_path: Path) -> None:
    world = World(tmp_path)
    with served(world) as server:
        browser = server.browser()
        plan, digest = halting(world, "touch began; sleep 600")
        approved(browser, plan, digest)
        browser.post(f"{plan}/build", {"digest": digest}, 202)
        running(world)
    assert world.no(6, "build")["error"] == "needs_you"
    world.ok("recover", "--accept")
    assert world.files().keys() == {b"a.txt", b"began"}


def test_g20_what_happens_in_a_build_comes_as_events(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan, digest = halting(world, "while ! test -e go; do sleep 0.05; done; echo said; touch began")
    approved(browser, plan, digest)
    connection = http.client.HTTPConnection(browser.address, timeout=60)
    connection.request("GET", "/api/v1/events?after=0", headers=browser.headers)
    response = connection.getresponse()
    work = browser.post(f"{plan}/build", {"digest": digest}, 202)
    heard: list[dict[str, Any]] = []
    while not heard or heard[-1]["kind"] != "work_ended":
        line = response.readline()
        if not line.startswith(b"data: "):
            continue
        heard.append(msgspec.json.decode(line.removeprefix(b"data: ")))
        if heard[-1]["kind"] == "doing":
            world.put("go")
    connection.close()
    kinds = [row["kind"] for row in heard]
    assert kinds.index("work_queued") < kinds.index("run_started") < kinds.index("work_ended")
    said = [row["body"] for row in heard if row["kind"] == "delta"]
    assert "".join(body["text"] for body in said) == "said\n"
    assert {body["work"] for body in said} == {work["id"]}
    last = heard[-1]["body"]
    assert (last["work"], last["outcome"]) == (work["id"], "done")
    assert next(row["seq"] for row in heard if row["kind"] in ("delta", "progress")) is None


TEXT = """---
scope:
  files: [src/*]
---
# Greet

## Proposed changes

- [ ] Write the greeting
"""


def test_a_text_plan_is_built_by_a_model(tmp_path: Path) -> None:
    world = World(tmp_path, config=f'model = "{MODEL}"\n{TRUSTING}')
    talker = Talker(world)
    talker.script(
        turn("A plan.", ("write_plan", {"text": TEXT})),
        turn("Here.", PRESENT),
        turn("Writing.", write("src/hello.txt", "hello\n")),
        turn("All done."),
    )
    digest = str(talker.json("Greet", code=3)["digest"])
    with served(world) as server:
        browser = server.browser()
        (row,) = browser.get("/plans")["plans"]
        plan = f"/plans/{row['plan_id']}"
        assert browser.post(f"{plan}/build", {"digest": digest}, 409)["error"] == "not_approved"
        approved(browser, plan, digest)
        body = {"digest": digest, "agent": "nobody"}
        work = browser.post(f"{plan}/build", body, 202)
        failed = ended(browser, plan, work["id"])
        assert (failed["state"], failed["error"]) == ("failed", "usage")
        assert browser.get(plan)["approved"] is True, "the approval is not used up"
        work = browser.post(f"{plan}/build", {"digest": digest}, 202)
        done = ended(browser, plan, work["id"])
        assert (done["state"], done["outcome"]) == ("ended", "done"), done
        assert world.files()[b"src/hello.txt"][2] == b"hello\n"
        assert browser.get(plan)["state"] == "COMPLETED"
        assert browser.post(f"{plan}/build", {"digest": digest}, 409)["error"] == "spent"
