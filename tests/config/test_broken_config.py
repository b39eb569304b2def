"""What the command line makes of configuration that is broken or not to be trusted."""

from pathlib import Path

import pytest
from tests.cli.harness import TRUSTING, World

from assent.config.config_file import IN_WORKSPACE, OTHERS_CAN_WRITE
from assent.config.loader import IGNORED_HERE

PROJECT = ".opencode/assent.toml"
STRICT = (("review",), ("plan", "list"), ("propose",), ("build",), ("stage", "list"), ("diff",))


@pytest.fixture
def built(tmp_path: Path) -> World:
    """A workspace in which a plan was built."""
    world = World(tmp_path)
    world.plan()
    world.write("a.txt", b"a\n")
    world.build()
    return world


@pytest.mark.parametrize("content", [b"[plan\n", b"[plan]\ndir = '.git/x'\n"])
@pytest.mark.parametrize("command", ["status", "log", "undo", "recover"])
def test_a_broken_project_blocks_no_way_back(built: World, command: str, content: bytes) -> None:
    built.put(PROJECT, content)
    digest = built.ok("undo", "--dry-run")["digest"]
    more = ("--digest", digest) if command == "undo" else ()
    answer = built.run(command, *more, "--json")
    assert answer.code == 0
    assert answer.json
    assert answer.err.startswith(f"assent: {built.root / PROJECT}".encode())
    assert answer.err.endswith(f" {IGNORED_HERE}\n".encode())
    assert answer.err.count(b"\n") == 1
    assert ("a.txt" in {path.name for path in built.root.iterdir()}) is (command != "undo")


@pytest.mark.parametrize("command", STRICT, ids=" ".join)
def test_a_broken_project_blocks_everything_else(built: World, command: tuple[str, ...]) -> None:
    built.put(PROJECT, b"[plan\n")
    error = built.no(2, *command)
    assert error["message"].startswith(f"{built.root / PROJECT} cannot be used: ")
    assert error["next"] == f"$EDITOR {built.root / PROJECT}"


def test_status_answers_although_the_plans_are_no_longer_found(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.put(PROJECT, b"[plan]\ndir = 'notes'\n")
    world.plan()
    world.write("a.txt", b"a\n")
    digest = world.propose()
    world.put(PROJECT, b"[plan\n")
    answer = world.run("status", "--json")
    assert (answer.code, answer.json["plan"]["digest"]) == (0, digest)
    assert IGNORED_HERE.encode() in answer.err


@pytest.mark.parametrize("variable", ["HOME", "XDG_CONFIG_HOME"])
def test_a_configuration_in_the_workspace_approves_nothing(tmp_path: Path, variable: str) -> None:
    world = World(tmp_path)
    del world.env["XDG_CONFIG_HOME"]
    world.env[variable] = str(world.root / "planted")
    below = ".config/assent" if variable == "HOME" else "assent"
    world.put(f"planted/{below}/config.toml", TRUSTING.encode())
    world.plan()
    world.write("a.txt", b"a\n")
    answer = world.process("approve", "--digest", world.propose())
    assert answer.code == 4
    assert f"which is ignored: {IN_WORKSPACE}".encode() in answer.err


def test_a_configuration_that_others_can_write_approves_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.config.chmod(0o666)
    world.plan()
    world.write("a.txt", b"a\n")
    answer = world.process("approve", "--digest", world.propose())
    assert answer.code == 4
    assert f"which is ignored: {OTHERS_CAN_WRITE}".encode() in answer.err


@pytest.mark.parametrize(
    "path",
    [
        ".config/assent/config.toml",
        ".config/assent/new",
        ".local/state/assent/key",
        ".local/state/assent/log.db",
        ".Config/Assent/config.toml",
    ],
)
def test_state_and_configuration_in_the_workspace_are_no_targets(tmp_path: Path, path: str) -> None:
    world = World(tmp_path)
    del world.env["XDG_CONFIG_HOME"], world.env["XDG_STATE_HOME"]
    world.env["HOME"] = str(world.root)
    world.plan()
    refused = world.no(7, "stage", "write", path, "--from", "-")
    assert refused["error"] == "refused"
    world.write(".config/other.toml", b"x\n")
