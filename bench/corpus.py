"""The files that are measured with: small texts, a hundred to a folder, old and new versions."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["new", "replaced"]

KINDS: tuple[Kind, ...] = ("new", "replaced")
FAN_OUT = 100
LINES = 30


class Sample(msgspec.Struct, frozen=True):
    """A file with its content before, if there is any, and after."""

    path: str
    old: bytes | None
    new: bytes


def samples(count: int, kind: Kind) -> list[Sample]:
    """Returns files that a change makes, or replaces."""
    return [
        Sample(
            f"part{index // FAN_OUT:04}/file{index:06}.txt",
            _text(index, "first") if kind == "replaced" else None,
            _text(index, "second"),
        )
        for index in range(count)
    ]


def folders(files: Iterable[Sample]) -> list[str]:
    """Returns the folders of the files, each once."""
    return list(dict.fromkeys(os.path.dirname(sample.path) for sample in files))


def lay_down(root: Path, files: Iterable[Sample], version: Literal["old", "new"]) -> None:
    """Writes one version of the files below a folder; where a version has no content, no file."""
    root.mkdir(parents=True, exist_ok=True)
    for sample in files:
        content = sample.old if version == "old" else sample.new
        if content is not None:
            target = root / sample.path
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content)


def require(root: Path, files: list[Sample], version: Literal["old", "new"]) -> None:
    """Fails unless the files hold what they should, so that nothing undone is ever timed."""
    for sample in (files[0], files[len(files) // 2], files[-1]):
        target = root / sample.path
        wanted = sample.old if version == "old" else sample.new
        found = target.read_bytes() if target.exists() else None
        if found != wanted:
            raise AssertionError(f"{target} is not as it should be after the measured work.")


def _text(index: int, version: str) -> bytes:
    lines = [f"line {number} of file {index}, which says nothing" for number in range(LINES)]
    lines[LINES // 2] = f"the {version} version of file {index}"
    return ("\n".join(lines) + "\n").encode()
