"""What cannot be found, or may not be used, leads to a command that helps on."""

import shlex

import pytest
from tests.cli.harness import World
from tests.cli.test_help import GROUPS

from assent.cli.registry import COMMANDS

FROM = "assent stage from --help"
RUN = "assent stage run --help"
SET = "assent stage run --script 'NAME=VALUE PROGRAM'"


@pytest.fixture
def drafting(world: World) -> World:
    world.put("docs/here.txt", b"here\n")
    world.plan()
    return world


@pytest.mark.parametrize(
    ("line", "below"),
    [
        (("stage", "write", "x", "--from", "none.txt"), ""),
        (("stage", "patch", "none.patch"), ""),
        (("stage", "patch", "docs/none.patch"), "docs"),
        (("stage", "patch", "docs/no/such/none.patch"), "docs"),
        (("stage", "patch", "docs/here.txt/none.patch"), "docs"),
        (("stage", "patch", "docs"), "docs"),
        (("stage", "run", "--script", "@none.sh"), ""),
        (("build", "none.json"), ""),
        (("build", "docs"), "docs"),
        (("approve", "none.json"), ""),
        (("approve", "docs/none.json", "--out", "yes.json"), "docs"),
        (("review", "none.json"), ""),
        (("verify", "none.json"), ""),
        (("verify", "docs/none.json", "--key", "ab" * 32), "docs"),
        (("modes", "import", "none.toml"), ""),
        (("plan", "write", "none.md"), ""),
    ],
)
def test_a_file_that_is_missing_leads_to_the_folder_that_is_there(
    drafting: World, line: tuple[str, ...], below: str
) -> None:
    error = drafting.no(1, *line)
    assert "Nothing was changed." in error["message"]
    command = error["next"]
    assert command == f"ls -l {shlex.quote(str(drafting.root / below))}"
    assert drafting.start(shlex.split(command)).code == 0


def test_a_folder_with_an_odd_name_is_quoted(drafting: World) -> None:
    drafting.put("a b; c/here.txt")
    answer = drafting.process("verify", "a b; c/none.json", "--json")
    assert answer.error["next"] == "ls -l 'a b; c'"
    assert drafting.process("verify", "none.json", "--json").error["next"] == "ls -l ."


@pytest.mark.parametrize(
    ("line", "code", "command"),
    [
        (("stage", "from", "../none"), 1, FROM),
        (("stage", "from", "."), 7, FROM),
        (("stage", "from", ".."), 7, FROM),
        (("stage", "from", "docs"), 7, FROM),
        (("stage", "from", ""), 2, FROM),
        (("stage", "from", "docs/here.txt"), 2, "assent stage patch FILE"),
        (("stage", "from", "../home", "none"), 1, FROM),
        (("stage", "run", "--cwd", "..", "--", "true"), 7, RUN),
        (("stage", "run", "--cwd", "/", "--", "true"), 7, RUN),
        (("stage", "run", "--cwd", "none", "--", "true"), 1, None),
        (("stage", "run", "--env", "PATH=/bin", "--", "true"), 7, SET),
        (("stage", "run", "--env", "A B=1", "--", "true"), 7, RUN),
        (("stage", "run", "--env", "A=1", "--env", "A=2", "--", "true"), 7, RUN),
        (("stage", "run", "--env", "A", "--", "true"), 2, RUN),
    ],
)
def test_what_cannot_be_staged_leads_to_a_command_that_there_is(
    drafting: World, line: tuple[str, ...], code: int, command: str | None
) -> None:
    found = drafting.no(code, *line)["next"]
    assert found == (command or "assent stage run --cwd DIR -- PROGRAM")
    program, name, further = shlex.split(found)[:3]
    assert (program, name in COMMANDS, further in GROUPS[name]) == ("assent", True, True)
    assert drafting.ok("stage", "list")["operations"] == []
