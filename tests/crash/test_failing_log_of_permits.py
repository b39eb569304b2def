"""F64: a log that fails during an edit of a session hides neither the run nor what it did."""

import sys
from pathlib import Path

import msgspec
import pytest
from tests.crash.apart import PATIENT
from tests.crash.rig import command, environment, program
from tests.support import forked_python

from assent.render.status import ROLLED_BACK

CALL = {"tool": "write", "args": {"path": "made.txt", "content": "x" * 3000}}
TURNS = [{"text": "", "calls": [CALL]}, {"text": "Done.", "calls": []}]
# The program, in which no file grows beyond so many blocks of 512 bytes, as `ulimit -f` has it.
LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({blocks} * 512,) * 2)
from assent.cli import main
main()
"""
SAY = ("-p", "--mode", "yolo", "--model", "scripted:script.json")


@PATIENT
@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_log_that_cannot_grow_names_the_run_and_the_way_on(form: str, tmp_path: Path) -> None:
    cut = 0
    for blocks in range(312, 392, 8):
        folder = tmp_path / str(blocks)
        root = folder / "work"
        root.mkdir(parents=True)
        (root / "script.json").write_bytes(msgspec.json.encode({"turns": TURNS}))
        line = [sys.executable, "-c", LIMITED.format(blocks=blocks), "-C", str(root), *SAY]
        said = forked_python.run(
            [*line, "--output-format", form, "go"], env=environment(folder), capture_output=True
        )
        words = (said.stdout + said.stderr).decode()
        assert "Traceback" not in words
        run = command(folder, root, "status").json.get("run")
        if run is None or run["outcome"] is not None:
            assert said.returncode == 0 or not run or f"Run {run['run']} is finished." in words, (
                words
            )
            continue
        cut += 1
        assert said.returncode == 6, words
        assert run["run"] in words
        assert "assent recover" in words
        done = (root / "made.txt").exists()
        assert f"made.txt ({'done' if done else 'not started'})" in words
        recovered = program(folder, root, "recover").stdout.decode()
        assert recovered.startswith(("Done:", f"{ROLLED_BACK}\n"))
        assert "approval" not in recovered
        assert recovered.startswith("Done:") or recovered.endswith("Next: assent -c\n")
    assert cut > 1
