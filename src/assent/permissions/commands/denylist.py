"""The denylist: commands that are refused in every mode, whatever rules allow, and why (F91).

The tables stop accidents and plain attacks by their text; the sandbox contains what they miss.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from posixpath import normpath
from typing import Final, TypeAlias

import msgspec

from assent.core.permission.sensitive_paths import secret_reason
from assent.permissions.commands.program_spec import DangerTest
from assent.permissions.commands.programs import is_kind, known_program
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import (
    ParsedCommandLine,
    SimpleCommand,
    without_global_options,
)

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
    """Tells whether a path is a whole home, system, workspace or repository, or contains one."""
    real = _short(path)
    here = real in _HERE or (_TOP in real and real[-1:] in ")`")
    if is_system_folder(path) or here or set(real.split("/")) == {".."}:
        return True
    places = [normpath(place) for place in (root, home) if place]
    return real.endswith("/.git") or any(_holds(real, place) for place in places)


def is_system_folder(path: str) -> bool:
    """Tells whether a path is a whole home or a system folder."""
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
    """The paths of the workspace and the user's home, if known."""

    root: str = ""
    home: str = ""

    def is_everything(self, path: str) -> bool:
        return covers_protected_root(path, self.root, self.home)


DenylistTest: TypeAlias = Callable[[SimpleCommand, ProtectedRoots], bool]

_LOOSE: Final = re.compile(
    r"--(dangerously|yolo|full-auto|auto(-approve|-edit)?$|yes(-always)?$|allow-all|trust-all|"
    r"skip-permissions|always-approve|no-sandbox|bypass|force$)|-y$|bypassPermissions|yolo$|never$|"
    r"danger-full-access"
)
_ABOUT: Final = (("--version",), ("--help",), ("-h",), ("-V",), ("version",))
_STARTS: Final = words_in("run exec session chat -p --prompt --print -x --execute -c --continue")
_HOLDERS: Final = words_in("env printenv history set export declare")
_NAMES: Final = 50  # functions of one line that are looked at
_FORK: Final = re.compile(r"(?<![\w:.])([\w:.]+)\(\)\{")


def _recursive(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    deep = command.has("rR", "--recursive", "--no-preserve-root")
    return deep and any(protected.is_everything(path) for path in command.operands)


def _takes_over(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    return command.has("R", "--recursive") and any(map(is_system_folder, command.operands))


def _whole_search(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    """`find` that deletes all of a place, without a test that narrows it."""
    words = command.arguments
    ends = [at for at, word in enumerate(words) if word.startswith(("-", "(", "!"))]
    starts = words[: ends[0]] if ends else words
    narrowed = any(w in ("-name", "-iname", "-path", "-regex", "-newer", "-mtime") for w in words)
    deletes = "-delete" in words or any(w in words for w in ("rm", "shred", "unlink"))
    return deletes and not narrowed and any(protected.is_everything(path) for path in starts or ".")


def _to_device(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    return any(is_block_device(word.partition("=")[2] or word) for word in command.arguments)


def _always(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    return True


def _kills_all(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    return any(word in ("-1", "1") for word in command.arguments[-1:])


def _stops_machine(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    words = words_in("poweroff reboot halt kexec suspend hibernate rescue emergency 0 6")
    return any(word in words for word in command.operands)


def _runs_download(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    return any("downloads" in each.program.kinds for each in command.fed)


def _sends_secret(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    told = [*command.arguments, *(w for each in command.fed for w in each.arguments)]
    holders = [each for each in command.fed if each.name in _HOLDERS]
    return bool(holders) or any(_is_secret(word) for word in told)


def _is_secret(word: str) -> bool:
    path = re.split(r"[@=:<]", word)[-1].removeprefix("~/")
    return bool(path) and bool(secret_reason(path.encode("utf-8", "surrogateescape")))


def _starts(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    """Tells whether a program does more than say what it is."""
    return command.arguments not in _ABOUT


def _runs_assent(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    return "assent" in _modules(command)


def _runs_agent(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    return any(is_kind(name, "agent") for name in _modules(command))


def _modules(command: SimpleCommand) -> list[str]:
    words = command.arguments
    return [then.split(".")[0] for first, then in pairwise(words) if first == "-m"]


def _is_agent(command: SimpleCommand, protected: ProtectedRoots) -> bool:
    """Tells whether a name that other programs have, too, means the agent."""
    words = command.arguments
    return not words or words[0] in _STARTS or any(_LOOSE.match(word) for word in words)


_TESTS: Final[dict[DangerTest, DenylistTest]] = {
    "always": _always,
    "deletes_root": _recursive,
    "searches_root": _whole_search,
    "takes_over": _takes_over,
    "device": _to_device,
    "kills_all": _kills_all,
    "stops_machine": _stops_machine,
    "runs_download": _runs_download,
    "sends_secret": _sends_secret,
    "starts": _starts,
    "is_agent": _is_agent,
    "runs_assent": _runs_assent,
    "runs_agent": _runs_agent,
}


def denylist_reason(text: str, found: ParsedCommandLine, protected: ProtectedRoots) -> str:
    """Returns why a line is always refused; empty if the tables have no reason."""
    if _multiplies(re.sub(r"\s+", "", text)):
        return "It is a fork bomb."
    if any(is_block_device(word.text) for word in found.targets):
        return "It writes directly to a disk or to memory."
    reasons = (_reason(command, protected) for command in found.commands if command.words)
    return next((reason for reason in reasons if reason), "")


def _multiplies(squeezed: str) -> bool:
    names = sorted(set(_FORK.findall(squeezed)))[:_NAMES]
    return any(f"{name}|{name}" in squeezed for name in names)


def _reason(command: SimpleCommand, protected: ProtectedRoots) -> str:
    plain = SimpleCommand(without_global_options(command), command.sets, command.fed, command.given)
    rows = known_program(command.name.partition("@")[0]).dangers
    return next((row.reason for row in rows if _TESTS[row.test](plain, protected)), "")
