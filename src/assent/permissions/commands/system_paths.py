"""System paths that no command of a model may delete or take over as a whole."""

import re
from posixpath import normpath
from typing import Final

from assent.permissions.commands.read_only.spec import words_in

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
