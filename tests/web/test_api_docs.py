"""docs/api.md: its examples are run as they stand, against a real server."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import ALONE
from tests.web.harness import served

API = Path(__file__).parents[2] / "docs" / "api.md"
ASSENT = "#!/bin/sh\nexec {python} -c 'from assent.cli import main; main()' \"$@\"\n"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_examples_work(world: World) -> None:
    (script,) = re.findall(r"```sh\n(.*?)```", API.read_text(encoding="utf-8"), re.DOTALL)
    assert script.count("curl ") >= 5
    world.env |= ALONE
    world.config.write_text('model = "scripted:script.json"\n', encoding="utf-8")
    turns = b'{"turns": [{"text": "Done."}]}'
    (world.root / "script.json").write_bytes(turns)
    with served(world) as server:
        env = {"URL": server.url, "PATH": f"{_program(world)}:{world.env['PATH']}"}
        done = world.start(["sh", "-euc", script], env=env)
        assert done.code == 0, done
        assert b'"goal":"Fix the tests"' in done.out, done
        assert b"event: session_started" in done.out, done


def _program(world: World) -> Path:
    """Returns a folder with `assent` in it, as somebody's PATH has one."""
    folder = world.base / "bin"
    folder.mkdir()
    (folder / "assent").write_text(ASSENT.format(python=sys.executable), encoding="utf-8")
    (folder / "assent").chmod(0o755)
    return folder
