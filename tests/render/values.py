"""Values that the tests of the views share."""

from assent.core.digest import sha256
from assent.core.plan.operation import DeleteFile, FileKind, FileState, MoveFile, WriteFile
from assent.core.plan.record import PlanState
from assent.render.review import Review

DIGEST = "d" * 64


def state(content: bytes, mode: int = 0o644, kind: FileKind = "file") -> FileState:
    """The state of a file, or of a link whose target is the content."""
    return FileState(sha256(content), len(content), 0o777 if kind == "link" else mode, kind)


def write(path: bytes, before: bytes | None, after: bytes) -> WriteFile:
    return WriteFile(path, None if before is None else state(before), state(after))


def link(path: bytes, target: bytes) -> WriteFile:
    return WriteFile(path, None, state(target, kind="link"))


def delete(path: bytes, before: bytes) -> DeleteFile:
    return DeleteFile(path, state(before))


def move(path: bytes, to: bytes, content: bytes = b"x\n") -> MoveFile:
    return MoveFile(path, to, state(content))


def review(text: bytes = b"# Plan\n") -> Review:
    """A review without operations."""
    return Review(
        plan_id="01plan",
        session="add-login",
        name="add_login",
        path=b".opencode/plans/add-login/PLAN_add_login.md",
        state=PlanState.AWAITING_APPROVAL,
        digest=DIGEST,
        approved=False,
        text=text,
        content_hash="c" * 64,
        operations_hash="e" * 64,
    )
