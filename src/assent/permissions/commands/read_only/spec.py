"""The spec of a read-only command: the options it may have, its operands, and examples."""

from collections.abc import Callable, Mapping
from typing import Self

import msgspec

from assent.core.shell.parser import ShellWord

UNLIMITED = 1_000_000


class ParsedArguments(msgspec.Struct, frozen=True):
    """The words after a command's name, sorted out. An option without a value has an empty one."""

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
    """What stands beside the options: first some texts (a pattern, a script), then files."""

    texts: int = 0
    least: int = 0
    most: int = UNLIMITED
    files: bool = True  # those after the texts name files; wildcards are allowed there
    texts_unless: tuple[str, ...] = ()  # with one of these options there is no text: -e, -f


class ReadOnlyCommandSpec(msgspec.Struct, frozen=True, eq=False):
    """One command that may run while planning.

    `runs` and `refused` are examples that prove the table when it is first used.
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
    adds: tuple[str, ...] = ()  # arguments put in front, so that configuration does not count
    adds_to_options: bool = False  # only where there are options: alone it would show another thing
    environment: Mapping[str, str] = {}
    own: bool = False  # looked for as the person's PATH says: theirs is the one that is meant
    obeys: bool = False  # does what files of the repository say; never without a sandbox
    confined: tuple[str, ...] = ()  # options that need a sandbox: they follow symlinks, or so
    confined_unless: tuple[str, ...] = ()  # with one of these they do not, or show nothing of it
    stays: bool = False  # with them, too, it opens no files but those it is told
    opens: bool = True  # shows what is in files, not only their names
    descends: tuple[str, ...] = ()  # options with which it opens every file in a folder
    always_descends: bool = False
    follows: bool = False  # goes through symlinks in a folder that it descends into
    children: Mapping[
        str, "ReadOnlyCommandSpec"
    ] = {}  # sub-commands; options in front of one are this table's
    alone: bool = True  # only reads without a sub-command too


def words_in(names: str) -> frozenset[str]:
    """Reads names with blanks between them."""
    return frozenset(names.split())


def _names(compact: str) -> frozenset[str]:
    found: set[str] = set()
    for part in compact.split():
        found |= {part} if part.startswith("--") else {f"-{letter}" for letter in part}
    return frozenset(found)
