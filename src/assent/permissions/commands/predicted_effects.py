"""Predicted effects: what a command will do by its text; the sandbox confines what that hides."""

import re
from collections.abc import Sequence
from posixpath import join, normpath
from shlex import join as quoted_words
from shlex import split
from typing import Final, TypeAlias

import msgspec

from assent.core.paths import display_path
from assent.core.permission.command_analysis import (
    CommandAnalysis,
    CommandEffectKind,
    command_effects,
    sensitive_names,
)
from assent.core.plan.operation import RunCommand
from assent.core.plan.plan import Scope
from assent.permissions.commands.installs import installs, split_commands
from assent.permissions.commands.write_targets import (
    has_confusable_name,
    touches_protected,
    truncates_file,
    write_targets,
    writes_executed,
)

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
