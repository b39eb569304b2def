"""Readable copies that cannot be written: what is said of them is true, whatever else was done."""

import pytest
from tests.cli.harness import Answer, World

from assent.sandbox.runner.bubblewrap import sandbox_unavailable

SAID = b"The readable copies in .opencode/assent are outdated: "
COUNTS = b". The log is authoritative.\n"


@pytest.fixture
def blocked(world: World) -> World:
    """A workspace whose folder for copies is none; nobody, not even root, can write into it."""
    world.plan()
    copies = world.root / ".opencode" / "assent" / "plans"
    copies.rename(world.base / "copies")
    copies.write_bytes(b"")
    return world


def check(answer: Answer) -> None:
    said = [line + b"\n" for line in answer.err.splitlines() if SAID in line]
    assert said, answer
    assert all(line.endswith(COUNTS) for line in said), said
    assert b"Nothing was changed" not in answer.err


def test_what_was_staged_is_staged(blocked: World) -> None:
    answer = blocked.run("stage", "write", "a.txt", "--from", "-", stdin=b"a\n")
    assert answer.code == 0
    check(answer)
    assert [row["path"] for row in blocked.ok("stage", "list")["operations"]] == ["a.txt"]


def test_what_was_written_before_a_halt_is_written(blocked: World) -> None:
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)
    blocked.write("a.txt", b"a\n")
    blocked.ok("stage", "run", "--", "false")
    blocked.approve()
    answer = blocked.run("build")
    assert answer.code == 6
    check(answer)
    assert blocked.files() == {b"a.txt": ("file", 0o644, b"a\n")}
