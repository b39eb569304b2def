"""A program is trusted only where nobody else, and no project, could have put another one."""

import os
from contextlib import chdir
from pathlib import Path

import pytest

from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.profile.programs import ProgramFinder

NAME = "assent-test-program"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home with a folder of programs, and a workspace beside it, closed to everybody else."""
    for folder in ("home/own", "home/.cargo/bin", "project"):
        (tmp_path / folder).mkdir(parents=True)
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)
    return tmp_path


def test_a_program_of_the_project_is_never_found(place: Path) -> None:
    planted = _program(place / "project" / "bin")
    assert _find(place, planted.parent) is None


def test_a_symlink_into_the_project_is_not_trusted(place: Path) -> None:
    planted = _program(place / "project" / "bin")
    (place / "home" / "own" / NAME).symlink_to(planted)
    assert _find(place, place / "home" / "own") is None


def test_a_way_through_the_project_is_not_trusted(place: Path) -> None:
    program = _program(place / "home" / "tools")
    (place / "project" / "link").symlink_to(program)
    (place / "home" / "own" / NAME).symlink_to(place / "project" / "link")
    assert _find(place, place / "home" / "own") is None


@pytest.mark.parametrize("entry", ["", ".", "../own", "/usr/bin::/bin"])
def test_a_relative_folder_is_never_searched(place: Path, entry: str) -> None:
    with chdir(_program(place / "home" / "own").parent):
        assert _programs(place, entry).find([NAME]) is None


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
@pytest.mark.parametrize("name", ["home/own/" + NAME, "home/own", "home"])
def test_what_others_can_change_is_not_trusted(place: Path, name: str, mode: int) -> None:
    program = _program(place / "home" / "own")
    assert _find(place, program.parent) == os.fsencode(program)
    (place / name).chmod(mode)
    assert _find(place, program.parent) is None


def test_a_target_that_others_can_change_is_not_trusted(place: Path) -> None:
    program = _program(place / "home" / "tools")
    (place / "home" / "own" / NAME).symlink_to(program)
    assert _find(place, place / "home" / "own") is not None
    program.parent.chmod(0o777)
    assert _find(place, place / "home" / "own") is None


def test_a_folder_for_everybody_above_is_not_trusted(place: Path) -> None:
    program = _program(place / "home" / "own")
    above = ProgramFinder(_profile(place), {"PATH": str(program.parent)}, top=b"/")
    open_above = any(path.stat().st_mode & 0o022 for path in place.parents)
    assert (above.find([NAME]) is None) == open_above


@pytest.mark.parametrize("many", ["busybox", "toybox", "busybox-static"])
def test_many_programs_in_one_are_not_the_program(place: Path, many: str) -> None:
    real = _program(place / "home" / "lib", many)
    (place / "home" / "own" / NAME).symlink_to(real)
    assert _find(place, place / "home" / "own") is None


def test_a_hard_link_to_many_in_one_is_not_the_program(place: Path) -> None:
    real = _program(place / "home" / "own", "busybox")
    (place / "home" / "own" / NAME).hardlink_to(real)
    assert _find(place, place / "home" / "own") is None


def test_what_is_out_of_sight_is_not_found(place: Path) -> None:
    program = _program(place / "home" / "own")
    blind = SandboxProfile(os.fsencode(place / "project"), os.fsencode(place / "home"))
    found = ProgramFinder(blind, {"PATH": str(program.parent)}, top=os.fsencode(place))
    assert found.find([NAME]) is None


def test_a_masked_program_is_not_found(place: Path) -> None:
    program = _program(place / "home" / "own")
    assert _find(place, program.parent, masks=(os.fsencode(program),)) is None


@pytest.mark.parametrize("name", ["", "../bin/" + NAME, "bin/" + NAME])
def test_a_name_is_not_a_path(place: Path, name: str) -> None:
    _program(place / "home" / "own")
    assert _programs(place, str(place / "home" / "own")).find([name]) is None


def test_what_cannot_be_started_is_no_program(place: Path) -> None:
    program = _program(place / "home" / "own")
    program.chmod(0o644)
    assert _find(place, program.parent) is None
    program.unlink()
    program.mkdir()
    assert _find(place, program.parent) is None


def test_the_systems_program_comes_before_the_persons(place: Path) -> None:
    _program(place / "home" / "own", "sh")
    found = _programs(place, str(place / "home" / "own")).find(["sh"])
    assert found is not None
    assert not found.startswith(os.fsencode(place))


def test_a_toolchain_is_searched_without_path(place: Path) -> None:
    program = _program(place / "home" / ".cargo" / "bin")
    assert _programs(place, "").find([NAME]) == os.fsencode(program)


def test_the_path_keeps_the_name_that_it_was_found_by(place: Path) -> None:
    real = _program(place / "home" / "lib", "tool-1.2")
    shim = place / "home" / "own" / NAME
    shim.symlink_to(real)
    assert _find(place, shim.parent) == os.fsencode(shim)


def test_the_first_name_that_is_installed_wins(place: Path) -> None:
    program = _program(place / "home" / "own")
    found = _programs(place, str(program.parent)).find(["assent-test-missing", NAME, "sh"])
    assert found == os.fsencode(program)


def _program(folder: Path, name: str = NAME) -> Path:
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    path = folder / name
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def _find(place: Path, folder: Path, masks: tuple[bytes, ...] = ()) -> bytes | None:
    return _programs(place, str(folder), masks).find([NAME])


def _programs(place: Path, path: str, masks: tuple[bytes, ...] = ()) -> ProgramFinder:
    return ProgramFinder(_profile(place, masks), {"PATH": path}, top=os.fsencode(place))


def _profile(place: Path, masks: tuple[bytes, ...] = ()) -> SandboxProfile:
    shown = (b"/usr", b"/bin", b"/etc/alternatives", os.fsencode(place / "home"))
    return SandboxProfile(os.fsencode(place / "project"), os.fsencode(place / "home"), shown, masks)
