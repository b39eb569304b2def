"""What the user shows to commands: read-only, without its secrets, and never Assent's own files."""

import os
import socket
from pathlib import Path

import pytest
from tests.sandbox.test_profile import Machine

from assent.sandbox.profile.profile import ProfileBuilder, SandboxProfile
from assent.sandbox.visibility import Visibility

FOLDERS = (b"/usr/bin", b"/bin")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.fill("tools/lib/data", "tools/a/b/c/d/.ssh/id_rsa", "tools/.env", "tools/bin/far")
    machine.fill("home/.aws/config", "home/.aws/credentials", "home/notes/x")
    (machine.top / "tools/bin/far").chmod(0o755)
    return machine


def builder(machine: Machine, *show: str | Path) -> ProfileBuilder:
    hidden = [os.fsencode(machine.state), os.fsencode(machine.config)]
    paths = [os.fsencode(machine.top / path) for path in show]
    return ProfileBuilder(
        os.fsencode(machine.root), os.fsencode(machine.home), hidden, {"PATH": "/usr/bin"}, paths
    )


def sees(machine: Machine, profile: SandboxProfile, path: str) -> bool:
    return profile.visible(os.fsencode(machine.top / path))


def test_f14_a_shown_folder_is_seen_without_its_secrets(machine: Machine) -> None:
    profile = builder(machine).profile()
    assert not sees(machine, profile, "tools/lib/data")
    profile = builder(machine, "tools").profile()
    assert sees(machine, profile, "tools/lib/data")
    assert not sees(machine, profile, "tools/.env")
    assert not sees(machine, profile, "tools/a/b/c/d/.ssh/id_rsa")
    assert profile.chosen == (os.fsencode(machine.top / "tools"),)
    assert not profile.writable
    writable = builder(machine, "tools").profile(writable=True)
    assert os.fsencode(machine.top / "tools") in writable.shown  # always bound read-only


def test_f14_a_secret_is_shown_only_if_it_is_named_exactly(machine: Machine) -> None:
    profile = builder(machine, "tools", "home/notes").profile()
    assert not sees(machine, profile, "home/.aws/config")
    profile = builder(machine, "home/.aws/config").profile()
    assert sees(machine, profile, "home/.aws/config")
    assert not sees(machine, profile, "home/.aws/credentials")
    profile = builder(machine, "tools", "tools/.env").profile()
    assert sees(machine, profile, "tools/.env")
    assert not sees(machine, profile, "tools/a/b/c/d/.ssh/id_rsa")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/", "too much"), ("/etc", "too much"), ("/proc/self", "too much"),
        ("/dev/shm", "too much"), ("/home", "too much"), ("/tmp", "too much"),
        ("home", "your home folder"), (".", "home folder|own files"),
        ("home/.local/state/assent", "own files"), ("home/.local/state", "own files"),
        ("home/.config/assent/config.toml", "own files|does not exist"),
        ("home/work/project", "the workspace"), ("home/work", "the workspace"),
        ("home/work/project/readme", "the workspace"),
        ("missing", "does not exist"), ("socket", "neither a file nor a folder"),
        ("home/work/project/link", "in the workspace"),
    ],
)  # fmt: skip
def test_f14_what_would_show_too_much_is_not_shown(
    machine: Machine, path: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.top)  # the name of a socket must be short
    (machine.root / "link").symlink_to(machine.top / "tools")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        made = builder(machine, path)
        (refused,) = made.chosen().values()
    assert any(part in refused for part in why.split("|")), refused
    profile = made.profile()
    assert profile.chosen == ()
    assert not sees(machine, profile, "tools/lib/data")
    assert not sees(machine, profile, "home/.local/state/assent/key")
    assert not sees(machine, profile, "home/notes/x")


def test_f14_what_is_hidden_is_explained_with_the_setting_that_shows_it(machine: Machine) -> None:
    tools = os.fsencode(machine.top / "tools")
    env = {"PATH": f"/usr/bin:{machine.top}/tools/bin"}
    hidden = Visibility(builder(machine).profile(), env, FOLDERS)
    root = os.fsencode(machine.root)
    (note,) = hidden.notes("cd x && FOO=1 far --now | sort", root)
    assert f"far is {os.fsdecode(tools)}/bin/far, which commands do not see." in note
    assert f'sandbox.show = ["{os.fsdecode(tools)}/bin"]' in note
    for whole in ("/", "/var", "/etc/shadow"):  # no advice to show too much, or passwords
        (note,) = hidden.notes(f"ls {whole}", root)
        assert "commands do not see it" in note
        assert "sandbox.show" not in note
    (note,) = hidden.notes(f"sort {os.fsdecode(tools)}/lib/data", root)
    assert "exists, but commands do not see it. Commands see the workspace" in note
    shown = Visibility(builder(machine, "tools").profile(), env, (*FOLDERS, tools + b"/bin"))
    assert shown.notes("far && sort", root) == ()
    assert shown.notes(f"sort {os.fsdecode(tools)}/lib/data", root) == ()
    (note,) = shown.notes(f"sort {os.fsdecode(tools)}/.env", root)
    assert note.endswith("is hidden from commands because it may contain secrets.")
    assert "sandbox.show" not in note


@pytest.mark.parametrize(
    "line",
    ["sort x", "if true; then sort; fi", "for f in *; do nosuch $f; done", "'unclosed", "",
     "echo nosuch", "./nosuch", "$PROGRAM", "A=1 sort > nosuch", "sort < /dev/null", "cat /missing",
     "! sort", "(cd a; sort)"],
)  # fmt: skip
def test_what_is_seen_or_unknown_is_not_explained(machine: Machine, line: str) -> None:
    found = Visibility(builder(machine).profile(), {"PATH": "/usr/bin"}, FOLDERS)
    assert found.notes(line, os.fsencode(machine.root)) == ()
