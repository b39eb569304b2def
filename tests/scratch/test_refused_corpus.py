"""Every line that the shell of planning refuses, and every hostile plant, really runs in a copy."""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from tests.sandbox.profiles import gathered, needs_bubblewrap
from tests.scratch.copies import Place, kinds, line, unfurnished
from tests.shell.lists import UNEXECUTED, families, filled
from tests.shell.plants import PLANTS, ground
from tests.shell.scratch import SECRET, build
from tests.shell.test_hostile_repositories import LOOKS
from tests.shell.watching import Leaks, Listener, Watch

from assent.core.shell.process import CommandSpec, ProcessLimits
from assent.sandbox.scratch.scratch import LocalScratchCopy

pytestmark = needs_bubblewrap

CANARY = "what only the person knows"
EXECUTED = {
    name: lines for name, lines in families("refused").items() if not name.startswith(UNEXECUTED)
}
WRITING = ("places", "redirects", "scripts", "writers")  # that run in a copy of files, too
# These change no file of a copy but git's: there is no terminal in there, and nothing outside; one
# makes a branch, one writes what was there.
UNSEEN = (
    "pager", "other git folder", "other work tree", "branch by name", "uniq output by name",
)  # fmt: skip
LIMITS = ProcessLimits(seconds=300, output=1 << 30, file=1 << 28)
DRIVER = (Path(__file__).parent / "line_driver.py").read_bytes()


class Yard(NamedTuple):
    """A workspace with watchers around it."""

    place: Place
    listener: Listener
    watch: Watch


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    with Listener() as listener:
        yield _yard(tmp_path, listener, "overlay")


def _yard(base: Path, listener: Listener, only: str) -> Yard:
    place = unfurnished(base, only=only)
    build(place.root)
    for name in ("home/canary.txt", "state/key"):
        (base / name).write_text(CANARY + "\n", encoding="utf-8")
    return Yard(place, listener, Watch((place.root, base / "home"), listener))


@pytest.mark.parametrize(
    ("family", "only"),
    [*((family, "overlay") for family in EXECUTED), *((family, "copy") for family in WRITING)],
)
def test_g13_what_is_refused_elsewhere_changes_only_the_copy(
    family: str, only: str, tmp_path: Path
) -> None:
    with Listener() as listener:
        place, _, watch = _yard(tmp_path, listener, only)
        lines = filled(EXECUTED[family], listener.port, str(tmp_path / "home"))
        copy = place.open()
        leaking = list[str]()
        while lines:
            begun, leaks = _driven(copy, place, lines)
            leaking += leaks
            assert watch.leaks() == Leaks(), lines[:begun]
            lines = lines[begun:]
        assert leaking == []
        copy.clear()
        assert watch.deep_leaks() == Leaks()
        assert (tmp_path / "state/key").read_text(encoding="utf-8") == CANARY + "\n"


def test_the_lines_really_run_and_a_secret_would_be_seen(yard: Yard) -> None:
    copy = yard.place.open()
    lines = [
        "touch pwned",
        "echo x >> README.md",
        "cat data/old.txt",
        "kill -9 -1",
        "rm data/a.txt",
    ]
    begun, leaks = _driven(copy, yard.place, lines, canary="three\n")
    assert (lines[:begun], leaks) == (lines[:4], ["cat data/old.txt"])
    assert kinds(copy.changes()) == {"pwned": "created", "README.md": "replaced"}
    copy.clear()


@pytest.mark.parametrize("name", PLANTS)
def test_f14_what_a_repository_plants_goes_off_in_the_copy_and_nowhere_else(
    name: str, tmp_path: Path
) -> None:
    """Each goes off there as it would in a person's shell: the copy itself is its to change."""
    place, plant = unfurnished(tmp_path, only="overlay"), PLANTS[name]
    with Listener() as listener:
        plant.sow(ground(place.root, tmp_path / "home", listener.port))
        watch = Watch((place.root, tmp_path / "home"), listener)
        variables = {k: v.replace("{root}", str(place.root)) for k, v in plant.env.items()}
        given = " ".join(shlex.quote(f"{key}={value}") for key, value in variables.items())
        shell = f"env {given} timeout 5 /bin/bash -c "
        copy = place.open()
        line(copy, place, shell + shlex.quote(plant.trigger))
        found = copy.changes()
        assert bool(found.changes) == (name not in UNSEEN), found
        line(copy, place, "; ".join(shell + shlex.quote(look) for look in LOOKS))
        copy.clear()
        assert watch.deep_leaks() == Leaks()


def _driven(
    copy: LocalScratchCopy, place: Place, lines: Sequence[str], canary: str = CANARY
) -> tuple[int, list[str]]:
    """Runs lines in a copy; returns how many of them began, and those that told a secret."""
    work = {"lines": lines, "canaries": [canary[::-1], SECRET[::-1]]}
    argv = (b"/usr/bin/python3", b"-c", DRIVER, msgspec.json.encode(work))
    ended = gathered(copy.run(CommandSpec(argv=argv), os.fsencode(place.root), LIMITS))
    told = {int(number): how for number, _, how in map(_parted, ended.output.splitlines())}
    assert told or ended.code != 1, ended.errors
    leaking = [lines[number] for number, how in sorted(told.items()) if how == b"leak"]
    begun = max(told, default=-1) + 1
    return min(begun + (begun < len(lines)), len(lines)), leaking


def _parted(text: bytes) -> tuple[bytes, bytes, bytes]:
    return text.partition(b" ")
