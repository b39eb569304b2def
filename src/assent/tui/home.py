"""What the screen shows before a session begins: folder, model, what waits, last sessions."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, time_ago
from assent.render.onboarding import SetupFindings, onboarding_lines
from assent.render.rows import session_state, session_title
from assent.tui.sidebar.context import model_name

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.tui.host import ScreenHost
    from assent.tui.status import StatusSnapshot

MAX_SESSIONS: Final = 5
MAX_SESSIONS_BELOW: Final = 2  # below what to do without a model: all of it fits in 24 rows
MAX_TITLE_CHARS: Final = 60
KEY: Final = "home"  # of its section in the conversation
IDLE: Final = "idle"  # the state that is not worth a word
NO_MODEL: Final = "no model"
HINTS: Final = (
    "@ adds a file · ! runs a shell command · / lists the commands",
    "Shift+Tab changes the mode",
    "? shows the keys",
)


class SessionEntry(msgspec.Struct, frozen=True):
    """One of the last sessions."""

    title: str
    state: str
    ago: str


class Home(msgspec.Struct, frozen=True):
    """What is known before a session begins."""

    folder: str
    branch: str = ""
    sessions: tuple[SessionEntry, ...] = ()
    more: int = 0  # sessions that are not listed
    plans: tuple[str, ...] = ()  # names of those that wait to be decided about or built


def read_home(host: "ScreenHost", engine: "Engine", now: str) -> Home:
    """Reads it; slow with many sessions, so this belongs in a thread."""
    own = [record for record in engine.sessions.all() if not record.parent]
    newest = sorted(own, key=lambda record: record.updated_at, reverse=True)
    shown = [_entry(engine.sessions.now(one), now) for one in newest[:MAX_SESSIONS]]
    home = host.environment.get("HOME", "")
    return Home(
        short_folder(host.root, home),
        host.branch(),
        tuple(shown),
        len(newest) - len(shown),
        tuple(one.name for one in engine.waiting_plans()),
    )


def short_folder(path: str, home: str) -> str:
    """Returns a folder as it is shown: `~` is the user's own."""
    if home and (path == home or path.startswith(home.rstrip("/") + "/")):
        return "~" + path[len(home.rstrip("/")) :]
    return path


def home_lines(
    home: Home, standing: "StatusSnapshot", missing: SetupFindings | None = None
) -> list[Line]:
    """Returns the lines of the home; the mode, the model and what waits are as of now.

    Without a model, they say what was found and what to do.
    """
    if missing is not None:
        listed = home.sessions[:MAX_SESSIONS_BELOW]
        more = home.more + len(home.sessions) - len(listed)
        home = msgspec.structs.replace(home, sessions=listed, more=more)
    where = f"{home.folder} ({home.branch})" if home.branch else home.folder
    model = visible_line(model_name(standing.model)) if standing.model else NO_MODEL
    lines = [
        Line("heading", "Assent"),
        Line("plain", visible_line(where)),
        Line("dim", f"{visible_line(standing.mode)} mode · {model}"),
    ]
    if missing is not None:
        lines += [BLANK, *onboarding_lines(missing)]
    if waits := [*_waiting(home, len(standing.waiting))]:
        lines += [BLANK, *(Line("risk", f"{words}: /waiting") for words in waits)]
    if home.sessions:
        lines += [BLANK, Line("heading", "Last sessions"), *_session_lines(home)]
    hints = _hints(home) if missing is None or not (waits or home.sessions) else HINTS[-1:]
    return [*lines, BLANK, *(Line("dim", hint) for hint in hints)]


def _waiting(home: Home, questions: int) -> Iterator[str]:
    """Yields what waits for the user."""
    if questions:
        asked = "1 question waits" if questions == 1 else f"{questions} questions wait"
        yield f"{asked} for your answer"
    if len(home.plans) == 1:
        yield f"Plan {visible_line(home.plans[0])} waits for you"
    elif home.plans:
        yield f"{len(home.plans)} plans wait for you"


def _session_lines(home: Home) -> list[Line]:
    width = max(len(entry.ago) for entry in home.sessions)
    lines = [Line("plain", f"{one.ago:>{width}}  {one.title}{one.state}") for one in home.sessions]
    more = f"{home.more} more: /sessions"
    return [*lines, *([Line("dim", more)] if home.more else [])]


def _hints(home: Home) -> Sequence[str]:
    """Returns three hints, the most useful first."""
    if home.sessions:
        return ("/resume continues a session · `assent -c` opens the last one", *HINTS[1:])
    return HINTS


def _entry(record: SessionRecord, now: str) -> SessionEntry:
    title = session_title(record)
    if len(title) > MAX_TITLE_CHARS:
        title = f"{title[: MAX_TITLE_CHARS - 1]}…"
    state = session_state(record)
    told = "" if state == IDLE else f" · {state}"
    return SessionEntry(title, told, time_ago(record.updated_at, now))
