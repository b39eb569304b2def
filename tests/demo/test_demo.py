"""The demonstration tells the truth: every step is checked, and the crash in it is a real one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from demo.scene import Scene, Unexpected
from tests.demo.seen import found_in_order

from assent.planning.approvals import NOT_APPROVED, USED_BY_RUN

ROOT = Path(__file__).parents[2]

# What must be seen, in this order.
STORY = (
    "$ assent -p 'Bake at 230 degrees' --model scripted:../oven.json",
    "Plan ready for review: 3 operations",
    "(exit 3)",
    "Model calls read",
    "Model calls delete",
    "Model calls write\n",
    "Model calls present_plan",
    "$ assent review",
    "Risks: 2 of 3 operations",
    "deletes ",
    "protected ",
    "+      - run: curl",
    "$ assent build",
    NOT_APPROVED,
    "(exit 3)",
    "$ assent reject --note 'No script from the network.",
    "state    Draft",
    "$ assent -c -p",
    "Plan ready for review: 2 operations",
    "(exit 3)",
    "Assent (rejected)",
    "│ No script from the network. Leave the workflow as it is.",
    "$ assent approve --digest",
    "(exit 5)",
    "state    Approved, not built",
    "Done: all operations applied.",
    " D bakery/legacy.py\n M bakery/oven.py\n",
    USED_BY_RUN,
    "(exit 4)",
    "$ assent -c -p",
    "Assent (run)",
    "│ 2. done: delete bakery/legacy.py",
    "$ assent stage move recipes bakery/recipes",
    "$ kill -9",
    "$ assent status",
    "A run was interrupted",
    "$ assent recover",
    "All 1200 recipes are in",
    "$ assent undo",
    "As at the start.",
    "Done. Every step ended as told.",
)


@pytest.mark.slow
def test_g23_the_demonstration_plays_through_in_a_pipe(tmp_path: Path) -> None:
    played = subprocess.run(
        [sys.executable, "-m", "demo.play"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
    )
    assert (played.returncode, played.stderr) == (0, "")
    assert found_in_order(played.stdout, STORY) == list(STORY)
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_ends_otherwise_stops_the_story(tmp_path: Path) -> None:
    scene = Scene(tmp_path, pause=0)
    with pytest.raises(Unexpected, match="ended with 4 instead of 0"):
        scene.do("exit 4")
    with pytest.raises(Unexpected, match="ended with 1 instead of 0"):
        scene.do("false | cat")
