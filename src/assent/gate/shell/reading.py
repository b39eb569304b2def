"""Reading: a line that the judge of planning lets through, as the gate sees it everywhere."""

from assent.core.errors import Refused
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.shell.parser import parse_command_line
from assent.gate.operands import operands
from assent.gate.shell.always import patterns
from assent.gate.shell.simple import quoted


def reading(text: str) -> CommandAnalysis | None:
    """Returns what a line reads; None if it may do more. It needs no large grammar."""
    try:
        files = operands(text)
        commands = [
            " ".join(quoted(word.text) for word in command.words)
            for line in parse_command_line(text)
            for command in line.commands
        ]
    except Refused:
        return None
    return CommandAnalysis(tuple(commands), reads=files, always=patterns(commands))
