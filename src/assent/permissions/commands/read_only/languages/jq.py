"""jq: its options with two values, and a program that reads nothing but what it is given."""

import re

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.spec import OptionSpec, ParsedArguments

FLAGS = OptionSpec.of(
    "aCcehjMnRrsSVbf --ascii-output --binary --build-configuration --color-output --compact-output "
    "--exit-status --from-file --help --join-output --monochrome-output --null-input --raw-input "
    "--raw-output --raw-output0 --seq --slurp --sort-keys --stream --stream-errors --tab "
    "--unbuffered --version --args --jsonargs"
).flags
VALUES = {"--indent": 1, "--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2}
_LOADS = re.compile(r"\s*(#|(module|import|include)\b)|[\s\S]*\bmodulemeta\b")


def read_jq(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Sorts out the words of a jq command, or raises Refused."""
    options: list[tuple[str, str]] = []
    operands: list[ShellWord] = []
    files: list[ShellWord] = []
    left = list(reversed(words))
    while left:
        word = left.pop()
        text = word.text
        if text == "--":
            operands += reversed(left)
            break
        if text in VALUES:
            values = [_value(text, left) for _ in range(VALUES[text])]
            options.append((text, values[0].text))
            files += values[1:] if text.endswith("file") else []
        elif text.startswith("-") and text != "-":
            options += [(name, "") for name in _flags(word)]
        else:
            operands.append(word)
    return _with_program(tuple(options), tuple(operands), tuple(files))


def _value(name: str, left: list[ShellWord]) -> ShellWord:
    if not left or left[-1].pattern:
        raise Refused(f"`jq {name}` needs {VALUES[name]} values, without wildcards.")
    return left.pop()


def _flags(word: ShellWord) -> list[str]:
    names = [word.text] if word.text.startswith("--") else [f"-{char}" for char in word.text[1:]]
    for name in names:
        if name not in FLAGS or word.pattern:
            raise Refused(f"`jq {name}` is not among the options that only read.")
    return names


def _with_program(
    options: tuple[tuple[str, str], ...],
    operands: tuple[ShellWord, ...],
    files: tuple[ShellWord, ...],
) -> ParsedArguments:
    found = ParsedArguments(options, operands, files)
    if any(word.pattern for word in operands[:1]):
        raise Refused(f"`{operands[0].text}` has a wildcard that is not quoted; put it in quotes.")
    if found.has("-f", "--from-file"):
        return ParsedArguments(options, operands, (*files, *operands))
    if any(_LOADS.match(word.text) for word in operands[:1]):
        raise Refused("A jq program may not begin with a comment, or load others.")
    return ParsedArguments(options, operands, (*files, *operands[1:]))
