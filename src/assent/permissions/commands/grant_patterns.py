"""Grant patterns of a command: the prefix, or exact text, that an answer covers (F81, F84)."""

from collections.abc import Sequence
from typing import Final

from assent.core.permission.command_analysis import CommandPart
from assent.core.permission.rule import PermissionPattern
from assent.permissions.commands.programs import known_program
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import arity

BASH: Final = "bash"


def is_exact_only(words: Sequence[str]) -> bool:
    """Tells whether no beginning of a command's words says what it would do."""
    if not words:
        return True
    program = known_program(words[0].rpartition("/")[2])
    return program.exact or bool(program.exact_by & {*words[1:2]}) or _runs(tuple(words))


def command_part(words: tuple[str, ...], *, reads: bool = False) -> CommandPart:
    """Returns a command with the shortest prefix that can be declared for it.

    Of one that was proved to read alone, its second word tells no more than its name.
    """
    if known_program(words[0].rpartition("/")[2]).exact:
        return CommandPart(words, least=0)
    return CommandPart(words, least=2 if not reads and is_exact_only(words) else 1)


def command_patterns(
    commands: Sequence[str], *, exactly: bool = False
) -> tuple[PermissionPattern, ...]:
    """Returns one pattern for each command, without duplicates."""
    if exactly:
        return tuple(PermissionPattern(BASH, command, exact=True) for command in commands)
    return tuple(dict.fromkeys(_pattern(command) for command in commands))


def _pattern(command: str) -> PermissionPattern:
    words = tuple(command.split(" "))
    size = arity(words)
    head = words[:size]
    if _exactly(words, head) or len(words) < size:
        return PermissionPattern(BASH, command, exact=True)
    return PermissionPattern(BASH, " ".join([*head, "*"]))


def _exactly(words: tuple[str, ...], head: tuple[str, ...]) -> bool:
    name = words[0]
    if "/" in name or is_exact_only(words):
        return True
    if any(word.startswith("-") or not word or _is_odd(word) for word in head):
        return True
    return name in words_in("make gmake") and len(words) > len(head)


def _runs(words: tuple[str, ...]) -> bool:
    """Tells whether a program runs another one, by its name; npm's kind runs scripts by theirs."""
    verb = words[1:2]
    own = verb == ("run",) and words[0] not in words_in("npm pnpm yarn bun")
    short = verb == ("x",) and words[0] in words_in("npm pnpm yarn bun mise")
    return own or short or verb in [(each,) for each in words_in("exec dlx shell develop")]


def _is_odd(word: str) -> bool:
    return any(sign in word for sign in "*?$`'\"\\\n<>|&;(){}=~")
