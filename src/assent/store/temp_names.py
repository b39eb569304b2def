"""Names of temporary files, and when one counts as abandoned."""

import os
from functools import cache
from itertools import count

DAY = 24 * 60 * 60


class TempNames:
    """Fresh names in one folder; each tells which process made it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._token = os.urandom(4).hex()
        self._counted = count(1)

    def fresh(self) -> str:
        """Returns a path that nobody else uses."""
        number = next(self._counted)
        return f"{self._folder}/{_space()}-{os.getpid()}-{self._token}-{number}"


def is_abandoned(name: str, age: float) -> bool:
    """Tells whether a file's maker is gone; of one from elsewhere only its age can tell."""
    space, _, rest = name.partition("-")
    pid = rest.partition("-")[0]
    ours = space == _space() != "0" and pid.isdecimal()
    return age > DAY or (ours and not os.path.exists(f"/proc/{pid}"))


@cache
def _space() -> str:
    """Returns the name of our space of process ids: a container has another than its host."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "0"
