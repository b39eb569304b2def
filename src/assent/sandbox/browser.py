"""Opens a file in the user's browser, as a program of its own."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

# Isolated: a module of the folder that we were started in must not take the place of Python's.
OPENER = ("-I", "-m", "webbrowser", "-t")


def open_in_browser(path: Path) -> None:
    """Shows a file in the browser that `$BROWSER` or the desktop names; nothing waits for it."""
    with suppress(OSError):
        subprocess.Popen(
            [sys.executable, *OPENER, path.as_uri()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
