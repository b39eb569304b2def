"""Operations over HTTP: every kind is staged, read and removed, as the command line does it."""

from base64 import b64encode
from typing import Any

from tests.web.harness import Served

STAGED: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"kind": "edit", "path": "a.txt", "find": "two", "put": "2"},
     ("edit", "a.txt", "--find", "two", "--put", "2")),
    ({"kind": "delete", "path": "folder"}, ("delete", "folder")),
    ({"kind": "move", "path": "m.txt", "to": "sub/moved.txt"}, ("move", "m.txt", "sub/moved.txt")),
    ({"kind": "link", "path": "link", "target": "a.txt"}, ("write", "link", "--link-to", "a.txt")),
    ({"kind": "write", "path": "tool", "mode": 0o755}, ("write", "tool", "--mode", "755")),
    ({"kind": "run", "argv": ["make", "test"], "env": {"CI": "1"}, "timeout": 60, "cwd": "folder2",
      "network": True, "undo": ["make", "clean"]},
     ("run", "--env", "CI=1", "--timeout", "60", "--cwd", "folder2", "--network",
      "--undo", "make clean", "--", "make", "test")),
    ({"kind": "run", "script": "true && echo a > b", "sandbox": False, "at_end": True},
     ("run", "--no-sandbox", "--at-end", "--script", "true && echo a > b")),
]  # fmt: skip

LONG_NAME = f"--- /dev/null\n+++ b/{'x' * 300}\n@@ -0,0 +1 @@\n+new\n"


def test_everything_that_the_command_line_stages(server: Served) -> None:
    world, author, viewer = server.world, server.token("author", "a"), server.token("viewer")
    for name in ("folder/x", "folder/y", "folder2/z", "m.txt", "tool"):
        world.put(name, b"content\n")
    world.put("a.txt", b"one\ntwo\n")
    typed, sent = world.plan("typed"), world.plan("sent")
    plan = f"/plans/{sent['plan_id']}"
    for body, words in STAGED:
        answer = author.post(f"{plan}/operations", body)
        assert answer == world.ok("stage", words[0], "--plan", typed["plan_id"], *words[1:]), body
    content = b"\xff\0exact"
    body = {"kind": "write", "path_b64": b64encode(b"odd-\xfe").decode(), "mode": 0o600}
    odd = author.post(f"{plan}/operations", {**body, "content_b64": b64encode(content).decode()})
    assert odd["operation"]["path_b64"] == b64encode(b"odd-\xfe").decode()
    patch = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
    new = author.post(f"{plan}/operations", {"kind": "patch", "content": patch})
    assert (new["operation"]["path"], new["notes"]) == ("new.txt", [])
    same = {"kind": "write", "path": "a.txt", "content": "one\n2\n"}
    assert author.post(f"{plan}/operations", same) == {"operation": None}

    listed = viewer.get(f"{plan}/operations")
    assert listed == world.ok("stage", "list", "--plan", sent["plan_id"])
    by_path = {row["path"]: row["id"] for row in listed["operations"]}

    def read(path: str, side: str = "after") -> dict[str, Any]:
        return viewer.get(f"{plan}/operations/{by_path[path]}/content?side={side}")

    assert read("a.txt")["content"] == "one\n2\n"
    assert read("a.txt", "before")["content"] == "one\ntwo\n"
    assert read("folder/x", "before")["content"] == "content\n"
    assert read("m.txt")["content"] == "content\n"
    assert (read("link")["content"], read("link")["kind"]) == ("a.txt", "link")
    found = read(odd["operation"]["path"])
    assert (found["content"], found["content_b64"]) == (None, b64encode(content).decode())
    assert (found["size"], found["mode"]) == (len(content), 0o600)
    for path, side in (("folder/x", "after"), ("new.txt", "before")):
        here = f"{plan}/operations/{by_path[path]}/content?side={side}"
        assert viewer.get(here, 404)["error"] == "not_found"
    assert viewer.get(f"{plan}/operations/ffff/content", 404)["error"] == "not_found"
    command = next(row["id"] for row in listed["operations"] if row["kind"] == "run")
    assert viewer.get(f"{plan}/operations/{command}/content", 404)["error"] == "not_found"

    for part in (by_path["new.txt"][:-1], by_path["new.txt"][:8], "1"):
        said = author.delete(f"{plan}/operations/{part}", 404)
        assert said["error"] == "not_found", "a change names the full id"
        assert viewer.get(f"{plan}/operations/{part}/content", 404)["error"] == "not_found"
    assert author.get(f"{plan}/operations") == listed
    gone = author.delete(f"{plan}/operations/{by_path['new.txt']}")
    assert [row["path"] for row in gone["removed"]] == ["new.txt"]
    assert gone["remaining"] == len(listed["operations"]) - 1
    assert author.delete(f"{plan}/operations/{by_path['new.txt']}", 404)["error"] == "not_found"
    assert world.files()[b"a.txt"][2] == b"one\ntwo\n", "nothing is applied"


def test_what_cannot_be_staged_is_refused_as_everywhere(server: Served) -> None:
    world, author = server.world, server.token("author", "a")
    plan = f"/plans/{world.plan()['plan_id']}"
    world.put("a.txt", b"twice twice\n")
    for body, status, error in (
        ({"kind": "write", "path": "../out", "content": "x"}, 422, "refused"),
        ({"kind": "write", "path": "/etc/passwd", "content": "x"}, 422, "refused"),
        ({"kind": "write", "path": ".git/hooks/post-commit", "content": "x"}, 422, "refused"),
        ({"kind": "write", "path": ".opencode/assent/x", "content": "x"}, 422, "refused"),
        ({"kind": "write", "path": "", "content": "x"}, 400, "usage"),
        ({"kind": "edit", "path": "a.txt", "find": "twice", "put": "x"}, 400, "no_match"),
        ({"kind": "edit", "path": "none.txt", "find": "x", "put": "y"}, 404, "not_found"),
        ({"kind": "delete", "path": "none.txt"}, 404, "not_found"),
        ({"kind": "run"}, 400, "usage"),
        ({"kind": "write", "path": "a"}, 400, "usage"),
        ({"kind": "write", "path": "a", "content": "x", "mode": 99999}, 400, "usage"),
        ({"kind": "write", "path": "a", "content": "x", "content_b64": "eA=="}, 400, "usage"),
        ({"kind": "write", "path": "a", "content_b64": "%%%"}, 400, "usage"),
        ({"kind": "write", "path": "a", "path_b64": "YQ==", "content": "x"}, 400, "usage"),
        ({"kind": "patch", "content": "no patch"}, 400, "usage"),
        ({"kind": "patch", "content": LONG_NAME}, 400, "usage"),
        ({"kind": "approve"}, 400, "usage"),
        ({"kind": "delete", "path": "a.txt", "more": 1}, 400, "usage"),
    ):
        told = author.post(f"{plan}/operations", body, status)
        assert told["error"] == error, (body, told)
    assert author.get(f"{plan}/operations")["operations"] == []
    viewer = server.token("viewer", "v")
    body = {"kind": "delete", "path": "a.txt"}
    assert viewer.post(f"{plan}/operations", body, 403)["error"] == "forbidden"
    assert author.request("POST", f"/api/v1{plan}/operations", raw=b"{").status == 400


def test_rules_of_the_user_hold_for_what_is_staged_over_http(server: Served) -> None:
    world, author = server.world, server.token("author", "a")
    plan = f"/plans/{world.plan()['plan_id']}"
    body = {"kind": "write", "path": "secret/key", "content": "x"}
    typed = world.run("stage", "write", "secret/key", "--from", "-", "--json", stdin=b"x")
    assert typed.code == 0
    world.ok("stage", "clear")
    rule = "[[rules]]\npermission = 'edit'\npattern = 'secret/**'\naction = 'deny'\n"
    world.config.write_text(world.config.read_text("utf-8") + rule, encoding="utf-8")
    typed = world.run("stage", "write", "secret/key", "--from", "-", "--json", stdin=b"x")
    told = author.request("POST", f"/api/v1{plan}/operations", body).json
    assert (told["error"], told["message"]) == (typed.error["error"], typed.error["message"])
    assert told["error"] == "refused"
