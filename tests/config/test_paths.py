"""Where state and configuration lie, also when that is inside the workspace."""

import os
from pathlib import Path

import pytest

from assent.config.paths import AppPaths, app_paths, leads_within, path_within, private_paths


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


LEADING_IN = {
    "project": True,
    "project/a/b": True,
    "project/missing/c": True,
    "project/out/c": True,  # a symlink in the workspace, to a folder outside
    "way/a": True,
    "way/out/c": True,
    "links/in/c": True,
    "links/file": True,
    "links/round/c": False,
    "links/gone/c": False,
    "links": False,
    "elsewhere/c": False,
    "elsewhere/missing/c": False,
    "project-2/c": False,
    ".": False,
}


@pytest.mark.parametrize("path", LEADING_IN)
def test_a_path_leads_into_the_workspace_if_any_folder_on_its_way_does(
    path: str, tmp_path: Path
) -> None:
    for folder in ("project/a", "project-2", "elsewhere", "links"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "project" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "way").symlink_to("project")
    (tmp_path / "links" / "in").symlink_to("../project/a")
    (tmp_path / "links" / "file").symlink_to("../project/a/file.toml")
    (tmp_path / "links" / "round").symlink_to("round")
    (tmp_path / "links" / "gone").symlink_to("../missing")
    root, full = os.fsencode(tmp_path / "project"), tmp_path / path
    each = [path_within(root, os.fsencode(way)) is not None for way in (full, *full.parents)]
    assert leads_within(root, os.fsencode(full)) is any(each) is LEADING_IN[path]


def test_a_workspace_under_another_name_is_the_same_one(tmp_path: Path) -> None:
    """As where case is ignored: the name differs, and the folder is one."""
    (tmp_path / "project").mkdir()
    (tmp_path / "Project").symlink_to("project")
    root = os.fsencode(tmp_path / "Project")
    assert path_within(root, os.fsencode(tmp_path / "project" / "a")) == b"a"
    assert leads_within(root, os.fsencode(tmp_path / "project" / "a"))
    assert not leads_within(root, os.fsencode(tmp_path / "other"))


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
