"""The denylist: commands that are refused in every mode, whoever allows them, and why (F91).

The tables stop accidents and plain attacks by their text; the sandbox holds what they miss.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from posixpath import normpath
from typing import Final, TypeAlias

import msgspec

from assent.core.permission.sensitive_paths import secret_reason
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import (
    ParsedCommandLine,
    SimpleCommand,
    without_global_options,
)
from assent.permissions.commands.wrappers import SHELLS

# System paths that no command of a model may delete or take over as a whole.


_SYSTEM: Final = words_in(
    "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /opt /proc /root /run /sbin /srv "
    "/sys /tmp /usr /usr/bin /usr/lib /usr/local /var /var/lib /Users /Applications /Library "
    "/System /private"
)
_HERE: Final = words_in(". .. .* * .git $PWD ${PWD} $(pwd) $OLDPWD")
_HOME: Final = re.compile(r"(~[\w.-]*|\$HOME|\$\{HOME[^}]*\}|/home/[^/]+|/Users/[^/]+|/root)")
_TOP: Final = "git rev-parse --show-toplevel"
_DEVICE: Final = re.compile(
    r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mapper|md|dm-|loop|mem|kmem|port|sr|nbd|zram|ram)\S*"
)


def covers_protected_root(path: str, root: str = "", home: str = "") -> bool:
    """Tells whether a path is a whole home, system, workspace or repository, or holds one."""
    real = _short(path)
    here = real in _HERE or (_TOP in real and real[-1:] in ")`")
    if is_system_folder(path) or here or set(real.split("/")) == {".."}:
        return True
    places = [normpath(place) for place in (root, home) if place]
    return real.endswith("/.git") or any(_holds(real, place) for place in places)


def is_system_folder(path: str) -> bool:
    """Tells whether a path is a whole home or a folder of the system."""
    real = _short(path)
    return real in _SYSTEM or bool(_HOME.fullmatch(real))


def _short(path: str) -> str:
    """Returns a path without what names all in it, and in its shortest form."""
    if not path:
        return "-"
    for sign in ("/*", "/.*", "/{*,.*}", "/**"):
        path = path.removesuffix(sign) or "/"
    real = normpath(path)
    return "/" + real.lstrip("/") if real.startswith("/") else real


def is_block_device(path: str) -> bool:
    """Tells whether a path is a disk or the machine's memory."""
    return bool(_DEVICE.fullmatch(path))


def _holds(folder: str, place: str) -> bool:
    return folder == place or place.startswith(folder.rstrip("/") + "/")


class ProtectedRoots(msgspec.Struct, frozen=True):
    """Where the workspace and the person's home are, if that is known."""

    root: str = ""
    home: str = ""

    def is_everything(self, path: str) -> bool:
        return covers_protected_root(path, self.root, self.home)


DenylistTest: TypeAlias = Callable[[SimpleCommand, ProtectedRoots], bool]

DOWNLOADS: Final = words_in("curl wget aria2c fetch http https xh lynx w3m ftp")
SENDS: Final = DOWNLOADS | words_in("nc ncat netcat socat telnet scp sftp rsync ssh mail sendmail")
INTERPRETERS: Final = SHELLS | words_in(
    "python python2 python3 pypy pypy3 node nodejs deno bun ruby perl php lua luajit tclsh "
    "osascript pwsh powershell Rscript julia groovy guile racket elixir"
)
_PLAIN_AGENTS: Final = words_in(
    "claude claude-code opencode opencode-ai codex gemini gemini-cli aider aider-chat cursor-agent "
    "qwen qwen-code kimi"
)
_OTHER_AGENTS: Final = words_in("goose amp droid crush copilot vibe")  # other programs, too
AGENTS: Final = _PLAIN_AGENTS | _OTHER_AGENTS
_LOOSE: Final = re.compile(
    r"--(dangerously|yolo|full-auto|auto(-approve|-edit)?$|yes(-always)?$|allow-all|trust-all|"
    r"skip-permissions|always-approve|no-sandbox|bypass|force$)|-y$|bypassPermissions|yolo$|never$|"
    r"danger-full-access"
)
_RUNS_INPUT: Final = INTERPRETERS | words_in("eval source . xargs")
_ABOUT: Final = (("--version",), ("--help",), ("-h",), ("-V",), ("version",))
_STARTS: Final = words_in("run exec session chat -p --prompt --print -x --execute -c --continue")
_HOLDERS: Final = words_in("env printenv history set export declare")
_NAMES: Final = 50  # functions of one line that are looked at
_FORK: Final = re.compile(r"(?<![\w:.])([\w:.]+)\(\)\{")


def _recursive(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    deep = command.has("rR", "--recursive", "--no-preserve-root")
    return deep and any(ground.is_everything(path) for path in command.operands)


def _takes_over(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    return command.has("R", "--recursive") and any(map(is_system_folder, command.operands))


def _whole_search(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    """`find` that deletes all of a place, without a test that narrows it."""
    words = command.arguments
    ends = [at for at, word in enumerate(words) if word.startswith(("-", "(", "!"))]
    starts = words[: ends[0]] if ends else words
    narrowed = any(w in ("-name", "-iname", "-path", "-regex", "-newer", "-mtime") for w in words)
    deletes = "-delete" in words or any(w in words for w in ("rm", "shred", "unlink"))
    return deletes and not narrowed and any(ground.is_everything(path) for path in starts or ".")


def _to_device(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    return any(is_block_device(word.partition("=")[2] or word) for word in command.arguments)


def _always(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    return True


def _kills_all(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    return any(word in ("-1", "1") for word in command.arguments[-1:])


def _stops_machine(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    words = words_in("poweroff reboot halt kexec suspend hibernate rescue emergency 0 6")
    return any(word in words for word in command.operands)


def _runs_download(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    return any(each.name in DOWNLOADS for each in command.fed)


def _sends_secret(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    told = [*command.arguments, *(w for each in command.fed for w in each.arguments)]
    holders = [each for each in command.fed if each.name in _HOLDERS]
    return bool(holders) or any(_is_secret(word) for word in told)


def _is_secret(word: str) -> bool:
    path = re.split(r"[@=:<]", word)[-1].removeprefix("~/")
    return bool(path) and bool(secret_reason(path.encode("utf-8", "surrogateescape")))


def _starts(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    """Tells whether a program does more than say what it is."""
    return command.arguments not in _ABOUT


def _runs_assent(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    return "assent" in _modules(command)


def _runs_agent(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    return any(name in _PLAIN_AGENTS for name in _modules(command))


def _modules(command: SimpleCommand) -> list[str]:
    words = command.arguments
    return [then.split(".")[0] for first, then in pairwise(words) if first == "-m"]


def _is_agent(command: SimpleCommand, ground: ProtectedRoots) -> bool:
    """Tells of a name that other programs have, too, whether the agent is meant."""
    words = command.arguments
    return not words or words[0] in _STARTS or any(_LOOSE.match(word) for word in words)


class DenylistEntry(msgspec.Struct, frozen=True):
    """Programs, what about them is dangerous, and why nobody should run it."""

    names: frozenset[str]
    test: DenylistTest
    reason: str


_AGENT: Final = "It starts another agent, whose calls no gate here would judge."
DENYLIST: Final = (
    DenylistEntry(words_in("rm shred srm trash"), _recursive,
           "It deletes a whole home, system, workspace or repository."),
    DenylistEntry(words_in("find fd"), _whole_search,
           "It deletes everything below a whole home, system, workspace or repository."),
    DenylistEntry(words_in("chmod chown chgrp setfacl"), _takes_over,
           "It changes who may use a whole home or system."),
    DenylistEntry(words_in("mkfs wipefs blkdiscard mkswap fdisk sfdisk parted sgdisk cryptsetup"),
           _always, "It overwrites a disk."),
    DenylistEntry(words_in("dd cp mv tee shred cat"), _to_device,
           "It writes to a disk or the memory."),
    DenylistEntry(words_in("shutdown reboot halt poweroff"), _always, "It stops the machine."),
    DenylistEntry(words_in("systemctl init telinit"), _stops_machine, "It stops the machine."),
    DenylistEntry(words_in("kill"), _kills_all, "It ends every process, or the first of all."),
    DenylistEntry(words_in("sudo su doas pkexec run0 runuser"), _always,
           "It takes the rights of another user, which nobody gave a model."),
    DenylistEntry(_RUNS_INPUT, _runs_download,
           "It runs what it downloads before anybody has read it."),
    DenylistEntry(SENDS, _sends_secret, "It sends secrets to another machine."),
    DenylistEntry(words_in("assent"), _starts,
           "It runs Assent from inside a session; only a person at a terminal approves."),
    DenylistEntry(INTERPRETERS, _runs_assent,
           "It runs Assent from inside a session; only a person at a terminal approves."),
    DenylistEntry(_PLAIN_AGENTS, _starts, _AGENT),
    DenylistEntry(_OTHER_AGENTS, _is_agent, _AGENT),
    DenylistEntry(INTERPRETERS, _runs_agent, _AGENT),
)  # fmt: skip


def denylist_reason(text: str, found: ParsedCommandLine, ground: ProtectedRoots) -> str:
    """Returns why nobody should run a line; nothing if these tables know of no reason."""
    if _multiplies(re.sub(r"\s+", "", text)):
        return "It multiplies until the machine stands still."
    if any(is_block_device(word.text) for word in found.targets):
        return "It writes to a disk or the memory."
    reasons = (_reason(command, ground) for command in found.commands if command.words)
    return next((reason for reason in reasons if reason), "")


def _multiplies(squeezed: str) -> bool:
    names = sorted(set(_FORK.findall(squeezed)))[:_NAMES]
    return any(f"{name}|{name}" in squeezed for name in names)


def _reason(command: SimpleCommand, ground: ProtectedRoots) -> str:
    name = "mkfs" if command.name.startswith("mkfs.") else command.name.partition("@")[0]
    plain = SimpleCommand(without_global_options(command), command.sets, command.fed, command.given)
    rows = (row.reason for row in DENYLIST if name in row.names and row.test(plain, ground))
    return next(rows, "")
