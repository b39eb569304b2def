"""What is left of commands after a roll-back: files that a command's own undo did not put back."""

from collections.abc import Iterator, Sequence

from assent.core.errors import AssentError
from assent.core.journal import Entry, Finished
from assent.core.motion import Seen
from assent.core.operation import FileState, RunCommand, footprint
from assent.core.paths import one_line
from assent.core.plan import Plan
from assent.core.undo import ODD, STILL_OTHER, is_as
from assent.execute.turning import History, read_backs, read_changes
from assent.ports import Blobs, Looks


def leftovers(plan: Plan, entries: Sequence[Entry], blobs: Blobs, disk: Looks) -> Iterator[str]:
    """Names the files of compensated commands that are other than before, if the run is back."""
    last = entries[-1]
    commands = any(isinstance(op, RunCommand) and op.undo for op in plan.operations)
    if not commands or not isinstance(last, Finished) or last.outcome != "rolled_back":
        return
    try:
        backs = read_backs(entries, blobs)
        traces = list(History(plan.operations, entries, backs, read_changes(blobs)).traces())
    except AssentError:
        return  # what they did is not on record any more, and that is named
    first: dict[bytes, FileState | None] = {}
    theirs: set[bytes] = set()
    for trace in traces:
        for path, before, _ in footprint(trace.operation):
            first.setdefault(path, before)
            theirs.update([path] if trace.compensated else [])
    for path in sorted(theirs):
        if not is_as(_seen(path, disk), first[path]):
            yield f"{STILL_OTHER}: {one_line(path)}."


def _seen(path: bytes, disk: Looks) -> Seen:
    try:
        return disk.look((path,))[path]
    except AssentError:
        return ODD
