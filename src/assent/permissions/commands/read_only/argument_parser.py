"""Parses the arguments of a command by its table of options; what the table lacks is refused."""

import re

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
)

_COUNT = re.compile(r"-\d+")
SUGGESTED = 4
_NEGATIVE = re.compile(r"-\d+(\.\d+)?")


def parse_arguments(spec: ReadOnlyCommandSpec, words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Returns a command's arguments, or raises Refused, naming the word that it may not have."""
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
    """Finds the sub-command: its table, the words up to it, and those that are its own."""
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
        raise Refused(f"`{spec.name}` alone does not only read; {names} does.")


def _unknown(spec: ReadOnlyCommandSpec, name: str) -> str:
    """Says that a sub-command is not among those that only read, and which ones are."""
    others = [f"`{child.name}`" for child in spec.children.values()][:SUGGESTED]
    return f"`{spec.name} {name}` is not among those that only read, such as {', '.join(others)}."


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
            raise Refused(f"`{word.text}`: an option with a wildcard in it; quote it.")
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
        return Refused(f"{option} is not among the options that only read; leave it out.")

    def _following(self, name: str) -> str:
        """Returns the next word as a value. One that looks like an option may well be one."""
        if not self._words:
            raise Refused(f"`{self._name} {name}` needs a value.")
        word = self._words.pop()
        if word.pattern:
            raise Refused(f"`{word.text}`: the value of `{name}` has a wildcard; quote it.")
        if word.text.startswith("-") and word.text != "-" and not _NEGATIVE.fullmatch(word.text):
            form = f"{name}=" if name.startswith("--") else name
            raise Refused(f"`{name} {word.text}`: write a value with a dash as `{form}VALUE`.")
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
        raise Refused(f"`{found.operands[rules.most].text}`: `{name}` would write to it, or fail.")
    for place, word in enumerate(found.operands):
        counted = place < texts or rules.most < count + 2 or not rules.files
        if word.pattern and counted:
            raise Refused(f"`{word.text}` has a wildcard that is not quoted; put it in quotes.")
    files = found.operands[texts:] if rules.files else ()
    return ParsedArguments(found.options, found.operands, (*found.reads, *files))
