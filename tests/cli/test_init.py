"""`assent init`: the plan agent's file is kept in step, unless a person changed it."""

from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.support.engine import World as Inside

from assent.agent.project_files import RELEASED_DIGESTS
from assent.app.workspace_files import packaged_agent
from assent.core.digest import sha256

AGENT = ".opencode/agents/plan.md"


def test_whoever_changes_the_packaged_file_adds_its_hash() -> None:
    assert sha256(packaged_agent()) in RELEASED_DIGESTS


def test_it_is_written_where_it_is_missing(world: World) -> None:
    assert world.ok("init") == {"agent": "written", "agent_written": True}
    assert (world.root / AGENT).read_bytes() == packaged_agent()
    assert world.ok("init") == {"agent": "current", "agent_written": False}
    (world.root / AGENT).unlink()
    assert world.ok("init") == {"agent": "written", "agent_written": True}


@pytest.mark.parametrize("mine", [b"mine\n", b"", packaged_agent() + b"and more\n"])
def test_what_a_person_changed_is_left_alone_and_said(world: World, mine: bytes) -> None:
    world.put(AGENT, mine)
    assert world.ok("init") == {"agent": "changed_by_person", "agent_written": False}
    assert (world.root / AGENT).read_bytes() == mine
    assert b"has your own changes and was kept" in world.run("init").out


def test_an_earlier_version_of_ours_is_replaced(tmp_path: Path) -> None:
    """The newer text stands for the package's of tomorrow; today's is then an earlier one."""
    inside = Inside(tmp_path)
    engine = inside.engine()
    assert engine.init(packaged_agent()) == "written"
    assert engine.init(b"tomorrow") == "updated"
    assert (inside.root / AGENT).read_bytes() == b"tomorrow"
    assert engine.init(b"tomorrow") == "current"
    assert engine.init(b"the day after") == "changed_by_person"


def test_a_symlink_in_its_place_is_left_alone_too(world: World) -> None:
    outside = world.base / "precious"
    outside.write_bytes(b"precious")
    (world.root / AGENT).parent.mkdir(parents=True)
    (world.root / AGENT).symlink_to(outside)
    assert world.ok("init") == {"agent": "changed_by_person", "agent_written": False}
    assert outside.read_bytes() == b"precious"
