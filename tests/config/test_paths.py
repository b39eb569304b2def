"""Where state and configuration lie, also when that is inside the workspace."""

import os
from pathlib import Path

import pytest

from assent.config.paths import AppPaths, app_paths, path_within, private_paths


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, AppPaths(Path("/h/.local/state/assent"), Path("/h/.config/assent"))),
        (
            {"XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c"},
            AppPaths(Path("/s/assent"), Path("/c/assent")),
        ),
        (
            {"XDG_STATE_HOME": "s", "XDG_CONFIG_HOME": "./c"},
            AppPaths(Path("/h/.local/state/assent"), Path("/h/.config/assent")),
        ),
    ],
)
def test_xdg_variables_count_if_absolute(environment: dict[str, str], expected: AppPaths) -> None:
    assert app_paths(environment, Path("/h")) == expected


def test_a_path_is_seen_from_the_root(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "way").symlink_to(root)
    asked = ["project", "project/a/b", "way/a", "project/../other", "project-2/a", "way/../x", "."]
    found = {path: path_within(os.fsencode(root), os.fsencode(tmp_path / path)) for path in asked}
    assert found == {
        "project": b"",
        "project/a/b": b"a/b",
        "way/a": b"a",
        "project/../other": None,
        "project-2/a": None,
        "way/../x": None,
        ".": None,
    }


def test_outside_the_workspace_nothing_is_private_there(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    assert private_paths(AppPaths(tmp_path / "s", tmp_path / "c"), os.fsencode(root)) == ()


def test_inside_the_workspace_state_and_configuration_are_private(tmp_path: Path) -> None:
    here = app_paths({}, tmp_path)
    assert private_paths(here, os.fsencode(tmp_path)) == (
        b".local/state/assent",
        b".config/assent",
        b".config/assent/config.toml",
    )


def test_what_symlinks_lead_to_is_private_too(tmp_path: Path) -> None:
    root = tmp_path / "dotfiles"
    root.mkdir()
    (root / "mine.toml").write_bytes(b"")
    here = app_paths({}, tmp_path)
    here.config.mkdir(parents=True)
    here.file.symlink_to(root / "mine.toml")
    here.state.parent.mkdir(parents=True)
    here.state.symlink_to(root / "state")
    assert private_paths(here, os.fsencode(root)) == (b"state", b"mine.toml")
