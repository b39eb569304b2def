"""Renders a checked command line, a process's output, and the status of the sandbox."""

import base64
import codecs
from collections.abc import Iterator, Mapping
from typing import Final

from assent.core.shell.process import ProcessResult, SandboxState
from assent.core.text.hidden_chars import VisibleStream, visible_line
from assent.render.lines import Line, wrapped_lines

LIMIT_MESSAGES: Final = {
    "time": "It took too long and was ended.",
    "output": "It said too much and was ended; what came so far is shown.",
    "processes": "It started too many processes and was ended.",
    "memory": "It needed too much memory and was ended.",
    "start": "It could not be started.",
    "unknown": "It was ended from outside; whether it did its work is not known.",
}


def shell_check_lines(reason: str, *, read_only: bool) -> Iterator[Line]:
    """Renders a judgement."""
    yield Line("heading", "Read-only.") if read_only else Line("risk", "Not read-only.")
    yield from wrapped_lines("plain", visible_line(reason))


def sandbox_status_lines(shell: Mapping[str, str] | None) -> Iterator[Line]:
    """Renders that the shell is off, or has no sandbox; nothing where all is well."""
    if shell is None or shell["hold"] == SandboxState.HELD:
        return
    what = "The shell is off" if shell["hold"] == SandboxState.OFF else "The shell has no sandbox"
    yield from wrapped_lines("risk", visible_line(f"{what}: {shell['reason']}"))
    if shell["next"]:
        yield from wrapped_lines("plain", visible_line(f"Next: {shell['next']}"))


def output_row(ended: ProcessResult, stdout: bytes, stderr: bytes) -> dict[str, object]:
    """Returns what came of a command; bytes that are not UTF-8 come whole in base64 as well."""
    row: dict[str, object] = {"exit_code": ended.code}
    for name, content in (("stdout", stdout), ("stderr", stderr)):
        row[name] = content.decode("utf-8", "replace")
        if row[name] != content.decode("utf-8", "ignore"):
            row[f"{name}_b64"] = base64.b64encode(content).decode()
    if ended.cut:
        row["cut"] = ended.cut
    return row


class VisibleOutput:
    """Output as a terminal may show it, piece by piece: nothing in it steers or hides."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._flow = VisibleStream()

    def text(self, content: bytes, *, last: bool = False) -> str:
        """Returns the visible form of the next piece; half a character waits for the rest."""
        shown = self._flow.take(self._decoder.decode(content, last))
        return shown + self._flow.rest() if last else shown
