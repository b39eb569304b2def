"""Toolchains are shown where people have them, and never with the logins beside them."""

import os
from pathlib import Path

from assent.sandbox.profile.exposure import credential_paths
from assent.sandbox.profile.file_system import is_covered
from assent.sandbox.profile.toolchains import (
    active_environments,
    base_programs,
    known_folders,
    named_folders,
    path_folders,
)

HOME = b"/home/ada"


def test_cargo_shows_its_programs_and_not_its_logins() -> None:
    known = [*known_folders(HOME), *named_folders({"CARGO_HOME": "/home/ada/.cargo"})]
    assert b"/home/ada/.cargo/bin" in known
    assert not is_covered(b"/home/ada/.cargo/credentials.toml", known)


def test_no_toolchain_is_a_credential_place_or_the_home() -> None:
    places = credential_paths(HOME)
    assert [path for path in known_folders(HOME) if is_covered(path, places) or path == HOME] == []


def test_logins_below_a_toolchain_are_few_and_masked() -> None:
    known = known_folders(HOME)
    assert [path for path in credential_paths(HOME) if is_covered(path, known)] == [
        b"/home/ada/.dotnet/corefx",
        b"/home/ada/.opam/plugins/opam-publish",
    ]


def test_relative_and_empty_folders_do_not_count() -> None:
    assert path_folders({"PATH": ":.:bin:/usr/bin/::../x:/opt/a"}) == [b"/usr/bin", b"/opt/a"]
    assert path_folders({}) == []
    assert named_folders({"PYENV_ROOT": "pyenv", "NVM_DIR": "", "VOLTA_HOME": "~/.volta"}) == []


def test_variables_lead_to_other_places() -> None:
    named = named_folders({"PYENV_ROOT": "/opt/pyenv/", "BUN_INSTALL": "/opt/bun", "GOROOT": "/g"})
    assert named == [b"/opt/pyenv", b"/opt/bun/bin", b"/g"]


def test_only_what_looks_like_a_virtual_environment_is_one(tmp_path: Path) -> None:
    variables = {"VIRTUAL_ENV": str(tmp_path), "CONDA_PREFIX": str(tmp_path)}
    assert active_environments(variables) == []
    (tmp_path / "pyvenv.cfg").write_text("Home = /opt/python/bin/\n", encoding="utf-8")
    assert active_environments(variables) == [os.fsencode(tmp_path)]
    assert base_programs(os.fsencode(tmp_path)) == b"/opt/python/bin"
    (tmp_path / "conda-meta").mkdir()
    assert active_environments(variables) == [os.fsencode(tmp_path)] * 2


def test_a_relative_base_is_none(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("home = ../../.ssh\n", encoding="utf-8")
    assert base_programs(os.fsencode(tmp_path)) is None
