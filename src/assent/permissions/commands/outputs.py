"""Outputs: which words of one command are what it writes, by the table of programs (F80).

The disk is not read, so what a name stands for is not known: a folder, a link, nothing yet. What
is written in any case is kept separate from what is written if a name is a folder.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from posixpath import basename, join
from typing import Final

import msgspec

from assent.permissions.commands.program_spec import FileUse, ReachRule, WriteRule
from assent.permissions.commands.programs import OUTPUT_VARIABLES, USUAL_OUTPUT
from assent.permissions.commands.read_only.classifier import only_reads
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import SimpleCommand, without_global_options

_TARGET_OPTIONS: Final = ("-t", "--target-directory")
_DELETES: Final = words_in("-delete -exec -execdir -ok -okdir -fprint -fprintf -fls")
_GIT: Final = words_in("checkout restore clean rm mv reset stash apply switch")
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*")
_DESCRIPTOR: Final = "-"  # its own output, where a file could be named


class GivenWords(msgspec.Struct, frozen=True):
    """The words of a command: its options, each with its value if it has one, and the others."""

    options: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]

    def values(self, names: Sequence[str]) -> list[str]:
        return [value for name, value in self.options if value and name in names]

    def has(self, names: Sequence[str]) -> bool:
        return any(name in names for name, _ in self.options)


class _OutputReader:
    """Reads words as most programs do: `--name=value`, `--na value`, `-xvalue`, `-abx value`."""

    def __init__(self, words: Sequence[str], valued: frozenset[str], known: frozenset[str]) -> None:
        self._left = list(words)
        self._valued = valued
        self._known = known | valued
        self._options: list[tuple[str, str]] = []
        self._operands: list[str] = []

    def read(self, *, one_dash: bool, bare: bool) -> GivenWords:
        if bare and self._left and not self._left[0].startswith("-"):
            for letter in self._left.pop(0):  # each takes its value from what follows, in order
                self._add(f"-{letter}")
        while self._left:
            word = self._left.pop(0)
            if word == "--":
                self._operands += self._left
                break
            if not word.startswith("-") or word == _DESCRIPTOR:
                self._operands.append(word)
            elif one_dash:
                self._single(word)
            elif word.startswith("--"):
                self._long(word)
            else:
                self._cluster(word)
        return GivenWords(tuple(self._options), tuple(self._operands))

    def _add(self, name: str) -> None:
        takes = name in self._valued and self._left
        self._options.append((name, self._left.pop(0) if takes else ""))

    def _long(self, word: str) -> None:
        name, sign, value = word.partition("=")
        meant = [each for each in self._known if each.startswith(name)]
        if name in self._known or not meant:
            self._options.append((name, value)) if sign else self._add(name)
            return
        # A beginning may stand for any of them, or for none: what follows is looked at both ways.
        then = value if sign else next(iter(self._left), "")
        self._options += [(each, then if each in self._valued else "") for each in meant]

    def _single(self, word: str) -> None:
        name, sign, value = word.partition("=")
        if name.startswith("--") and name not in self._known:
            name = name[1:]
        if sign and name in self._known:
            self._options.append((name, value))
        elif name in self._known or word[:2] not in self._valued:
            self._add(name)
        else:
            self._options.append((word[:2], word[2:]))

    def _cluster(self, word: str) -> None:
        for at, letter in enumerate(word[1:], 2):
            name = f"-{letter}"
            if name in self._valued and word[at:]:
                self._options.append((name, word[at:]))
                return
            self._add(name)


def _given(command: SimpleCommand, uses: Sequence[FileUse], words: Sequence[str]) -> GivenWords:
    valued = [{*use.output, *use.into, *use.values} for use in uses]
    asked = [{*use.when} for use in uses]
    reader = _OutputReader(words, frozenset().union(*valued), frozenset().union(*asked))
    kinds = command.program.kinds
    return reader.read(one_dash="one_dash" in kinds, bare="bare_options" in kinds)


def _used(command: SimpleCommand) -> Iterator[tuple[FileUse, GivenWords]]:
    """Yields how a command uses its program to write, and its words after the verb for that."""
    uses = command.program.files
    plain = [use for use in uses if not use.verb]
    if plain:
        given = _given(command, plain, command.arguments)
        yield from ((use, given) for use in plain if _fits(use, given))
    told = [word.text for word in without_global_options(command)[1:]]
    for use in uses:
        if use.verb and use.verb.split()[0] in told:
            given = _given(command, [use], told)
            rest = _after_verb(given.operands, use.verb, anywhere=not command.program.leading)
            if rest is not None and _fits(use, given):
                yield use, msgspec.structs.replace(given, operands=rest)


def _fits(use: FileUse, given: GivenWords) -> bool:
    return (not use.when or given.has(use.when)) and not given.has(use.unless)


def _after_verb(operands: tuple[str, ...], verb: str, *, anywhere: bool) -> tuple[str, ...] | None:
    """Returns the operands that follow a verb; unknown options may stand before it."""
    wanted = tuple(verb.split())
    shown = tuple(word for word in operands if not word.startswith("+"))  # `cargo +nightly new`
    for start in range(len(shown) if anywhere else 1):
        if shown[start : start + len(wanted)] == wanted:
            return shown[start + len(wanted) :]
    return None


_Chosen = Callable[[SimpleCommand, tuple[str, ...]], Sequence[str]]


def _none(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    return ()


def _all(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    return command.operands


def _last(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    options = command.arguments
    named = [then for first, then in pairwise(options) if first == "-t"]
    named += [w.partition("=")[2] for w in options if w.startswith("--target-directory=")]
    return named or command.operands[-1:]


def _in_place(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    """`sed -i`: every operand but the script, which `-e` or `-f` would have named."""
    if not command.has("i", "--in-place"):
        return ()
    scripted = command.has("ef", "--expression", "--file")
    return command.operands if scripted else command.operands[1:]


def _of(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    return [word[3:] for word in command.arguments if word.startswith("of=")]


def _operands(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    return operands


def _first(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    return operands[:1]


def _second(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    return operands[1:2]


def _later(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    return operands[1:]


def _final(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    return operands[-1:]


def _settings(command: SimpleCommand, operands: tuple[str, ...]) -> Sequence[str]:
    return [value for word in operands if (value := output_setting(word))]


_CHOSEN: Final[dict[WriteRule, _Chosen]] = {
    "": _none,
    "all": _all,
    "last": _last,
    "in_place": _in_place,
    "of": _of,
    "operands": _operands,
    "first": _first,
    "second": _second,
    "later": _later,
    "final": _final,
    "settings": _settings,
}


def output_setting(setting: str) -> str:
    """Returns the value of a `NAME=VALUE` that tells programs where to write; nothing if none."""
    name, _, value = setting.partition("=")
    return value.strip("'\"") if name in OUTPUT_VARIABLES else ""


def named_outputs(command: SimpleCommand) -> Iterator[str]:
    """Yields the files that a command names and writes."""
    for use, given in _used(command):
        yield from _CHOSEN[use.writes](command, given.operands)
        yield from _valued(command, use.output)
        yield from (path for path in given.values(use.output) if path != _DESCRIPTOR)
    yield from (path for inner in _module(command) for path in named_outputs(inner))


def possible_outputs(command: SimpleCommand) -> Iterator[str]:
    """Yields what a command may write but does not name; a final `/` means all in a folder."""
    yield from _REACHES[command.program.reaches](command)
    for use, given in _used(command):
        folders = [*_CHOSEN[use.below](command, given.operands)]
        if use.into and (command.name != "git" or _git_writes(command)):
            folders += [*_valued(command, use.into), *given.values(use.into)]
        yield from (f"{folder}/" for folder in folders)
    yield from (f"{value}/" for each in command.sets if (value := output_setting(each)))
    yield from _usual(command)
    yield from (path for inner in _module(command) for path in possible_outputs(inner))


def _module(command: SimpleCommand) -> list[SimpleCommand]:
    """Returns the command that `python -m MODULE` stands for, by the module's name."""
    words = command.arguments
    if not _PYTHON.fullmatch(command.name) or "-m" not in words[:-1]:
        return []
    return [SimpleCommand(command.words[words.index("-m") + 2 :])]


def _usual(command: SimpleCommand) -> list[str]:
    """Returns where most programs would write, of one of which the table does not know it."""
    if command.program.files:
        return []
    words = command.arguments
    pairs = [
        *pairwise(words),
        *((name, value) for name, _, value in (w.partition("=") for w in words)),
    ]
    found = [value for name, value in pairs if name in USUAL_OUTPUT and _is_place(value)]
    return found if found and not only_reads(command.words[0].text, words) else []


def _is_place(value: str) -> bool:
    return "/" in value or value.startswith(("~", "..", "$"))


def _git_writes(command: SimpleCommand) -> bool:
    changes = not _GIT.isdisjoint(command.operands)
    return changes or not only_reads(command.words[0].text, command.arguments)


def _valued(command: SimpleCommand, options: Sequence[str]) -> list[str]:
    """Returns the values of some options, wherever they stand: `-t DIR`, `-tDIR`, `--to=DIR`."""
    words = command.arguments
    whole = {name for use in command.program.files for name in (*use.output, *use.into)}
    found = [then for first, then in pairwise(words) if first in options]
    for word in words:
        name, sign, value = word.partition("=")
        short = word[:2] in options and name not in whole and word[:2] != "--" and word[2:]
        found += [value] if sign and name in options else [short] if short else []
    return found


def _nothing(command: SimpleCommand) -> list[str]:
    return []


def _all_as_folders(command: SimpleCommand) -> list[str]:
    return [f"{path}/" for path in command.operands]


def _moved(command: SimpleCommand) -> list[str]:
    """Names where each source would be, if the target is a folder, and the sources' folders."""
    into, sources = _valued(command, _TARGET_OPTIONS), list(command.operands)
    if into:
        sources = [path for path in sources if path not in into]
    else:
        into, sources = sources[-1:], sources[:-1]
    inside = [join(folder, basename(path.rstrip("/"))) for folder in into for path in sources]
    left = [f"{path}/" for path in sources] if command.name == "mv" else []
    return [*(f"{folder}/" for folder in into), *inside, *left]


def _searched(command: SimpleCommand) -> list[str]:
    words = command.arguments
    if not _DELETES & {*words}:
        return []
    starts = list(takewhile(lambda word: not word.startswith(("-", "(", "!")), words))
    names = [then for first, then in pairwise(words) if first in ("-name", "-path")]
    inside = [join(start, basename(name)) for start in starts for name in names]
    return [*(f"{start}/" for start in starts), *starts, *inside]


def _tracked(command: SimpleCommand) -> list[str]:
    plain = SimpleCommand(without_global_options(command))
    if not plain.operands or plain.operands[0] not in _GIT:
        return []
    named = [path for path in plain.operands[1:] if not path.startswith(":")]
    return [form for path in named for form in (path, f"{path}/")]


_REACHES: Final[dict[ReachRule, Callable[[SimpleCommand], list[str]]]] = {
    "": _nothing,
    "folders": _all_as_folders,
    "moved": _moved,
    "searched": _searched,
    "tracked": _tracked,
}
