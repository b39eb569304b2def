"""Program specs: what a row of the table of programs can say about a program."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.permission.command_analysis import CommandEffectKind
from assent.core.session.event import RiskLevel

ProgramKind: TypeAlias = Literal[
    "shell",
    "foreign_shell",  # reads words in another way than bash
    "interpreter",  # runs code: of its words, of a file, or of its input
    "agent",
    "other_agent",  # its name is that of other programs, too
    "downloads",
    "sends",  # files named in its arguments go to another machine
    "harmless",  # changes nothing but the shell that runs it
    "opaque",  # runs something that its words do not tell
    "runs_input",  # what it reads can contain its own commands
    "package_runner",  # gets a package, and runs the program in it
    "exact",  # no beginning of its words says what it would do
    "versioned",  # is installed under names with a version at the end
    "no_files",  # no word of it is a file that it reads
    "copies",  # its last word is written, or a folder that is written to
    "scripted",  # its first word is an expression, unless an option names it
    "coded",  # its words are code, or have code in them
    "one_dash",  # its options are words after one dash, so that letters are not bundled
    "bare_options",  # its first word is a bundle of options, also without a dash
]
WriteRule: TypeAlias = Literal[
    "", "all", "last", "in_place", "of",
    # The next ones count only words that are neither options nor their values.
    "operands", "first", "second", "later", "final", "settings",
]  # fmt: skip
ReachRule: TypeAlias = Literal["", "folders", "moved", "searched", "tracked"]
DangerTest: TypeAlias = Literal[
    "always", "deletes_root", "searches_root", "takes_over", "device", "kills_all",
    "stops_machine", "runs_download", "sends_secret", "starts", "is_agent", "runs_assent",
    "runs_agent",
]  # fmt: skip


class Use(msgspec.Struct, frozen=True):
    """One way to use a program: which words tell it, what it does then, and how bad that is."""

    effects: tuple[CommandEffectKind, ...] = ()
    reason: str = ""  # none: the general one of its effects, where no other use tells them
    level: RiskLevel = "high"
    begins: str = ""  # how its words begin, as a regular expression
    then: str = ""  # what some later word is, as a regular expression
    words: frozenset[str] = frozenset()  # one of them stands anywhere
    alone: bool = False  # or there is no word at all

    def fits(self, words: Sequence[str], text: str) -> bool:
        """Tells whether this is how a program is used; `text` has a space before each word."""
        if self.words or self.alone:
            return not self.words.isdisjoint(words) or (self.alone and not words)
        later = rf"(?:\s.*)?\s(?:{self.then})" if self.then else ""
        first = rf"\s(?:{self.begins})" if self.begins else ""
        return re.match(rf"{first}{later}(?=\s|$)", text, re.DOTALL) is not None


class WrapperSpec(msgspec.Struct, frozen=True):
    """The options before the inner command; an unlisted one makes the command uncertain."""

    values: frozenset[str] = frozenset()  # options with a value
    flags: frozenset[str] = frozenset()  # options without one; `-#` is any number
    optional: frozenset[str] = frozenset()  # options whose value follows `=`, if at all
    operands: int = 0
    sets: bool = False  # NAME=VALUE may stand before the command
    silent: frozenset[str] = frozenset()  # with these it runs nothing

    def size(self, text: str) -> int:
        """Returns how many words an option takes, with its value; 0 if it is unknown."""
        name, sign, _ = text.partition("=")
        known = self.values | self.optional
        if text in self.values:
            return 2
        if text in self.flags | self.optional or (sign and name.startswith("--") and name in known):
            return 1
        if "-#" in self.flags and re.fullmatch(r"--?\d+", text):
            return 1
        return 0 if text.startswith("--") else self._cluster(text)

    def _cluster(self, text: str) -> int:
        if text[:2] in self.values:
            return 1
        before, last = text[1:-1], text[-1]
        if not all(f"-{letter}" in self.flags for letter in before):
            return 0
        return 1 if f"-{last}" in self.flags else 2 * (f"-{last}" in self.values)


class FileUse(msgspec.Struct, frozen=True, kw_only=True):
    """Which words of a command are what it writes, in one way to use its program."""

    verb: str = ""  # how its words that are no options begin
    when: tuple[str, ...] = ()  # one of these options is given
    unless: tuple[str, ...] = ()  # none of these is
    writes: WriteRule = ""  # words that are files that it writes
    below: WriteRule = ""  # words that are files, or folders that it writes to
    output: tuple[str, ...] = ()  # options that name a file that it writes
    into: tuple[str, ...] = ()  # options that name a folder that it writes to
    values: frozenset[str] = frozenset()  # other options with a value


class Danger(msgspec.Struct, frozen=True):
    """What about a program is refused in every mode, and why (F91)."""

    test: DangerTest
    reason: str


class ProgramSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a program; of one that is in no row, nothing is."""

    kinds: frozenset[ProgramKind] = frozenset()
    uses: tuple[Use, ...] = ()
    dangers: tuple[Danger, ...] = ()
    depth: int = 1  # how many words say what is done, with its name
    deep: frozenset[str] = frozenset()  # second words after which a third one says it
    before: frozenset[str] = frozenset()  # options with a value that stand before the second word
    leading: bool = False  # options may stand before the second word
    runs: WrapperSpec | None = None  # the words that follow are a command
    runs_by: Mapping[str, WrapperSpec] = {}  # the same, after one of these second words
    hidden_by: frozenset[str] = frozenset()  # second words with which it runs what is not told
    exact_by: frozenset[str] = frozenset()  # second words of which the kind `exact` holds
    files: tuple[FileUse, ...] = ()  # which of its words are what it writes
    reaches: ReachRule = ""  # what else it writes if a name is a folder

    @property
    def exact(self) -> bool:
        """Whether only its very words say what it does, so that no prefix can be allowed."""
        code = not self.kinds.isdisjoint(("exact", "opaque", "interpreter", "package_runner"))
        return code or self.runs is not None


UNKNOWN: Final = ProgramSpec()
Row: TypeAlias = tuple[str, ProgramSpec]
