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
    from assent.runs.run_status import RunReport


class Deliver(Message, bubble=False):
    """Messages of threads wait for the app."""


@dataclass
class SessionActivity(Message):
    """Something happened in a session: a stored event, or a streamed piece."""

    session: str
    what: StoredEvent | StreamDelta


@dataclass
class TurnBegan(Message):
    """A turn of a session is being driven by this screen."""

    record: "SessionRecord"


@dataclass
class TurnOver(Message):
    """A turn ended; `error` if it could not continue."""

    session: str
    error: AssentError | None = None
    unsaid: str = ""  # what the user typed, if it was not sent


@dataclass
class RunBegan(Message):
    """A build, recovery, undo or redo has started; `verb` says which."""

    verb: str
    plan_id: str = ""


@dataclass
class RunActivity(Message):
    """A run made progress, or its command printed something."""

    live: RunUpdate


class RewoundSession(msgspec.Struct, frozen=True):
    """A session after a rewind, and the text of the message that it went back to."""

    record: "SessionRecord"
    text: str


@dataclass
class RunOver(Message):
    """A run stopped: with a report, or with the error that prevented it from continuing."""

    verb: str
    report: "RunReport | None" = None
    error: AssentError | None = None
    plan_id: str = ""  # that was built
    rewound: "RewoundSession | None" = None  # the session that went back with it
    builds: bool = False  # a plan was built, or building it continued


class ShellOrigin(msgspec.Struct, frozen=True):
    """Where a command was typed: in a session, or on a screen without one."""

    session: str = ""
    name: str = ""
    view: int = 0


NOWHERE: Final = ShellOrigin()


@dataclass
class ShellPrinted(Message):
    """A command that the user typed printed something."""

    text: str
    place: ShellOrigin = NOWHERE


@dataclass
class ShellOver(Message):
    """A command that the user typed ended."""

    words: str
    place: ShellOrigin = NOWHERE


@dataclass
class WorkspaceReady(Message):
    """The engine is open."""

    warnings: tuple[str, ...] = ()
    elsewhere: str = ""  # the workspace's folder, where the screen was opened further down in it


@dataclass
class WorkspaceFailed(Message):
    """The engine could not be opened, because of a setting or the workspace."""

    error: AssentError


@dataclass
class SessionLoadFailed(Message):
    """A session that the user requested could not be read; the reason is reported separately."""

    session: str


@dataclass
class NoModel(Message):
    """No model can be used here; `found` says what was searched."""

    found: SetupFindings


@dataclass
class TaskDone(Message):
    """A background task has ended; `then` shows its result, unless it failed."""

    words: str
    then: Callable[[], object] | None = None


@dataclass
class QuestionArrived(Message):
    """A question waits for an answer."""


@dataclass
class QueueChanged(Message):
    """Messages that waited were said."""


@dataclass
class TaskFailed(Message):
    """Something failed; nothing else is affected."""

    error: AssentError
