"""Rows: plans, operations and runs as the plain objects that `--json` prints."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from assent.core.paths import display_path
from assent.core.plan.operation import MoveFile, Operation, RunCommand
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import OperationResult, ReportedOutcome
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_path
from assent.render.redaction import redacted_row

Row: TypeAlias = dict[str, object]

RECOVER_WAYS: Final = (
    "assent recover --resume",
    "assent recover --roll-back",
    "assent recover --accept",
)


def plan_row(record: PlanRecord, *, approved: bool) -> Row:
    """Returns a plan as one row; its digest is null while it is drafted.

    `expires_at` of its approval and `imported` are there only if they say something.
    """
    until = record.expires_at if approved else ""
    return {
        "plan_id": record.plan_id,
        "session": record.session or None,
        "name": record.name,
        **path_fields("path", record.path or None),
        "state": str(record.state),
        "digest": record.digest or None,
        "approved": approved,
        "created_at": record.created_at,
        "updated_at": record.changed_at,
        **({"expires_at": until} if until else {}),
        **({"imported": record.imported} if record.imported else {}),
    }


def warning_rows(warnings: Iterable[str]) -> Row:
    """Returns warnings about the place where a plan is built; nothing where there are none."""
    found = list(warnings)
    return {"warnings": found} if found else {}


def operation_row(name: str, op: Operation) -> Row:
    """Returns an operation as one row; a command has its words in place of a path."""
    row: Row = {"id": name, "kind": operation_kind(op)}
    if isinstance(op, RunCommand):
        return {**row, "path": None, "to": None, **_command(op)}
    to = op.to if isinstance(op, MoveFile) else None
    return {**row, **path_fields("path", op.path), **path_fields("to", to)}


def _command(op: RunCommand) -> Row:
    exact = {
        f"{field}_b64": [b64encode(word).decode() for word in words]
        for field, words in (("argv", op.argv), ("script", (op.script,)), ("undo", op.undo))
        if not all(map(_is_text, words))
    }
    return {
        "argv": [display_path(word) for word in op.argv],
        "script": display_path(op.script),
        "cwd": display_path(op.cwd) or ".",
        "env": {display_path(key): display_path(value) for key, value in op.env},
        "timeout": op.timeout,
        "network": op.network,
        "undo": [display_path(word) for word in op.undo],
        "profile": op.profile,
        **exact,
    }


def _is_text(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def run_row(
    run: str,
    outcome: ReportedOutcome,
    results: Iterable[tuple[str, OperationResult]],
    exits: Sequence[int | None] = (),
    notes: Iterable[str] = (),
) -> Row:
    """Returns a run as one object: what came of it, of each operation, and how commands ended.

    `notes` and `next`, the ways on, are there only if they say something.
    """
    operations: list[Row] = [{"id": name, "result": result} for name, result in results]
    for row, code in zip(operations, exits, strict=False):
        row |= {} if code is None else {"exit": code}
    told = [note for note in notes if not note.startswith(RECOVER_WAYS)]
    return {
        "run": run or None,
        "outcome": outcome,
        "operations": operations,
        **({"notes": told} if told else {}),
        **({"next": list(RECOVER_WAYS)} if outcome == "needs_you" else {}),
    }


def still_running_row(found: Iterable[tuple[str, str]]) -> Row:
    """Returns what commands left running when they ended, each with its command; else nothing."""
    rows = [{"command": line, "processes": alive} for line, alive in found]
    return {"left_running": redacted_row(rows)} if rows else {}


def path_fields(field: str, path: bytes | None) -> Row:
    """Returns a path under its field, and its exact bytes under another if it is not UTF-8."""
    if path is None:
        return {field: None}
    try:
        return {field: path.decode()}
    except UnicodeDecodeError:
        return {field: display_path(path), f"{field}_b64": b64encode(path).decode()}


def row_path(row: Row, field: str) -> str:
    """Returns a path of a row as people see it, from its exact bytes where the row has them."""
    exact = row.get(f"{field}_b64")
    if exact is not None:
        return visible_path(b64decode(str(exact)))
    return visible_path(str(row[field] or "").encode())


def operation_kind(op: Operation) -> str:
    """Returns the word for what an operation does: write, delete, move or run."""
    return str(op.__struct_config__.tag)


# What a session whose last turn did not come to its own end is called.
_STATES = {each: each for each in ("failed", "interrupted", "paused", "cancelled", "declined")}


def session_row(record: SessionRecord, failure: str = "", missing: str = "") -> Row:
    """Returns a session as JSON shows it; `failure` says why its last turn failed, if it did.

    `missing`: the mode of one's own that it was in, and that nobody knows any more.
    """
    row: Row = {
        "session": record.session,
        "slug": record.slug,
        "title": record.title or record.goal,
        "mode": record.mode,
        "custom_mode": record.custom or None,
        "missing_mode": missing or None,
        "agent": record.agent or None,
        "model": record.model or None,
        "plan_id": record.plan_id or None,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "messages": record.messages,
        "turns": record.turns,
        "steps": record.steps,
        "todos": msgspec.to_builtins(record.todos),
        "usage": msgspec.to_builtins(record.usage),
        "cost": record.cost,
        "parent": record.parent or None,
        "fork": record.fork or None,
        "children": record.children,
        "state": session_state(record),
        "failure": failure or None,
    }
    return redacted_row(row)


def session_state(record: SessionRecord) -> str:
    """Returns the word for where a session stands."""
    if record.questions:
        return "waiting"
    if record.working:
        return "working"
    return record.halt or _STATES.get(record.ended, "idle")
