"""A user's file speaks about approval only if nobody else can have written it."""

import os
from pathlib import Path

import pytest
from tests.config.sources import Sources

from assent.config.config_file import ConfigFile, ownership_problem
from assent.config.loader import LoadedSettings
from assent.config.settings import ApproveSettings, PlanSettings, Settings

TEXT = b"[plan]\ndir = 'u'\n[approve]\nwithout_terminal = true\n"
INSIDE = "it is in the workspace, where plans and agents can write"
TRUSTED = LoadedSettings(Settings(PlanSettings("u"), ApproveSettings(without_terminal=True)))


def ignored(path: Path, why: str) -> LoadedSettings:
    warning = f"{path} sets [approve], which is ignored: {why}."
    return LoadedSettings(Settings(PlanSettings("u")), (warning,), own=False)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400, 0o755])
def test_a_file_that_only_its_owner_writes_counts(sources: Sources, mode: int) -> None:
    sources.user.write_bytes(TEXT)
    sources.user.chmod(mode)
    assert sources.load() == TRUSTED


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o620, 0o602])
def test_a_file_that_others_can_write_does_not(sources: Sources, mode: int) -> None:
    sources.user.write_bytes(TEXT)
    sources.user.chmod(mode)
    why = f"others can write to it; fix this with `chmod go-w {sources.user}`"
    assert sources.load() == ignored(sources.user, why)


def test_nothing_is_said_about_a_file_without_approval(sources: Sources) -> None:
    sources.user.write_bytes(b"[plan]\ndir = 'u'\n")
    sources.user.chmod(0o666)
    assert sources.load() == LoadedSettings(Settings(PlanSettings("u")))


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        (0, ""),
        (os.geteuid(), ""),
        (os.geteuid() + 1, "it belongs to another user"),
    ],
)
def test_the_owner_must_be_the_user_or_root(sources: Sources, owner: int, why: str) -> None:
    source = ConfigFile(sources.user, {}, owner, 0o100600)
    assert ownership_problem(source, os.fsencode(sources.root)) == why


def test_a_symlink_of_a_dotfile_manager_counts(sources: Sources, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_bytes(TEXT)
    sources.user.symlink_to(real)
    assert sources.load() == TRUSTED


def test_a_symlink_into_the_workspace_does_not(sources: Sources) -> None:
    real = sources.root / "planted.toml"
    real.write_bytes(TEXT)
    sources.user.symlink_to(real)
    assert sources.load() == ignored(sources.user, INSIDE)


def test_a_configuration_folder_in_the_workspace_does_not(sources: Sources) -> None:
    inside = sources.root / ".config" / "assent" / "config.toml"
    inside.parent.mkdir(parents=True)
    inside.write_bytes(TEXT)
    assert sources.load(inside) == ignored(inside, INSIDE)


def test_nor_one_that_the_workspace_leads_out_to(sources: Sources) -> None:
    sources.user.write_bytes(TEXT)
    way = sources.root / ".config"
    way.symlink_to(sources.user.parent.parent)
    inside = way / "assent" / "config.toml"
    assert sources.load(inside) == ignored(inside, INSIDE)


def test_nor_a_symlinked_folder_that_leads_in(sources: Sources, tmp_path: Path) -> None:
    real = sources.root / "dotfiles"
    real.mkdir()
    (real / "config.toml").write_bytes(TEXT)
    way = tmp_path / "assent"
    way.symlink_to(real)
    assert sources.load(way / "config.toml") == ignored(way / "config.toml", INSIDE)


def test_a_neighbour_with_a_longer_name_is_not_in_the_workspace(sources: Sources) -> None:
    other = sources.root.with_name("project-2") / "config.toml"
    other.parent.mkdir()
    other.write_bytes(TEXT)
    assert sources.load(other) == TRUSTED
