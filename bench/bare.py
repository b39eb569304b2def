"""The references: the same change by the fewest system calls that are safe, and by git."""

import os
import shutil
import subprocess
from pathlib import Path

from bench.corpus import Sample, folders, lay_down, require
from bench.pace import flush, timed

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class Bare:
    """Writes all new contents under other names, flushes, renames them all, flushes."""

    def __init__(self, root: Path, files: list[Sample]) -> None:
        self._root = root
        self._stage = root / "stage"
        self._files = files
        lay_down(root, files, "old")

    def apply(self) -> float:
        _take_back(self._root, self._files)
        self._stage.mkdir()
        flush(self._root)
        seconds = timed(self._apply)
        self._stage.rmdir()
        require(self._root, self._files, "new")
        return seconds

    def _apply(self) -> None:
        root, stage = str(self._root), str(self._stage)
        for index, sample in enumerate(self._files):
            fd = os.open(f"{stage}/{index}", _CREATE, 0o644)
            os.write(fd, sample.new)
            os.close(fd)
        flush(self._root)
        for folder in folders(self._files):
            os.makedirs(f"{root}/{folder}", exist_ok=True)
        for index, sample in enumerate(self._files):
            os.rename(f"{stage}/{index}", f"{root}/{sample.path}")
        flush(self._root)


class Git:
    """`git apply` of the same change, and a flush of the file system."""

    def __init__(self, root: Path, files: list[Sample]) -> None:
        self._root = root / "tree"
        self._files = files
        self._patch = root / "patch"
        lay_down(root / "old", files, "old")
        lay_down(root / "new", files, "new")
        lay_down(self._root, files, "old")
        _run(f"git diff --no-index --no-prefix old new > {self._patch.name}", root, changed=True)
        for version in ("old", "new"):
            shutil.rmtree(root / version)

    def apply(self) -> float:
        _take_back(self._root, self._files)
        flush(self._root)
        seconds = timed(lambda: _run(f"git apply ../{self._patch.name} && sync -f .", self._root))
        require(self._root, self._files, "new")
        return seconds


class GitDiff:
    """`git diff` of the same change, old versions committed and new ones in the work tree."""

    def __init__(self, root: Path, files: list[Sample]) -> None:
        self._root = root
        lay_down(root, files, "old")
        person = "-c user.name=bench -c user.email=bench@localhost"
        _run(f"git init -q . && git add -A && git {person} commit -q --allow-empty -m old", root)
        lay_down(root, files, "new")
        _run("git add -A -N", root)  # so that files that are new show as well

    def diff(self) -> float:
        return timed(lambda: _run("git --no-pager diff > /dev/null", self._root))


def git_is_here() -> bool:
    return shutil.which("git") is not None


def _take_back(root: Path, files: list[Sample]) -> None:
    """Gives the folder its old files again."""
    if files[0].old is None:
        for folder in folders(files):
            shutil.rmtree(root / folder, ignore_errors=True)
    lay_down(root, files, "old")


def _run(script: str, folder: Path, *, changed: bool = False) -> None:
    """Runs a line of shell; `changed` expects the exit code of a diff that found something."""
    parents = {"GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(["sh", "-c", script], cwd=folder, env={**os.environ, **parents})
    if done.returncode != int(changed):
        raise AssertionError(f"`{script}` ended with {done.returncode}.")
