"""Credential paths are found behind symlinks, however many names their folders have."""

import os
from pathlib import Path

import pytest

from assent.sandbox.profile.exposure import credential_paths, exposure_limits


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    made = tmp_path / "home"
    (made / ".config").mkdir(parents=True)
    return made


def places(home: Path) -> frozenset[bytes]:
    return exposure_limits(os.fsencode(home.parent / "work"), os.fsencode(home), []).places


@pytest.mark.parametrize("others", [0, 20, 1_001], ids=["none", "few", "many"])
@pytest.mark.parametrize("name", [".ssh", ".config/gh", ".cargo/credentials.toml"])
def test_the_target_of_a_symlink_is_a_credential_path_too(
    home: Path, name: str, others: int
) -> None:
    place, target = home / name, home.parent / "elsewhere"
    place.parent.mkdir(exist_ok=True)
    for number in range(others):
        (place.parent / f"other-{number}").touch()
    place.symlink_to(target)
    assert {os.fsencode(place), os.fsencode(target)} < places(home)


def test_what_stands_behind_a_symlink_on_the_way_is_one_too(home: Path) -> None:
    kept = home.parent / "kept"
    (kept / "gh").mkdir(parents=True)
    (home / ".config").rmdir()
    (home / ".config").symlink_to(kept)
    assert os.fsencode(kept / "gh") in places(home)


def test_without_a_home_the_names_are_what_there_is(home: Path) -> None:
    gone = home / "gone"
    assert places(gone) >= set(credential_paths(os.fsencode(gone)))
