"""Programs that read a clipboard, as those of desktops do: put on PATH, and started for real."""

import sys
from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\nand what is in it"
JPEG = b"\xff\xd8\xffand what is in it"

# Answers as wl-paste and xclip do: it lists what it has, or prints what is asked for.
PROGRAM = """#!{python} -I
import os, sys, time
folder, arguments = {folder!r}, sys.argv[1:]
with open(os.path.join(folder, "log"), "a") as log:
    log.write(" ".join(arguments) + "\\n")
if {delay}:
    time.sleep({delay})
lists = "--list-types" in arguments or "TARGETS" in arguments
name = "list" if lists else arguments[-1].replace("/", "_")
try:
    content = open(os.path.join(folder, name), "rb").read()
except FileNotFoundError:
    sys.exit("Nothing is copied")
sys.stdout.buffer.write(content)
"""


class Clipboard:
    """A folder for PATH, with a program that reads what the test put into the clipboard."""

    def __init__(self, folder: Path, name: str = "wl-paste", delay: float = 0) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True, exist_ok=True)
        self._content = folder / f"content of {name}"
        self._content.mkdir()
        words = {"python": sys.executable, "folder": str(self._content), "delay": delay}
        program = self.bin / name
        program.write_text(PROGRAM.format(**words), encoding="utf-8")
        program.chmod(0o755)

    def put(self, **forms: bytes) -> None:
        """Puts content into the clipboard, in several forms: `image_png=...`."""
        names = [form.replace("_", "/", 1) for form in forms]
        listed = "\n".join(["TARGETS", *names, "text/plain"])
        (self._content / "list").write_text(listed, encoding="utf-8")
        for form, content in forms.items():
            (self._content / form).write_bytes(content)

    @property
    def calls(self) -> list[str]:
        """The arguments of each start of the program."""
        log = self._content / "log"
        return log.read_text("utf-8").splitlines() if log.exists() else []
