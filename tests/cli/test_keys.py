"""`assent keys`: whose approvals from elsewhere count, said by a person and by nobody else."""

import os
import stat
from pathlib import Path

import pytest
from tests.cli.harness import TRUSTING, World
from tests.cli.machines import Machines, key_of, trust
from tests.cli.terminal import Terminal

from assent.sandbox.runner.bubblewrap import sandbox_unavailable

ADA = "ab" * 32
BOB = "cd" * 32
QUESTION = b"Type the first 8 digits of the key to trust it: "


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def listed(world: World) -> list[tuple[str, str, str, bool]]:
    rows = world.ok("keys", "list")["keys"]
    return [(row["key"], row["name"], row["source"], row["trusted"]) for row in rows]


def keys_file(world: World) -> Path:
    return world.config.parent / "keys.toml"


def test_g14_a_key_is_trusted_and_revoked(world: World) -> None:
    assert listed(world) == []
    world.ok("keys", "trust", ADA, "--name", "ada")
    world.ok("keys", "trust", BOB)
    assert listed(world) == [(ADA, "ada", "keys", True), (BOB, "key-cdcdcdcd", "keys", True)]
    assert stat.S_IMODE(keys_file(world).stat().st_mode) == 0o600
    world.ok("keys", "revoke", "ada")
    assert listed(world) == [(BOB, "key-cdcdcdcd", "keys", True)]
    world.ok("keys", "trust", ADA, "--name", "ada")
    assert (ADA, "ada", "keys", True) in listed(world)


def test_g14_this_machines_key_is_shown_and_counts_by_itself(world: World) -> None:
    own = world.ok("keys", "show")
    assert own["key"] == world.ok("keys", "list")["own"]["key"]
    assert own["fingerprint"].replace(" ", "") == own["key"]
    assert world.no(2, "keys", "trust", own["key"])["error"] == "usage"
    assert own["key"].encode() in world.run("keys", "list").out


def test_g14_a_revoked_key_does_not_count_wherever_it_is_listed(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.ready()
    key = key_of(machines.person)
    machines.runner.ok("keys", "revoke", key)
    assert listed(machines.runner) == [(key, "ada", "user", False)]
    assert machines.runner.no(7, "build", str(machines.file))["error"] == "untrusted"
    machines.runner.ok("keys", "trust", key, "--name", "again")
    assert machines.runner.ok("build", str(machines.file))["outcome"] == "done"


@pytest.mark.parametrize("key", ["", "ab", ADA.upper(), ADA[:-1], ADA + "0", "g" * 64, f" {ADA}"])
def test_only_a_whole_key_is_a_key(world: World, key: str) -> None:
    assert world.no(2, "keys", "trust", "--", key)["error"] == "usage"
    assert not keys_file(world).exists()


@pytest.mark.parametrize("name", ['a"b', "a\nb", "-x", "a b", "x" * 81, "ключ"])
def test_a_name_that_could_be_something_else_is_refused(world: World, name: str) -> None:
    assert world.no(2, "keys", "trust", ADA, f"--name={name}")["error"] == "usage"


def test_one_name_is_one_key(world: World) -> None:
    world.ok("keys", "trust", ADA, "--name", "ada")
    assert world.no(2, "keys", "trust", BOB, "--name", "ada")["error"] == "usage"
    assert listed(world) == [(ADA, "ada", "keys", True)]


def test_g14_a_key_is_revoked_before_anybody_lists_it(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    key = key_of(machines.person)
    assert machines.runner.ok("keys", "revoke", key) == {"key": key, "name": "", "trusted": False}
    machines.ready()
    assert listed(machines.runner) == [(key, "ada", "user", False)]
    assert machines.runner.no(7, "build", str(machines.file))["error"] == "untrusted"
    [row] = machines.runner.ok("log", "--decisions")["decisions"]
    assert row["what"] == f"key {key}"


def test_what_is_no_key_or_this_machines_own_cannot_be_revoked(world: World) -> None:
    assert world.no(2, "keys", "revoke", "nobody")["error"] == "usage"
    assert world.no(2, "keys", "revoke", key_of(world))["error"] == "usage"
    assert not keys_file(world).exists()


def test_g14_a_run_whose_key_was_revoked_goes_no_further(tmp_path: Path) -> None:
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)
    machines = Machines(tmp_path)
    machines.planner.plan()
    machines.planner.write("b.txt", b"b\n")
    machines.planner.ok("stage", "run", "--script", "test -e ready")
    machines.planner.write("c.txt", b"c\n")
    machines.pack()
    machines.approve()
    runner, key = machines.runner, key_of(machines.person)
    trust(runner, key)
    assert runner.run("build", str(machines.file), "--json").code == 6
    runner.ok("keys", "revoke", key)
    error = runner.no(7, "recover", "--resume")
    assert (error["error"], error["next"]) == ("untrusted", "assent recover --roll-back")
    assert not (runner.root / "c.txt").exists()
    assert runner.run("recover", "--roll-back", "--json").json["outcome"] == "rolled_back"
    assert not (runner.root / "b.txt").exists()


def test_g14_without_a_terminal_nobody_is_trusted(tmp_path: Path) -> None:
    world = World(tmp_path, config="")
    answer = world.process("keys", "trust", ADA, "--name", "ada", "--json")
    assert (answer.code, answer.error["error"]) == (4, "declined")
    assert not keys_file(world).exists()


@pytest.mark.parametrize("more", [(), ("--no-input",)])
def test_g14_without_a_terminal_what_is_said_is_possible(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    world = World(tmp_path, config="")
    error = world.process("keys", "trust", ADA, "--name", "ada", "--json", *more).error
    assert "run this in one, without --no-input" in error["message"]
    assert "--digest" not in error["message"]
    assert error["next"] == "assent keys list"
    world.config.write_text(f'[keys]\nada = "{ADA}"\n', encoding="utf-8")
    assert listed(world) == [(ADA, "ada", "user", True)]


def test_g14_whoever_was_asked_and_mistyped_may_do_it_again(tmp_path: Path) -> None:
    terminal = Terminal(World(tmp_path, config=""), "keys", "trust", ADA, "--name", "ada", "--json")
    terminal.wait_for(QUESTION)
    terminal.type(b"abababa\n")
    error = terminal.end().error
    assert error["message"] == "The key is not trusted; nothing was changed."
    assert error["next"] == f"assent keys trust {ADA} --name ada"


@pytest.mark.parametrize(("typed", "code"), [(b"abababab\n", 0), (b"yes\n", 4), (b"\n", 4)])
def test_g14_a_person_compares_the_key_on_the_terminal(
    tmp_path: Path, typed: bytes, code: int
) -> None:
    world = World(tmp_path, config="")
    terminal = Terminal(world, "keys", "trust", ADA, "--name", "ada")
    terminal.wait_for(QUESTION)
    half = b" ".join([b"abab"] * 8)
    assert b"  %s\x1b[0m\r\n" % half in terminal.screen
    assert terminal.screen.count(half) == 2
    terminal.type(typed)
    assert terminal.end().code == code
    assert keys_file(world).exists() is (code == 0)


def test_g14_a_list_that_others_can_write_does_not_count(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.plan()
    machines.approve()
    key = key_of(machines.person)
    machines.runner.ok("keys", "trust", key, "--name", "ada")
    os.chmod(keys_file(machines.runner), 0o666)
    answer = machines.runner.run("build", str(machines.file))
    assert answer.code == 7
    assert b"others can write" in machines.runner.run("keys", "list").err
    trust(machines.runner, key)
    os.chmod(machines.runner.config, 0o666)
    assert machines.runner.run("build", str(machines.file)).code == 7
    os.chmod(machines.runner.config, 0o644)
    assert machines.runner.run("build", str(machines.file)).code == 0


@pytest.mark.parametrize(
    "text", ["keys = 1\n", "[keys]\nada = 1\n", '[keys]\nada = "abc"\n', "nonsense", "[more]\n"]
)
def test_a_list_that_cannot_be_read_is_named(world: World, text: str) -> None:
    keys_file(world).write_text(text, encoding="utf-8")
    keys_file(world).chmod(0o600)
    error = world.no(2, "keys", "list")
    assert "keys.toml" in error["message"]


def test_a_key_in_the_settings_must_be_one(world: World) -> None:
    world.config.write_text(f'{TRUSTING}[keys]\nada = "short"\n', encoding="utf-8")
    error = world.no(2, "keys", "list")
    assert "config.toml" in error["message"]


def test_f60_what_was_decided_about_keys_is_on_record(world: World) -> None:
    world.ok("keys", "trust", ADA, "--name", "ada")
    world.ok("keys", "revoke", "ada")
    rows = world.ok("log", "--decisions")["decisions"]
    assert [(row["kind"], row["what"], row["decision"]) for row in rows] == [
        ("key_trusted", f"key ada {ADA}", "trusted"),
        ("key_revoked", f"key ada {ADA}", "no longer trusted"),
    ]
