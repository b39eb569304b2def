"""Mistakes on a command line: told in our own words, with what was probably meant."""

from collections.abc import Iterator

import click
import pytest
from tests.cli.harness import PROGRAM, World

from assent.cli.options import Number, OneOf, WholeNumber
from assent.cli.root import root

OF_CLICK = (
    "Invalid value", "No such", "Missing argument", "Missing option", "Got unexpected", "is not in",
    "not a valid", "requires an argument", "does not take",
)  # fmt: skip


def commands(
    group: click.Command = root, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yields every command with the words that call it."""
    yield path, group
    if isinstance(group, click.Group):
        ctx = click.Context(group)
        for name in group.list_commands(ctx):
            inner = group.get_command(ctx, name)
            assert inner is not None
            yield from commands(inner, (*path, name))


TYPED = [
    (path, param)
    for path, command in commands()
    for param in command.params
    if not isinstance(param.type, click.types.StringParamType | click.types.BoolParamType)
    and param.type is not click.UNPROCESSED
]


def test_every_type_of_an_option_has_our_words() -> None:
    own = (WholeNumber, Number, OneOf)
    others = [(path, each.name) for path, each in TYPED if not isinstance(each.type, own)]
    assert others == []


@pytest.mark.parametrize(
    ("path", "param"), TYPED, ids=[f"{' '.join(path)} {param.name}" for path, param in TYPED]
)
def test_a_wrong_value_says_which_are_right(
    world: World, path: tuple[str, ...], param: click.Parameter
) -> None:
    given = [param.opts[0]] * isinstance(param, click.Option) + ["wrong"] * param.nargs
    answer = world.run(*path, *given)
    assert answer.code == 2
    told = answer.err.decode()
    assert not [words for words in OF_CLICK if words in told]
    assert "not 'wrong'" in told
    if isinstance(param.type, OneOf):
        assert all(word in told for word in param.type.choices)
    assert told.endswith(f"  next: assent {' '.join(path)} --help\n")


WRONG = {
    "rehearse --timeout 0": "--timeout must be a whole number from 1 to 86400, not '0'.",
    "shell run --seconds inf ls": "--seconds must be a number greater than 0, not 'inf'.",
    "runs list --limit 0": "--limit must be a whole number of at least 1, not '0'.",
    "review --jsn": "Unknown option '--jsn'. Did you mean --json?",
    "approve --hlp": "Unknown option '--hlp'. Did you mean --help?",
    "rehearse make -j4": "Unknown option '-j'. Put -- before the command that is to run.",
    "mcp add ls ls -la": "Unknown option '-l'. Put -- before the command that is to run.",
    "plan nwe": "Unknown command 'nwe'. Did you mean new?",
    "shell": "Missing subcommand: one of check, run.",
    "config get": "Missing KEY.",
    "stage edit x --put y": "Missing --find.",
    "status x y": "Unexpected argument: x y.",
    "plan history --diff 1": "--diff needs 2 values.",
    "approve --note": "--note needs a value.",
    "review --json=5": "--json takes no value.",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_told_in_our_words(world: World, line: str) -> None:
    answer = world.run(*line.split())
    assert answer.code == 2
    assert answer.err.decode().startswith(f"assent: {WRONG[line]}\n  next: assent ")


LISTS = (
    "agents", "config", "keys", "mcp", "memory", "modes", "questions", "rules", "runs", "sessions",
)  # fmt: skip


@pytest.mark.parametrize("group", LISTS)
def test_a_group_without_a_command_lists(world: World, group: str) -> None:
    for options in ((), ("--json",), ("--xyzzy",)):
        alone, listed = world.run(group, *options), world.run(group, "list", *options)
        assert (alone.code, alone.out, alone.err) == (listed.code, listed.out, listed.err)
        assert alone.code == (2 if "--xyzzy" in options else 0)
    assert world.run(group, "--help").out.startswith(f"Usage: assent {group} [".encode())
    assert world.run(group, "--json", "list").code == 2


def test_a_negative_number_is_a_value_and_not_an_option(world: World) -> None:
    for words in (("shell.timeout_s", "-5"), ("--project", "budget.dollars", "-1.5e3")):
        assert "option" not in world.run("config", "set", *words).err.decode()
    assert "greater than 0" in world.no(2, "config", "set", "shell.timeout_s", "-5")["message"]
    assert "--jsn" in world.no(2, "config", "set", "mode", "--jsn")["message"]


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_a_full_disk_is_told_in_one_line(world: World, option: str) -> None:
    answer = world.start(["sh", "-c", 'exec "$@" > /dev/full', "sh", *PROGRAM, option])
    assert answer.code == 1
    assert answer.err == b"assent: This could not be printed: No space left on device.\n"
