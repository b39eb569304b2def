"""Help: every command explains itself, with examples, and starts fast questions fast."""

import re
import shlex

import click
import pytest
from tests.cli.harness import PROGRAM, World
from tests.cli.test_usage import LISTS

from assent import __version__
from assent.cli.registry import COMMANDS, EVERYDAY
from assent.cli.registry import GROUPS as HELP_GROUPS
from assent.cli.root import root

PLAN = ("new", "write", "list", "show", "use", "history", "delete")
STAGE = (
    "write", "edit", "delete", "move", "list", "remove", "clear", "run", "patch", "from", "result",
)  # fmt: skip
SESSIONS = (
    "list", "show", "rename", "fork", "export", "delete", "pause", "cancel", "resume", "retry",
    "rewind", "diff", "compact",
)  # fmt: skip
GROUPS = {
    "plan": PLAN,
    "stage": STAGE,
    "shell": ("check", "run"),
    "sessions": SESSIONS,
    "runs": ("list", "show", "delete"),
    "comment": ("add", "reply", "list", "lines", "change", "remove", "keep", "dismiss"),
    "questions": ("list", "show", "answer"),
    "rules": ("list", "explain", "test", "revoke"),
    "memory": ("list", "forget"),
    "models": ("list", "ask"),
    "debug": ("prompt", "tools"),
    "modes": ("list", "show", "export", "import"),
    "trust": ("show", "give", "revoke", "list"),
    "mcp": ("list", "add", "remove"),
    "config": ("list", "get", "set", "unset", "edit"),
    "agents": ("list", "show"),
    "scratch": ("list", "show", "clear"),
    "keys": ("show", "list", "trust", "revoke"),
}
LINES = [
    *[(name,) for name in COMMANDS if name not in GROUPS],
    *[(group, name) for group, names in GROUPS.items() for name in names],
]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_every_command_has_examples_and_the_common_options(
    world: World, line: tuple[str, ...]
) -> None:
    for option in ("--help", "-h"):
        answer = world.run(*line, option)
        assert (answer.code, answer.err) == (0, b"")
        text = answer.out.decode()
        assert text.startswith(f"Usage: assent {' '.join(line)}")
        assert not re.search(r"[<>]=? *x|x *[<>]|<=|=None", text), "limits are in words"
        for common in ("--json", "-C DIR", "--plan ID", "--no-input", "--quiet"):
            assert common in text
        examples = text.partition("Examples:\n")[2].strip().splitlines()
        assert examples
        assert all(f"assent {' '.join(line)}" in example for example in examples)


OPTIONAL = [
    ("sessions", name)
    for name in ("show", "fork", "compact", "rewind", "pause", "cancel", "resume", "retry")
] + [("undo",), ("redo",)]


@pytest.mark.parametrize("line", OPTIONAL, ids=" ".join)
def test_what_may_be_left_out_is_in_brackets(world: World, line: tuple[str, ...]) -> None:
    usage = " ".join(world.run(*line, "--help").out.decode().partition("\n\n")[0].split())
    word = "[RUN]" if line in (("undo",), ("redo",)) else "[ID]"
    assert usage.endswith(f" {word}"), usage
    name = word.strip("[]")
    assert world.no(2, *line, " ")["message"].startswith(f"{name} must not be empty.")


@pytest.mark.parametrize(
    ("line", "example"),
    [
        (("build",), "assent build plan.json --approval yes.json"),
        (("approve",), "assent approve plan.json --out yes.json --expires 3d"),
        (("approve",), "assent approve --without 2,77d0"),
        (("recover",), "assent recover --resume"),
        (("recover",), "assent recover --accept"),
        (("build",), "assent build --output-format stream-json"),
        (("recover",), "assent recover --resume --output-format stream-json"),
        (("undo",), "assent undo --output-format stream-json"),
        (("redo",), "assent redo --output-format stream-json"),
        (("stage", "run"), "assent stage run --env CI=1 --env LANG=C -- make test"),
    ],
)
def test_what_is_not_obvious_has_an_example(
    world: World, line: tuple[str, ...], example: str
) -> None:
    assert f"  {example}\n" in world.run(*line, "--help").out.decode()


@pytest.mark.parametrize(
    ("line", "command"),
    [
        (("approve", "--without"), "approve"),
        (("approve", "--expires"), "approve"),
        (("-C", ".", "undo", "--operation"), "undo"),
        (("undo", "--digest"), "undo"),
        (("stage", "run", "--env"), "stage run"),
        (("-C",), ""),
    ],
)
def test_an_option_without_its_argument_leads_to_the_commands_help(
    world: World, line: tuple[str, ...], command: str
) -> None:
    answer = world.run(*line)
    assert answer.code == 2
    assert f"  next: {' '.join(filter(None, ('assent', command)))} --help\n".encode() in answer.err


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_its_commands(world: World, group: str) -> None:
    answer = world.run(group, "--help")
    assert answer.code == 0
    lines = answer.out.decode().partition("Commands:\n")[2]
    listed = lines.partition("\n\n")[0].splitlines()
    assert sorted(line.split()[0] for line in listed) == sorted(GROUPS[group])
    assert [line for line in listed if line.endswith("...")] == []
    bare = world.run(group)
    if group in LISTS:
        assert bare == world.run(group, "list")
        return
    assert (bare.code, bare.out) == (2, b"")
    assert f"next: assent {group} --help".encode() in bare.err


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_has_examples_of_its_commands(world: World, group: str) -> None:
    text = world.run(group, "--help").out.decode()
    examples = text.partition("\n\n  Examples:\n")[2].strip().splitlines()
    assert examples
    for example in examples:
        name = example.partition(f"assent {group} ")[2].split()[0]
        assert name in GROUPS[group]


def test_the_program_lists_every_command(world: World) -> None:
    texts = [world.process(*words).out for words in ([], ["--help"], ["-h"], ["help"])]
    assert len(set(texts)) == 1
    for name, (_, purpose) in COMMANDS.items():
        assert f"  {name}".encode() in texts[0]
        assert purpose.encode() in texts[0]
    assert world.run("--help").out == texts[0]


def test_help_groups_every_command_once_and_the_everyday_ones_first() -> None:
    names = [*EVERYDAY, *(name for names in HELP_GROUPS.values() for name in names)]
    assert sorted(names) == sorted(COMMANDS)
    assert len(EVERYDAY) == 10


def test_version(world: World) -> None:
    assert world.process("--version") == (0, f"assent {__version__}\n".encode(), b"")
    assert world.run("--version").out == f"assent {__version__}\n".encode()


@pytest.mark.parametrize("words", [["--version"], ["--help"]], ids=["version", "help"])
def test_quick_questions_load_no_library(world: World, words: list[str]) -> None:
    code = f"import sys; sys.argv[1:] = {words}; {PROGRAM[2]}; print(sorted(sys.modules))"
    import_names = world.start([PROGRAM[0], "-c", code]).out.decode().splitlines()[-1]
    for library in ("click", "msgspec", "sqlite3", "nacl", "assent.app", "assent.core"):
        assert f"'{library}'" not in import_names


def examples_of(world: World, line: tuple[str, ...]) -> list[list[str]]:
    """Returns the words of every `assent ...` in the examples of a command's help."""
    text = world.run(*line, "--help").out.decode().partition("Examples:\n")[2]
    found: list[list[str]] = []
    for example in text.strip().splitlines():
        lexer = shlex.shlex(example, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split, lexer.commenters = True, "#"
        words, starts = [*lexer], True
        for at, word in enumerate(words):
            if re.fullmatch(r"[|&;]+", word):
                starts = True
            elif starts:
                found.append([word])
                starts = False
            elif not re.fullmatch(r"[<>]+", word) and not re.fullmatch(r"[<>]+", words[at - 1]):
                found[-1].append(word)
    return [words[1:] for words in found if words[0] == "assent"]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_every_example_is_a_line_that_its_command_takes(
    world: World, line: tuple[str, ...]
) -> None:
    found = examples_of(world, line)
    assert found
    for example in found:
        words = example
        ctx = click.Context(root, info_name="assent")
        command: click.Command = root
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            inner = command.get_command(ctx, words[0])
            assert inner is not None, example
            command, words = inner, words[1:]
            if isinstance(command, click.Group):
                ctx = click.Context(command, info_name=command.name, parent=ctx)
        command.make_context(command.name, words, parent=ctx)  # raises if it is not understood
