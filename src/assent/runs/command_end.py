"""The record of how a session's command ended: its changes, kept for an undo."""

from typing import Final

import msgspec

from assent.core.errors import StoreError
from assent.core.event import CommandEnded, CommandStarted
from assent.core.paths import display_path, one_line, typed_line
from assent.core.plan.operation import FileState, footprint
from assent.core.run.state import UNKNOWN_END
from assent.core.run.workspace_changes import WorkspaceChanges, encode_changes
from assent.core.shell.process import ProcessResult
from assent.planning.ports import Ports
from assent.planning.repositories import PlanRepository
from assent.ports import BlobStore

MAX_NAMED: Final = 100  # changed files that the record names
MAX_LISTED: Final = 20  # changed files that are named to the model
LOST_END: Final = ProcessResult(-1, UNKNOWN_END)
MADE_REPOSITORY: Final = (
    " It created a Git repository; the user should check its Git config and hooks before using it."
)


class ChangedFile(msgspec.Struct, frozen=True):
    """A file that a command changed: new, changed or gone."""

    path: bytes
    how: str
    ignored: bool = False  # by Git: counted, where others are listed


def changed_files(found: WorkspaceChanges) -> tuple[ChangedFile, ...] | None:
    """Returns every file that changed; None if there are too many files to tell."""
    if not found.known:
        return None
    unread = {each.path for each in found.skipped if each.kept}
    steps = [step for op in found.operations for step in footprint(op)]
    kept = [ChangedFile(path, _how(*states)) for path, *states in steps if path not in unread]
    skipped = [ChangedFile(each.path, each.how, each.why == "ignored") for each in found.skipped]
    return tuple(sorted((*kept, *skipped), key=lambda change: change.path))


def command_end(
    blobs: BlobStore, name: str, ended: ProcessResult, found: WorkspaceChanges
) -> CommandEnded:
    """Creates the record of an end; what an undo needs is stored when it returns."""
    changes, kept = changed_files(found), _kept(blobs, found)
    if changes is None:
        return CommandEnded(name, ended.code, ended.cut, changes=kept)
    named = tuple(display_path(change.path) for change in changes[:MAX_NAMED])
    more = len(changes) - len(named)
    return CommandEnded(name, ended.code, ended.cut, named, more, kept)


def record_lost_end(ports: Ports, repository: PlanRepository) -> str:
    """Records the end of a command whose process died, and says so (law 6).

    Call it only with the workspace's lock: no command runs then. Raises RunUnfinished if it still
    runs, and StoreError if what an undo needs cannot be stored.
    """
    book = repository.permit_log()
    if book.command is None:
        return ""
    ports.command_runner.check_at_rest()
    found = _since(ports, book.command)
    ended = command_end(ports.blobs, book.command.id, LOST_END, found)
    ports.store.append(repository.permit_batch(book, ended))
    told = (
        f"A session's command was interrupted: $ {typed_line(book.command.line)}. "
        f"{lost_end_note(ended)}"
    )
    return f"{told} To undo these changes: `assent undo`." if ended.changed != () else told


def lost_end_note(ended: CommandEnded) -> str:
    """Says which changes are attributed to a command whose end was not seen."""
    if ended.changed is None:
        return "Some of the changes in the workspace since it started are unknown."
    if not ended.changed:
        return "Nothing in the workspace has changed since it started."
    left = len(ended.changed) - MAX_LISTED + ended.more
    more = f", and {left} more" if left > 0 else ""
    named = ", ".join(typed_line(path) for path in ended.changed[:MAX_LISTED])
    return f"Files changed since it started, assumed to be its work: {named}{more}."


def changed_files_text(changes: tuple[ChangedFile, ...] | None, why: str = "") -> str:
    """Lists the files that a command changed; `why` is what kept that from being recorded."""
    if why:
        return f"Its changes are not recorded yet and cannot be undone: {why}"
    if changes is None:
        return "Some of its changes are unknown: the workspace has too many files to scan."
    if not changes:
        return "It changed no files in the workspace."
    listed = [each for each in changes if not each.ignored]
    rows = [f"{one_line(each.path)} ({each.how})" for each in listed[:MAX_LISTED]]
    more = f", and {len(listed) - MAX_LISTED} more" if len(listed) > MAX_LISTED else ""
    made = [each for each in changes if each.how == "new" and each.path.endswith(b"/.git")]
    count = len(changes) - len(listed)
    ignored = f"{count} file{'' if count == 1 else 's'} that Git ignores" if count else ""
    if not listed:
        return f"It changed only {ignored}."
    also = f" It also changed {ignored}." if ignored else ""
    return f"Files: {', '.join(rows)}{more}.{also}{MADE_REPOSITORY if made else ''}"


def _how(before: FileState | None, after: FileState | None) -> str:
    return "new" if before is None else "gone" if after is None else "changed"


def _kept(blobs: BlobStore, found: WorkspaceChanges) -> str:
    """Keeps what an undo rests on; returns its blob, if there is anything to undo or to say."""
    if not (found.operations or found.skipped or found.made):
        return ""
    digest, _ = blobs.keep([encode_changes(found)])
    blobs.flush()
    return digest


def _since(ports: Ports, begun: CommandStarted) -> WorkspaceChanges:
    """Returns what differs from before a command; unknown if that was not recorded."""
    try:
        recorded = begun.before and ports.blobs.read(begun.before)
    except StoreError:
        recorded = ""
    if not recorded:
        return WorkspaceChanges(known=False)
    return ports.command_runner.changes(begun.before)
