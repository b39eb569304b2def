"""Analyses a read-only line, for the gate in every mode, without the large grammar."""

from assent.core.errors import Refused
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.shell.parser import parse_command_line, simple_commands
from assent.permissions.commands.grant_patterns import command_part, command_patterns
from assent.permissions.commands.read_only.classifier import files_read_by
from assent.permissions.commands.simple_command import quote_word


def read_only_line(text: str) -> CommandAnalysis | None:
    """Returns what a line reads; None if it may do more. It does not use the large grammar."""
    try:
        files = files_read_by(text)
        found = [
            tuple(word.text for word in command.words)
            for command in simple_commands(parse_command_line(text))
        ]
    except Refused:
        return None
    commands = [" ".join(map(quote_word, words)) for words in found]
    parts = tuple(command_part(words, reads=True) for words in found)
    always = command_patterns(commands)
    return CommandAnalysis(tuple(commands), reads=files, always=always, parts=parts)
