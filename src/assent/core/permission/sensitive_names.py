"""Finds the protected and secret files that a command of a plan names."""

from collections.abc import Iterable

from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.mentioned_paths import sensitive_mentions
from assent.core.permission.secret_files import secret_file, secret_reason
from assent.core.plan.operation import RunCommand


def sensitive_names(op: RunCommand, line: CommandAnalysis | None = None) -> tuple[bytes, ...]:
    """Returns the names in a command that are protected or secret, as far as its text tells."""
    if op.profile == "commit":
        return ()  # it has one fixed form; what it commits stands in the rest of the plan
    texts = [*op.argv, op.script, *op.undo, *(value for _, value in op.env)]
    told = line.names if line is not None else ()
    found = [
        *sensitive_mentions(texts),
        *(name.encode("utf-8", "surrogateescape") for name in told),
    ]
    return tuple(dict.fromkeys(found))


def masked_names(names: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Returns those that the sandbox masks in any case, and those that it masks by content."""
    secrets = [name for name in names if secret_reason(name)]
    perhaps = [name for name in secrets if _by_content(name)]
    return [name for name in secrets if name not in perhaps], perhaps


def _by_content(path: bytes) -> bool:
    folder, _, name = path.rpartition(b"/")
    found = secret_file(folder.rpartition(b"/")[2], name)
    return found is not None and bool(found.marks)
