"""The spec of a read-only command: options, operands and examples, and how they are parsed."""

import re
from collections.abc import Callable, Mapping
from typing import Self

import msgspec

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord

UNLIMITED = 1_000_000


class ParsedArguments(msgspec.Struct, frozen=True):
    """The words after a command's name, parsed. An option without a value has an empty one."""

    options: tuple[tuple[str, str], ...] = ()
    operands: tuple[ShellWord, ...] = ()
    reads: tuple[ShellWord, ...] = ()  # those words, or values of options, that name files to read

    def has(self, *names: str) -> bool:
        """Tells whether one of these options was given."""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.options if name in names]


class OptionSpec(msgspec.Struct, frozen=True):
    """The options that a command may have, by exact name.

    Written compactly: `flags` take no value, `values` need one, `files` need the name of a file
    that is read, `maybe` may have one attached (`-U3`, `--color=never`). A short option is one
    character; a long one is written with its dashes. Anything else is refused.
    """

    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()
    number: bool = False  # -5 means a count

    @classmethod
    def of(
        cls,
        flags: str = "",
        values: str = "",
        files: str = "",
        maybe: str = "",
        *,
        number: bool = False,
    ) -> Self:
        """Reads the compact form: `la1 --all --color` is -l, -a, -1, --all, --color."""
        return cls(_names(flags), _names(values), _names(files), _names(maybe), number=number)

    def __or__(self, other: "OptionSpec") -> "OptionSpec":
        return OptionSpec(
            self.flags | other.flags,
            self.values | other.values,
            self.files | other.files,
            self.maybe | other.maybe,
            number=self.number or other.number,
        )


class OperandSpec(msgspec.Struct, frozen=True):
    """The arguments that are not options: first some texts (a pattern, a script), then files."""

    texts: int = 0
    least: int = 0
    most: int = UNLIMITED
    files: bool = True  # those after the texts name files; wildcards are allowed there
    texts_unless: tuple[str, ...] = ()  # with one of these options there is no text: -e, -f


class ReadOnlyCommandSpec(msgspec.Struct, frozen=True, eq=False):
    """One command that may run in plan mode.

    `runs` and `refused` are examples that the table is checked with when it is first used.
    """

    name: str  # in full: `git stash list`
    options: OptionSpec = OptionSpec()
    operands: OperandSpec = OperandSpec()
    runs: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    rule: Callable[[ParsedArguments], None] | None = (
        None  # what the table cannot say; raises Refused
    )
    raw: Callable[[tuple[ShellWord, ...]], ParsedArguments] | None = (
        None  # instead of the usual options
    )
    programs: tuple[str, ...] = ()  # other names of the program
    script: str = ""  # of a shell builtin: what `sh` is given to run, with the words after it
    adds: tuple[str, ...] = ()  # arguments put in front, so that configuration does not count
    adds_to_options: bool = False  # only where there are options: alone it would show another thing
    environment: Mapping[str, str] = {}
    own: bool = False  # looked up in the user's PATH: theirs is the one that is meant
    obeys: bool = False  # does what files of the repository say; never without a sandbox
    confined: tuple[str, ...] = ()  # options that need a sandbox: they follow symlinks, or so
    confined_unless: tuple[str, ...] = ()  # with one of these they do not, or show none of it
    stays: bool = False  # even with them, it opens only the files it is given
    prints: bool = False  # prints or compares its words, whatever they are
    opens: bool = True  # shows what is in files, not only their names
    descends: tuple[str, ...] = ()  # options with which it opens every file in a folder
    always_descends: bool = False
    follows: bool = False  # goes through symlinks in a folder that it descends into
    children: Mapping[
        str, "ReadOnlyCommandSpec"
    ] = {}  # sub-commands; options in front of one are this table's
    alone: bool = True  # only reads without a sub-command too


def words_in(names: str) -> frozenset[str]:
    """Returns the names in a text, separated by spaces."""
    return frozenset(names.split())


def _names(compact: str) -> frozenset[str]:
    found: set[str] = set()
    for part in compact.split():
        found |= {part} if part.startswith("--") else {f"-{letter}" for letter in part}
    return frozenset(found)


# Parses the arguments of a command by its table of options; what the table lacks is refused.


_COUNT = re.compile(r"-\d+")
SUGGESTED = 4
_NEGATIVE = re.compile(r"-\d+(\.\d+)?")


def parse_arguments(spec: ReadOnlyCommandSpec, words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Parses a command's arguments; raises Refused, naming the word that is not allowed."""
    if spec.raw is not None:
        found = spec.raw(words)
    else:
        found = _ArgumentParser(spec.name, spec.options, words).run()
        found = _with_operands(spec.name, spec.operands, found)
    if spec.rule is not None:
        spec.rule(found)
    return found


def find_subcommand(
    spec: ReadOnlyCommandSpec, words: tuple[ShellWord, ...]
) -> tuple[ReadOnlyCommandSpec, tuple[ShellWord, ...], tuple[ShellWord, ...]]:
    """Finds the subcommand: its table, the words up to it, and the words after it."""
    at = 0
    while spec.children:
        place = at + _ArgumentParser(spec.name, spec.options, words[at:]).leading()
        if place == len(words):
            _check_alone(spec)
            break
        child = spec.children.get(words[place].text)
        if child is None and not spec.operands.most:
            raise Refused(_unknown(spec, words[place].text))
        if child is None:
            break
        spec, at = child, place + 1
    return spec, words[:at], words[at:]


def _check_alone(spec: ReadOnlyCommandSpec) -> None:
    if not spec.alone:
        names = ", ".join(f"`{child.name}`" for child in spec.children.values())
        raise Refused(f"`{spec.name}` without a subcommand is not read-only; use one of {names}.")


def _unknown(spec: ReadOnlyCommandSpec, name: str) -> str:
    """Says that a sub-command is not among those that only read, and which ones are."""
    others = [f"`{child.name}`" for child in spec.children.values()][:SUGGESTED]
    return (
        f"`{spec.name} {name}` is not in the list of read-only commands; use one that is, such "
        f"as {', '.join(others)}."
    )


class _ArgumentParser:
    """Goes through the words as getopt does: options anywhere before `--`."""

    def __init__(self, name: str, options: OptionSpec, words: tuple[ShellWord, ...]) -> None:
        self._name = name
        self._options = options
        self._words = list(reversed(words))
        self._found: list[tuple[str, str]] = []
        self._operands: list[ShellWord] = []
        self._reads: list[ShellWord] = []

    def leading(self) -> int:
        """Returns the number of words before the first operand, all of them options."""
        count = len(self._words)
        while self._words:
            left, word = len(self._words), self._words.pop()
            if not word.text.startswith("-") or word.text in ("-", "--"):
                return count - left
            self._option(word)
        return count

    def run(self) -> ParsedArguments:
        while self._words:
            word = self._words.pop()
            if word.text == "--" and not word.pattern:
                self._operands += reversed(self._words)
                break
            if not word.text.startswith("-") or word.text == "-":
                self._operands.append(word)
            else:
                self._option(word)
        return ParsedArguments(tuple(self._found), tuple(self._operands), tuple(self._reads))

    def _option(self, word: ShellWord) -> None:
        # `--include=*.py` rarely names files; if it does, they are operands and judged again.
        if word.pattern and word.text.partition("=")[0] not in self._options.values:
            raise Refused(f"`{word.text}` is an option with a wildcard; quote it.")
        if word.text.startswith("--"):
            self._long(word.text)
        else:
            self._short(word.text)

    def _long(self, text: str) -> None:
        name, sign, value = text.partition("=")
        takes = self._options.values | self._options.files | self._options.maybe
        if sign and name in takes:
            self._note(name, value)
        elif not sign and name in self._options.flags | self._options.maybe:
            self._found.append((name, ""))
        elif not sign and name in takes:
            self._note(name, self._following(name))
        else:
            raise self._unlisted(name)

    def _short(self, text: str) -> None:
        if self._options.number and _COUNT.fullmatch(text):
            self._found.append(("-", text[1:]))
            return
        for at in range(1, len(text)):
            name, rest = f"-{text[at]}", text[at + 1 :]
            if name in self._options.flags:
                self._found.append((name, ""))
            elif name in self._options.maybe:
                self._note(name, rest)
                return
            elif name in self._options.values | self._options.files:
                self._note(name, rest or self._following(name))
                return
            else:
                where = "" if text == name else f" in `{text}`"
                raise self._unlisted(name, where)

    def _unlisted(self, name: str, where: str = "") -> Refused:
        option = f"`{self._name} {name}`{where}"
        return Refused(f"{option} is not in the list of read-only options; leave it out.")

    def _following(self, name: str) -> str:
        """Returns the next word as a value. One that looks like an option may well be one."""
        if not self._words:
            raise Refused(f"`{self._name} {name}` needs a value.")
        word = self._words.pop()
        if word.pattern:
            raise Refused(f"`{word.text}`: the value of `{name}` has a wildcard; quote it.")
        if word.text.startswith("-") and word.text != "-" and not _NEGATIVE.fullmatch(word.text):
            form = f"{name}=" if name.startswith("--") else name
            raise Refused(
                f"`{name} {word.text}`: write a value that starts with a dash as `{form}VALUE`."
            )
        return word.text

    def _note(self, name: str, value: str) -> None:
        self._found.append((name, value))
        if name in self._options.files:
            self._reads.append(ShellWord(value))


def _with_operands(name: str, rules: OperandSpec, found: ParsedArguments) -> ParsedArguments:
    """Checks number and kind of the operands, and adds the files among them to what is read."""
    texts = 0 if found.has(*rules.texts_unless) else rules.texts
    count = len(found.operands)
    if count < rules.least and count < texts:
        raise Refused(f"`{name}` needs another argument.")
    if count > rules.most:
        raise Refused(
            f"`{found.operands[rules.most].text}` is one argument too many: `{name}` "
            "would write to it or fail."
        )
    for place, word in enumerate(found.operands):
        counted = place < texts or rules.most < count + 2 or not rules.files
        if word.pattern and counted:
            raise Refused(f"`{word.text}` has an unquoted wildcard; put it in quotes.")
    files = found.operands[texts:] if rules.files else ()
    return ParsedArguments(found.options, found.operands, (*found.reads, *files))
