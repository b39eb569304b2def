"""Shell builtins and variables: what they could run, set or evaluate."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import SimpleCommand

# Shell variables that a line may set without changing what programs do.


_HARMLESS: Final = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLORTERM"
    r"|COLUMNS|LINES|CI|DEBUG|VERBOSE|RUST_BACKTRACE|RUST_LOG|CARGO_TERM_COLOR|NODE_ENV"
    r"|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PYTHONUTF8|SOURCE_DATE_EPOCH"
    r"|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|DEBIAN_FRONTEND"
)
_PAGERS: Final = ("PAGER", "GIT_PAGER", "MANPAGER")
_VALUE: Final = re.compile(r"(?!/)(?!.*\.\.)[\w.:@,*+/=-]*", re.ASCII)
_OWN: Final = re.compile(r"(?!\w+_proxy$|npm_|_$)[a-z_][a-z0-9_]*")


def is_harmless_assignment(setting: str) -> bool:
    """Tells whether `NAME=VALUE` in a program's environment changes only how it prints."""
    name, _, written = setting.partition("=")
    value = written.strip("'\"")
    if name in _PAGERS:
        return value == "cat"
    return bool(_HARMLESS.fullmatch(name) and _VALUE.fullmatch(value))


def is_local_variable(name: str) -> bool:
    """Tells whether a shell variable is local to the line: no program or shell uses it."""
    return bool(_OWN.fullmatch(name))


BuiltinTest: TypeAlias = Callable[[SimpleCommand], bool]

# Their words are commands, or change what later words mean.
_NEVER: Final[dict[str, str]] = {
    "eval": "`eval` runs text that is built at run time",
    "source": "`source` runs commands from a file",
    ".": "`.` runs commands from a file",
    "alias": "`alias` changes the meaning of a command name",
    "unalias": "`unalias` changes the meaning of a command name",
    "trap": "`trap` runs commands later",
    "enable": "`enable` changes the meaning of a command name",
    "hash": "`hash` can change which program a name runs",
    "bind": "`bind` can run commands",
    "complete": "`complete` can run commands",
    "compgen": "`compgen` can run commands",
    "mapfile": "`mapfile` can run commands",
    "readarray": "`readarray` can run commands",
    "shopt": "`shopt` changes how the shell parses words",
    "fc": "`fc` runs earlier commands",
    "let": "`let` evaluates its arguments",
    "getopts": "`getopts` sets variables",
    "setopt": "`setopt` changes how the shell parses words",
    "emulate": "`emulate` changes how the shell parses words",
    "zmodload": "`zmodload` loads code",
}
_SETTING: Final = re.compile(r"\w+(=([\w./:,@%+-]*|'[^'(`]*'|\"[^\"$`\\(]*\"))?", re.ASCII)
_MODES: Final = re.compile(r"[-+][eux]+|[-+][eux]*o|errexit|nounset|pipefail|xtrace")
_JOBS: Final = re.compile(r"-n|\d+|%\d+|\$!")


def _prints(command: SimpleCommand) -> bool:
    """`printf -v` evaluates a subscript; a word that the shell puts together could be that."""
    return not command.arguments or command.arguments[0][:1] not in ("-", "$", "`")


def _reads(command: SimpleCommand) -> bool:
    return all(
        word.plain and (word.text == "-r" or is_local_variable(word.text)) for word in command.words
    )


def _unsets(command: SimpleCommand) -> bool:
    return all(word.plain and is_local_variable(word.text) for word in command.words)


def _exports(command: SimpleCommand) -> bool:
    return all(
        _SETTING.fullmatch(text) and is_harmless_assignment(text) for text in command.arguments
    )


def _declares(command: SimpleCommand) -> bool:
    texts = command.arguments
    return all(
        _SETTING.fullmatch(text) and is_local_variable(text.partition("=")[0]) for text in texts
    )


def _sets(command: SimpleCommand) -> bool:
    return all(_MODES.fullmatch(text) for text in command.arguments)


def _waits(command: SimpleCommand) -> bool:
    return all(_JOBS.fullmatch(text) for text in command.arguments)


def _tests(command: SimpleCommand) -> bool:
    odd = any("[" in text or text in ("-v", "-R") for text in command.arguments)
    return not odd and all(word.plain for word in command.words[1:])


def _lists(command: SimpleCommand) -> bool:
    return not any(text.startswith("-x") for text in command.arguments)


def _replaces(command: SimpleCommand) -> bool:
    return bool(command.arguments)


_TESTS: Final[dict[str, tuple[BuiltinTest, str]]] = {
    "printf": (_prints, "`printf` may evaluate a name"),
    "read": (_reads, "`read` may evaluate a name or set variables that affect programs"),
    "unset": (_unsets, "`unset` may evaluate a name or change how programs behave"),
    "export": (_exports, "`export` changes how programs behave"),
    **dict.fromkeys(
        words_in("declare typeset local readonly integer float nameref"),
        (_declares, "a declaration may evaluate a value"),
    ),
    "set": (_sets, "`set` changes how the shell parses words"),
    "wait": (_waits, "`wait` may evaluate a name"),
    "test": (_tests, "a test may evaluate a name"),
    "[": (_tests, "a test may evaluate a name"),
    "jobs": (_lists, "`jobs -x` runs a command"),
    "exec": (_replaces, "`exec` changes where later commands read and write"),
}


def builtin_uncertainty(command: SimpleCommand) -> str:
    """Says what a shell builtin could do that its arguments do not show."""
    if why := _NEVER.get(command.name, ""):
        return why
    test, reason = _TESTS.get(command.name, (_replaces, ""))
    plain = SimpleCommand(command.words[1:]) if command.name in ("read", "unset") else command
    return reason if reason and not test(plain) else ""
