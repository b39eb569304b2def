"""What bash itself makes of a line, where nothing but `touch` can be found."""

import subprocess
from pathlib import Path


def shows(text: str, folder: Path) -> bool:
    """Runs a line; tells whether the file `PWN` was made by something that it hides."""
    (folder / "bin").mkdir()
    (folder / "bin" / "touch").symlink_to("/usr/bin/touch")
    (folder / "here").mkdir()
    subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", text],
        env={"PATH": str(folder / "bin")},
        cwd=folder / "here",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return (folder / "here" / "PWN").exists()
