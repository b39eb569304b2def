"""Expands a line to every command that it runs, also by wrappers and nested shells."""

import unicodedata
from typing import Final

from assent.core.shell.parser import MAX_COMMANDS
from assent.permissions.commands.arity import subcommand_words
from assent.permissions.commands.builtins import builtin_uncertainty
from assent.permissions.commands.nested_shell import shell_script_of
from assent.permissions.commands.program_runners import hidden_execution
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import CommandWord, ParsedCommandLine, SimpleCommand
from assent.permissions.commands.syntax_tree import TOO_MANY_COMMANDS, parse_command_line
from assent.permissions.commands.variables import is_harmless_assignment, is_local_variable
from assent.permissions.commands.wrappers import wrapped_commands

_NESTED: Final = 5
_MOST_SIGNS: Final = 1000  # between commands; the grammar is slow with more
_MOST_WRAPPED: Final = 10  # commands that run others
MAX_LINE: Final = 8000  # nobody reads through a longer line
_DECLARING: Final = words_in("declare typeset local readonly unset")
_RESERVED: Final = words_in(
    "if then else elif fi do done for while until case esac in select function { } ! [[ ]]"
)


def expand_command_line(text: str, deeper: int = _NESTED) -> ParsedCommandLine:
    """Returns every command of a line. Wherever one could hide, there is a doubt."""
    if len(text) > MAX_LINE:
        return ParsedCommandLine(doubts=(f"it is longer than {MAX_LINE} characters",))
    if sum(map(text.count, "|;&")) > _MOST_SIGNS:
        return ParsedCommandLine(doubts=(TOO_MANY_COMMANDS,))
    found = parse_command_line(text)
    doubts = [*_strange(text), *found.doubts]
    commands: list[SimpleCommand] = []
    targets, inputs = list(found.targets), list(found.inputs)
    waiting = [*found.commands]
    wrapped = 0
    while waiting and len(commands) <= MAX_COMMANDS and wrapped <= _MOST_WRAPPED:
        command = waiting.pop(0)
        commands.append(command)
        doubts += _doubts(command)
        within = wrapped_commands(command)
        waiting[:0] = within.commands
        wrapped += bool(within.commands)
        doubts += [] if within.told else [f"what `{command.name}` runs cannot be told"]
        script, doubt = shell_script_of(command)
        doubts += [doubt] if doubt else []
        if script and deeper:
            below = expand_command_line(script, deeper - 1)
            commands += [_given(each, command) for each in below.commands]
            targets += below.targets
            inputs += below.inputs
            doubts += below.doubts
        elif script:
            doubts.append("too many shells run each other")
    if waiting or len(commands) > MAX_COMMANDS:
        doubts.append(TOO_MANY_COMMANDS)
    doubts += ["a written file's name is not plain" for word in targets if not word.plain]
    unique = tuple(dict.fromkeys(doubts))
    return ParsedCommandLine(tuple(commands), tuple(targets), unique, found.nested, tuple(inputs))


def _given(command: SimpleCommand, shell: SimpleCommand) -> SimpleCommand:
    return SimpleCommand(command.words, command.sets, (*command.fed, *shell.fed), command.given)


def _strange(text: str) -> list[str]:
    """Says which characters deceive the eye, or make another line of it for another shell."""
    for char in text:
        if char in "\n\t" or " " <= char <= "~":
            continue
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"):
            return [f"U+{ord(char):04X} is a character that nobody sees"]
    return []


def _doubts(command: SimpleCommand) -> list[str]:
    found = [f"`{name}` changes what programs do" for name in _decisive(command)]
    if not command.words:
        return found
    found += [
        _name_doubt(command.words[0]),
        builtin_uncertainty(command),
        *hidden_execution(command),
    ]
    found += ["a word is put together by $IFS" for w in command.words if _splits(w)][:1]
    if any(not word.plain or set(word.text) & set(" \t\n") for word in subcommand_words(command)):
        found.append(f"which command of `{command.name}` it is cannot be told")
    return [doubt for doubt in found if doubt]


def _decisive(command: SimpleCommand) -> list[str]:
    """Returns the variables that programs may obey; one that a line only sets for itself is not."""
    names = [(each, each.partition("=")[0].rstrip("+")) for each in command.sets]
    own = not command.words or command.name in _DECLARING
    return [
        name
        for each, name in names
        if not (is_harmless_assignment(each) or (own and is_local_variable(name.partition("[")[0])))
    ]


def _name_doubt(word: CommandWord) -> str:
    if not word.plain and word.text != "[":
        return f"`{word.text}` is no plain name of a command"
    odd = not word.text or any(sign in word.text for sign in " \t\n=")
    if odd or word.text in _RESERVED - {"[["}:
        return f"`{word.text}` is no name of a command"
    return ""


def _splits(word: CommandWord) -> bool:
    return not word.plain and "IFS" in word.text
