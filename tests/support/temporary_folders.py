"""The folder of a test: in memory, unless the test is about what a disk does.

Most tests wait for the disk longer than they compute: every event is synced. What such tests show
does not depend on the file system below them. Those of `ON_DISK` and all that ask for a folder by
`tmp_path_factory` stay on the disk; so do all where memory is short, where mounting takes a
privilege that this process does not have, without workers, and with `--basetemp`.
"""

import ctypes
import os
import re
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

ON_DISK = tuple(
    f"tests/{name}/"
    for name in (
        "bench", "conformance", "crash", "disks", "doctor", "executor", "sandbox", "store",
        "vectors", "workspace",
    )
)  # fmt: skip
SHARE = 4  # the part of the memory that is free now which folders of tests may fill
LEAST = 1 << 30  # bytes; with less left, the next folder is on the disk
LONGEST = 30  # letters of a test's name in that of its folder
CONTAINER = [
    (Path("/sys/fs/cgroup", limit), Path("/sys/fs/cgroup", used))
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    )
]  # what a group of processes may use, in the second and in the first version
NEW_MOUNTS = 0x20000  # CLONE_NEWNS
PRIVATE = 0x4000 | 0x40000  # MS_REC | MS_PRIVATE


class Memory:
    """A file system in memory that only this process and its children see."""

    def __init__(self, at: Path, below: int) -> None:
        self.at = at
        self._below = below  # the folder of the same path on the disk

    @property
    def has_room(self) -> bool:
        return shutil.disk_usage(self.at).free > LEAST

    def keep(self, folder: Path) -> None:
        """Copies a folder to where its path leads when the memory is gone."""
        kept = Path(f"/proc/self/fd/{self._below}", folder.relative_to(self.at))
        with suppress(OSError, shutil.Error):  # pipes and sockets are not copied
            shutil.copytree(folder, kept, symlinks=True)


_memory: list[Memory] = []  # one, or none
_made: Counter[Path] = Counter()


def use_memory(config: pytest.Config) -> None:
    """Has the folders of tests be in memory from now on, if the machine allows it."""
    size = _free_memory() // SHARE
    if config.option.basetemp or os.geteuid() != 0 or size < 2 * LEAST:
        return
    at: Path = config._tmp_path_factory.getbasetemp() / "memory"  # type: ignore[attr-defined]
    at.mkdir(mode=0o700)
    below = os.open(at, os.O_PATH | os.O_DIRECTORY)
    libc = ctypes.CDLL(None)
    if (
        libc.unshare(NEW_MOUNTS) == 0
        and libc.mount(None, b"/", None, PRIVATE, None) == 0
        and libc.mount(b"assent", os.fsencode(at), b"tmpfs", 0, b"mode=700,size=%d" % size) == 0
    ):
        _memory.append(Memory(at, below))
    else:
        os.close(below)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Overrides pytest's own, for a folder that may be in memory and is made in less time."""
    return new_folder(request.node, tmp_path_factory.getbasetemp())


def new_folder(item: pytest.Item, on_disk: Path) -> Path:
    """Makes the folder of a test, below the one of its worker."""
    base = on_disk
    if _memory and not item.nodeid.startswith(ON_DISK) and _memory[0].has_room:
        base = _memory[0].at / on_disk.name
        base.mkdir(mode=0o700, exist_ok=True)
    name = base / re.sub(r"\W", "_", item.name)[:LONGEST]
    # pytest would look at all folders there are for the next number: too long for thousands.
    folder = Path(f"{name}{_made[name]}")
    _made[name] += 1
    folder.mkdir(mode=0o700)
    return folder


def keep_folder(item: pytest.Item) -> None:
    """Keeps what a test that failed left in memory, for those who look for the reason."""
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if _memory and isinstance(folder, Path) and folder.is_relative_to(_memory[0].at):
        _memory[0].keep(folder)


def _free_memory() -> int:
    """Returns how many bytes of memory are free here; a container may have less than its host."""
    with open("/proc/meminfo", encoding="utf-8") as lines:
        found = next((line for line in lines if line.startswith("MemAvailable:")), "x 0")
    free = [int(found.split()[1]) << 10]
    for limit, used in CONTAINER:
        with suppress(OSError, ValueError):  # there is none, or "max"
            free.append(int(limit.read_text("utf-8")) - int(used.read_text("utf-8")))
    return max(0, min(free))
