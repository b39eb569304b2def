"""The messages that worker threads send to the screen, and the one that has them delivered.

Threads hand them to `workers.Coalescer`, which posts one `Deliver` to the app; the app then takes
them all, in order and without a key in between.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from textual.message import Message

from assent.core.errors import AssentError
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.run.journal import RunUpdate
from assent.render.onboarding import SetupFindings

if TYPE_CHECKING:
    from assent.core.session.record import SessionRecord
    from assent.runs.runs import RunReport


class Deliver(Message, bubble=False):
    """Messages of threads wait for the app."""


@dataclass
class SessionActivity(Message):
    """Something happened in a session: an event that is stored, or a piece that is live only."""

    session: str
    what: StoredEvent | StreamDelta


@dataclass
class TurnBegan(Message):
    """A turn of a session is being driven by this screen."""

    record: "SessionRecord"


@dataclass
class TurnOver(Message):
    """A turn came to rest; `error` if it could not go on."""

    session: str
    error: AssentError | None = None
    unsaid: str = ""  # what the person typed, where it was not said


@dataclass
class RunBegan(Message):
    """A build, recovery, undo or redo has started; `verb` says which."""

    verb: str
    plan_id: str = ""


@dataclass
class RunActivity(Message):
    """A run made progress, or its command printed something."""

    live: RunUpdate


@dataclass
class RunOver(Message):
    """A run came to rest: with a report, or with the error that kept it from going on."""

    verb: str
    report: "RunReport | None" = None
    error: AssentError | None = None


class ShellOrigin(msgspec.Struct, frozen=True):
    """Where a command was typed: in a session, or on a screen on which none had begun yet."""

    session: str = ""
    name: str = ""
    view: int = 0


NOWHERE: Final = ShellOrigin()


@dataclass
class ShellPrinted(Message):
    """A command of the person's own printed something."""

    text: str
    place: ShellOrigin = NOWHERE


@dataclass
class ShellOver(Message):
    """A command of the person's own ended."""

    words: str
    place: ShellOrigin = NOWHERE


@dataclass
class WorkspaceReady(Message):
    """The engine is open."""

    warnings: tuple[str, ...] = ()
    elsewhere: str = ""  # the workspace's folder, where the screen was opened further down in it


@dataclass
class WorkspaceFailed(Message):
    """There is no engine, because of a setting or the workspace; nothing can be done here."""

    error: AssentError


@dataclass
class SessionLoadFailed(Message):
    """A session that the person wanted could not be read; the reason is reported separately."""

    session: str


@dataclass
class NoModel(Message):
    """No model can be used here; `found` says what was looked for."""

    found: SetupFindings


@dataclass
class TaskDone(Message):
    """A background task is over; `then` shows its result, unless it failed."""

    words: str
    then: Callable[[], object] | None = None


@dataclass
class QuestionArrived(Message):
    """A question waits for the person."""


@dataclass
class TaskFailed(Message):
    """Something could not be done; nothing else is affected."""

    error: AssentError
