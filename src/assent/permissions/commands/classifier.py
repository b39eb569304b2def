"""The command classifier: finds every command that a line runs, and says what they do."""

import unicodedata
from posixpath import basename
from typing import Final

import msgspec

from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.shell.parser import MAX_COMMANDS
from assent.permissions.commands.builtins import (
    builtin_uncertainty,
    is_harmless_assignment,
    is_local_variable,
)
from assent.permissions.commands.denylist import ProtectedRoots, denylist_reason
from assent.permissions.commands.effects import line_effects, possible_places, rough_commands
from assent.permissions.commands.files import (
    NO_COMMANDS,
    agent_config_named,
    opened_files,
    possibly_written_files,
    sensitive_files_named,
    uncertain_writes,
    written_files,
)
from assent.permissions.commands.grant_patterns import command_part, command_patterns
from assent.permissions.commands.program_runners import hidden_execution
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.read_only_line import read_only_line
from assent.permissions.commands.risk import command_risk, runs_code
from assent.permissions.commands.simple_command import (
    CommandWord,
    ParsedCommandLine,
    SimpleCommand,
    subcommand_words,
    without_global_options,
)
from assent.permissions.commands.syntax_tree import TOO_MANY_COMMANDS, parse_command_line
from assent.permissions.commands.wrappers import shell_script_of, wrapped_commands

# Expands a line to every command that it runs, also by wrappers and nested shells.


_NESTED: Final = 5
_MOST_SIGNS: Final = 1000  # between commands; the grammar is slow with more
_MOST_WRAPPED: Final = 10  # commands that run others
MAX_LINE: Final = 8000  # no one reads a longer line
_DECLARING: Final = words_in("declare typeset local readonly unset")
_RESERVED: Final = words_in(
    "if then else elif fi do done for while until case esac in select function { } ! [[ ]]"
)


def expand_command_line(text: str, deeper: int = _NESTED) -> ParsedCommandLine:
    """Returns every command of a line, with a doubt wherever another one could hide."""
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
        doubts += [] if within.told else [f"it is unknown what `{command.name}` runs"]
        script, doubt = shell_script_of(command)
        doubts += [doubt] if doubt else []
        if script and deeper:
            below = expand_command_line(script, deeper - 1)
            commands += [_given(each, command) for each in below.commands]
            targets += below.targets
            inputs += below.inputs
            doubts += below.doubts
        elif script:
            doubts.append("too many nested shells")
    if waiting or len(commands) > MAX_COMMANDS:
        doubts.append(TOO_MANY_COMMANDS)
    doubts += [
        "the name of an output file is not literal text" for word in targets if not word.plain
    ]
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
            return [f"U+{ord(char):04X} is an invisible character"]
    return []


def _doubts(command: SimpleCommand) -> list[str]:
    found = _set_doubts(command)
    if not command.words:
        return found
    found += [
        _name_doubt(command.words[0]),
        builtin_uncertainty(command),
        *hidden_execution(command),
    ]
    found += ["$IFS is used to build a word" for w in command.words if _splits(w)][:1]
    if any(not word.plain or set(word.text) & set(" \t\n") for word in subcommand_words(command)):
        found.append(f"the subcommand of `{command.name}` is unknown")
    return [doubt for doubt in found if doubt]


def _set_doubts(command: SimpleCommand) -> list[str]:
    return [f"`{name}` changes how programs behave" for name in _decisive(command)]


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
        return f"`{word.text}` is not a literal command name"
    odd = not word.text or any(sign in word.text for sign in " \t\n=")
    if odd or word.text in _RESERVED - {"[["}:
        return f"`{word.text}` is not a command name"
    return ""


def _splits(word: CommandWord) -> bool:
    return not word.plain and "IFS" in word.text


TOO_LONG: Final = (
    f"It is longer than {MAX_LINE} characters, too long to review; write a script file and run "
    "that."
)
TOO_DEEP: Final = "It is nested too deeply to be checked."


def classify_command_line(text: str, *, root: str = "", home: str = "") -> CommandAnalysis:
    """Analyses the text of a line and never raises; what it cannot parse is not certain."""
    if len(text) > MAX_LINE:
        return msgspec.structs.replace(_unjudged(text, TOO_LONG, root), names=(), danger=TOO_LONG)
    try:
        return read_only_line(text) or _read(text, ProtectedRoots(root, home))
    except Exception as error:  # law 9: what cannot be judged is not certain
        deep = isinstance(error, RecursionError)
        reason = TOO_DEEP if deep else f"The permission check failed: {type(error).__name__}."
        return _unjudged(text, reason, root)


def _unjudged(text: str, reason: str, root: str) -> CommandAnalysis:
    """Returns what a rough look finds in a line that nothing else can be said of."""
    names = sensitive_files_named(text)
    rough = rough_commands(text, NO_COMMANDS)
    return CommandAnalysis(
        (text,),
        certain=False,
        risk="high",
        reasons=(reason,),
        names=names,
        perhaps=agent_config_named(names, NO_COMMANDS, root),
        effects=line_effects(text, NO_COMMANDS, rough, certain=False, writes=False),
        parts=tuple(command_part(words) for words in rough),
        places=possible_places(rough),
    )


def _read(text: str, protected: ProtectedRoots) -> CommandAnalysis:
    found = expand_command_line(text)
    writes = written_files(found)
    doubts = [*found.doubts, *(uncertain_writes(found) if writes else [])]
    found = msgspec.structs.replace(found, doubts=tuple(doubts))
    forms = _forms(found)
    commands = tuple(dict.fromkeys(SimpleCommand(form).text for form in forms))
    danger = denylist_reason(text, found, protected)
    names = sensitive_files_named(text, found)
    certain = bool(commands) and not found.doubts
    rough = rough_commands(text, found)
    effects = line_effects(text, found, rough, certain=certain, writes=bool(writes))
    orders = agent_config_named(names, found, protected.root)
    perhaps = (*possibly_written_files(found), *orders)
    level, reasons = command_risk(found, writes, perhaps, protected.root, names, effects)
    lasting = certain and not danger and not found.nested
    told = [tuple(word.text for word in form) for form in forms]
    seen = told if certain else [*told, *rough]
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
        perhaps=perhaps,
        effects=effects,
        always=command_patterns(commands, exactly=level == "high" or _by_path(found))
        if lasting
        else (),
        sets_only=_sets_only(text, found, danger),
        parts=tuple(dict.fromkeys(command_part(words) for words in seen)),
        places=() if certain else possible_places(seen),
    )


def _sets_only(text: str, found: ParsedCommandLine, danger: str) -> bool:
    """Tells whether all that is in doubt is variables that the line sets to literal values."""
    doubts = {doubt for each in found.commands for doubt in _set_doubts(each)}
    literal = not {*text} & {*"$`\\\n"} and any(command.words for command in found.commands)
    told = bool(doubts) and not {*found.doubts} - doubts
    return literal and told and not (danger or found.nested)


def _by_path(found: ParsedCommandLine) -> bool:
    """Tells whether a program is named by its path: what it is called says nothing about it."""
    return any("/" in command.words[0].text for command in found.commands if command.words)


def _forms(found: ParsedCommandLine) -> list[tuple[CommandWord, ...]]:
    """Returns each command as it stands, and once more in the form that rules are written for."""
    commands = [each for each in found.commands if each.text.strip()]
    return [form for each in commands for form in (each.words, _bare(each))]


def _bare(command: SimpleCommand) -> tuple[CommandWord, ...]:
    name = CommandWord(basename(command.words[0].text) or "/")
    return (name, *without_global_options(command)[1:])
