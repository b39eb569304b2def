"""Lines: reads a command line of a session that builds, for its rules, questions and risks."""

from posixpath import basename
from typing import Final

import msgspec

from assent.core.permission.command_analysis import CommandAnalysis
from assent.gate.shell.always import patterns
from assent.gate.shell.arities import without_globals
from assent.gate.shell.dangers import Ground, danger_of
from assent.gate.shell.openers import opened
from assent.gate.shell.reading import reading
from assent.gate.shell.risks import effects_of, risk_of, runs_code
from assent.gate.shell.simple import Found, Simple, Word
from assent.gate.shell.spread import LONGEST, spread
from assent.gate.shell.writers import (
    NOTHING,
    doubtful_writes,
    named,
    ordered,
    perhaps_written,
    written,
)

LONG: Final = (
    f"It is longer than {LONGEST} characters, so that nobody can look through it; write a script "
    "file and run that."
)
DEEP: Final = "It is nested too deeply to be judged."


def read_line(text: str, *, root: str = "", home: str = "") -> CommandAnalysis:
    """Looks at the text of a line and never raises; what it cannot tell is not certain."""
    if len(text) > LONGEST:
        return CommandAnalysis((text,), certain=False, danger=LONG, risk="high", reasons=(LONG,))
    try:
        return reading(text) or _read(text, Ground(root, home))
    except Exception as error:  # law 9: what cannot be judged is not certain
        deep = isinstance(error, RecursionError)
        reason = DEEP if deep else f"It could not be judged: {type(error).__name__}."
        names = named(text)
        orders = ordered(names, NOTHING, root)
        return CommandAnalysis(
            (text,), certain=False, risk="high", reasons=(reason,), names=names, perhaps=orders
        )


def _read(text: str, ground: Ground) -> CommandAnalysis:
    found = spread(text)
    writes = written(found)
    doubts = [*found.doubts, *(doubtful_writes(found) if writes else [])]
    found = msgspec.structs.replace(found, doubts=tuple(doubts))
    commands = _as_rules_see(found)
    danger = danger_of(text, found, ground)
    names = named(text, found)
    level, reasons = risk_of(found, writes, ground.root, names)
    certain = bool(commands) and not found.doubts
    lasting = certain and not danger and not found.nested
    return CommandAnalysis(
        commands or (text,),
        certain=certain,
        opens=opened(found, text),
        writes=writes,
        names=names,
        code=runs_code(found),
        danger=danger,
        risk="high" if danger or not certain else level,
        reasons=(danger,) if danger else reasons,
        perhaps=(*perhaps_written(found), *ordered(names, found, ground.root)),
        effects=effects_of(found),
        always=patterns(commands, exactly=level == "high" or _by_path(found)) if lasting else (),
    )


def _by_path(found: Found) -> bool:
    """Tells whether a program is named by its path: what it is called says nothing about it."""
    return any("/" in command.words[0].text for command in found.commands if command.words)


def _as_rules_see(found: Found) -> tuple[str, ...]:
    """Returns each command as it stands, and once more in the form that rules are written for."""
    texts = [text for each in found.commands if each.text.strip() for text in _forms(each)]
    return tuple(dict.fromkeys(texts))


def _forms(command: Simple) -> list[str]:
    bare = (Word(basename(command.words[0].text) or "/"), *without_globals(command)[1:])
    return [command.text, Simple(bare).text]
