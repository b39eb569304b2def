"""The corpus: command lines by family, read from the files in `corpus`.

A `.txt` file has one command line a line, a `.jsonl` file one JSON string a line; lines that begin
with a hash and a blank head a group. `@PORT@` and `@HOME@` stand for the listener and the canary.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import msgspec

CORPUS = Path(__file__).parent / "corpus"
UNEXECUTED = "unexecuted"  # the family that is judged by its text alone

Families = Mapping[str, tuple[str, ...]]


@cache
def families(kind: str) -> Families:
    """All lines of `runs` or `refused`, by family."""
    return {path.stem: listed(path) for path in sorted((CORPUS / kind).iterdir())}


def chunks(kind: str, size: int = 50) -> Families:
    """The same in pieces that take about as long, so that several processes can share them."""
    return {
        f"{family} {start}": lines[start : start + size]
        for family, lines in families(kind).items()
        for start in range(0, len(lines), size)
    }


def every(kind: str) -> list[str]:
    """All lines of `runs` or `refused`."""
    return [line for lines in families(kind).values() for line in lines]


def listed(path: Path) -> tuple[str, ...]:
    """The lines of one file of the corpus."""
    return tuple(line for lines in grouped(path).values() for line in lines)


def grouped(path: Path) -> dict[str, list[str]]:
    """The lines of one file by the heads of their groups."""
    groups: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("# "):
            groups[line[2:]] = []
        elif line:
            decoded = msgspec.json.decode(line, type=str) if path.suffix == ".jsonl" else line
            groups[list(groups)[-1]].append(decoded)
    return groups


def staying() -> list[str]:
    """The lines of `runs` that are read-only without a sandbox, too."""
    return [line for name in STAYING for line in families("runs")[name]]


def leaving() -> list[str]:
    """The lines that are read-only only behind a sandbox."""
    gone = [name for name in families("runs") if name not in STAYING]
    narrower = listed(CORPUS / "narrower.txt")
    return [*narrower, *(line for name in gone for line in families("runs")[name])]


def filled(lines: Iterable[str], port: int = 9, home: str = "/home/someone") -> list[str]:
    """Puts a real port and a real folder into lines that attack them."""
    return [line.replace("@PORT@", str(port)).replace("@HOME@", home) for line in lines]


STAYING = tuple(name.removesuffix(".txt") for name in listed(CORPUS / "stays.txt"))
