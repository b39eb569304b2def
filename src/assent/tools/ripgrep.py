"""Runs ripgrep: always with the same options, confined, and never by its own settings."""

from collections.abc import Sequence

import msgspec

from assent.core.errors import Refused, UsageError
from assent.core.shell.process import OutputChunk, ProcessLimits, Program, SandboxState
from assent.tools.tool import ToolContext

LIMITS = ProcessLimits(seconds=30, output=8 << 20)

_FIXED = (
    b"--no-config", b"--no-messages", b"--color=never", b"--hidden", b"--no-require-git",
    b"--no-ignore-global", b"--glob=!.git", b"--glob=!/.opencode/assent",
)  # fmt: skip
_FAILED = 2


class RipgrepOutput(msgspec.Struct, frozen=True):
    """What it printed; `cut` says which limit ended it before it was through."""

    content: bytes
    cut: str = ""


def run_ripgrep(around: ToolContext, options: Sequence[bytes], path: bytes) -> RipgrepOutput | None:
    """Runs it in the workspace on a file or folder; None if no program can run here."""
    try:
        if around.process.sandbox_status().hold is SandboxState.OFF:
            return None
        program = around.process.program(("rg",))
        if program is None:
            return None
        argv = (program, *_FIXED, *options, b"--", b"./" + path)
        return _run(around, Program(argv))
    except Refused:
        return None


def _run(around: ToolContext, program: Program) -> RipgrepOutput:
    content, errors = bytearray(), bytearray()
    code, cut = 0, ""
    for part in around.process.run((program,), around.root, LIMITS):
        if isinstance(part, OutputChunk):
            (errors if part.error else content).extend(part.content)
        else:
            code, cut = part.code, part.cut
    if code == _FAILED and errors and not content:
        reason = errors.decode("utf-8", "replace").strip()
        raise UsageError(f"The search could not begin: {reason}")
    return RipgrepOutput(bytes(content), cut)
