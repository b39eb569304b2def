"""Plans, reviews, decisions and runs as pages, by plain forms: no script is needed for any."""

import http.client
import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import World
from tests.cli.scripts import PLANS, Talker
from tests.web.harness import FORM, Client, Served, served
from tests.web.page_forms import Reader
from tests.web.plan_calls import proposed, wait_until
from tests.web.test_approvals import approvals
from tests.web.test_runs import halting

from assent.web.pages.markdown import preview_markdown

ATTACK = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


def reader(server: Served, role: str = "approver") -> Reader:
    """Somebody whose browser runs no script: nothing but a cookie and forms."""
    client = server.browser(role)
    headers = {name: client.headers[name] for name in ("cookie", "origin")}
    return Reader(Client(server.url, headers))


def test_g20_f56_f58_the_whole_story_without_script(server: Served) -> None:
    """A plan, a comment, a rejection, a revision, a smaller approval, a halt, recovery, undo."""
    world, person = server.world, reader(server)
    world.put("old.txt", b"old\n")
    plan = world.plan()["plan_id"]
    world.write("a.txt", b"a\n")
    path = f"/plans/{plan}"
    person.open(f"{path}/review")
    assert "This is a draft" in person.text
    first = world.propose()
    person.open(f"{path}/review")
    person.open(f"{path}/review?on=plan:1")
    person.send("/comments", text="Say <b>why</b> 'first'")
    assert "Say <b>why</b> 'first'" in person.text
    person.send("/reject", notes="Delete old.txt", scope="*.txt", constraints="c", priorities="p")
    (note,) = [e["body"] for e in world.ok("log")["events"] if e["kind"] == "plan_rejected"]
    for words in ("Delete old.txt", "*.txt", "Say <b>why</b> 'first'"):
        assert words in note["note"], "one request has all of it"
    assert note["digest"] == first

    world.write("b.txt", b"b\n")
    world.ok("stage", "delete", "old.txt")
    world.ok("stage", "run", "--script", "-", stdin=b"test -e go")
    whole = world.propose()
    person.open(f"{path}/review")
    assert "deletes" in person.text
    ids = {row["path"]: row["id"] for row in operations(person, path) if row.get("path")}
    person.send("/without", operation=ids["b.txt"][:12])
    assert "create b.txt" in person.text
    person.send("#exclude", go="approve")
    (smaller,) = re.findall(r'id="digest">(\w{64})<', person.html)
    assert smaller != whole
    person.send("/approve", do="build", note="Later: b")
    (event,) = approvals(world)
    assert (event["approval"]["digest"], event["approval"]["note"]) == (smaller, "Later: b")
    assert (event["access"], "skipped" in event) == ("browser", False)
    api = server.browser()
    wait_until(api, path, "state", "HALTED")
    assert b"b.txt" not in world.files()

    (run,) = api.get("/runs")["runs"]
    person.open(f"/runs/{run['run']}")
    assert "Stopped: choose how it goes on" in person.text
    world.put("go")
    person.send("/recover", way="resume")
    assert 'data-outcome="done"' in person.html
    assert world.files().keys() == {b"a.txt", b"go"}
    assert person.client.request("GET", f"/runs/{run['run']}/evidence").json["payloadType"]
    person.open(f"/runs/{run['run']}/undo")
    digest = world.ok("undo", "--dry-run")["digest"]
    assert digest in person.text
    person.send("/undo")
    assert world.files()[b"old.txt"][2] == b"old\n"
    person.open(f"/runs/{run['run']}/redo")
    person.send("/redo")
    assert b"old.txt" not in world.files()
    person.open("/runs")
    assert "Done" in person.text


def operations(person: Reader, path: str) -> Any:
    return person.client.get(f"{path}/operations")["operations"]


def test_f41_nothing_is_approved_that_was_not_shown_or_not_confirmed(server: Served) -> None:
    world, person, other = server.world, reader(server), reader(server)
    path, digest = proposed(world)
    person.open(f"{path}/approve?digest={digest}", 409)
    person.open(f"{path}/review")
    other.open(f"{path}/approve?digest={digest}", 409)
    person.open(f"{path}/approve?digest={'0' * 64}", 409)
    person.open(f"{path}/approve?digest={digest}")
    html = person.html
    for csrf in ("", "0" * 64):
        person.html = html
        person.send("/approve", 403, csrf=csrf, do="approve")
    person.html = html
    person.send("/approve", 409, digest="0" * 64, do="approve")
    assert approvals(world) == []
    world.write("b.txt", b"b\n")
    person.html = html
    person.send("/approve", 409, do="build")
    assert 'data-error="illegal_step"' in person.html
    assert approvals(world) == []
    assert world.files() == {}


@pytest.mark.parametrize("way", ["HEAD page", "HEAD api", "live", "prefetch"])
def test_f37_what_no_one_sees_does_not_count_as_shown(server: Served, way: str) -> None:
    world, person = server.world, reader(server)
    path, digest = proposed(world)
    seen = {"live": {"x-assent-live": "1"}, "prefetch": {"sec-purpose": "prefetch;prerender"}}
    if way in seen:
        assert person.client.request("GET", f"{path}/review", headers=seen[way]).status == 200
    else:
        base = "/api/v1" if way == "HEAD api" else ""
        assert person.client.request("HEAD", f"{base}{path}/review").body == b""
    person.open(f"{path}/approve?digest={digest}", 409)
    person.client.headers["x-assent-csrf"] = person.client.get("/access")["csrf"]
    answer = person.client.post(f"{path}/approve", {"digest": digest}, 409)
    assert answer["error"] == "not_reviewed"
    assert approvals(world) == []


def test_nothing_is_read_of_a_stranger_that_sends_a_form(server: Served) -> None:
    path, _ = proposed(server.world)
    form = {"content-type": FORM, "origin": server.url}
    for sent in (b"csrf=x", b"a=" + b"%41" * 400_000):
        reply = server.nobody.request("POST", f"{path}/reject", raw=sent, headers=form)
        assert (reply.status, reply.headers["location"]) == (303, "/login")


def test_a_run_that_was_never_seen_is_not_recovered(server: Served) -> None:
    world, person = server.world, reader(server)
    proposed(world)
    sent = b"csrf=" + person.client.get("/access")["csrf"].encode() + b"&way=resume&seen=abc"
    reply = person.client.request(
        "POST", "/runs/x/recover", raw=sent, headers={"content-type": FORM}
    )
    assert reply.status in (400, 404)


def test_f150_a_late_answer_says_who_decided(server: Served) -> None:
    world, person, other = server.world, reader(server), reader(server)
    path, digest = proposed(world)
    for each in (person, other):
        each.open(f"{path}/review")
        each.open(f"{path}/approve?digest={digest}")
    person.send("/approve", do="build", note="I was first")
    wait_until(server.browser(), path, "state", "COMPLETED")
    other.send("/approve", 409, do="build")
    assert 'data-error="illegal_step"' in other.html
    assert "decided already" in other.text
    assert "I was first" in other.text
    other.open(f"{path}/approve?digest={digest}")
    assert "I was first" in other.text
    assert len(approvals(world)) == 1


@pytest.mark.parametrize("role", ["viewer", "author"])
def test_f39_only_who_may_decide_sees_how(server: Served, role: str) -> None:
    world, person = server.world, reader(server, role)
    path, digest = proposed(world)
    person.open(f"{path}/review")
    assert 'value="approve"' not in person.html
    forms = set(re.findall(r'action="/plans/\w+/(\w+)"', person.html)) - {"viewed"}  # own ticks
    assert forms == ({"without", "reject", "rehearse", "comments"} if role == "author" else set())
    assert person.client.request("GET", f"{path}/approve?digest={digest}").status == 403
    csrf = server.browser(role).get("/access")["csrf"]
    for form in ("approve", "build"):
        body = f"csrf={csrf}&digest={digest}".encode()
        kind = {"content-type": "application/x-www-form-urlencoded"}
        assert person.client.request("POST", f"{path}/{form}", raw=body, headers=kind).status == 403


def test_f37_every_character_is_shown_and_none_of_it_is_html(server: Served) -> None:
    """Text, names of files, diffs, commands, their output, comments: all of it is only text."""
    world, person = server.world, reader(server)
    plan = world.plan(goal=ATTACK)["plan_id"]
    text = f"# {ATTACK}\n\n![x](http://127.0.0.1:9/x.png) <iframe src=//x> a\u202eb\n\n- {ATTACK}\n"
    world.text().write_text(text, encoding="utf-8")
    name = "<img src=x onerror=alert(3)>.py"
    world.write(name, f'x = "{ATTACK}\u200b"\n'.encode())
    world.ok("stage", "run", "--script", "-", stdin=f"echo '{ATTACK}'\nfalse\n".encode())
    world.propose()
    path = f"/plans/{plan}"
    person.open(f"{path}/review?on=plan:1")
    person.send("/comments", text=ATTACK)
    seen = [person.html]
    for query in ("/review?view=split", "", "/history", "/options"):
        seen.append(person.open(path + query))
    person.open(f"{path}/review")
    for line in text.splitlines():
        assert line.replace("\u202e", "<U+202E>") in person.text
    assert "<U+200B>" in person.text
    person.send("#exclude", go="approve")
    seen.append(person.send("/approve", do="build", note=ATTACK))
    wait_until(server.browser(), path, "state", "HALTED")
    (run,) = server.browser().get("/runs")["runs"]
    seen += [person.open(path), person.open("/plans"), person.open(f"/runs/{run['run']}")]
    assert ATTACK in person.text
    seen.append(person.open("/runs"))
    for html in seen:
        assert not re.findall(r"<(?:iframe|object|embed)|<script>|onerror=[^&]*?>", html_tags(html))
        ours = re.findall(r'"(/static/[^"]*)"', html)
        loaded = re.findall(r'<(?:img|script|link)[^>]*(?:src|href)="([^"]*)"', html)
        assert set(loaded) <= set(ours)


def html_tags(html: str) -> str:
    """Returns the tags of a page, without its text."""
    return "".join(re.findall(r"<[a-zA-Z][^<]*?>", html))


def test_f57_g18_comments_are_edited_kept_and_removed(server: Served) -> None:
    world, person = server.world, reader(server)
    path, _ = proposed(world, a=b"one\ntwo\nthree\n")
    (one,) = operations(person, path)
    person.open(f"{path}/review?on={one['id'][:12]}:6")
    person.send("/comments", text="Two lines", last="7")
    (row,) = person.client.get(f"{path}/comments")["comments"]
    assert (row["first"], row["last"], row["quote"]) == (6, 7, ["+one", "+two"])
    assert person.html.index("Two lines") < person.html.index("three"), "below its last line"
    person.send(f"/comments/{row['id']}", do="change", text="Changed")
    assert "Changed" in person.text
    person.open(f"{path}/review?view=split")
    assert "Changed" in person.text
    person.send(f"/comments/{row['id']}", do="remove")
    assert person.client.get(f"{path}/comments")["comments"] == []
    person.open(f"{path}/review?on={one['id'][:12]}:0")
    person.send("/comments", where=one["id"][:12], text="About all of it")
    assert "About all of it" in person.text


def test_f57_replies_stand_in_a_thread_below_the_line(server: Served) -> None:
    world, person = server.world, reader(server)
    path, digest = proposed(world, a=b"one\ntwo\n")
    person.open(f"{path}/review?on=plan:1")
    person.send("/comments", text="First")
    person.open(f"{path}/review?on=plan:1")
    person.send("#say", text="Second")
    person.send("/comments", text="Reply to the first")  # the first form that is there
    rows = person.client.get(f"{path}/comments")["comments"]
    assert [row.get("reply_to") for row in rows] == [None, None, rows[0]["id"]]
    person.open(f"{path}/review?view=split")
    words = re.findall(r'<div class="words untrusted" dir="auto">(.*?)</div>', person.html)
    assert words[:3] == ["First", "Reply to the first", "Second"]
    assert "Comment 3, a reply to comment 1" in person.text
    person.send("/reject", notes="All of it")
    (note,) = [e["body"] for e in world.ok("log")["events"] if e["kind"] == "plan_rejected"]
    assert (len(note["comments"]), note["digest"]) == (3, digest)


def test_f37_what_was_viewed_stays_ticked_until_it_changes(server: Served) -> None:
    world, person, other = server.world, reader(server), reader(server)
    path, _ = proposed(world, a=b"a\n", b=b"b\n")
    first, second = (row["id"] for row in operations(person, path))
    person.open(f"{path}/review")
    assert "0 of 2 viewed" in person.text
    person.send("/viewed", operation=first, at="o1")
    assert "1 of 2 viewed" in person.text
    opened = re.findall(r'<details class="op-body"( open)?>', person.html)
    assert opened == ["", " open"]
    person.open(f"{path}/review?on=plan:1")
    person.send("#say", text="Why?")
    assert "1 of 2 viewed" in person.text
    other.open(f"{path}/review")
    assert "0 of 2 viewed" in other.text, "each login has its own ticks"
    world.write("b.txt", b"other\n")
    world.propose()
    person.open(f"{path}/review")
    assert "1 of 2 viewed" in person.text, "what did not change stays viewed"
    person.send("/viewed", operation=first, viewed="")
    assert "0 of 2 viewed" in person.text
    person.send("/viewed", operation=second)
    assert "0 of 2 viewed" in person.text, "that operation is not part of the plan any more"
    person.open(f"{path}/review")
    person.send("/viewed", 404, operation="x")


def test_f37_folded_lines_are_opened_by_links(server: Served) -> None:
    world, person = server.world, reader(server)
    old = "".join(f"line {n}\n" for n in range(1, 401))
    world.put("long.txt", f"{old}<b>end</b>\u202e\n".encode())
    plan = world.plan()["plan_id"]
    path = f"/plans/{plan}"
    new = (
        old.replace("line 150\n", "LINE 150\n").replace("line 155\n", "").replace("line 300\n", "")
    )
    world.write("long.txt", f"{new}<b>end</b>\u202e\n".encode())
    world.propose()
    for view in ("", "&view=split"):
        person.open(f"{path}/review?page=1{view}")
        links = re.findall(r'class="unfold" href="([^"]*)"', person.html)
        assert [unescape(each).partition("open=")[2][13:] for each in links] == [
            "47-146#o1", "158-257#o1", "302-401#o1",
        ], "next to the changes, at most 100 lines at a time"  # fmt: skip
        assert "line 100<" not in person.html
        for link in links:
            person.open(path + "/review" + unescape(link).partition("#")[0])
        assert "<b>end</b><U+202E>" in person.text
        opened = unescape(links[0]).partition("#")[0]
        person.open(f"{path}/review{opened}")
        assert all(f"line {n}<" in person.html for n in (47, 146))
        assert "line 46<" not in person.html
        assert "46 unchanged lines" in person.text
        (first, *_) = re.findall(r'class="unfold" href="([^"]*)"', person.html)
        person.open(f"{path}/review{unescape(first).partition('#')[0]}")
        assert "line 1<" in person.html, "opened folds stay open"
        assert "line 47<" in person.html
        part = opened.partition("open=")[2][:12]
        person.open(f"{path}/review{opened}&part={part}")
        assert (person.html.count("<article"), person.html.count("<html")) == (1, 0)
    for wrong in ("open=x", f"open={part}:9-1", f"open={part}:0-0,{part}:999-1999", "open=,,,"):
        person.open(f"{path}/review?{wrong}")
    person.open(f"{path}/review?part=none", 404)


def test_f37_a_part_of_a_page_does_not_count_as_shown(server: Served) -> None:
    world, person = server.world, reader(server)
    path, digest = proposed(world)
    (one,) = operations(person, path)
    person.open(f"{path}/review?part={one['id'][:12]}")
    person.open(f"{path}/approve?digest={digest}", 409)


def test_g9_what_changed_since_the_last_review_comes_first(server: Served) -> None:
    world, person = server.world, reader(server)
    path, digest = proposed(world, a=b"a\n", b=b"b\n")
    person.open(f"{path}/review")
    assert 'id="since"' not in person.html
    person.open(f"{path}/approve?digest={digest}")
    person.send("/approve", do="approve")
    world.write("b.txt", b"other\n")
    world.propose()
    person.open(f"{path}/review")
    assert person.html.index('id="since"') < person.html.index('id="risks"')
    marks = re.findall(r'class="chip (?:accent)?">(reviewed|changed|new)<', person.html)
    assert marks == ["reviewed", "changed"]


def test_g9_what_changed_since_a_rejection_comes_first(server: Served) -> None:
    world, person = server.world, reader(server)
    path, _ = proposed(world, a=b"a\n", b=b"b\n")
    person.open(f"{path}/review")
    person.send("/reject", notes="Another b")
    world.write("b.txt", b"other\n")
    world.propose()
    person.open(f"{path}/review")
    assert person.html.index('id="since"') < person.html.index('id="risks"')
    marks = re.findall(r'class="chip (?:accent)?">(reviewed|changed|new)<', person.html)
    assert marks == ["reviewed", "changed"]


def test_g9_what_was_rejected_before_its_end_was_shown_is_not_reviewed(server: Served) -> None:
    world, person = server.world, reader(server)
    path, digest = proposed(world, **{f"f{n}": b"x\n" for n in range(60)})
    person.open(f"{path}/review")
    assert "Page 1 of 2" in person.text
    person.send("/reject", notes="Fewer")
    world.write("f0.txt", b"other\n")
    assert world.propose() != digest
    person.open(f"{path}/review")
    assert 'id="since"' not in person.html


def test_f40_a_draft_operation_is_removed_and_a_plan_discarded(server: Served) -> None:
    world, person = server.world, reader(server)
    plan = world.plan()["plan_id"]
    world.write("a.txt", b"a\n")
    world.write("b.txt", b"b\n")
    path = f"/plans/{plan}"
    (first, _) = operations(person, path)
    person.open(f"{path}/review")
    person.send("/remove", operation=first["id"])
    assert [row["path"] for row in operations(person, path)] == ["b.txt"]
    person.open(path)
    person.send("/propose")
    assert "Approve…" in person.text
    person.open(path)
    person.send("/discard")
    assert 'data-state="DISCARDED"' in person.html
    assert world.files() == {}


def test_f29_f30_plans_by_session_and_switching_the_plan(server: Served) -> None:
    world, person = server.world, reader(server)
    first = world.plan("one")["plan_id"]
    world.ok("plan", "new", "two", "--session", "other", "--goal", "g")
    third = world.plan("three")["plan_id"]
    person.open("/plans")
    shown = re.findall(r'id="plan-(\w+)"', person.html)
    assert (shown[0], shown[1]) == (third, first), "by session, newest first"
    assert "other" in person.text
    person.open(f"/plans/{first}")
    person.send("/select")
    assert world.ok("plan", "show")["plan_id"] == first


def test_a_picture_is_shown_and_nothing_else_is_served_as_one(server: Served) -> None:
    world, person = server.world, reader(server)
    plan = world.plan()["plan_id"]
    for name in ("a.png", "b.svg", "c.bin"):
        world.write(name, b"\x89PNG\0<svg onload=alert(1)>")
    world.propose()
    path = f"/plans/{plan}"
    person.open(f"{path}/review")
    names = {row["path"]: row["id"] for row in operations(person, path)}
    assert person.html.count("/images/") == 1
    reply = person.client.request("GET", f"{path}/images/{names['a.png']}/after")
    assert (reply.status, reply.headers["content-type"]) == (200, "image/png")
    assert reply.headers["x-content-type-options"] == "nosniff"
    for name, side in (("a.png", "before"), ("b.svg", "after"), ("c.bin", "after"), ("a.png", "x")):
        assert person.client.request("GET", f"{path}/images/{names[name]}/{side}").status == 404
    assert person.client.request("GET", f"{path}/images/zz/after").status == 404


def test_many_operations_are_read_page_by_page(server: Served) -> None:
    world, person = server.world, reader(server)
    plan = world.plan()["plan_id"]
    patch = "".join(f"--- /dev/null\n+++ b/f{n}\n@@ -0,0 +1 @@\n+x\n" for n in range(210))
    world.ok("stage", "patch", "-", stdin=patch.encode())
    digest = world.propose()
    path = f"/plans/{plan}"
    person.open(f"{path}/review")
    assert (person.html.count("<article"), "Skip the remaining pages" in person.text) == (50, True)
    person.open(f"{path}/approve?digest={digest}")
    assert "Page 1 of 5 was shown to you." in person.text
    person.send("/approve", 409, do="approve")
    for page in (2, 3, 4, 5):
        person.open(f"{path}/review?page={page}")
    assert 'id="o210"' in person.html
    person.open(f"{path}/approve?digest={digest}")
    assert 'name="skipped"' not in person.html
    person.send("/approve", do="approve")
    assert "skipped" not in approvals(world)[-1]
    person.open(f"{path}/review?page=6", 404)


def test_the_tree_of_a_large_plan_has_all_folders_and_what_is_risky(server: Served) -> None:
    world, person = server.world, reader(server)
    plan = world.plan()["plan_id"]
    names = [f"src/m{n // 30}/f{n}" for n in range(300)] + [".github/workflows/ci.yml"]
    patch = "".join(f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n" for name in names)
    world.ok("stage", "patch", "-", stdin=patch.encode())
    world.propose()
    paths = [row["path"] for row in operations(person, f"/plans/{plan}")]
    person.open(f"/plans/{plan}/review?page=2&view=split")
    _, _, tree = person.html.partition('<ul class="flat files">')
    rows = re.findall(r'<li class="d\d"[^>]*>\s*(.*?)\s*</li>', tree.partition("</ul>")[0], re.S)
    shown = [re.sub(r"<[^>]*>", "", row).split()[0] for row in rows]
    here = [each.rpartition("/")[2] for each in paths[50:100]]
    assert {"ci.yml", "src/", *(f"m{n}/" for n in range(10)), *here} <= {*shown}
    assert len(shown) < 75, "no file of other pages, unless it is risky"
    (to,) = re.findall(r'href="([^"]*)"><bdi>m9/</bdi> 30<', tree)
    first = 1 + min(at for at, path in enumerate(paths) if path.startswith("src/m9/"))
    assert to == f"?page={(first - 1) // 50 + 1}&amp;view=split#o{first}"


def test_a_page_that_was_not_sent_to_its_end_was_not_shown(server: Served) -> None:
    """A review is sent while it is rendered: who hangs up half-way has not seen it."""
    world, person = server.world, reader(server)
    plan = world.plan()["plan_id"]
    lines = "".join(f"+line {n} {'x' * 900}\n" for n in range(9_000))
    patch = f"--- /dev/null\n+++ b/large\n@@ -0,0 +1,9000 @@\n{lines}"
    world.ok("stage", "patch", "-", stdin=patch.encode())
    digest = world.propose()
    path = f"/plans/{plan}"
    connection = http.client.HTTPConnection(person.client.address)
    connection.request("GET", f"{path}/review", headers=person.client.headers)
    response = connection.getresponse()
    assert b'id="risks"' in response.read(20_000)
    connection.close()
    response.close()
    person.open(f"{path}/approve?digest={digest}", 409)
    person.open(f"{path}/review")
    person.open(f"{path}/approve?digest={digest}")


def test_g10_a_tick_is_never_lost_on_the_way_to_the_approval(server: Served) -> None:
    """Approve and the pages take ticks along; what is newly excluded is shown before all else."""
    world, person = server.world, reader(server)
    plan = world.plan()["plan_id"]
    patch = "".join(f"--- /dev/null\n+++ b/f{n}\n@@ -0,0 +1 @@\n+x\n" for n in range(110))
    world.ok("stage", "patch", "-", stdin=patch.encode())
    whole = world.propose()
    path = f"/plans/{plan}"
    ticked = operations(person, path)[0]["id"][:12]
    person.open(f"{path}/review?page=3&view=split")
    for go in ("approve", "2"):
        person.open(f"{path}/review?view=split")
        person.send("#exclude", operation=ticked, go=go)
        assert 'id="excluded"' in person.html
        assert "109 operations" in person.text
    pages = set(re.findall(r'href="\?page=2([^"#]*)#o\d+"', person.html))
    assert pages == {f"&amp;view=split&amp;without={ticked}"}
    for page in ("2", "3"):
        person.send("#exclude", go=page)
        assert f'name="without" value="{ticked}"' in person.html
    person.send("#exclude", go="approve")
    assert "1 operation excluded." in person.text
    assert whole not in person.text
    back = re.findall(r'href="([^"]*/review[^"]*)">Back', person.html)
    assert back == [f"{path}/review?without={ticked}"]
    person.open(f"{path}/review")
    person.send("#exclude", go="approve")
    assert "Nothing is excluded." in person.text
    assert whole in person.text


def test_a_rehearsal_shows_what_its_commands_said(server: Served) -> None:
    world, person = server.world, reader(server)
    path, _ = proposed(world)
    person.open(f"{path}/review")
    person.send("/rehearse", commands="echo tried; cat a.txt\n\nfalse\n")
    api = server.browser()
    until = time.monotonic() + 60
    while api.get(path)["work"]["state"] != "ended":
        assert time.monotonic() < until
        time.sleep(0.05)
    person.open(f"{path}/review")
    assert "exit code 1" in person.text
    assert "tried" in person.text
    assert world.files() == {}


def test_f95_a_killed_server_forgets_what_was_shown_and_nothing_else(tmp_path: Path) -> None:
    world = World(tmp_path)
    with served(world) as server:
        person = reader(server)
        path, digest = halting(world, "test -e go")
        person.open(f"{path}/review?on=plan:1")
        person.send("/comments", text="Kept")
        person.open(f"{path}/approve?digest={digest}")
        confirmation, headers = person.html, person.client.headers
        server.kill()
    with served(world) as server:
        person = Reader(Client(server.url, {**headers, "origin": server.url}))
        person.html = confirmation
        person.send("/approve", 409, do="build")
        assert approvals(world) == []
        person.open(f"{path}/review")
        assert "Kept" in person.text
        person.open(f"{path}/approve?digest={digest}")
        person.send("/approve", do="build")
        assert len(approvals(world)) == 1


def test_history_compares_revisions(server: Served) -> None:
    talker = Talker(server.world)
    talker.script(*PLANS)
    talker.json("Greet", code=3)
    person = reader(server)
    person.open("/plans")
    plan = re.findall(r'id="plan-(\w+)"', person.html)[0]
    server.world.text().write_text("# Greet\n\nOther words.\n", encoding="utf-8")
    server.world.ok("propose")
    person.open(f"/plans/{plan}/history")
    assert "Other words." in person.text
    assert 'class="diff"' in person.html


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("![x](http://e/x.png)", "<img"),
        ("[x](javascript:alert(1))", "href"),
        ("[x](data:text/html,x)", "href"),
        ("<script>alert(1)</script>", "<script"),
        ("<div onclick=x>\n\n", "<div"),
        ('[x](http://e/"onmouseover=x)', '"onmouseover'),
        ("```html\n<b>\n```", "<b>"),
        ("a\u202eb", "\u202e"),
    ],
)
def test_markdown_brings_no_html_images_or_links(text: str, never: str) -> None:
    assert never not in preview_markdown(text).html
