"""Turns the output of a read-only command line into a tool outcome."""

from collections.abc import Iterator

import msgspec

from assent.core.shell.exit_status import is_expected_exit
from assent.core.shell.process import OutputChunk, ProcessResult, signal_of
from assent.core.text.tool_mentions import without_missing_tools
from assent.core.tool import MISSING_CAPABILITY, ToolOutcome
from assent.tools.output_limits import KEPT_BYTES, limited_outcome
from assent.tools.tool import ToolContext

DRAFT_NOTE = (
    "This is the disk; what is staged is not in it. `read`, `grep` and `glob` see the draft."
)


def collect_output(
    parts: Iterator[OutputChunk | ProcessResult], title: str, line: str = ""
) -> ToolOutcome:
    """Collects what a command prints, as much as is kept, and how it ended.

    `line`: what was run, which says whether its exit code is an answer, as after `grep`.
    """
    output, dropped, complained = bytearray(), 0, False
    ended = ProcessResult(0)
    for part in parts:
        if isinstance(part, ProcessResult):
            ended = part
            continue
        complained = complained or part.error
        room = max(0, KEPT_BYTES - len(output))
        output += part.content[:room]
        dropped += max(0, len(part.content) - room)
    text = output.decode("utf-8", "backslashreplace").rstrip("\n")
    notes = [f"{dropped} more bytes were dropped."] if dropped else []
    notes += [f"It was ended early: {ended.cut}."] if ended.cut else []
    signal = "" if ended.cut else signal_of(ended.code)
    by = f", as after {signal}" if signal else ""
    notes += [f"Exit code {ended.code}{by}."] if ended.code else []
    notes += [] if text or notes else ["No output."]
    answer = not ended.cut and is_expected_exit(line, ended.code, complained=complained)
    failed = bool(ended.cut or (ended.code and not answer))
    lacks = {MISSING_CAPABILITY: ended.lacks} if ended.lacks else {}
    return limited_outcome(text, title, notes, failed=failed, exit=ended.code, **lacks)


def with_draft_note(outcome: ToolOutcome, around: ToolContext) -> ToolOutcome:
    """Adds to what a program saw that the draft is not in it, where there is one."""
    if not around.overlay.drafted():
        return outcome
    return msgspec.structs.replace(
        outcome, text=f"{outcome.text}\n[{without_missing_tools(DRAFT_NOTE, around.absent)}]"
    )


def quote_argument(word: str) -> str:
    """Returns a word as the small grammar reads it back, whatever is in it."""
    return "'" + word.replace("'", "'\"'\"'") + "'"
