"""The configuration over HTTP: the rows of the command line, and no secret of it."""

from pathlib import Path
from threading import Event, Thread

import pytest
from tests.cli.harness import TRUSTING, World
from tests.web.harness import Served, served

from assent.web.answer_cache import AnswerCache
from assent.web.errors import TooBusy

# Words that no pattern knows as secrets: only leaving them out keeps them in.
PLANTED = {
    "header": "plain-header-word",
    "option": "plain-option-word",
    "environment": "plain-environment-word",
    "argument": "plain-argument-word",
    "hook": "plain-hook-word",
    "user": "plain-user-word",
    "password": "plain-password-word",
    "query": "plain-query-word",
    "key": "plain-key-word",
    "misplaced": "sk-plain-misplaced-word",
}
CONFIG = f"""
model = "other/some-model"
[approve]
without_terminal = true
[providers.other]
base_url = "https://{PLANTED["user"]}:{PLANTED["password"]}@models.invalid/v1?k={PLANTED["query"]}"
key_env = "OTHER_API_KEY"
headers = {{ "x-team" = "{PLANTED["header"]}" }}
options = {{ "safety" = "{PLANTED["option"]}" }}
[providers.wrong]
base_url = "https://wrong.invalid/v1"
key_env = "{PLANTED["misplaced"]}"
[mcp.files]
command = ["serve-files", "--pin", "{PLANTED["argument"]}"]
environment = {{ "SERVE_PIN" = "{PLANTED["environment"]}" }}
enabled = false
[[hooks]]
on = "prompt"
run = ["true", "{PLANTED["hook"]}"]
"""
RULES = """
[[rules]]
permission = "read"
pattern = "private/*"
action = "deny"
reason = "Private."
[modes.review]
base = "plan"
label = "Review only"
edit = []
"""
PATHS = ("/models", "/agents", "/modes", "/rules", "/settings")


@pytest.fixture
def secretive(tmp_path: Path) -> World:
    """A user whose configuration has a secret at every place where one can be."""
    world = World(tmp_path, CONFIG)
    world.env |= {"OTHER_API_KEY": PLANTED["key"]}
    return world


def test_no_secret_of_the_configuration_is_served(secretive: World) -> None:
    with served(secretive) as server:
        viewer = server.token("viewer")
        for path in PATHS:
            reply = viewer.request("GET", f"/api/v1{path}")
            found = {place for place, word in PLANTED.items() if word.encode() in reply.body}
            assert found == set(), (path, reply)
        rows = {row["key"]: row for row in viewer.get("/settings")["settings"]}
    assert rows["providers.other.headers"]["value"] == {"x-team": "[hidden]"}
    assert rows["providers.other.key_env"]["value"] == "OTHER_API_KEY"
    assert rows["mcp.files.command"]["value"] == ["serve-files", "[hidden]"]
    assert rows["approve.without_terminal"]["value"] is True
    assert rows["approve.without_terminal"]["default"] is False


def test_rows_are_those_of_the_command_line(tmp_path: Path) -> None:
    world = World(tmp_path, TRUSTING + RULES)
    world.env |= {"ANTHROPIC_API_KEY": "none"}
    world.plan()  # so that the workspace has an id
    with served(world) as server:
        viewer = server.token("viewer")
        for noun in ("models", "modes", "rules"):
            wanted = world.ok(noun, "list")
            found = viewer.get(f"/{noun}")
            assert {key: found[key] for key in wanted} == wanted
        agents = {row["name"]: row for row in viewer.get("/agents")["agents"]}
        assert agents["plan"]["source"] == "builtin"
        assert viewer.get("/rules?agent=plan")["layers"]
        assert viewer.get("/rules?agent=nobody", 404)["error"] == "not_found"
        workspace = viewer.get("/workspaces")["workspaces"][0]["workspace"]
        assert viewer.get(f"/modes?workspace={workspace}") == viewer.get("/modes")
        assert viewer.get("/modes?workspace=other", 404)["error"] == "not_found"


def test_files_are_found_by_letters_but_not_secrets_and_denied_ones(tmp_path: Path) -> None:
    world = World(tmp_path, TRUSTING + RULES)
    for name in ("src/alpha.py", "src/beta.py", ".env", "private/a/alpha.py", "id_rsa", "a.log"):
        path = world.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    (world.root / ".gitignore").write_text("*.log\n", encoding="utf-8")
    with served(world) as server:
        viewer = server.token("viewer")
        every = viewer.get("/files")
        assert [row["path"] for row in every["files"]] == [
            ".gitignore", "src/alpha.py", "src/beta.py",
        ]  # fmt: skip
        assert every["more"] is False
        assert [row["path"] for row in viewer.get("/files?q=alp")["files"]] == ["src/alpha.py"]
        assert viewer.get("/files?q=%5E%5B%28%2A&workspace=")["files"] == []
        assert viewer.get(f"/files?q={'a' * 201}", 400)["error"] == "usage"
        assert viewer.get("/files?workspace=../..", 404)["error"] == "not_found"


def test_files_are_bounded(server: Served) -> None:
    for n in range(60):
        (server.world.root / f"file{n}.txt").write_text("x", encoding="utf-8")
    found = server.token("viewer").get("/files?q=file")
    assert len(found["files"]) == 50
    assert found["more"] is True


def test_many_who_ask_cause_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assent.web.answer_cache.WAIT_S", 0.01)  # a test that waits is slow
    cache, begun, go, looks = AnswerCache(), Event(), Event(), list[int]()

    def look() -> list[int]:
        begun.set()
        go.wait(10)
        looks.append(1)
        return looks.copy()

    first = Thread(target=cache.get, args=("key", 0.0, look))
    first.start()
    begun.wait(10)
    with pytest.raises(TooBusy):
        cache.get("key", 0.0, look)
    go.set()
    first.join()
    assert cache.get("key", 60.0, look) == [1, 1]
    assert cache.get("key", 60.0, look) == [1, 1]
