"""Predicted effects: what a command of a plan will do by its text, for the review."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from posixpath import join, normpath
from shlex import join as quoted_words
from shlex import split
from typing import Final, TypeAlias

import msgspec

from assent.core.paths import GIT, casefolded, display_path
from assent.core.permission.command_analysis import (
    CommandAnalysis,
    CommandEffectKind,
    sensitive_names,
)
from assent.core.permission.sensitive_paths import executed_later, holds_protected, protected_reason
from assent.core.plan.operation import RunCommand
from assent.core.plan.plan import Scope
from assent.core.text.confusables import confusable_letters, is_confusable_program
from assent.permissions.commands.risk import command_effects, installs_packages

# Detects commands that install packages, or fetch a program and run it.


_SEPARATORS = re.compile(r"[;&|\n(){}`]+")
_WRAPPER = re.compile(r"sudo|doas|env|command|exec|time|nice|nohup|then|do|-.*|\w+=.*", re.DOTALL)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_FETCHERS = frozenset({"curl", "wget"})


def installs(op: RunCommand) -> bool:
    """Tells whether a command installs something, or fetches a program and runs it."""
    commands = list(split_commands(op))
    programs = {command[0] for command in commands}
    if programs & _SHELLS and programs & _FETCHERS:
        return True
    return any(installs_packages(command) for command in commands)


def split_commands(op: RunCommand) -> Iterator[list[str]]:
    """Splits a command line roughly: a word too many is a false alarm, one too few is worse."""
    argv = [_escaped(word) for word in op.argv]
    of_shell = bool(argv) and argv[0].rpartition("/")[2] in _SHELLS
    scripts = [_escaped(op.script), *(word for word in argv[1:] if of_shell or " " in word)]
    pieces = [piece.split() for script in scripts for piece in _SEPARATORS.split(script)]
    for words in [argv, *pieces]:
        unquoted = [word.strip("\"'$") for word in words]
        command = list(dropwhile(_WRAPPER.fullmatch, unquoted))
        if command:
            yield [command[0].rpartition("/")[2], *command[1:]]


def _escaped(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")


# Write targets of a command, and whether they are protected, run later, or confusable.


CommandWords: TypeAlias = tuple[str, ...]

# What has no output, so that a file it is redirected to is left empty.
_SILENT: Final[tuple[CommandWords, ...]] = (
    (":",), ("true",), ("echo", "-n"), ("printf", ""), ("cat", "/dev/null"),
)  # fmt: skip


def write_targets(op: RunCommand, line: CommandAnalysis | None, root: str) -> tuple[str, ...]:
    """Returns what a command writes, or may, as seen from the workspace.

    A folder that is meant with all in it ends with a slash.
    """
    if line is None or line.reads is not None:
        return ()
    folder = display_path(op.cwd)
    found = [_placed(target, folder, root) for target in (*line.writes, *line.perhaps)]
    return tuple(dict.fromkeys(found))


def touches_protected(found: Iterable[str]) -> bool:
    """Tells whether a target is what other programs obey, or may have such below it."""
    return any(_is_protected(target) for target in found)


def writes_executed(found: Iterable[str]) -> bool:
    """Tells whether a target is a file that other programs run later."""
    return any(executed_later(t.encode("utf-8", "surrogateescape")) for t in found)


def has_confusable_name(programs: Iterable[str], found: Iterable[str]) -> bool:
    """Tells whether a program or a file that is written has a name that passes for another."""
    names = list(programs)
    paths = {name for name in names if "/" in name}
    known = {path.rpartition("/")[2] for path in paths}  # by their path, so not by name alone
    parts = [part for target in found if not target.isascii() for part in target.split("/")]
    return any(is_confusable_program(name) for name in names if name not in known) or any(
        map(confusable_letters, parts)
    )


def truncates_file(commands: Sequence[CommandWords], line: CommandAnalysis | None) -> bool:
    """Tells whether a command throws away what stands in a file, without removing it."""
    if any(_truncates(command) for command in commands):
        return True
    if line is None or not line.writes:
        return False
    # A redirect without a command is no command that anybody could name.
    bare = any(text.startswith(">") and not text.startswith(">>") for text in line.commands)
    return bare or any(command in _SILENT for command in commands)


def _truncates(command: CommandWords) -> bool:
    match command:
        case ("truncate", *_):
            return True
        case ("cp" | "install", *words):
            return "/dev/null" in words
        case ("dd", *words):
            return "if=/dev/null" in words
        case _:
            return False


def _placed(target: str, folder: str, root: str) -> str:
    end = "/" if target.endswith("/") else ""
    place = normpath(join(folder, target))
    if root and place.startswith(f"{root}/"):
        place = place[len(root) + 1 :]
    return place + end


def _is_protected(target: str) -> bool:
    path = target.rstrip("/").encode("utf-8", "surrogateescape")
    if protected_reason(path) is not None or GIT in casefolded(path).split(b"/"):
        return True
    return target.endswith("/") and holds_protected(path)


Words: TypeAlias = tuple[str, ...]

_RULERS: Final = frozenset(
    [
        "sudo", "doas", "su", "pkexec", "run0", "runuser", "mount", "umount", "systemctl",
        "service", "crontab", "at", "useradd", "usermod", "userdel", "passwd", "visudo", "sysctl",
        "modprobe", "insmod", "iptables", "nft", "chroot",
    ]
)  # fmt: skip
_SYSTEM: Final = frozenset(["apt", "apt-get", "dnf", "yum", "pacman", "apk", "zypper", "brew"])
# No prefix says what these would do: their words are code, or name it.
_CODE: Final = re.compile(
    r"(?:ba|da|z|k|c|tc|fi|a|mk)?sh|python[\d.]*|pypy[\d.]*|node(?:js)?|deno|bun|ruby|perl|php|lua"
    r"|luajit|tclsh|osascript|pwsh|powershell|Rscript|julia|groovy|guile|racket|elixir|g?awk|mawk"
    r"|env|xargs|eval|exec|ssh|npx|uvx|bunx|sudo|doas|timeout|nice|nohup|busybox|find|parallel"
)
_NOWHERE: Final = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
# A script with one of these does more than its first words say.
_COMPOUND: Final = re.compile(rb"[;&|<>$`\n(){}]")
UNDECLARED: Final = Scope()
_HOME: Final = ("~", "$HOME", "${HOME")


class PredictedEffects(msgspec.Struct, frozen=True):
    """What a command would do, as far as its text tells."""

    installs: bool = False
    network: bool = False  # it needs one, whether or not it gets it
    deletes: bool = False
    outside: bool = False  # it writes outside the workspace, or can
    covered: bool = True  # every command in it begins as the plan declares
    doubtful: bool = False  # not every command in it could be told apart
    danger: str = ""  # why no model gets to run this, whoever would say yes to it
    touches: tuple[bytes, ...] = ()  # names in it that are protected, or secret
    protected: bool = False  # it writes what other programs obey
    lookalike: bool = False  # a name in it passes for another
    unclear: bool = False  # its text does not tell what it does
    executed: bool = False  # it writes a file that other programs run later


def predict_effects(
    op: RunCommand, line: CommandAnalysis | None = None, root: str = "", scope: Scope = UNDECLARED
) -> PredictedEffects:
    """Looks at a command, with what a reader of shell lines found in it if there is one."""
    commands = [(_name(each[0]), *each[1:]) for each in _commands(op, line)]
    bringing = [each for each in commands if installs(RunCommand(_encoded(each)))]
    written = write_targets(op, line, root)
    does = _effects(commands, line)
    online = any(
        "network" in command_effects(piece) for each in bringing for piece in _pieces(each)
    )
    return PredictedEffects(
        "installs" in does or bool(bringing) or installs(op),
        "network" in does or online,
        "deletes" in does or truncates_file(commands, line),
        op.profile == "unconfined" or "writes_outside" in does or _leaves(op, commands, line, root),
        _is_covered(op, line, scope),
        line is not None and not line.certain,
        line.danger if line is not None else "",
        sensitive_names(op, line),
        "protected" in does or touches_protected(written),
        has_confusable_name([each[0] for each in _commands(op, line)], written),
        _is_unclear(op, line),
        writes_executed(written),
    )


def _effects(
    commands: Sequence[Words], line: CommandAnalysis | None
) -> frozenset[CommandEffectKind]:
    """Returns what its commands do by either table, the gate's among them."""
    if line is not None and line.reads is not None:
        return frozenset()  # it was proved to read alone
    told = line.effects if line is not None else ()
    return frozenset(told).union(*[command_effects(each) for each in commands])


def _pieces(command: Words) -> list[list[str]]:
    return list(split_commands(RunCommand(_encoded(command))))


def _is_unclear(op: RunCommand, line: CommandAnalysis | None) -> bool:
    if op.profile == "commit":
        return False
    if line is None:
        return bool(_COMPOUND.search(op.script))
    return line.code or not line.certain


def command_line_text(op: RunCommand) -> str:
    """Returns a command as one line, or lines, for a shell."""
    return quoted_words(map(_text, op.argv)) if op.argv else _text(op.script)


def _commands(op: RunCommand, line: CommandAnalysis | None) -> list[Words]:
    """Returns every command in it; roughly, where nobody could tell them apart."""
    told = [_split(text) for text in line.commands] if line is not None else []
    rough = [tuple(each) for each in split_commands(op)] if line is None or not line.certain else []
    return [each for each in (*told, *rough) if each]


def _split(text: str) -> Words:
    try:
        return tuple(split(text))
    except ValueError:
        return tuple(text.split())


def _name(program: str) -> str:
    return program.rpartition("/")[2] or program


def _leaves(
    op: RunCommand, commands: Sequence[Words], line: CommandAnalysis | None, root: str
) -> bool:
    """Tells whether it names a place outside to write to, or changes the machine itself."""
    certain = line is not None and line.certain
    rough = () if certain else command_line_text(op).split()
    programs = {*rough, *(each[0] for each in commands)}
    if programs & (_RULERS | (_SYSTEM if installs(op) else set())):
        return True
    if line is not None and certain:
        targets = [*line.writes, *line.perhaps] if line.reads is None else []
    else:
        targets = [word for each in commands for word in each[1:]]
    return any(_is_outside(target, display_path(op.cwd), root) for target in targets)


def _is_outside(target: str, folder: str, root: str) -> bool:
    target = target.lstrip("<>").partition("=")[2] or target.lstrip("<>")
    if target.startswith(_HOME):
        return True
    if not target.startswith("/"):
        return normpath(join(folder, target)).startswith("..")
    real = normpath(target)
    if real in _NOWHERE:
        return False
    return not root or (real != root and not real.startswith(f"{root}/"))


def _is_covered(op: RunCommand, line: CommandAnalysis | None, scope: Scope) -> bool:
    """Tells whether each command begins with a declared prefix; what runs code must be one."""
    if not scope.commands:
        return True
    if op.script and (_COMPOUND.search(op.script) if line is None else not line.certain):
        return False  # there may be more in it than anybody can see
    commands = line.commands if line is not None else (command_line_text(op),)
    prefixes = [_split(prefix) for prefix in scope.commands]
    return all(any(_fits(_split(text), prefix) for prefix in prefixes) for text in commands)


def _fits(command: Words, prefix: Words) -> bool:
    if not prefix or command[: len(prefix)] != prefix:
        return False
    return command == prefix or not _CODE.fullmatch(command[0])


def _encoded(words: Words) -> tuple[bytes, ...]:
    return tuple(word.encode("utf-8", "surrogateescape") for word in words)


def _text(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")
