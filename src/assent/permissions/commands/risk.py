"""Command risk: how much could go wrong with a line, and why, by tables of programs (F90)."""

import re
from collections.abc import Callable, Iterator
from posixpath import normpath
from typing import Final, TypeAlias

from assent.core.permission.command_analysis import CommandEffectKind, sorted_effects
from assent.core.permission.sensitive_paths import protecting_pattern, secret_reason
from assent.core.session.event import RiskLevel
from assent.permissions.commands.effects import command_effects, command_uses, telling_words
from assent.permissions.commands.program_spec import ProgramKind
from assent.permissions.commands.read_only.classifier import only_reads
from assent.permissions.commands.simple_command import ParsedCommandLine, SimpleCommand
from assent.permissions.commands.targets import is_outside, is_protected, placed_target

RiskReason: TypeAlias = tuple[RiskLevel, str]

# The reason given for an effect if no use of the program has its own.
GENERAL_REASONS: Final[dict[CommandEffectKind, RiskReason]] = {
    "installs": ("high", "installs or runs third-party programs"),
    "network": ("high", "connects to another machine"),
    "deletes": ("high", "deletes files or discards changes"),
    "writes_outside": ("high", "changes system settings"),
}
_CODE: Final = re.compile(r"-\w*[ceEr]|--eval|--exec|-p|--print|-")


def command_risk(
    found: ParsedCommandLine,
    writes: tuple[str, ...],
    perhaps: tuple[str, ...] = (),
    root: str = "",
    names: tuple[str, ...] = (),
    effects: tuple[CommandEffectKind, ...] = (),
) -> tuple[RiskLevel, tuple[str, ...]]:
    """Returns the highest level of all commands, and every reason for it."""
    reasons: list[RiskReason] = [
        ("high", f"It cannot be fully checked: {doubt}.") for doubt in found.doubts
    ]
    looked_at = found.commands[:_LOOKED] if found.doubts else found.commands
    for command in looked_at:
        if command.words:
            reasons += _reasons(command)
    reasons += _hidden(found, effects)
    reasons += [("medium", f"It writes {path}.") for path in writes[:_NAMED]]
    if any(is_outside(path, root=root) for path in writes):
        reasons.append(("high", "It writes outside the workspace."))
    elif any(is_outside(path, root=root) for path in perhaps):
        reasons.append(("high", "It may write outside the workspace."))
    reasons += [("high", each) for each in _obeyed(writes, perhaps, names, root)][:_NAMED]
    told = {normpath(path) for path in writes}  # each written file is reported already
    reasons += [("high", _about(name)) for name in names if normpath(name) not in told]
    levels: list[RiskLevel] = ["low", *(level for level, _ in reasons)]
    level = max(levels, key=_ORDER.index)
    return level, tuple(dict.fromkeys(words for each, words in reasons if each == level))


def _hidden(found: ParsedCommandLine, effects: tuple[CommandEffectKind, ...]) -> list[RiskReason]:
    """Says what a line does that no single command of it is said to do."""
    commands = [telling_words(each) for each in found.commands if each.words]
    told = {effect for each in commands for effect in command_effects(each)}
    rest = [each for each in effects if each in GENERAL_REASONS and each not in told]
    return [(level, f"It {words}.") for level, words in (GENERAL_REASONS[each] for each in rest)]


def _about(name: str) -> str:
    path = name.encode("utf-8", "replace")
    row = protecting_pattern(path)
    because = (
        row.because if row is not None and not secret_reason(path) else ("it may contain secrets")
    )
    return f"It names {name}: {because}."


def _obeyed(
    writes: tuple[str, ...], perhaps: tuple[str, ...], names: tuple[str, ...], root: str
) -> Iterator[str]:
    """Says what other programs obey and is written, where neither its edit nor its name does."""
    told = {normpath(path) for path in names if path not in writes}
    told |= {path for path in writes if protecting_pattern(path.encode("utf-8", "replace"))}
    for verb, paths in (("writes", writes), ("may write", perhaps)):
        for path in (placed_target(each, "", root) for each in paths):
            if is_protected(path) and not any(f"{path}/".startswith(f"{each}/") for each in told):
                told.add(path.rstrip("/"))
                yield f"It {verb} {path}: other programs obey what is there."


def runs_code(found: ParsedCommandLine) -> bool:
    """Tells whether an interpreter runs code from the line or from a pipe."""
    told = [each for each in found.commands if not _is_shell(each) or not each.has("c")]
    return any(is_interpreter(each) and has_code(each) for each in told)


def _is_shell(command: SimpleCommand) -> bool:
    return "shell" in command.program.kinds


def is_interpreter(command: SimpleCommand) -> bool:
    """Tells whether a program is an interpreter, whatever the version in its name."""
    return "interpreter" in command.program.kinds


_NAMED: Final = 5
_LOOKED: Final = 10  # commands to check of a line whose level is known to be the highest
_ORDER: Final[tuple[RiskLevel, ...]] = ("low", "medium", "high")


def _reasons(command: SimpleCommand) -> list[RiskReason]:
    if _is_shell(command) and command.has("c"):
        return []  # what it runs is judged itself, or in doubt
    uses = command_uses(telling_words(command))
    own = [use for use in uses if use.reason]
    told = {effect for use in own for effect in use.effects}
    rest = sorted_effects({effect for use in uses for effect in use.effects} - told)
    others = [GENERAL_REASONS[each] for each in rest if each in GENERAL_REASONS]
    found = [*((use.level, use.reason) for use in own), *others]
    if found:
        return [(level, f"`{command.name}` {reason}.") for level, reason in found]
    kinds = command.program.kinds
    for kind, test, level, reason in _OTHERS:
        if kind in kinds and test(command):
            return [(level, f"`{command.name}` {reason}.")]
    if "harmless" in kinds or only_reads(command.words[0].text, command.arguments):
        return []
    return [("medium", f"The effects of `{command.name}` are unknown.")]


def has_code(command: SimpleCommand) -> bool:
    """Tells whether an interpreter's code is in its arguments, or comes from its input."""
    return not command.arguments or any(_CODE.fullmatch(word) for word in command.arguments)


def _any(command: SimpleCommand) -> bool:
    return True


_OTHERS: Final[tuple[tuple[ProgramKind, Callable[[SimpleCommand], bool], RiskLevel, str], ...]] = (
    ("interpreter", has_code, "high", "runs code from its arguments or a pipe"),
    ("interpreter", _any, "medium", "runs a program that can do anything"),
    ("agent", _any, "high", "starts another agent"),
    ("other_agent", _any, "high", "starts another agent"),
)
