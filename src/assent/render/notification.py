"""Notifications: which events need the user's attention, and how a terminal shows them."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from assent.core.event import Event, RunHalted, StoredEvent
from assent.core.session.event import Question, QuestionAsked, TurnEnded, TurnStarted
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.questions import seconds_since

NotificationMethod: TypeAlias = Literal["auto", "bell", "desktop", "off"]

AFTER_S: Final = 10.0  # a turn that took less was watched to its end
MAX_CHARS: Final = 200  # characters
NAME: Final = "Assent"
BELL: Final = "\x07"
PRESENTED: Final = "A plan is waiting for your approval."
HALTED: Final = "A run stopped and needs your decision."
# How turns end that come to their end by themselves; all others a person ended, or was asked in.
ENDS: Final = {
    "end": "Turn finished.",
    "limit": "Turn stopped: limit reached.",
    "budget": "Turn stopped: limit reached.",
    "failed": "Turn failed.",
}

# What terminals show as a desktop notification: by their name, or by the beginning of TERM.
_NINE: Final = "\x1b]9;{}\x07"
_SEVENS: Final = f"\x1b]777;notify;{NAME};{{}}\x07"
_PROGRAMS: Final = {"iTerm.app": _NINE, "WezTerm": _NINE, "ghostty": _NINE}
_TERMS: Final = {
    "xterm-kitty": _NINE, "xterm-ghostty": _NINE, "foot": _SEVENS, "rxvt": _SEVENS,
}  # fmt: skip
_BETWEEN: Final = ("TMUX", "STY")  # programs that pass no notification on; a bell they do
_BETWEEN_TERMS: Final = ("tmux", "screen")
_NO_TERMINAL: Final = ("", "dumb")


def notification_text(event: Event, took_s: float = 0, after_s: float = AFTER_S) -> str | None:
    """Returns the notification for an event, for a user who may look elsewhere; else None.

    `took_s` is the duration of the turn that ended.
    """
    match event:
        case QuestionAsked(questions=questions):
            return _asked(questions[0]) if questions else None
        case RunHalted():
            return HALTED
        case TurnEnded(why="presented"):
            return PRESENTED
        case TurnEnded(why=why) if took_s >= after_s:
            return ENDS.get(why)
        case _:
            return None


class NotificationFilter:
    """Decides the same for events as they come; of turns, only those of one session count."""

    def __init__(self, session: str, after_s: float = AFTER_S) -> None:
        self._session = session
        self._after_s = after_s
        self._began = ""

    def take(self, recorded: StoredEvent) -> str | None:
        """Returns the notification for one more event, if any."""
        event = recorded.event
        if not isinstance(event, TurnStarted | TurnEnded):
            return notification_text(event)
        if not recorded.stream.endswith(f"/{self._session}"):
            return None  # a child's turn is nobody's concern
        if isinstance(event, TurnStarted):
            self._began = recorded.at
            return None
        took = seconds_since(self._began, recorded.at) if self._began else 0
        return notification_text(event, took, self._after_s)


def notification_sequence(way: NotificationMethod, words: str, environ: Mapping[str, str]) -> str:
    """Returns the escape sequence that rings or shows a message; empty if it could do harm.

    The words only reach the terminal as text on one line.
    """
    term = environ.get("TERM", "")
    if way == "off" or (way != "bell" and term in _NO_TERMINAL):
        return ""
    between = any(environ.get(name) for name in _BETWEEN) or term.startswith(_BETWEEN_TERMS)
    if way == "bell" or between:
        return BELL
    form = _form(environ) or (_SEVENS if way == "desktop" else BELL)
    return form.format(_harmless(words))


def _form(environ: Mapping[str, str]) -> str:
    """Returns the notification protocol of this terminal, if it is known."""
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    known = [form for start, form in _TERMS.items() if term.startswith(start)]
    return _PROGRAMS.get(program) or (known[0] if known else "")


def _harmless(words: str) -> str:
    """Returns words on one line without semicolons, which would end them for some terminals."""
    line = visible_line(redact(words)).replace(";", ",")
    plain = "".join(filter(str.isprintable, line))
    return plain if len(plain) <= MAX_CHARS else f"{plain[:MAX_CHARS]}…"


def _asked(question: Question) -> str:
    who = NAME if question.by == "gate" else "The model"
    return f"{who} asks: {question.question}"
