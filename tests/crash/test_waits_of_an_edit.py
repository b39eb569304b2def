"""How often an edit outside plan mode waits for the disk: what decision 0048 lists, and no more."""

import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from tests.crash.rig import PROGRAM, environment

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace is missing")

LINES = 40
SYNC = re.compile(r"(?:fsync|fdatasync|syncfs)\(\d+<([^>]*)>")  # another thread may interrupt it
SAY = ("-p", "--mode", "auto-edit", "--model", "scripted:script.json", "go")


def test_an_edit_of_one_file_waits_five_times(tmp_path: Path) -> None:
    few, many = waits(tmp_path / "few", 2), waits(tmp_path / "many", 5)
    # Some names of the start occur once in one of them: they contain a number or the folder.
    added = {name: (many.count(name) - few.count(name)) // 3 for name in {*many}}
    assert {name: count for name, count in added.items() if count} == {
        "state/assent/blobs/small": 1,  # the new content
        "state/assent/log.db-wal": 2,  # the start of the run; the end of the call
        "work/.opencode/assent/stage/RUN/0.new": 1,  # the content of the slot
        "work": 1,  # the rename
    }


def waits(folder: Path, edits: int) -> list[str]:
    """Runs a session with some edits; returns what it waited for, in order."""
    root = folder / "work"
    root.mkdir(parents=True)
    (root / "a.txt").write_text("".join(f"line {n}.\n" for n in range(LINES)))
    calls = [
        {"tool": "edit", "args": {"path": "a.txt", "old": f"line {n}.\n", "new": f"row {n}.\n"}}
        for n in range(edits)
    ]
    turns = [{"text": "", "calls": [call]} for call in calls]
    script = {"turns": [*turns, {"text": "Done.", "calls": []}]}
    (root / "script.json").write_bytes(msgspec.json.encode(script))
    trace = folder / "trace"
    strace = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,syncfs", "-o", str(trace)]
    line = [*strace, *PROGRAM, "-C", str(root), *SAY]
    ran = subprocess.run(line, env=environment(folder), capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    assert (root / "a.txt").read_text().count("row") == edits
    found = SYNC.findall(trace.read_text("utf-8", "backslashreplace").replace(f"{folder}/", ""))
    return [re.sub(r"stage/[^/]*/", "stage/RUN/", name) for name in found]
