"""Tells hooks what happens to plans, files and runs, and passes on their warnings."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from assent.core.errors import Refused, StoreError
from assent.core.hook import BEFORE_WRITE
from assent.core.paths import display_path
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    command_line_text,
)
from assent.core.plan.record import PlanRecord
from assent.core.session.record import SessionRecord
from assent.planning.ports import Ports
from assent.planning.projections import PlanProjections
from assent.ports import BlobStore

MAX_CONTENT: Final = 64 << 10  # bytes of a new file that a hook gets to read
MAX_CONTENTS: Final = 1 << 20  # and of all of them together


def fire_hooks(
    ports: Ports, projections: PlanProjections, on: str, facts: Mapping[str, Any]
) -> None:
    """Tells hooks what was done; they can only add warnings."""
    projections.warnings += ports.hooks.fire(on, facts).warnings


def check_write_hooks(
    ports: Ports,
    projections: PlanProjections,
    operations: Sequence[Operation],
    facts: Mapping[str, Any],
    left: str,
) -> None:
    """Tells hooks what is about to change; raises Refused if one objects, or fails (law 9).

    They get exactly the operations that are then applied. `left` says what was not done then.
    """
    if not ports.hooks.listens(BEFORE_WRITE):
        return
    told = {**facts, "operations": list(_operation_rows(operations, ports.blobs))}
    heard = ports.hooks.fire(BEFORE_WRITE, told)
    projections.warnings += heard.warnings
    if heard.objection:
        why = (
            heard.objection if heard.objection.endswith((".", "!", "?")) else f"{heard.objection}."
        )
        raise Refused(f"Denied by a hook: {why} {left}")


def _operation_rows(operations: Sequence[Operation], blobs: BlobStore) -> Iterator[dict[str, Any]]:
    """Yields operations for hooks; new content of files is included as long as it is short text."""
    room = MAX_CONTENTS
    for op in operations:
        match op:
            case WriteFile(path, before, after):
                content = _text(after, blobs) if after.size <= min(room, MAX_CONTENT) else None
                room -= after.size if content is not None else 0
                state = {"mode": f"{after.mode:o}", "type": after.kind, "digest": after.digest}
                kind = "edit" if before else "create"
                row = {"kind": kind, "path": display_path(path), **state, "content": content}
            case DeleteFile(path):
                row = {"kind": "delete", "path": display_path(path)}
            case MoveFile(path, to):
                row = {"kind": "move", "path": display_path(path), "to": display_path(to)}
            case RunCommand(cwd=cwd):
                row = {"kind": "run", "command": display_path(os.fsencode(command_line_text(op)))}
                row["cwd"] = display_path(cwd)
        yield row


def _text(state: FileState, blobs: BlobStore) -> str | None:
    """Returns a content as text; None if it is not UTF-8, or cannot be read."""
    try:
        return blobs.read(state.digest).decode("utf-8")
    except (UnicodeDecodeError, StoreError):
        return None


def plan_hook_fields(record: PlanRecord) -> dict[str, Any]:
    """Returns what hooks receive about a plan."""
    return {
        "plan": record.plan_id,
        "name": record.name,
        "digest": record.digest,
        "state": str(record.state),
    }


def session_hook_fields(record: SessionRecord | None) -> dict[str, Any]:
    """Returns what hooks receive about the session in which something was done, if any."""
    if record is None:
        return {}
    return {"session": record.session, "agent": record.agent, "mode": record.mode}
