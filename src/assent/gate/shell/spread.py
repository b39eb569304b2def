"""Spread: everything that a line runs, also by wrappers and nested shells, and every doubt."""

import re
import unicodedata
from typing import Final

from assent.core.shell import MOST_COMMANDS
from assent.gate.readonly.spec import listed
from assent.gate.shell.arities import GLOBALS, deciding, without_globals
from assent.gate.shell.simple import Found, Simple, Word
from assent.gate.shell.tree import found_in
from assent.gate.shell.wrappers import inner

SHELLS: Final = listed("sh bash zsh dash ksh mksh ash fish csh tcsh rbash")
_NESTED: Final = 5
LONGEST: Final = 120 << 10  # the system takes no longer argument than 128 KiB

# Builtins whose words are commands, or change what later words mean.
_DOUBTFUL: Final[dict[str, str]] = {
    "eval": "`eval` runs text that is put together while it runs",
    "source": "`source` runs the commands of a file",
    ".": "`.` runs the commands of a file",
    "alias": "`alias` gives a command's name another meaning",
    "trap": "`trap` runs commands later",
    "enable": "`enable` changes what a name means",
    "hash": "`hash` can change which program a name means",
    "bind": "`bind` can run commands",
    "complete": "`complete` can run commands",
    "compgen": "`compgen` can run commands",
    "mapfile": "`mapfile` can run commands",
    "readarray": "`readarray` can run commands",
    "shopt": "`shopt` changes how words are read",
    "fc": "`fc` runs commands of before",
    "watch": "`watch` hands its words to a shell",
    "parallel": "`parallel` puts commands together while it runs",
    "script": "`script` starts a shell",
}
_ARITHMETIC: Final = listed(
    "test [ [[ printf read unset declare typeset local export readonly let wait getopts"
)
_VARIABLES: Final = re.compile(
    r"PATH|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|SHELL|CDPATH|GLOBIGNORE|PS4|PROMPT_COMMAND|HOME"
    r"|EDITOR|VISUAL|PAGER|\w+_PAGER|\w+_EDITOR|\w+_ASKPASS|BROWSER|LESSOPEN|LESSCLOSE|MAKEFLAGS"
    r"|NODE_OPTIONS|NODE_PATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|CC|CXX|RUSTC|RUSTC_WRAPPER|GOFLAGS"
    r"|XDG_\w+|(LD|DYLD|GIT|BASH_FUNC|PYTHON|PERL|RUBY|ASSENT|npm_config|PIP|UV|CARGO|LC_ALL_)_?\w*"
)
_RESERVED: Final = listed(
    "if then else elif fi do done for while until case esac in select function { } ! [[ ]]"
)


def spread(text: str, deeper: int = _NESTED) -> Found:
    """Returns every command of a line. Wherever one could hide, there is a doubt."""
    if len(text) > LONGEST:
        return Found(doubts=(f"it is longer than {LONGEST} characters",))
    found = found_in(text)
    doubts = [*_strange(text), *found.doubts]
    commands: list[Simple] = []
    targets = list(found.targets)
    waiting = [*found.commands]
    while waiting and len(commands) <= MOST_COMMANDS:
        command = waiting.pop(0)
        commands.append(command)
        doubts += _doubts(command)
        waiting[:0] = inner(command)
        script, doubt = _script(command)
        doubts += [doubt] if doubt else []
        if script and deeper:
            below = spread(script, deeper - 1)
            commands += [_given(each, command) for each in below.commands]
            targets += below.targets
            doubts += below.doubts
        elif script:
            doubts.append("too many shells run each other")
    if waiting or len(commands) > MOST_COMMANDS:
        doubts.append(f"these are more than {MOST_COMMANDS} commands")
    doubts += ["a written file's name is not plain" for word in targets if not word.plain]
    unique = tuple(dict.fromkeys(doubts))
    return Found(tuple(commands), tuple(targets), unique, found.nested)


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
    found += [_name_doubt(command.words[0])]
    found += [_DOUBTFUL.get(command.name, "")]
    found += ["a word is put together by $IFS" for w in command.words if _splits(w)][:1]
    if command.name in _ARITHMETIC and any(_computes(word) for word in command.words):
        found.append("a command may hide in a number")
    if any(not word.plain or set(word.text) & set(" \t\n") for word in deciding(command)):
        found.append(f"which command of `{command.name}` it is cannot be told")
    if command.name == "git" and _runs_settings(command):
        found.append("a setting of git for this call can run programs")
    return [doubt for doubt in found if doubt]


def _runs_settings(command: Simple) -> bool:
    before = len(command.words) - len(without_globals(command))
    own = command.arguments[:before]
    return any(word.partition("=")[0] in GLOBALS["git"].runs for word in own)


def _decisive(command: Simple) -> list[str]:
    return [name for name in command.sets if not name or _VARIABLES.fullmatch(name)]


def _name_doubt(word: Word) -> str:
    if not word.plain and word.text != "[":
        return f"`{word.text}` is no plain name of a command"
    odd = not word.text or any(sign in word.text for sign in " \t\n=")
    if odd or word.text in _RESERVED - {"[["}:
        return f"`{word.text}` is no name of a command"
    return ""


def _splits(word: Word) -> bool:
    return not word.plain and "IFS" in word.text


def _computes(word: Word) -> bool:
    return "[" in word.text and ("$(" in word.text or "`" in word.text)


def _script(command: Simple) -> tuple[str, str]:
    """Returns the text that a shell is told to run; or the doubt, if that cannot be told."""
    if command.name not in SHELLS:
        return "", ""
    words = command.words[1:]
    for at, word in enumerate(words):
        if word.text.startswith("-") and word.text[1:2] != "-" and "c" in word.text:
            script = next((w for w in words[at + 1 :] if w.text[:1] not in "-+"), None)
            if script is None or not script.plain:
                return "", f"what `{command.name} -c` runs is not written out"
            return script.text, ""
        if word.text in ("--rcfile", "--init-file") or not word.plain:
            return "", f"what `{command.name}` runs cannot be told"
        if not word.text.startswith(("-", "+")):
            return "", ""  # the script is a file
    about = any(word.text in ("--version", "--help") for word in words)
    return "", "" if about else f"`{command.name}` runs what it reads from its input"
