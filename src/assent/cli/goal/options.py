"""Tells the command line of a goal from that of a command, and parses its options.

It is parsed by hand, because importing click takes longer than anything else between `assent -p`
and the first request.
"""

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

from assent.cli.output import OUTPUT_FORMATS, OutputFormat
from assent.cli.registry import COMMANDS
from assent.cli.stdin import argument_text
from assent.core.errors import UsageError, meant, nearest
from assent.core.permission.mode import MODES

HELP = "assent --help"
MAX_LIMIT = 1e9  # of turns, or dollars
TYPO_SIMILARITY = 0.7  # how alike a word must be to a command to have been meant as one


class Goal(msgspec.Struct, frozen=True):
    """What a person wants a model to do, and how."""

    words: str = ""
    folder: str = ""
    plan: str = ""
    headless: bool = False
    going_on: bool = False
    resume: str = ""
    form: OutputFormat = "text"
    model: str = ""
    agent: str = ""
    mode: str = ""  # one of the four, or a custom one
    turns: int = 0
    budget: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    rules: tuple[str, ...] = ()  # such as `allow bash:git *`
    auto: bool = False
    later: bool = False
    no_input: bool = False
    quiet: bool = False
    help: bool = False


# Every option by its names; a flag takes no value.
FLAGS = {
    "-p": "headless", "--print": "headless",
    "-c": "going_on", "--continue": "going_on",
    "-h": "help", "--help": "help",
    "--no-input": "no_input",
    "-q": "quiet", "--quiet": "quiet",
    "--auto": "auto",
    "--ask-later": "later",
    "--json": "json",
}  # fmt: skip
VALUES = {
    "-C": "folder",
    "-r": "resume", "--resume": "resume",
    "--output-format": "form",
    "--model": "model",
    "--agent": "agent",
    "--mode": "mode",
    "--max-turns": "turns",
    "--max-budget": "budget",
    "--max-tokens": "tokens",
    "--max-time": "seconds",
    "--allow": "allow", "--ask": "ask", "--deny": "deny",
    "--plan": "plan",
}  # fmt: skip
NUMBERS = ("turns", "budget", "tokens", "seconds")
WHOLE_NUMBERS = ("--max-turns", "--max-tokens")
ROOT_OPTIONS = ("--version", "--help")
ANSWERS = ("allow", "ask", "deny")
REFERENCES = ("resume", "plan")
GOAL_OPTIONS = frozenset(
    {"headless", "going_on", "resume"}
)  # what follows these is never a command


def read_goal(arguments: Sequence[str]) -> Goal | None:
    """Returns the goal that a line states, or None if it is a command's line."""
    found: dict[str, Any] = {}
    words: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if _is_option(word):
            if word == "--version" or not _option(word, rest, found):
                _check_foreign(word, found, words)
                return None
        elif not words and word in COMMANDS and not GOAL_OPTIONS & found.keys():
            _check_command(word, found)
            return None
        else:
            words.append(word)
    if not words and found.keys() <= {"folder", "help"}:
        return None
    return _goal(found, words)


def read_folder_goal(arguments: Sequence[str]) -> Goal | None:
    """Returns the goal of a command line that is empty, or has only a folder."""
    match [*arguments]:
        case []:
            return Goal()
        case ["-C", folder]:
            return Goal(folder=folder)
        case [word] if word.startswith("-C"):
            return Goal(folder=word[2:])
        case _:
            return None


def _is_option(word: str) -> bool:
    """Tells an option from a text that begins with a dash."""
    name = word.partition("=")[0]
    return len(word) > 1 and word[0] == "-" and not any(map(str.isspace, name))


def _option(word: str, rest: list[str], found: dict[str, Any]) -> bool:
    """Takes one option with its value; tells whether it is one of a goal's."""
    name, sign, value = word.partition("=")
    if name in FLAGS and not sign:
        found |= {"form": "json"} if name == "--json" else {FLAGS[name]: True}
    elif name in VALUES:
        _set(found, name, value if sign else _next(name, rest))
    elif word[:2] in VALUES and word[1] != "-":
        _set(found, word[:2], word[2:])
    elif word[1] != "-" and all(f"-{letter}" in FLAGS for letter in word[1:]):
        found |= {FLAGS[f"-{letter}"]: True for letter in word[1:]}
    else:
        return False
    return True


def _set(found: dict[str, Any], name: str, value: str) -> None:
    field = VALUES[name]
    if field == "form" and value not in OUTPUT_FORMATS:
        hint = meant(value, OUTPUT_FORMATS)
        _refuse(f"{name} must be one of {', '.join(OUTPUT_FORMATS)}, not {value!a}.{hint}")
    if field in REFERENCES and not value.strip():
        _refuse(f"{name} must not be empty.")
    if field in ANSWERS:
        found["rules"] = (*found.get("rules", ()), f"{field} {argument_text(value)}")
    else:
        found[field] = _number(name, value) if field in NUMBERS else value


def _number(name: str, value: str) -> float:
    try:
        number = int(value) if name in WHOLE_NUMBERS else float(value)
    except ValueError:
        number = -1
    if not 0 < number < MAX_LIMIT:
        _refuse(f"{name} must be a number greater than 0, not {value!a}.")
    return number


def _next(name: str, rest: list[str]) -> str:
    if not rest:
        _refuse(f"{name} needs a value.")
    return rest.pop(0)


def _goal(found: dict[str, Any], words: list[str]) -> Goal:
    said = words[0] if words else ""
    if said and not GOAL_OPTIONS & found.keys() and _like_a_command(said):
        raise _no_such(said, words)
    if len(words) > 1:
        raise _unquoted(words)
    return Goal(words="" if said == "-" else argument_text(said), **found)


def _unquoted(words: list[str]) -> UsageError:
    line = " ".join(map(argument_text, words))
    return UsageError("Put the goal in quotes.", f'assent -p "{line}"')


def _like_a_command(word: str) -> bool:
    """Tells whether one word could be meant as a command: a goal has blanks, or other letters."""
    one_word = not any(map(str.isspace, word)) and not word.startswith("/")
    return one_word and (word.isascii() or not word.isprintable())


def _no_such(word: str, words: list[str]) -> UsageError:
    if word == "version":
        return UsageError("Unknown command 'version'.", "assent --version")
    near = nearest(word, COMMANDS)
    if len(words) > 1 and not near:
        return _unquoted(words)
    hint = f" Did you mean {near}?" if near else ""
    said = f"Unknown command {argument_text(word)!a}.{hint} A single-word goal needs -p."
    return UsageError(said, f"assent {near}" if near else HELP)


def _check_command(word: str, found: dict[str, Any]) -> None:
    """Leaves a command's line to the command, unless options of a goal stand before it."""
    if found.keys() - {"folder", "help", "quiet"}:
        message = f"{word} is a command; put its options after it. To use it as a goal, add -p."
        raise UsageError(message, f"assent {word} --help")


def _check_foreign(word: str, found: dict[str, Any], words: list[str]) -> None:
    """Leaves an option that no goal has to the root command, which knows the rest."""
    name = word.partition("=")[0]
    near = "" if name in ROOT_OPTIONS else meant(name, (*FLAGS, *VALUES, *ROOT_OPTIONS))
    if near or words or found.keys() - {"folder", "quiet"}:
        _refuse(f"Unknown option {argument_text(name)!a}.{near}")


def _refuse(message: str) -> NoReturn:
    raise UsageError(message, HELP)


KNOWN_COMMANDS = "/plan (turn on plan mode), /plan off (back to ask mode), /mode "
_SLASH = r"/[A-Za-z][\w-]*(\s|$)"
_PLAN = {"": "plan", "on": "plan", "off": "ask"}


def is_slash(words: str) -> bool:
    """Tells whether a text is a slash command; a path at its beginning is none."""
    return re.match(_SLASH, words.lstrip()) is not None


def mode_of(words: str, modes: Sequence[str] = MODES) -> str:
    """Returns the mode that a slash command asks for, or says which there are."""
    name, _, value = words.strip().partition(" ")
    tables = {"/plan": _PLAN, "/mode": dict(zip(modes, modes, strict=True))}
    mode = tables.get(name, {}).get(value.strip())
    if mode is None:
        known = KNOWN_COMMANDS + "|".join(modes)
        raise UsageError(f"Unknown command {words.strip()[:80]!a}. Available: {known}.")
    return mode
