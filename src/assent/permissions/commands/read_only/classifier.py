"""The read-only classifier: tells by its text alone whether a command line only reads."""

from functools import cache

import msgspec

from assent.core.errors import Refused, without_sandbox
from assent.core.shell.parser import (
    ListOperator,
    ParsedCommand,
    Pipeline,
    ShellWord,
    parse_command_line,
)
from assent.core.shell.process import StderrMode
from assent.permissions.commands.read_only.alternatives import unlisted_command_reason
from assent.permissions.commands.read_only.argument_parser import find_subcommand, parse_arguments
from assent.permissions.commands.read_only.registry import REGISTRY
from assent.permissions.commands.read_only.spec import ParsedArguments, ReadOnlyCommandSpec
from assent.permissions.commands.read_only.special_file import SpecialFileRefused
from assent.permissions.commands.read_only.special_paths import (
    check_special_paths,
    is_filesystem_root,
    may_leave_workspace,
)

CD = "cd"
HELP_OPTIONS = ("--help", "--version", "-V", "--type-list")  # with these nothing is read


class ReadOnlyCommand(msgspec.Struct, frozen=True):
    """A command that only reads: its table, and its words with what the table adds."""

    command: ParsedCommand
    spec: ReadOnlyCommandSpec
    words: tuple[ShellWord, ...]
    reads: tuple[ShellWord, ...] = ()
    descends: bool = False
    follows: bool = False
    strays: bool = False  # has an option with which it may leave the folder it is told

    @property
    def errors(self) -> StderrMode:
        return self.command.errors


class ChangeFolder(msgspec.Struct, frozen=True):
    """`cd DIR`: where the commands after it run."""

    folder: str
    errors: StderrMode = StderrMode.KEPT


class ReadOnlyStage(msgspec.Struct, frozen=True):
    """Commands that run at once, and when."""

    joint: ListOperator
    work: tuple[ReadOnlyCommand, ...] | ChangeFolder


class ReadOnlyVerdict(msgspec.Struct, frozen=True):
    """Whether a command line only reads, and if not, which part does not."""

    read_only: bool
    reason: str


def classify_read_only(text: str, *, sandboxed: bool = True) -> ReadOnlyVerdict:
    """Judges a command line; without a sandbox the class is narrower. Never raises Refused."""
    try:
        read_only_stages(text, sandboxed=sandboxed)
    except Refused as refused:
        return ReadOnlyVerdict(read_only=False, reason=refused.message)
    except Exception as error:  # law 9: a judge that fails says no
        return ReadOnlyVerdict(read_only=False, reason=f"It could not be judged: {error!r}.")
    return ReadOnlyVerdict(read_only=True, reason="Every command in it only reads.")


def read_only_stages(text: str, *, sandboxed: bool = True) -> tuple[ReadOnlyStage, ...]:
    """Returns what to run for a command line, or raises Refused."""
    admitted: list[ReadOnlyStage] = []
    away = False
    for line in parse_command_line(text):
        work = _work(line, sandboxed=sandboxed, away=away)
        away = away or (isinstance(work, ChangeFolder) and may_leave_workspace(work.folder))
        admitted.append(ReadOnlyStage(line.joint, work))
    return tuple(admitted)


def read_only_command(
    command: ParsedCommand, *, sandboxed: bool, away: bool = False
) -> ReadOnlyCommand:
    """Judges one command by its table; `away` if it may run outside of the workspace."""
    top = REGISTRY.get(command.name)
    if top is None:
        raise Refused(unlisted_command_reason(command.name))
    spec, before, after = find_subcommand(top, command.words[1:])
    _prove_once(spec)
    arguments = parse_arguments(spec, after)
    check_special_paths(_opened(spec, arguments), away=away)
    if not sandboxed:
        _narrow(spec, arguments)
    adds = spec.adds if arguments.options or not spec.adds_to_options else ()
    words = (command.words[0], *before, *map(ShellWord, adds), *after)
    descends = spec.always_descends or arguments.has(*spec.descends)
    descends = descends and not arguments.has(*HELP_OPTIONS)
    if descends:
        _refuse_everything(spec, arguments)
    follows = spec.follows and not arguments.has(*spec.confined_unless)
    confined = arguments.has(*spec.confined) and not arguments.has(*spec.confined_unless)
    strays = confined and not spec.stays
    return ReadOnlyCommand(command, spec, words, arguments.reads, descends, follows, strays)


def _opened(spec: ReadOnlyCommandSpec, arguments: ParsedArguments) -> list[ShellWord]:
    """Returns the files whose content it reads: without `opens`, only those that options name."""
    return [word for word in arguments.reads if spec.opens or word not in arguments.operands]


def _refuse_everything(spec: ReadOnlyCommandSpec, arguments: ParsedArguments) -> None:
    for word in arguments.reads:
        if is_filesystem_root(word.text):
            raise SpecialFileRefused(
                f"`{word.text}` is the whole machine; tell `{spec.name}` a folder in it."
            )


def _work(
    line: Pipeline, *, sandboxed: bool, away: bool
) -> tuple[ReadOnlyCommand, ...] | ChangeFolder:
    if not any(command.name == CD for command in line.commands):
        return tuple(
            read_only_command(each, sandboxed=sandboxed, away=away) for each in line.commands
        )
    if len(line.commands) > 1:
        raise Refused("`cd` in a pipe changes nothing; write `cd DIR && ...`.")
    command = line.commands[0]
    words = command.words[1:]
    if len(words) != 1 or words[0].pattern or not words[0].text or words[0].text.startswith("-"):
        raise Refused("`cd` needs exactly one folder, written out: `cd DIR && ...`.")
    if is_filesystem_root(words[0].text):
        raise SpecialFileRefused(
            f"`cd {words[0].text}` leads to the whole machine; name a folder in it."
        )
    check_special_paths(words, away=away)
    return ChangeFolder(words[0].text, command.errors)


def _narrow(spec: ReadOnlyCommandSpec, arguments: ParsedArguments) -> None:
    if spec.obeys:
        raise without_sandbox(
            f"`{spec.name}` does what files of the repository say, which needs a sandbox; "
            "`assent doctor` says how to get one."
        )
    if arguments.has(*spec.confined_unless):
        return
    for name in spec.confined:
        if arguments.has(name):
            raise without_sandbox(
                f"`{spec.name} {name}` reaches more than the command names, which needs a sandbox."
            )


def check_spec_examples(spec: ReadOnlyCommandSpec) -> None:
    """Raises Refused unless a table has examples of both kinds and keeps its word on each."""
    if not spec.refused or (spec.alone and not spec.runs):
        raise Refused(f"The table of `{spec.name}` has no examples; it does not count.")
    for example in spec.runs:
        if not _holds(spec, example):
            raise Refused(f"The table of `{spec.name}` lies: it refuses `{example}`.")
    for example in spec.refused:
        if _holds(spec, example):
            raise Refused(f"The table of `{spec.name}` lies: it lets `{example}` run.")


def _holds(spec: ReadOnlyCommandSpec, example: str) -> bool:
    """Tells whether an example of a table passes it; one that leads to another table does not."""
    words = parse_command_line(example)[0].commands[0].words
    try:
        found, _, after = find_subcommand(REGISTRY.get(words[0].text, spec), words[1:])
        parse_arguments(spec, after)
    except Refused:
        return False
    return found.name == spec.name


_prove_once = cache(check_spec_examples)  # a table that lies raises each time, so it never counts
