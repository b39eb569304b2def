"""Classifies a command line outside plan mode, for rules, questions and risks."""

from posixpath import basename
from typing import Final

import msgspec

from assent.core.permission.command_analysis import CommandAnalysis
from assent.permissions.commands.arity import without_global_options
from assent.permissions.commands.denylist import ProtectedRoots, denylist_reason
from assent.permissions.commands.expansion import MAX_LINE, expand_command_line
from assent.permissions.commands.grant_patterns import command_patterns
from assent.permissions.commands.opened_files import opened_files
from assent.permissions.commands.read_only_line import read_only_line
from assent.permissions.commands.risk import command_risk, line_effects, runs_code
from assent.permissions.commands.simple_command import CommandWord, ParsedCommandLine, SimpleCommand
from assent.permissions.commands.written_files import (
    NO_COMMANDS,
    agent_config_named,
    possibly_written_files,
    sensitive_files_named,
    uncertain_writes,
    written_files,
)

TOO_LONG: Final = (
    f"It is longer than {MAX_LINE} characters, so that nobody can look through it; write a script "
    "file and run that."
)
TOO_DEEP: Final = "It is nested too deeply to be judged."


def classify_command_line(text: str, *, root: str = "", home: str = "") -> CommandAnalysis:
    """Looks at the text of a line and never raises; what it cannot tell is not certain."""
    if len(text) > MAX_LINE:
        return CommandAnalysis(
            (text,), certain=False, danger=TOO_LONG, risk="high", reasons=(TOO_LONG,)
        )
    try:
        return read_only_line(text) or _read(text, ProtectedRoots(root, home))
    except Exception as error:  # law 9: what cannot be judged is not certain
        deep = isinstance(error, RecursionError)
        reason = TOO_DEEP if deep else f"It could not be judged: {type(error).__name__}."
        names = sensitive_files_named(text)
        orders = agent_config_named(names, NO_COMMANDS, root)
        return CommandAnalysis(
            (text,), certain=False, risk="high", reasons=(reason,), names=names, perhaps=orders
        )


def _read(text: str, ground: ProtectedRoots) -> CommandAnalysis:
    found = expand_command_line(text)
    writes = written_files(found)
    doubts = [*found.doubts, *(uncertain_writes(found) if writes else [])]
    found = msgspec.structs.replace(found, doubts=tuple(doubts))
    commands = _as_rules_see(found)
    danger = denylist_reason(text, found, ground)
    names = sensitive_files_named(text, found)
    level, reasons = command_risk(found, writes, ground.root, names)
    certain = bool(commands) and not found.doubts
    lasting = certain and not danger and not found.nested
    return CommandAnalysis(
        commands or (text,),
        certain=certain,
        opens=opened_files(found, text),
        writes=writes,
        names=names,
        code=runs_code(found),
        danger=danger,
        risk="high" if danger or not certain else level,
        reasons=(danger,) if danger else reasons,
        perhaps=(*possibly_written_files(found), *agent_config_named(names, found, ground.root)),
        effects=line_effects(found),
        always=command_patterns(commands, exactly=level == "high" or _by_path(found))
        if lasting
        else (),
    )


def _by_path(found: ParsedCommandLine) -> bool:
    """Tells whether a program is named by its path: what it is called says nothing about it."""
    return any("/" in command.words[0].text for command in found.commands if command.words)


def _as_rules_see(found: ParsedCommandLine) -> tuple[str, ...]:
    """Returns each command as it stands, and once more in the form that rules are written for."""
    texts = [text for each in found.commands if each.text.strip() for text in _forms(each)]
    return tuple(dict.fromkeys(texts))


def _forms(command: SimpleCommand) -> list[str]:
    bare = (
        CommandWord(basename(command.words[0].text) or "/"),
        *without_global_options(command)[1:],
    )
    return [command.text, SimpleCommand(bare).text]
