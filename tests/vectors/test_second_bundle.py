"""docs/bundle.md is enough to read a bundle: a reader that was written from it agrees with ours."""

from pathlib import Path

import pytest
from nacl.exceptions import BadSignatureError
from tests.cli.machines import Machines, key_of
from tests.vectors.second_bundle import read


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    """A plan with every kind of operation, asked for and approved."""
    machines = Machines(tmp_path)
    planner = machines.planner
    planner.put("rests.txt", b"on this\n")
    planner.link("link", "a.txt")
    planner.plan()
    text = b"---\nscope:\n  files: ['*']\nrelies_on: [rests.txt]\n---\n# \xc3\x84\n"
    planner.ok("plan", "write", "-", stdin=text)
    planner.write("a.txt", b"changed\n")
    planner.write("tool", b"#!/bin/sh\n", "--mode", "755")
    planner.ok("stage", "delete", "gone.txt")
    planner.ok("stage", "move", "link", "other")
    for _ in range(2):
        planner.ok("stage", "run", "--env", "A=b", "--", "printf", "%s", "ä")
    machines.pack()
    machines.approve("--note", "Größer", "--expires", "2h")
    return machines


def test_g14_another_reader_agrees(machines: Machines) -> None:
    origin, (yes,) = read(machines.file.read_bytes())
    shown = machines.person.ok("review", str(machines.file))
    assert (origin["digest"], yes["digest"]) == (shown["digest"], shown["digest"])
    assert (origin["key"], yes["key"]) == (key_of(machines.planner), key_of(machines.person))
    assert yes["note"] == "Größer"


@pytest.mark.parametrize("word", [b'"user":"', b'"note":"', b'"prune":', b'"zlib":"', b'"text":"'])
def test_g14_another_reader_finds_changes(machines: Machines, word: bytes) -> None:
    content = machines.file.read_bytes()
    at = content.index(word) + len(word)
    changed = content[:at] + (b"1" if content[at : at + 1] != b"1" else b"2") + content[at + 1 :]
    with pytest.raises((AssertionError, ValueError, BadSignatureError)):
        read(changed)
