"""Running small programs of sed and awk for real, in a folder where every effect would show."""

import subprocess
from pathlib import Path

CANARY = "the canary sings"
LINES = "touch pwned\na b/c 7\n10 out\n"


def prepare(folder: Path) -> Path:
    """Makes a folder with a file to read, and one that nobody named."""
    folder.mkdir()
    (folder / "in").write_text(LINES, encoding="utf-8")
    (folder / "other").write_text(CANARY, encoding="utf-8")
    return folder


def state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run(folder: Path, *argv: str) -> str:
    """Runs a program on the file, and returns what it printed."""
    done = subprocess.run(
        [*argv, "in"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        check=False,
    )
    return done.stdout.decode("utf-8", "replace")
