"""Comments over HTTP: added, changed and removed, and sent with a rejection."""

from tests.web.harness import Served
from tests.web.plan_calls import proposed


def test_comments_are_the_same_as_on_the_command_line(server: Served) -> None:
    world, author, viewer = server.world, server.token("author", "a"), server.token("viewer")
    plan, digest = proposed(world, a=b"one\ntwo\n")
    added = author.post(f"{plan}/comments", {"where": "plan:1", "text": "Which database?"})
    more = author.post(f"{plan}/comments", {"where": "1:6", "text": "Why?"})
    world.ok("comment", "add", "plan", "Typed")
    listed = viewer.get(f"{plan}/comments")
    assert listed == world.ok("comment", "list")
    assert [row["text"] for row in listed["comments"]] == ["Which database?", "Why?", "Typed"]
    assert viewer.get(f"{plan}/review")["comments"] == listed["comments"]
    reply = author.post(f"{plan}/comments", {"reply_to": more["id"], "text": "Or why not?"})
    assert (reply["reply_to"], reply["on"], reply["first"]) == (more["id"], "operation", 6)
    assert author.delete(f"{plan}/comments/{reply['id']}")["number"] == 4
    changed = author.patch(f"{plan}/comments/{added['id']}", {"text": "Which one?"})
    assert (changed["id"], changed["text"]) == (added["id"], "Which one?")
    for part in (more["id"][:-1], more["id"][:8], "1", "2"):
        assert author.delete(f"{plan}/comments/{part}", 404)["error"] == "not_found", part
        change = author.patch(f"{plan}/comments/{part}", {"text": "x"}, 404)
        assert change["error"] == "not_found", part
    assert author.delete(f"{plan}/comments/{more['id']}")["text"] == "Why?"
    assert author.delete(f"{plan}/comments/{more['id']}", 404)["error"] == "not_found"

    for body, status, error in (
        ({"where": "plan:0", "text": "x"}, 400, "usage"),
        ({"where": "plan:9-2", "text": "x"}, 400, "usage"),
        ({"where": "plan:99999", "text": "x"}, 404, "not_found"),
        ({"where": "7", "text": "x"}, 404, "not_found"),
        ({"where": "plan", "text": " "}, 400, "usage"),
        ({"where": "plan", "text": "x" * 70_000}, 400, "usage"),
        ({"text": "x"}, 400, "usage"),
        ({"where": "plan", "reply_to": added["id"], "text": "x"}, 400, "usage"),
        ({"reply_to": "none", "text": "x"}, 404, "not_found"),
    ):
        assert author.post(f"{plan}/comments", body, status)["error"] == error, body
    here = f"{plan}/comments/{added['id']}"
    assert author.patch(here, {}, 400)["error"] == "usage"
    assert author.patch(here, {"text": "x", "state": "kept"}, 400)["error"] == "usage"
    assert author.patch(here, {"state": "kept"}, 409)["error"] == "illegal_step"
    assert author.patch(f"{plan}/comments/none", {"text": "x"}, 404)["error"] == "not_found"
    body = {"where": "plan", "text": "x"}
    assert viewer.post(f"{plan}/comments", body, 403)["error"] == "forbidden"
    assert viewer.patch(here, {"text": "x"}, 403)["error"] == "forbidden"
    assert viewer.delete(here, 403)["error"] == "forbidden"

    sent = author.post(f"{plan}/reject", {"digest": digest})
    assert (sent["comments"], sent["state"]) == (2, "DRAFTING")
    (event,) = [e for e in world.ok("log")["events"] if e["kind"] == "plan_rejected"]
    assert "Which one?" in event["body"]["note"]
    assert viewer.get(f"{plan}/comments") == {"comments": []}
    assert author.patch(here, {"text": "x"}, 409)["error"] == "illegal_step"
