"""The machine: what is here has a version, and what is not has a way to get it."""

import platform

from assent import __version__
from assent.sandbox.selftest.machine import (
    TOOLS,
    HostProgram,
    find_program,
    missing_programs,
    versions,
)
from assent.sandbox.status import INSTALLERS, install_command


def test_versions_name_what_is_here() -> None:
    told = versions()
    assert told["assent"] == __version__
    assert told["python"] == platform.python_version()
    here = {tool.name for tool in TOOLS if find_program(tool)}
    assert here <= told.keys()
    assert all(told.values())


def test_what_is_missing_is_not_here_and_can_be_installed() -> None:
    lacking = {one.name: one.install for one in missing_programs()}
    assert lacking.keys() == {tool.name for tool in TOOLS} - versions().keys()
    assert all(lacking.values())


def test_a_program_is_found_under_any_of_its_names_and_nowhere_else() -> None:
    assert find_program(HostProgram("no-such-program", "nothing")) is None
    assert find_program(HostProgram("no-such-program", "listing", ("ls",))) in (
        "/usr/bin/ls",
        "/bin/ls",
    )


def test_the_command_that_installs_is_this_systems() -> None:
    command = install_command("bubblewrap")
    known = [f"{one} bubblewrap" for one in INSTALLERS.values()]
    assert command in [*known, "Install bubblewrap with your system's package manager."]
