"""Command risk: how much could go wrong with a line, and why, by tables of programs (F90)."""

import re
from collections.abc import Callable, Iterator, Sequence
from posixpath import normpath
from typing import Final, TypeAlias

from assent.core.permission.command_analysis import (
    CommandEffectKind,
    sorted_effects,
)
from assent.core.permission.sensitive_paths import protecting_pattern, secret_reason
from assent.core.session.event import RiskLevel
from assent.permissions.commands.programs import ProgramKind, Use, known_program
from assent.permissions.commands.read_only.classifier import classify_read_only
from assent.permissions.commands.simple_command import (
    ParsedCommandLine,
    SimpleCommand,
    without_global_options,
)

RiskReason: TypeAlias = tuple[RiskLevel, str]

# What is said of an effect where no use of the program has a reason of its own.
_WORDS: Final[dict[CommandEffectKind, RiskReason]] = {
    "installs": ("high", "installs or runs programs of others"),
    "network": ("high", "talks to another machine"),
    "deletes": ("medium", "deletes files or throws away changes"),
    "writes_outside": ("high", "changes the machine itself"),
}
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*")
_CODE: Final = re.compile(r"-\w*[ceEr]|--eval|--exec|-p|--print|-")


def line_effects(found: ParsedCommandLine) -> tuple[CommandEffectKind, ...]:
    """Returns what the commands of a line do."""
    commands = [each for each in found.commands if each.words]
    return sorted_effects(effect for each in commands for effect in command_effects(_words(each)))


def command_uses(command: Sequence[str]) -> list[Use]:
    """Returns how a command uses its program: the name without a folder, and its words."""
    program, *more = command[0].split() or [""]  # one with a blank in it passes for two words
    words = [*more, *command[1:]]
    found = list(_fitting(program, words))
    if _PYTHON.fullmatch(program) and "-m" in words[:-1]:
        module, *rest = words[words.index("-m") + 1 :]
        found += _fitting(module, rest)
    return found


def command_effects(command: Sequence[str]) -> frozenset[CommandEffectKind]:
    """Returns what one command does."""
    return frozenset(effect for use in command_uses(command) for effect in use.effects)


def installs_packages(command: Sequence[str]) -> bool:
    """Tells whether the words of a command say that it installs something."""
    return any("installs" in use.effects for use in command_uses(command) if not use.reason)


def _fitting(program: str, words: Sequence[str]) -> Iterator[Use]:
    text = "".join(f" {word[:_LONGEST]}" for word in words)
    return (use for use in known_program(program).uses if use.fits(words, text))


def command_risk(
    found: ParsedCommandLine, writes: tuple[str, ...], root: str = "", names: tuple[str, ...] = ()
) -> tuple[RiskLevel, tuple[str, ...]]:
    """Returns the highest level of all commands, and every reason for it."""
    reasons: list[RiskReason] = [("high", f"It is not certain: {doubt}.") for doubt in found.doubts]
    looked_at = found.commands[:_LOOKED] if found.doubts else found.commands
    for command in looked_at:
        if command.words:
            reasons += _reasons(command)
    reasons += [("medium", f"It writes {path}.") for path in writes[:_NAMED]]
    if _is_far(writes, root):
        reasons.append(("high", "It writes outside the workspace."))
    told = {normpath(path) for path in writes}  # whoever writes is told so of each file
    reasons += [("high", _about(name)) for name in names if normpath(name) not in told]
    levels: list[RiskLevel] = ["low", *(level for level, _ in reasons)]
    level = max(levels, key=_ORDER.index)
    return level, tuple(dict.fromkeys(words for each, words in reasons if each == level))


def _about(name: str) -> str:
    path = name.encode("utf-8", "replace")
    row = protecting_pattern(path)
    because = row.because if row is not None and not secret_reason(path) else "it may hold secrets"
    return f"It names {name}: {because}."


def _is_far(writes: tuple[str, ...], root: str) -> bool:
    """Tells whether a line writes outside the workspace, by the names of its files."""
    near = f"{root.rstrip('/')}/" if root.strip("/") else "\0"
    return any(path.startswith(("/", "~", "..")) and not path.startswith(near) for path in writes)


def runs_code(found: ParsedCommandLine) -> bool:
    """Tells whether an interpreter runs what stands in the line or comes by a pipe."""
    told = [each for each in found.commands if not _is_shell(each) or not each.has("c")]
    return any(is_interpreter(each) and has_code(each) for each in told)


def _is_shell(command: SimpleCommand) -> bool:
    return "shell" in command.program.kinds


def is_interpreter(command: SimpleCommand) -> bool:
    """Tells whether a program runs code, whatever the version in its name."""
    return "interpreter" in command.program.kinds


_NAMED: Final = 5
_LOOKED: Final = 10  # commands of a line whose level is known to be the highest
_LONGEST: Final = 100  # characters of a word that can tell something
_ORDER: Final[tuple[RiskLevel, ...]] = ("low", "medium", "high")


def _words(command: SimpleCommand) -> list[str]:
    return [command.name, *(word.text for word in without_global_options(command)[1:])]


def _reasons(command: SimpleCommand) -> list[RiskReason]:
    if _is_shell(command) and command.has("c"):
        return []  # what it runs is judged itself, or in doubt
    uses = command_uses(_words(command))
    own = [use for use in uses if use.reason]
    told = {effect for use in own for effect in use.effects}
    rest = sorted_effects({effect for use in uses for effect in use.effects} - told)
    others = [_WORDS[each] for each in rest if each in _WORDS]
    found = [*((use.level, use.reason) for use in own), *others]
    if found:
        return [(level, f"`{command.name}` {reason}.") for level, reason in found]
    kinds = command.program.kinds
    for kind, test, level, reason in _OTHERS:
        if kind in kinds and test(command):
            return [(level, f"`{command.name}` {reason}.")]
    if "harmless" in kinds or _only_reads(command):
        return []
    return [("medium", f"What `{command.name}` does is not known.")]


def has_code(command: SimpleCommand) -> bool:
    """Tells whether an interpreter's code stands in its words, or comes by its input."""
    return not command.arguments or any(_CODE.fullmatch(word) for word in command.arguments)


def _any(command: SimpleCommand) -> bool:
    return True


_OTHERS: Final[tuple[tuple[ProgramKind, Callable[[SimpleCommand], bool], RiskLevel, str], ...]] = (
    ("interpreter", has_code, "high", "runs code that stands in the line or comes by a pipe"),
    ("interpreter", _any, "medium", "runs a program that can do anything"),
    ("agent", _any, "high", "starts another agent"),
    ("other_agent", _any, "high", "starts another agent"),
)


def _only_reads(command: SimpleCommand) -> bool:
    name, *rest = (word.text for word in command.words)
    words = ["'" + word.replace("'", "'\"'\"'") + "'" for word in rest]
    return classify_read_only(" ".join([name, *words])).read_only
