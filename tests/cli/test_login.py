"""`assent login` and `logout`: where a key is stored, which one is used, and what refuses it."""

import json
import os
import stat
from pathlib import Path

import pytest
from tests.cli.harness import Answer, World
from tests.cli.terminal import Terminal
from tests.cli.test_models import ALONE
from tests.llm.server import Server, Turn, refusal, serving
from tests.support import file_keyring

KEY = "sk-a-stored-key-of-a-test-0123456789"
OTHER = "sk-another-key-of-a-test-9876543210"
NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def world(world: World) -> World:
    world.env |= {**ALONE, **NO_KEYRING}
    return world


def credentials(world: World) -> Path:
    return world.config.with_name("credentials")


def keyring(world: World) -> Path:
    """Gives the world a keyring, in a file of its own."""
    file = world.base / "keyring.json"
    world.env |= {
        "PYTHON_KEYRING_BACKEND": "tests.support.file_keyring.FileKeyring",
        "PYTHONPATH": str(ROOT),
        file_keyring.FILE: str(file),
    }
    return file


def login(world: World, *more: str, key: str = KEY, provider: str = "openai") -> Answer:
    return world.process("login", provider, "--stdin", "--json", *more, stdin=f"{key}\n".encode())


def sources(world: World, **env: str) -> dict[str, str]:
    answer = world.process("login", "--list", "--json", env=env)
    assert answer.code == 0, answer
    return {row["provider"]: row["source"] for row in answer.json["providers"] if row["source"]}


def used_key(world: World, server: Server, **env: str) -> str:
    """Asks a model, and returns the key that the server was sent."""
    env = {"OPENAI_BASE_URL": f"{server.url}/v1", **env}
    answer = world.process("models", "ask", "openai/any", "Hello", env=env)
    assert answer.code == 0, answer
    assert KEY.encode() not in answer.out + answer.err
    return server.heard[-1].headers["authorization"].removeprefix("Bearer ")


def test_a_piped_key_is_stored_for_its_owner_alone_and_used(world: World) -> None:
    answer = login(world)
    assert answer.json == {"provider": "openai", "stored": "file", "used": "file"}
    found = credentials(world).stat()
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert KEY not in answer.out.decode() + answer.err.decode()
    assert sources(world) == {"openai": "file"}
    with serving() as server:
        assert used_key(world, server) == KEY
        assert used_key(world, server, OPENAI_API_KEY=OTHER) == OTHER


def test_the_terminal_never_shows_the_key(world: World) -> None:
    asked = Terminal(world, "login", "openai", shared=("stdin", "stdout", "stderr"))
    asked.wait_for(b"API key for openai (not shown): ")
    asked.type(f"{KEY}\r".encode())
    assert asked.end().code == 0
    assert KEY.encode() not in asked.screen
    assert json.loads(credentials(world).read_text("utf-8"))["keys"] == {"openai": KEY}


def test_without_a_provider_the_terminal_asks_for_one(world: World) -> None:
    asked = Terminal(world, "login", shared=("stdin", "stdout", "stderr"))
    asked.wait_for(b"Provider [anthropic]: ")
    asked.type(b"\r")
    asked.wait_for(b"API key for anthropic")
    asked.type(f"{KEY}\r".encode())
    assert asked.end().code == 0
    assert sources(world) == {"anthropic": "file"}


def test_nothing_entered_stores_nothing(world: World) -> None:
    asked = Terminal(world, "login", "openai", shared=("stdin", "stdout", "stderr"))
    asked.wait_for(b"(not shown): ")
    asked.type(b"\r")
    assert asked.end().code == 4
    assert not credentials(world).exists()


def test_a_keyring_comes_before_the_file_and_has_the_only_copy(world: World) -> None:
    login(world)
    file = keyring(world)
    assert login(world, key=OTHER).json["stored"] == "keyring"
    assert json.loads(credentials(world).read_text("utf-8")) == {"keys": {}, "keyring": ["openai"]}
    assert OTHER in file.read_text("utf-8")
    with serving() as server:
        assert used_key(world, server) == OTHER
        assert used_key(world, server, OPENAI_API_KEY="sk-env") == "sk-env"
    assert login(world, "--file").json["stored"] == "file"
    assert OTHER not in file.read_text("utf-8")


def test_logout_removes_the_key_wherever_it_is(world: World) -> None:
    login(world)
    assert world.process("logout", "openai", "--json").json["removed"] == "file"
    assert not credentials(world).exists()
    assert world.process("logout", "openai", "--json").error["error"] == "not_found"
    file = keyring(world)
    login(world)
    assert world.process("logout", "openai", "--json").json["removed"] == "keyring"
    assert json.loads(file.read_text("utf-8")) == {}


def test_a_keyring_that_fails_is_named_and_its_words_are_not_shown(world: World) -> None:
    keyring(world)
    login(world)
    env = {file_keyring.LOCKED: "1", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    del env["OPENAI_BASE_URL"]
    answer = world.process("models", "ask", "openai/any", "Hello", "--json", env=env)
    assert answer.error["error"] == "store"
    assert KEY.encode() not in answer.err


UNSAFE = {
    "others may read it": lambda path: path.chmod(0o640),
    "it is a symlink": lambda path: (path.rename(path.with_name("real")), path.symlink_to("real")),
    "it has another name": lambda path: os.link(path, path.with_name("other")),
    "its folder can be written by others": lambda path: path.parent.chmod(0o777),
    "it is damaged": lambda path: path.write_text('{"keys": ', encoding="utf-8"),
}
NEXT = {
    "others may read it": "chmod 600 {path}",
    "it is a symlink": "rm {path}",
    "it has another name": "find / -xdev -samefile {path}",
    "its folder can be written by others": "chmod go-w {folder}",
    "it is damaged": "rm {path}",
}


@pytest.mark.parametrize("why", UNSAFE)
def test_a_file_that_others_could_read_is_refused_with_the_next_command(
    world: World, why: str
) -> None:
    login(world)
    path = credentials(world)
    UNSAFE[why](path)
    wanted = NEXT[why].format(path=path, folder=path.parent)
    for line in (("models", "ask", "openai/any", "Hello"), ("login", "--list")):
        error = world.process(*line, "--json").error
        assert (error["error"], error["next"]) == ("store", wanted)
    refused = login(world, key=OTHER).error
    assert (refused["error"], refused["next"]) == ("store", wanted)
    with serving() as server:  # a key in the environment needs no file
        assert used_key(world, server, OPENAI_API_KEY=OTHER) == OTHER


def test_a_key_is_never_stored_in_a_project(world: World) -> None:
    inside = {"XDG_CONFIG_HOME": str(world.root / "config")}
    line = ("login", "openai", "--stdin", "--json")
    answer = world.process(*line, stdin=KEY.encode(), env=inside)
    assert answer.error["error"] == "refused"
    assert world.files() == {}


def test_a_key_file_in_the_workspace_does_not_count(world: World) -> None:
    folder = world.root / "config" / "assent"
    world.put("config/assent/credentials", json.dumps({"keys": {"openai": KEY}}).encode(), 0o600)
    assert folder.is_dir()
    inside = {"XDG_CONFIG_HOME": str(world.root / "config")}
    answer = world.process("models", "ask", "openai/any", "Hello", "--json", env=inside)
    assert answer.error["error"] == "usage"


@pytest.mark.parametrize("key", ["", "two words", "ümlaut", "x" * 5000], ids=repr)
def test_what_is_no_key_is_not_stored(world: World, key: str) -> None:
    assert login(world, key=key).error["error"] == "usage"
    assert not credentials(world).exists()


def test_an_unknown_provider_gets_the_nearest_name(world: World) -> None:
    error = login(world, provider="opnai").error
    assert error["next"] == "assent login openai"


def test_a_key_is_masked_in_what_is_shown_and_kept(world: World) -> None:
    login(world)
    world.ok("plan", "new", "work", "--goal", f"Use {KEY} today", "--session", "tests")
    for line in (("log",), ("plan", "show"), ("status",)):
        answer = world.process(*line)
        assert answer.code == 0
        assert KEY.encode() not in answer.out + answer.err


def test_a_rejected_stored_key_leads_to_a_new_login(world: World) -> None:
    login(world)
    with serving(
        Turn(fault="", raw=refusal(b"401 Unauthorized", "no such key"), close=True)
    ) as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1"}
        error = world.process("models", "ask", "openai/any", "Hi", "--json", env=env).error
    assert (error["error"], error["next"]) == ("unauthorized", "assent login openai")
    assert KEY not in str(error)


def test_a_command_of_a_plan_sees_no_key(planned: World) -> None:
    login(planned)
    line = f"cat {credentials(planned)} > copy; ls {credentials(planned).parent} > listed; true"
    planned.ok("stage", "run", "--", "sh", "-c", line)
    assert planned.build()["outcome"] == "done"
    assert planned.files()[b"copy"][2] == b""
    assert b"credentials" not in planned.files()[b"listed"][2]
