"""Spread: everything that a line runs, also by wrappers and nested shells, and every doubt."""

import unicodedata
from typing import Final

from assent.core.shell.parser import MAX_COMMANDS
from assent.gate.readonly.spec import listed
from assent.gate.shell.arities import deciding
from assent.gate.shell.builtins import doubt_of
from assent.gate.shell.runners import hides
from assent.gate.shell.scripts import script_of
from assent.gate.shell.simple import Found, Simple, Word
from assent.gate.shell.tree import MANY, found_in
from assent.gate.shell.variables import is_harmless, is_own
from assent.gate.shell.wrappers import inner

_NESTED: Final = 5
_MOST_SIGNS: Final = 1000  # between commands; the grammar is slow with more
_MOST_WRAPPED: Final = 10  # commands that run others
LONGEST: Final = 8000  # nobody reads through a longer line
_DECLARING: Final = listed("declare typeset local readonly unset")
_RESERVED: Final = listed(
    "if then else elif fi do done for while until case esac in select function { } ! [[ ]]"
)


def spread(text: str, deeper: int = _NESTED) -> Found:
    """Returns every command of a line. Wherever one could hide, there is a doubt."""
    if len(text) > LONGEST:
        return Found(doubts=(f"it is longer than {LONGEST} characters",))
    if sum(map(text.count, "|;&")) > _MOST_SIGNS:
        return Found(doubts=(MANY,))
    found = found_in(text)
    doubts = [*_strange(text), *found.doubts]
    commands: list[Simple] = []
    targets, inputs = list(found.targets), list(found.inputs)
    waiting = [*found.commands]
    wrapped = 0
    while waiting and len(commands) <= MAX_COMMANDS and wrapped <= _MOST_WRAPPED:
        command = waiting.pop(0)
        commands.append(command)
        doubts += _doubts(command)
        within = inner(command)
        waiting[:0] = within.commands
        wrapped += bool(within.commands)
        doubts += [] if within.told else [f"what `{command.name}` runs cannot be told"]
        script, doubt = script_of(command)
        doubts += [doubt] if doubt else []
        if script and deeper:
            below = spread(script, deeper - 1)
            commands += [_given(each, command) for each in below.commands]
            targets += below.targets
            inputs += below.inputs
            doubts += below.doubts
        elif script:
            doubts.append("too many shells run each other")
    if waiting or len(commands) > MAX_COMMANDS:
        doubts.append(MANY)
    doubts += ["a written file's name is not plain" for word in targets if not word.plain]
    unique = tuple(dict.fromkeys(doubts))
    return Found(tuple(commands), tuple(targets), unique, found.nested, tuple(inputs))


def _given(command: Simple, shell: Simple) -> Simple:
    return Simple(command.words, command.sets, (*command.fed, *shell.fed), command.given)


def _strange(text: str) -> list[str]:
    """Says which characters deceive the eye, or make another line of it for another shell."""
    for char in text:
        if char in "\n\t" or " " <= char <= "~":
            continue
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"):
            return [f"U+{ord(char):04X} is a character that nobody sees"]
    return []


def _doubts(command: Simple) -> list[str]:
    found = [f"`{name}` changes what programs do" for name in _decisive(command)]
    if not command.words:
        return found
    found += [_name_doubt(command.words[0]), doubt_of(command), *hides(command)]
    found += ["a word is put together by $IFS" for w in command.words if _splits(w)][:1]
    if any(not word.plain or set(word.text) & set(" \t\n") for word in deciding(command)):
        found.append(f"which command of `{command.name}` it is cannot be told")
    return [doubt for doubt in found if doubt]


def _decisive(command: Simple) -> list[str]:
    """Returns the variables that programs may obey; one that a line only sets for itself is not."""
    names = [(each, each.partition("=")[0].rstrip("+")) for each in command.sets]
    own = not command.words or command.name in _DECLARING
    return [
        name
        for each, name in names
        if not (is_harmless(each) or (own and is_own(name.partition("[")[0])))
    ]


def _name_doubt(word: Word) -> str:
    if not word.plain and word.text != "[":
        return f"`{word.text}` is no plain name of a command"
    odd = not word.text or any(sign in word.text for sign in " \t\n=")
    if odd or word.text in _RESERVED - {"[["}:
        return f"`{word.text}` is no name of a command"
    return ""


def _splits(word: Word) -> bool:
    return not word.plain and "IFS" in word.text
