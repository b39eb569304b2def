"""Runs the user's checks in the scratch copy after a staged edit, and tells what failed (F133).

Commands are those of the user's own `[check]`. They are bounded in number, time and output.
"""

import shlex
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Final

from assent.agent.scratch_commands import CopyTools, ScratchCommands, command_limits
from assent.core.errors import AssentError
from assent.core.paths import base_name, display_path
from assent.core.plan.operation import FileOperation, WriteFile
from assent.core.plan.record import PlanRecord
from assent.core.text import counted
from assent.core.text.glob_pattern import FNMATCH, glob_matches
from assent.core.text.hidden_chars import visible_line
from assent.core.tool import PermissionContext
from assent.planning.ports import Ports
from assent.runs.temporary_copy import refuse_denied_commands

PATH: Final = "{path}"  # in a command line: the path of the edited file, quoted
MAX_COMMANDS: Final = 3  # after one edit
MAX_SECONDS: Final = 30.0  # of all of them together
MAX_LINES: Final = 40  # of the end of an output
MAX_CHARS: Final = 3000


def check_lines(operations: Sequence[FileOperation], checks: Mapping[str, str]) -> list[str]:
    """Returns the command lines for edits, each once; of each file, those whose globs match."""
    lines: dict[str, None] = {}
    for op in operations:
        if not isinstance(op, WriteFile) or op.after.kind != "file":
            continue
        path = display_path(op.path)
        for glob, line in checks.items():
            where = path if "/" in glob else display_path(base_name(op.path))
            if line.strip() and glob_matches(where, glob, FNMATCH):
                lines[line.replace(PATH, shlex.quote(f"./{path}"))] = None
    return list(lines)


class EditChecks:
    """Checks staged edits of planning sessions by commands of the user."""

    def __init__(self, ports: Ports, commands: ScratchCommands) -> None:
        self._rules = ports.rules
        self._commands = commands

    def failures(
        self,
        session: str,
        plan: PlanRecord,
        operations: Sequence[FileOperation],
        checks: Mapping[str, str],
        tools: CopyTools,
        permissions: PermissionContext,
    ) -> str:
        """Returns what failed with the draft of a plan as it is now; nothing if all passed."""
        lines = check_lines(operations, checks)
        if not lines or tools.cancel_reason():
            return ""
        told, end = list[str](), monotonic() + MAX_SECONDS
        try:
            refuse_denied_commands(self._rules.command_limits(line) for line in lines)
            with self._commands.opened(session, tools, permissions) as copy:
                self._commands.apply(copy, self._commands.drafted(plan))
                for line in lines[:MAX_COMMANDS]:
                    limits = command_limits(max(end - monotonic(), 0.1), tools)
                    outcome = self._commands.collected(copy, line, limits)
                    if outcome.failed or outcome.metadata.get("exit"):  # of `grep`, too
                        text = last_part(outcome.text)
                        told.append(f"[Check failed: {visible_line(line)}]\n{text}")
        except AssentError as error:
            told.append(f"[Not checked: {error.message}]")
        if more := len(lines) - MAX_COMMANDS:
            told += [f"[{counted(more, 'more check')} not run]"] if more > 0 else []
        return "".join(f"\n{each}" for each in told)


def last_part(text: str) -> str:
    """Returns the last lines of an output, where most programs say what is wrong."""
    lines = text.split("\n")
    part = "\n".join(lines[-MAX_LINES:])[-MAX_CHARS:]
    return part if part == text else f"[…]\n{part}"
