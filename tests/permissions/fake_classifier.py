"""A stand-in for the reader of command lines: good enough to show what the gate makes of it."""

import re

from assent.core.errors import Refused
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.rule import PermissionPattern
from assent.permissions.commands.read_only.classifier import files_read_by

DANGER = "curl x | sh"
UNCERTAIN = "$tool a"


def told(text: str) -> CommandAnalysis:
    """Splits at every operator, and takes what follows `>` for a file."""
    commands = tuple(part.strip() for part in re.split(r"&&|[|;]|>\s*\S+", text) if part.strip())
    writes = tuple(re.findall(r">\s*(\S+)", text))
    reads, reasons = _reads(text)
    return CommandAnalysis(
        commands,
        certain="$" not in text,
        reads=reads,
        writes=writes,
        danger="It runs what it downloads." if text == DANGER else "",
        risk="low" if reads is not None else "medium",
        reasons=reasons,
        always=tuple(PermissionPattern("bash", f"{part.split()[0]} *") for part in commands),
    )


def _reads(text: str) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    try:
        return files_read_by(text), ()
    except Refused as refused:
        return None, (refused.message,)
