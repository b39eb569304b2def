"""The references: the same change by the fewest system calls that are safe, and by git."""

import difflib
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from bench.corpus import Sample, folders, lay_down, require
from bench.pace import flush, timed

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class Bare:
    """Writes all new contents under other names, flushes, renames them all, flushes."""

    def __init__(self, place: Path, files: list[Sample]) -> None:
        self._roots = _numbered(place)
        self._files = files

    def apply(self) -> float:
        root = next(self._roots)
        lay_down(root, self._files, "old")
        (root / "stage").mkdir()
        flush(root)
        seconds = timed(lambda: self._apply(root))
        require(root, self._files, "new")
        return seconds

    def _apply(self, root: Path) -> None:
        for index, sample in enumerate(self._files):
            fd = os.open(f"{root}/stage/{index}", _CREATE, 0o644)
            os.write(fd, sample.new)
            os.close(fd)
        flush(root)
        for folder in folders(self._files):
            os.makedirs(f"{root}/{folder}", exist_ok=True)
        for index, sample in enumerate(self._files):
            os.rename(f"{root}/stage/{index}", f"{root}/{sample.path}")
        flush(root)


class Careful(Bare):
    """The same with the least of checks: contents come from files and are hashed, old and new."""

    def __init__(self, place: Path, files: list[Sample]) -> None:
        super().__init__(place, files)
        source = Path(f"{place}-contents")
        contents = [
            Sample(f"{n % 256:02x}/{n}", None, sample.new) for n, sample in enumerate(files)
        ]
        lay_down(source, contents, "new")
        self._sources = [f"{source}/{sample.path}" for sample in contents]
        self._digests = [hashlib.sha256(sample.new).digest() for sample in files]

    def _apply(self, root: Path) -> None:
        for sample in self._files:
            if _digest_of(f"{root}/{sample.path}") != _digest(sample.old):
                raise AssertionError(f"{sample.path} changed.")
        for source, digest in zip(self._sources, self._digests, strict=True):
            if _digest_of(source) != digest:
                raise AssertionError(f"{source} changed.")
        super()._apply(root)


class Git:
    """`git apply` of the same change, and a flush of the file system."""

    def __init__(self, place: Path, files: list[Sample]) -> None:
        self._roots = _numbered(place)
        self._files = files
        self._patch = Path(f"{place}.patch")
        self._patch.write_text("".join(map(_patch, files)), encoding="utf-8")

    def apply(self) -> float:
        root = next(self._roots)
        lay_down(root, self._files, "old")
        flush(root)
        seconds = timed(lambda: _run(f"git apply '{self._patch}' && sync -f .", root))
        require(root, self._files, "new")
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


def _numbered(place: Path) -> Iterator[Path]:
    """Yields a folder for each round, because removing files slows down what comes after."""
    return (place.with_name(f"{place.name}-{number}") for number in count(1))


def _digest_of(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    content = os.read(fd, 1 << 16)
    os.close(fd)
    return _digest(content)


def _digest(content: bytes | None) -> bytes | None:
    return None if content is None else hashlib.sha256(content).digest()


def _patch(sample: Sample) -> str:
    """Returns the change of one file as git reads it."""
    new = sample.new.decode().splitlines(keepends=True)
    head = f"diff --git a/{sample.path} b/{sample.path}\n"
    if sample.old is None:
        head += f"new file mode 100644\n--- /dev/null\n+++ b/{sample.path}\n"
        return head + f"@@ -0,0 +1,{len(new)} @@\n" + "".join(f"+{line}" for line in new)
    old = sample.old.decode().splitlines(keepends=True)
    names = f"a/{sample.path}", f"b/{sample.path}"
    return head + "".join(difflib.unified_diff(old, new, *names))


def _run(script: str, folder: Path) -> None:
    """Runs a line of shell, in a folder that belongs to no repository around it."""
    alone = {"GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["sh", "-c", script], cwd=folder, env={**os.environ, **alone}, check=True)
