"""Rewinds a session together with its files: everything done since a message is one undo plan.

The files come first, then the conversation. If the process dies in between, the files are
restored and the session still has its messages: the same command again rewinds it.
"""

from collections.abc import Iterator

import msgspec

from assent.agent.rewind import changes_since, pruned_since
from assent.agent.services import AgentServices
from assent.agent.sessions import Sessions
from assent.core.errors import Drift
from assent.core.run.journal import DONE
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import UserMessage
from assent.core.undo import UndoGap
from assent.planning.approvals import WebApprover
from assent.runs.runs import RunSteps
from assent.runs.undo.service import UndoPlan, UndoService
from assent.runs.undo.targets import UndoTargets

PRUNED = "run {run} was pruned {when}; its changes remain"
CHANGED = (
    "Files or runs of the session changed since this undo was shown. Nothing was changed, and the "
    "session was not rewound."
)


class FileRewind(msgspec.Struct, frozen=True):
    """A rewind with files before it is approved: the message, and the undo of all since then."""

    session: SessionRecord
    message: UserMessage
    undo: UndoPlan
    completes: bool = False  # the files were restored for it already; only the conversation is due

    @property
    def has_files(self) -> bool:
        """Whether there is anything to approve."""
        return bool(self.undo.plan.operations)

    @property
    def is_blocked(self) -> bool:
        """Whether there are changes since then, but none that can be undone."""
        return not self.has_files and not self.completes and bool(self.undo.inversion.skipped)

    @property
    def keep_files(self) -> str:
        """The command that rewinds the conversation only."""
        return f"assent sessions rewind {self.session.slug} --to {self.message.id} --keep-files"


class FileRewinds:
    """Previews and applies rewinds with files; the undo is a plan like any other (law 7)."""

    def __init__(self, services: AgentServices, sessions: Sessions, undo: UndoService) -> None:
        self._services = services
        self._sessions = sessions
        self._undo = undo

    def preview(self, record: SessionRecord, message: str = "") -> FileRewind:
        """Creates the undo plan of everything since a message; nothing is recorded."""
        spoken = self._sessions.user_message(record, message)
        back = UndoTargets(self._services.ports, self._services.runs.repository())
        later = changes_since(self._services, back, record, spoken)
        runs = sorted({run for one in later for run in one.runs}, key=lambda run: back.began[run])
        name = f"changes since turn {spoken.turn} of {record.slug}"
        target = back.since_message(record.slug, name, spoken.id, runs)
        pruned = pruned_since(self._services, back, record, spoken)
        gaps = [UndoGap("", PRUNED.format(run=run, when=when)) for run, when in pruned.items()]
        undo = self._undo.preview_target(back, target, gaps)
        return FileRewind(record, spoken, undo, completes=_is_done(back, spoken, runs))

    def apply(self, shown: FileRewind, channel: str, *, by: WebApprover | None = None) -> RunSteps:
        """Undoes what was shown and approved, and then rewinds the conversation.

        If the undo does not come to its end, the session is not rewound.
        """
        with self._sessions.rewinding(shown.session) as record:
            now = self.preview(record, shown.message.id)
            if now.undo.plan.digest != shown.undo.plan.digest:
                raise Drift(CHANGED, f"{shown.undo.command} --dry-run")
            report = yield from self._undo.apply(shown.undo, channel, by=by)
            if report.outcome in DONE:
                self._sessions.rewind_held(record, shown.message.id)
        return report


def _is_done(back: UndoTargets, spoken: UserMessage, runs: list[str]) -> bool:
    """Tells whether an undo for this rewind ended and still counts, and nothing came after it."""
    ends = [back.began[run] for run in _undos(back, spoken) if not back.undone.is_over(run)]
    return bool(ends) and all(back.began[run] < max(ends) for run in runs)


def _undos(back: UndoTargets, spoken: UserMessage) -> Iterator[str]:
    for record in back.applied.records:
        if record.rewound_to == spoken.id:
            yield from (n.run for n in record.runs if n.outcome == "done")
