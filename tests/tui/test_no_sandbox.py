"""Without bubblewrap: the screen says that a command did not run, and what helps."""

import os
import shutil
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import turn
from tests.sandbox.profiles import needs_bubblewrap
from tests.tui.tmux import OPEN, Tmux, needs_tmux, scripted

from assent.render.log import missing_sandbox_text
from assent.sandbox.status import TOOLS, install_command

pytestmark = [needs_tmux, needs_bubblewrap]


@pytest.mark.parametrize("line", ["git log", "pytest -q"])
def test_a_command_that_did_not_run_is_told_with_what_helps(
    line: str, server: Tmux, tmp_path: Path
) -> None:
    world = World(tmp_path)
    scripted(world, turn("", ("shell", {"command": line})), turn("I could not."))
    masks = [f"--ro-bind /dev/null {os.fsdecode(tool)}" for tool in TOOLS if os.path.exists(tool)]
    hidden = f"{shutil.which('bwrap')} --dev-bind / / {' '.join(masks)}"
    screen = server.open(world, f"{hidden} -- assent")
    screen.shows(OPEN)
    screen.mode("plan")
    screen.enter("Look")
    screen.shows("I could not.")
    help = install_command("bubblewrap")
    screen.shows(missing_sandbox_text({"lacks": "sandbox", "help": help}))
