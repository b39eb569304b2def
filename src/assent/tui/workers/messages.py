"""The messages that worker threads send to the screen."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from assent.core.errors import AssentError
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.run.journal import RunUpdate
from assent.render.onboarding import SetupFindings

if TYPE_CHECKING:
    from assent.core.session.record import SessionRecord
    from assent.runs.runs import RunReport


class SessionActivity(msgspec.Struct, frozen=True):
    """Something happened in a session: an event that is stored, or a piece that is live only."""

    session: str
    what: StoredEvent | StreamDelta


class TurnBegan(msgspec.Struct, frozen=True):
    """A turn of a session is being driven by this screen."""

    record: "SessionRecord"


class TurnOver(msgspec.Struct, frozen=True):
    """A turn came to rest; `error` if it could not go on."""

    session: str
    error: AssentError | None = None
    unsaid: str = ""  # what the person typed, where it was not said


class RunBegan(msgspec.Struct, frozen=True):
    """A build, recovery, undo or redo has started; `verb` says which."""

    verb: str
    plan_id: str = ""


class RunActivity(msgspec.Struct, frozen=True):
    """A run made progress, or its command printed something."""

    live: RunUpdate


class RunOver(msgspec.Struct, frozen=True):
    """A run came to rest: with a report, or with the error that kept it from going on."""

    verb: str
    report: "RunReport | None" = None
    error: AssentError | None = None


class ShellOrigin(msgspec.Struct, frozen=True):
    """Where a command was typed: in a session, or on a screen on which none had begun yet."""

    session: str = ""
    name: str = ""
    view: int = 0


class ShellPrinted(msgspec.Struct, frozen=True):
    """A command of the person's own printed something."""

    text: str
    place: ShellOrigin = ShellOrigin()


class ShellOver(msgspec.Struct, frozen=True):
    """A command of the person's own ended."""

    words: str
    place: ShellOrigin = ShellOrigin()


class WorkspaceReady(msgspec.Struct, frozen=True):
    """The engine is open."""

    warnings: tuple[str, ...] = ()
    elsewhere: str = ""  # the workspace's folder, where the screen was opened further down in it


class WorkspaceFailed(msgspec.Struct, frozen=True):
    """There is no engine, because of a setting or the workspace; nothing can be done here."""

    error: AssentError


class SessionLoadFailed(msgspec.Struct, frozen=True):
    """A session that the person wanted could not be read; the reason is reported separately."""

    session: str


class NoModel(msgspec.Struct, frozen=True):
    """No model can be used here; `found` says what was looked for."""

    found: SetupFindings


class TaskDone(msgspec.Struct, frozen=True):
    """A background task is over; `then` shows its result, unless it failed."""

    words: str
    then: Callable[[], object] | None = None


class QuestionArrived(msgspec.Struct, frozen=True):
    """A question waits for the person."""


class TaskFailed(msgspec.Struct, frozen=True):
    """Something could not be done; nothing else is affected."""

    error: AssentError


WorkerMessage: TypeAlias = (
    SessionActivity
    | TurnBegan
    | TurnOver
    | RunBegan
    | RunActivity
    | RunOver
    | ShellPrinted
    | ShellOver
    | WorkspaceReady
    | WorkspaceFailed
    | NoModel
    | TaskDone
    | QuestionArrived
    | TaskFailed
)
