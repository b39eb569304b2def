"""Rehearsals for people and programs: one sentence, the commands with who chose them, and JSON."""

from collections.abc import Iterator
from typing import Final

from assent.core.plan.rehearsal import ChosenBy, Rehearsal, RehearsedCommand
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line, untrusted_lines, wrapped_lines
from assent.render.rows import Row, path_fields

NOT_REHEARSED: Final = "Not rehearsed"
SHORT_COMMIT: Final = 6
LONG_S: Final = 10  # seconds from which tenths say nothing
# Why a command was ended, by the limit that it exceeded; other limits are named.
_CUT: Final = {"time": "timed out", "copy": "exceeded scratch.max_mb", "disk": "filled the disk"}
_CHOSEN_BY: Final[dict[ChosenBy, str]] = {
    "operation": "a command of the plan",
    "argument": "given by hand",
    "model": "chosen by the model",
    "plan": "chosen by the plan's text",
    "user": "from your configuration",
    "project": "from the project's configuration",
    "confirmed": "suggested by the project's files, confirmed by you",
}


def rehearsal_text(rehearsal: Rehearsal | None) -> str:
    """Returns one sentence: what was rehearsed on exactly these operations, and where."""
    if rehearsal is None:
        return NOT_REHEARSED
    place = _place(rehearsal)
    if not rehearsal.commands:
        by = _by(rehearsal)
        return f"Rehearsed without commands{by}: the operations can be applied{place}"
    failed = next((one for one in rehearsal.commands if one.exit), None)
    if failed is not None:
        name = "A rehearsal by the model" if rehearsal.by == "model" else "Rehearsal"
        return f"{name} failed: {_line(failed)} {_failure(failed)}{place}"
    ran = [one for one in rehearsal.commands if one.exit is not None]
    if rehearsal.is_partial:
        first = next(one for one in rehearsal.commands if one.exit is None)
        left = len(rehearsal.commands) - len(ran)
        noun = "command was" if left == 1 else "commands were"
        why = f" ({visible_line(first.not_run)})" if first.not_run else ""
        told = f"{left} {noun} not run, the first is {_line(first)}{why}"
        return f"Partly rehearsed{_by(rehearsal)}: {told}{place}"
    shown = [one for one in ran if one.is_verification] or ran
    names = ", ".join(map(_line, shown))
    seconds = _seconds(sum(one.seconds for one in shown))
    told = f"{names} passed in {seconds} s, on exactly these operations"
    return f"Rehearsed{_by(rehearsal)}: {told}{place}"


def rehearsal_lines(rehearsal: Rehearsal | None) -> Iterator[Line]:
    """Renders a rehearsal with every command, who chose it, and how it ended."""
    worry = rehearsal is not None and rehearsal.passed is False
    yield from wrapped_lines("risk" if worry else "plain", rehearsal_text(rehearsal))
    for command in rehearsal.commands if rehearsal else ():
        yield from wrapped_lines("plain", f"  {_line(command)}: {_outcome(command)}")
        if command.exit and command.output:
            yield from untrusted_lines(redact(command.output))


def rehearsal_row(rehearsal: Rehearsal | None) -> Row | None:
    """Returns a rehearsal as the object that `--json` prints."""
    if rehearsal is None:
        return None
    return {
        "digest": rehearsal.digest or None,
        "operations_hash": rehearsal.operations_hash,
        "passed": rehearsal.passed,
        "copy": rehearsal.copy,
        "by": rehearsal.by,
        "at": rehearsal.at,
        "commit": rehearsal.commit or None,
        "other_changed_files": rehearsal.others,
        "network": rehearsal.network,
        "commands": [_command_row(command) for command in rehearsal.commands],
    }


def _command_row(command: RehearsedCommand) -> Row:
    return {
        "line": redact(command.line),
        "source": command.source,
        "exit": command.exit,
        "seconds": round(command.seconds, 3),
        "output": redact(command.output),
        "changed": [path_fields("path", path) for path in command.changed],
        **({"not_run": command.not_run} if command.not_run else {}),
        **({"cut": command.cut} if command.cut else {}),
    }


def _outcome(command: RehearsedCommand) -> str:
    by = _CHOSEN_BY[command.source]
    if command.exit is None:
        return f"not run, {by}"
    ended = "passed" if not command.exit else f"exit code {command.exit}"
    if command.cut:
        ended = f"{_CUT.get(command.cut, f'stopped ({command.cut})')}, {ended}"
    return f"{ended} in {_seconds(command.seconds)} s, {by}"


def _failure(command: RehearsedCommand) -> str:
    """Says how a command failed."""
    if command.cut:
        return _CUT.get(command.cut, f"was stopped ({command.cut})")
    return f"ended with exit code {command.exit}"


def _by(rehearsal: Rehearsal) -> str:
    return " by the model" if rehearsal.by == "model" else ""


def _seconds(spent: float) -> str:
    return f"{spent:.0f}" if spent >= LONG_S else f"{spent:.1f}"


def _line(command: RehearsedCommand) -> str:
    return visible_line(redact(command.line))


def _place(rehearsal: Rehearsal) -> str:
    """Says on which commit it was, and how much else was changed in the workspace."""
    if not rehearsal.commit:
        return ""
    noun = "file" if rehearsal.others == 1 else "files"
    beside = f" with {rehearsal.others} other changed {noun}" if rehearsal.others else ""
    return f", at commit {rehearsal.commit[:SHORT_COMMIT]}{beside}"
