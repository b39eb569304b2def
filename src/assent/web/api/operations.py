"""Endpoints about the operations of a plan: staging, listing, reading and removing them.

What is staged is judged by the same checks as on the command line. Nothing is applied.
"""

from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import NotFound, UsageError
from assent.core.paths import MAX_NAME, MAX_PATH, is_too_long
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.render.rows import Row, operation_row
from assent.web.answers import (
    OperationContentAnswer,
    OperationsAnswer,
    RemovedOperationsAnswer,
    StagedOperationsAnswer,
)
from assent.web.api.plans import warned
from assent.web.endpoint import ApiCall, Endpoint, Nothing
from assent.web.errors import TooLarge

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord
    from assent.planning.drafts import Staged

MAX_CONTENT: Final = 16 << 20  # bytes of a file that is served in one answer
MAX_MODE: Final = 0o7777
MAX_STRIP: Final = 99  # leading folders of a patch's paths
STAGE_HELP: Final = "assent stage --help"


class StageRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operation to stage; which fields it needs depends on its kind.

    `write`: path, and content or mode. `link`: path, target. `edit`: path, find, put. `delete`:
    path. `move`: path, to. `run`: argv or script. `patch`: content, a unified or git diff.
    What is not UTF-8 is sent in base64, in the field with `_b64`.
    """

    kind: Literal["write", "link", "edit", "delete", "move", "run", "patch"]
    path: str = ""
    path_b64: str = ""
    to: str = ""
    to_b64: str = ""
    content: str | None = None
    content_b64: str | None = None
    mode: int | None = None
    target: str = ""
    find: str = ""
    put: str = ""
    strip: int | None = None
    argv: tuple[str, ...] = ()
    script: str = ""
    cwd: str = "."
    env: dict[str, str] = {}
    timeout: int = RunCommand().timeout
    network: bool = False
    undo: tuple[str, ...] = ()
    sandbox: bool = True
    at_end: bool = False


class ContentQuery(msgspec.Struct, frozen=True):
    """Which content of an operation is read: what it writes, or what was there before."""

    side: Literal["after", "before"] = "after"


def list_operations(call: ApiCall[Nothing, Nothing]) -> Row:
    """Lists the operations of a plan: the staged ones, which a proposed plan has frozen."""
    engine, record = call.server.find_plan(call.path["plan"])
    operations = engine.plans.operations(record)
    rows = [
        operation_row(*pair) for pair in zip(operation_ids(operations), operations, strict=True)
    ]
    return {**({"operation": rows[0]} if len(rows) == 1 else {}), "operations": rows}


def stage(call: ApiCall[Nothing, StageRequest]) -> Row:
    """Stages an exact change of files or a command. Nothing is applied until it is approved."""
    engine, record = call.server.find_plan(call.path["plan"])
    wanted, drafts = call.body, engine.drafts
    path = _exact("path", wanted.path, wanted.path_b64)
    match wanted.kind:
        case "patch":
            if wanted.strip is not None and not 0 <= wanted.strip <= MAX_STRIP:
                raise UsageError(f"strip must be 0 to {MAX_STRIP}.", STAGE_HELP)
            found = engine.patches.stage(record, _content(wanted), wanted.strip)
            row = _several(found.staged)
            return warned(engine, {**row, "notes": list(found.notes)})
        case "write":
            if wanted.mode is not None and not 0 <= wanted.mode <= MAX_MODE:
                raise UsageError("mode is not a file mode.", STAGE_HELP)
            if wanted.content is None and wanted.content_b64 is None:
                if wanted.mode is None:
                    raise UsageError("A write needs content, content_b64 or mode.", STAGE_HELP)
                row = _one(drafts.write(record, path, None, wanted.mode))
            else:
                row = _one(drafts.write(record, path, [_content(wanted)], wanted.mode))
        case "link":
            row = _one(drafts.link(record, path, _path("target", _encoded(wanted.target))))
        case "edit":
            row = _one(drafts.edit(record, path, _encoded(wanted.find), _encoded(wanted.put)))
        case "delete":
            row = _several(drafts.delete(record, path))
        case "move":
            row = _several(drafts.move(record, path, _exact("to", wanted.to, wanted.to_b64)))
        case "run":
            row = _one(_command(engine, record, wanted))
    return warned(engine, row)


def content(call: ApiCall[ContentQuery, Nothing]) -> Row:
    """Reads what an operation writes, or what was there before."""
    engine, record = call.server.find_plan(call.path["plan"])
    name, operation, operations = _find(engine, record, call.path["operation"])
    state = _state(operation, call.query.side)
    if state is None:
        raise NotFound(f"Operation {name} has no content {call.query.side} it.", "assent review")
    if state.size > MAX_CONTENT:
        raise TooLarge(f"This content has {state.size:,} bytes; {MAX_CONTENT:,} can be served.")
    found = b"".join(engine.drafts.content_reader(operations)(state.digest))
    row = {"id": name, "side": call.query.side, "kind": state.kind, "mode": state.mode}
    row |= {"size": state.size, "digest": state.digest}
    try:
        return {**row, "content": found.decode(), "content_b64": None}
    except UnicodeDecodeError:
        return {**row, "content": None, "content_b64": b64encode(found).decode()}


def remove(call: ApiCall[Nothing, Nothing]) -> Row:
    """Removes one operation from a plan, by its full id."""
    engine, record = call.server.find_plan(call.path["plan"])
    name = call.path["operation"]
    _check_listed(name, operation_ids(engine.plans.operations(record)))
    staged = engine.drafts.remove(record, name)
    rows = [operation_row(name, op) for name, op in staged.removed]
    remaining = len(engine.plans.operations(staged.record))
    first: Row = {"operation": rows[0]} if len(rows) == 1 else {}
    return warned(engine, {**first, "removed": rows, "operations": rows, "remaining": remaining})


def _command(engine: "Engine", record: "PlanRecord", wanted: StageRequest) -> "Staged":
    command = RunCommand(
        tuple(map(_encoded, wanted.argv)),
        _encoded(wanted.script),
        b"",
        tuple((_encoded(name), _encoded(value)) for name, value in wanted.env.items()),
        wanted.timeout,
        wanted.network,
        tuple(map(_encoded, wanted.undo)),
        "workspace" if wanted.sandbox else "unconfined",
    )
    return engine.drafts.run(
        record, command, _path("cwd", _encoded(wanted.cwd)), at_end=wanted.at_end
    )


def _find(
    engine: "Engine", record: "PlanRecord", reference: str
) -> tuple[str, Operation, tuple[Operation, ...]]:
    """Returns an operation of the plan as it is shown, proposed or a draft, and all of them."""
    frozen = engine.plans.repository().plan(record).operations if record.frozen else None
    operations = engine.plans.operations(record) if frozen is None else frozen
    ids = operation_ids(operations)
    _check_listed(reference, ids)
    return reference, operations[ids.index(reference)], operations


def _check_listed(name: str, ids: Sequence[str]) -> None:
    """Raises NotFound for what is not the full id of an operation, such as its number in a list."""
    if name not in ids:
        raise NotFound(
            f"{name!a} is not the full id of an operation of this plan. Nothing was changed.",
            "GET /api/v1/plans/ID/operations",
        )


def _state(operation: Operation, side: Literal["after", "before"]) -> FileState | None:
    match operation:
        case WriteFile(before=before, after=after):
            return after if side == "after" else before
        case DeleteFile(before=before):
            return before if side == "before" else None
        case MoveFile(before=before):
            return before
        case RunCommand():
            return None


def _content(wanted: StageRequest) -> bytes:
    if (wanted.content is None) == (wanted.content_b64 is None):
        raise UsageError("Pass content or content_b64, and one of them only.", STAGE_HELP)
    if wanted.content is not None:
        return _encoded(wanted.content)
    return _decoded("content_b64", wanted.content_b64 or "")


def _exact(field: str, text: str, exact: str) -> bytes:
    if text and exact:
        raise UsageError(f"Pass {field} or {field}_b64, not both.", STAGE_HELP)
    return _path(field, _decoded(f"{field}_b64", exact) if exact else _encoded(text))


def _path(field: str, path: bytes) -> bytes:
    """Returns a path that a file can have; raises UsageError for one that is too long."""
    if is_too_long(path):
        raise UsageError(
            f"{field} is longer than a path can be: {MAX_PATH:,} bytes, and {MAX_NAME} of each "
            "name in it. Nothing was staged.",
            STAGE_HELP,
        )
    return path


def _decoded(field: str, text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (BadBase64, ValueError) as error:
        raise UsageError(f"{field} is not base64.", STAGE_HELP) from error


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("A text is not valid Unicode; send it in base64.", STAGE_HELP) from error


def _one(staged: "Staged") -> Row:
    """Returns what was staged as `assent stage` answers; nothing if the file already matches."""
    if not staged.added:
        return {"operation": None}
    rows = [operation_row(name, op) for name, op in staged.added]
    return {"operation": rows[0], **({"operations": rows} if len(rows) > 1 else {})}


def _several(staged: "Staged") -> Row:
    rows = [operation_row(name, op) for name, op in staged.added]
    return {**({"operation": rows[0]} if len(rows) == 1 else {}), "operations": rows}


ENDPOINTS = (
    Endpoint("GET", "/plans/{plan}/operations", "Its operations", "viewer", list_operations,
             answer=OperationsAnswer),
    Endpoint(
        "POST", "/plans/{plan}/operations", "Stage an operation", "author", stage,
        body=StageRequest, answer=StagedOperationsAnswer,
    ),
    Endpoint(
        "GET", "/plans/{plan}/operations/{operation}/content", "What an operation writes",
        "viewer", content, ContentQuery, answer=OperationContentAnswer,
    ),
    Endpoint(
        "DELETE", "/plans/{plan}/operations/{operation}", "Remove an operation", "author", remove,
        answer=RemovedOperationsAnswer,
    ),
)  # fmt: skip
