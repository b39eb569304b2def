"""The stream that docs/ci.md shows is the one that its command prints."""

import re
from typing import Any

import msgspec
import pytest
from tests.cli.harness import World
from tests.house.source import ROOT

from assent.sandbox.runner.bubblewrap import sandbox_unavailable

PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"```json\n(.*?)```\n", re.DOTALL)
MAKEFILE = b"test:\n\t@echo 12 passed\n"


def read(text: str) -> list[dict[str, Any]]:
    """Reads lines without what no two runs have in common."""
    rows: list[dict[str, Any]] = [msgspec.json.decode(line) for line in text.splitlines()]
    for row in rows:
        row["at"] = ""
        row["body"].pop("run", None)
        for operation in row["body"].get("operations", ()):
            operation["id"] = ""
    return rows


def test_the_example_is_what_a_build_prints(world: World) -> None:
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)
    (shown,) = SHOWN.findall(PAGE)
    (line,) = re.findall(r"`assent (build plan\.json --output-format stream-json)`", PAGE)
    world.put("Makefile", MAKEFILE)
    world.plan()
    world.ok("stage", "run", "--", "make", "test")
    digest = world.ok("propose", "--portable", "--out", "plan.json")["digest"]
    world.ok("approve", "plan.json", "--digest", digest)
    answer = world.process(*line.split())
    assert (answer.code, answer.err) == (0, b"")
    assert read(answer.out.decode()) == read(shown)
