"""The read-only classifier: whether a line only reads, by its text, and which files it opens."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from posixpath import join, normpath
from typing import TypeAlias

import msgspec

from assent.core.errors import Refused, without_sandbox
from assent.core.permission.command_analysis import SpecialFileRefused
from assent.core.shell.parser import (
    GLOB_CHARS,
    ListOperator,
    ParsedCommand,
    Pipeline,
    ShellWord,
    Subshell,
    parse_command_line,
    simple_commands,
)
from assent.core.shell.process import StderrMode
from assent.permissions.commands.read_only.alternatives import unlisted_command_reason
from assent.permissions.commands.read_only.spec import (
    ParsedArguments,
    ReadOnlyCommandSpec,
    find_subcommand,
    parse_arguments,
    words_in,
)
from assent.permissions.commands.read_only.tables import files, git, scripts, search, system, text
from assent.permissions.commands.read_only.tables import files as compare
from assent.permissions.commands.read_only.tables import system as versions

# The registry: every command that may run while planning. What is not in it is refused.


TABLES = (
    compare.COMPARE_COMMANDS,
    files.FILE_COMMANDS,
    git.GIT_COMMANDS,
    scripts.SCRIPT_COMMANDS,
    search.SEARCH_COMMANDS,
    system.SYSTEM_COMMANDS,
    text.TEXT_COMMANDS,
    versions.VERSION_COMMANDS,
)

REGISTRY: Mapping[str, ReadOnlyCommandSpec] = {
    name: spec for table in TABLES for spec in table for name in (spec.name, *spec.programs)
}


# Special paths that no read-only command may name: devices, processes, the whole machine.


SPECIAL = ("dev", "proc", "sys")
HARMLESS = words_in(
    "/dev/null /dev/stdin /proc/cpuinfo /proc/filesystems /proc/loadavg /proc/meminfo /proc/stat "
    "/proc/uptime /proc/version /proc/vmstat"
)


def check_special_paths(words: Iterable[ShellWord], *, away: bool) -> None:
    """Raises SpecialFileRefused for a word that names a device or process, in any spelling.

    `away` means that an earlier `cd` may have left the workspace. Symlinks are not resolved here.
    """
    for word in words:
        if word.pattern or word.text not in HARMLESS:
            _check(word, at_root=away or word.text.startswith("/"))


def is_filesystem_root(path: str) -> bool:
    """Tells whether a path is the root of the file system."""
    return path.startswith("/") and not normpath(path).strip("/")


def may_leave_workspace(folder: str) -> bool:
    """Tells whether `cd` to this folder may leave the workspace."""
    return folder.startswith(("/", "..", HOME)) or "/.." in folder


def _check(word: ShellWord, *, at_root: bool) -> None:
    """Goes through a path part by part; one that climbs out of its folder may reach the root."""
    stack: list[str] = []
    climbed, last = False, ""
    for part in word.text.split("/"):
        if part == "..":
            climbed = climbed or not stack
            stack = stack[:-1]
        elif part not in ("", "."):
            stack.append(part)
        if part in SPECIAL and last == "..":  # what stood before `..` may have been a symlink
            climbed, stack = True, [part]
        last = part or last
        first = stack[0] if stack else ""
        wild = at_root and any(sign in first for sign in GLOB_CHARS)
        if wild or ((at_root or climbed) and first in SPECIAL):
            raise SpecialFileRefused(
                f"`{word.written}` may be a device or a process; name a regular file."
            )


# Variables: what is judged in their place, by the text alone. What runs has their values, and is
# judged again with them.


HOME = "~"
STAND_INS: Mapping[str, str] = {"PWD": ".", "HOME": HOME}


def stand_in(word: ShellWord) -> ShellWord:
    """Returns a word with paths in place of its variables that lead where they lead."""
    return msgspec.structs.replace(word.filled(STAND_INS), pieces=word.pieces)


def _check_variables(command: ParsedCommand, arguments: ParsedArguments, *, prints: bool) -> None:
    """Raises Refused for a variable that is more than the beginning of a file's name, or text.

    In an option, a pattern or a script its value could say what the command does.
    """
    judged = [stand_in(word) for word in command.words]
    for word, told in zip(command.words, judged, strict=True):
        # Of two words that look the same, one may be a file and the other a script.
        is_file = told in arguments.reads and judged.count(told) == arguments.reads.count(told)
        if not word.pieces or (is_file and _begins_path(word)):
            continue
        if is_file or not prints:
            raise Refused(
                f"`{word.text}`: a variable can only be printed, or begin the name of a file; "
                "write its value out."
            )


def _begins_path(word: ShellWord) -> bool:
    """Tells whether a word is one variable, or that and a path below it."""
    before, _, *after = word.pieces
    rest = "".join(piece.text for piece in after)
    return len(word.variables) == 1 and not before.text and (not rest or rest.startswith("/"))


CD = "cd"
SHELL = "sh"  # runs the builtins that have a table, and no word of the line as code
HELP_OPTIONS = ("--help", "--version", "-V", "--type-list")  # with these nothing is read


class ReadOnlyCommand(msgspec.Struct, frozen=True):
    """A read-only command: its table, and its words with what the table adds."""

    command: ParsedCommand
    spec: ReadOnlyCommandSpec
    words: tuple[ShellWord, ...]
    reads: tuple[ShellWord, ...] = ()
    descends: bool = False
    follows: bool = False
    strays: bool = False  # has an option with which it may leave the given folder

    @property
    def input(self) -> ShellWord | None:
        """The file that is its stdin, seen from the folder that the shell is in."""
        return self.command.input

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of the program that is started for it, the first that there is."""
        return (SHELL,) if self.spec.script else (self.command.name, *self.spec.programs)

    @property
    def errors(self) -> StderrMode:
        return self.command.errors

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that it changes to before it reads, each as seen from the one before."""
        words = [word.text for word in self.command.words[1:]]
        found: list[str] = []
        while self.command.name == "git" and words and words[0].startswith("-"):
            if words.pop(0) == "-C" and words:
                found.append(words.pop(0))
        return tuple(found)


class ChangeFolder(msgspec.Struct, frozen=True):
    """`cd DIR`: where the commands after it run."""

    word: ShellWord
    errors: StderrMode = StderrMode.KEPT

    @property
    def folder(self) -> str:
        """The folder by the text alone."""
        return stand_in(self.word).text


class ReadOnlySubshell(msgspec.Struct, frozen=True):
    """Stages in parentheses, and what reads their output."""

    stages: tuple["ReadOnlyStage", ...]
    readers: tuple[ReadOnlyCommand, ...] = ()


ReadOnlyWork: TypeAlias = tuple[ReadOnlyCommand, ...] | ChangeFolder | ReadOnlySubshell


class ReadOnlyStage(msgspec.Struct, frozen=True):
    """Commands that run together, and when."""

    joint: ListOperator
    work: ReadOnlyWork


class ReadOnlyVerdict(msgspec.Struct, frozen=True):
    """Whether a command line is read-only, and if not, which part is not."""

    read_only: bool
    reason: str


def classify_read_only(text: str, *, sandboxed: bool = True) -> ReadOnlyVerdict:
    """Classifies a command line; without a sandbox fewer are allowed. Never raises Refused."""
    try:
        read_only_stages(text, sandboxed=sandboxed)
    except Refused as refused:
        return ReadOnlyVerdict(read_only=False, reason=refused.message)
    except Exception as error:  # law 9: a check that fails denies
        return ReadOnlyVerdict(read_only=False, reason=f"The permission check failed: {error!r}.")
    return ReadOnlyVerdict(read_only=True, reason="Every command in it is read-only.")


def only_reads(name: str, words: Iterable[str]) -> bool:
    """Tells whether one command only reads, each of its words taken as it is."""
    quoted = ["'" + word.replace("'", "'\"'\"'") + "'" for word in words]
    return classify_read_only(" ".join([name, *quoted])).read_only


def read_only_stages(text: str, *, sandboxed: bool = True) -> tuple[ReadOnlyStage, ...]:
    """Returns what to run for a command line, or raises Refused."""
    return _stages(parse_command_line(text), sandboxed=sandboxed)


def _stages(
    lines: tuple[Pipeline, ...],
    *,
    sandboxed: bool,
    away: bool = False,
    errors: StderrMode = StderrMode.KEPT,
) -> tuple[ReadOnlyStage, ...]:
    """Judges pipelines one after the other; those in a subshell have its stderr.

    `away` means that an earlier `cd` may have left the workspace.
    """
    admitted: list[ReadOnlyStage] = []
    for line in lines:
        work = _work(line, sandboxed=sandboxed, away=away, errors=errors)
        away = away or (isinstance(work, ChangeFolder) and may_leave_workspace(work.folder))
        admitted.append(ReadOnlyStage(line.joint, work))
    return tuple(admitted)


def read_only_command(
    command: ParsedCommand, *, sandboxed: bool, away: bool = False
) -> ReadOnlyCommand:
    """Checks one command against its table; `away` if it may run outside the workspace."""
    top = REGISTRY.get(command.name)
    if top is None:
        raise Refused(unlisted_command_reason(command.name))
    spec, before, after = find_subcommand(top, tuple(map(stand_in, command.words[1:])))
    _prove_once(spec)
    arguments = parse_arguments(spec, after)
    _check_variables(command, arguments, prints=spec.prints)
    given = () if command.input is None else (_checked_input(command.input),)
    check_special_paths((*_opened(spec, arguments), *given), away=away)
    if not sandboxed:
        _narrow(spec, arguments)
        _narrow_variables(command)
    adds = spec.adds if arguments.options or not spec.adds_to_options else ()
    if spec.script:
        adds = ("-c", spec.script, SHELL)
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
                f"`{word.text}` is the file system root; give `{spec.name}` a folder in it."
            )


def _checked_input(word: ShellWord) -> ShellWord:
    """Returns the name of a file that is a command's stdin, by the text alone."""
    if word.pieces and not _begins_path(word):
        raise Refused(f"`< {word.text}`: a variable can only begin the name of a file.")
    return stand_in(word)


def _work(line: Pipeline, *, sandboxed: bool, away: bool, errors: StderrMode) -> ReadOnlyWork:
    first = line.commands[0]
    plain = [each for each in line.commands if isinstance(each, ParsedCommand)]
    if len(line.commands) > 1 and any(each.name == CD for each in plain):
        raise Refused("`cd` in a pipe has no effect; write `cd DIR && ...`.")
    judged = [_with_errors(each, errors) for each in plain]
    if plain[:1] and plain[0].name == CD:
        return _change_folder(judged[0], away=away, sandboxed=sandboxed)
    commands = tuple(read_only_command(each, sandboxed=sandboxed, away=away) for each in judged)
    if not isinstance(first, Subshell):
        return commands
    own = errors if first.errors is StderrMode.KEPT else first.errors
    inner = _stages(first.pipelines, sandboxed=sandboxed, away=away, errors=own)
    return ReadOnlySubshell(inner, commands)


def _with_errors(command: ParsedCommand, errors: StderrMode) -> ParsedCommand:
    if errors is StderrMode.KEPT or command.errors is not StderrMode.KEPT:
        return command
    return ParsedCommand(command.words, errors, command.input)


def _change_folder(command: ParsedCommand, *, away: bool, sandboxed: bool) -> ChangeFolder:
    words = tuple(map(stand_in, command.words[1:]))
    if len(words) != 1 or words[0].pattern or not words[0].text or words[0].text.startswith("-"):
        raise Refused("`cd` needs exactly one folder, without wildcards: `cd DIR && ...`.")
    if command.words[1].pieces and not _begins_path(command.words[1]):
        raise Refused(f"`cd {command.words[1].text}`: a variable can only begin a path.")
    if command.input is not None:
        raise Refused(f"`< {command.input.text}`: `cd` reads nothing; leave it out.")
    if is_filesystem_root(words[0].text):
        raise SpecialFileRefused(
            f"`cd {words[0].text}` goes to the file system root; name a folder in it."
        )
    check_special_paths(words, away=away)
    if not sandboxed:
        _narrow_variables(command)
    return ChangeFolder(command.words[1], command.errors)


def _narrow_variables(command: ParsedCommand) -> None:
    """Refuses `$HOME` without a sandbox: each program has an empty home of its own there."""
    for word in (*command.words, *filter(None, (command.input,))):
        if "HOME" in word.variables:
            raise without_sandbox(f"`{word.text}`: without a sandbox there is no home folder.")


def _narrow(spec: ReadOnlyCommandSpec, arguments: ParsedArguments) -> None:
    if spec.obeys:
        raise without_sandbox(
            f"`{spec.name}` obeys configuration in the repository, so it needs a sandbox; run "
            "`assent doctor` to see how to set one up."
        )
    if arguments.has(*spec.confined_unless):
        return
    for name in spec.confined:
        if arguments.has(name):
            raise without_sandbox(
                f"`{spec.name} {name}` can read more than the command names, so it needs a sandbox."
            )


def check_spec_examples(spec: ReadOnlyCommandSpec) -> None:
    """Raises Refused unless a table has examples of both kinds and is right about each."""
    if not spec.refused or (spec.alone and not spec.runs):
        raise Refused(f"The option table of `{spec.name}` has no examples, so it cannot be used.")
    for example in spec.runs:
        if not _holds(spec, example):
            raise Refused(f"The option table of `{spec.name}` is wrong: it refuses `{example}`.")
    for example in spec.refused:
        if _holds(spec, example):
            raise Refused(f"The option table of `{spec.name}` is wrong: it allows `{example}`.")


def _holds(spec: ReadOnlyCommandSpec, example: str) -> bool:
    """Tells whether an example of a table passes it; one that leads to another table does not."""
    words = tuple(map(stand_in, simple_commands(parse_command_line(example))[0].words))
    try:
        found, _, after = find_subcommand(REGISTRY.get(words[0].text, spec), words[1:])
        parse_arguments(spec, after)
    except Refused:
        return False
    return found.name == spec.name


_prove_once = cache(check_spec_examples)  # a table that lies raises each time, so it never counts


# The files that a read-only command line would open, by its text alone.


OUTSIDE_PREFIXES = ("/", "~", "..")


def files_read_by(text: str) -> tuple[str, ...]:
    """Returns the files that a command line names, relative to where it starts.

    A folder that it enters is included if it may be outside the workspace.

    Raises Refused unless every command in it is read-only.
    """
    return tuple(normpath(name) for name in _files_of(read_only_stages(text), ""))


def _files_of(stages: tuple[ReadOnlyStage, ...], folder: str) -> list[str]:
    found: list[str] = []
    for stage in stages:
        match stage.work:
            case ChangeFolder() as change:
                folder = _seen_from(folder, stand_in(change.word))
                found += [folder] if normpath(folder).startswith(OUTSIDE_PREFIXES) else []
            case ReadOnlySubshell(inner, readers):
                found += [*_files_of(inner, folder), *_named_in(folder, readers)]
            case commands:
                found += _named_in(folder, commands)
                found += [folder or "." for each in commands[:1] if _looks_around(each)]
    return found


def _named_in(folder: str, commands: Iterable[ReadOnlyCommand]) -> Iterator[str]:
    for each in commands:
        yield from (_seen_from(folder, word) for word in each.reads)
        if each.command.name == "git":  # it also looks for names in a commit: `HEAD:.env`
            names = [word.text.rpartition(":")[2] for word in each.words if ":" in word.text]
            yield from (join(folder, name) for name in names)
        if each.input is not None:
            yield _seen_from(folder, stand_in(each.input))


def _seen_from(folder: str, word: ShellWord) -> str:
    """Returns a path relative to where the line starts; a home folder is the same everywhere."""
    return word.text if "HOME" in word.variables else join(folder, word.text)


def _looks_around(reading: ReadOnlyCommand) -> bool:
    """Tells whether a command that names no file goes through those of the folder it is in."""
    return not reading.reads and (reading.descends or reading.command.name == "git")
