"""Questions to a person: the pending ones, one in full, typed answers, and notifications."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec

from assent.core.event import EventBody, RunHalted, StoredEvent
from assent.core.session.event import Question, QuestionAsked, TurnEnded, TurnStarted
from assent.core.session.question import PendingQuestion, is_permission, question_topic
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.diff import diff_lines
from assent.render.lines import BLANK, Line, counted, table_lines, untrusted_lines, wrapped_lines

ONE, SEVERAL, WORDS = "a number", "numbers, e.g. 1,3", "free text"
YES_OR_NO = {"y": "yes", "n": "no"}
ALL = "v"  # what is typed to see all of a question that was cut
MAX_LINES = 200  # lines of a patch, or things to do, that a question shows where no screen is known
MIN_LINES = 5  # of them that even the smallest screen shows
RESERVED_LINES = (
    10  # lines of a question that are always there: its words, twice, and what separates them
)
REPEAT_AFTER_LINES = 10  # lines between a question and its choices, after which it is said again


def question_lines(question: Question, *, most: int | None = None) -> Iterator[Line]:
    """Renders a question with numbered options; text by a model has a bar before it.

    `most` is how much of a long one is shown: 0 is all of it.
    """
    most = MAX_LINES if most is None else most
    yield BLANK
    if question.by == "gate":
        yield from _risk(question.risk)
        yield from wrapped_lines("heading", visible_line(question.header))
        yield from wrapped_lines("plain", visible_line(question.question))
    else:
        yield Line("heading", f"The model asks{_about(question_topic(question))}:")
        yield from untrusted_lines(question.question)
    between = [
        *(untrusted_lines(question.command) if question.command else ()),
        *_things(question.things, most),
        *_detail(question.detail, most),
    ]
    yield from between
    if question.by == "gate" and len(between) > REPEAT_AFTER_LINES:
        yield from wrapped_lines("plain", visible_line(question.question))
    for number, option in enumerate(question.options, start=1):
        about = f": {visible_line(option.description)}" if option.description else ""
        yield from wrapped_lines("plain", f"  {number}. {visible_line(option.label)}{about}")


def max_detail_lines(question: Question, rows: int) -> int:
    """Returns how many detail lines fit between a question's text and its choices."""
    listed = min(len(question.things), MIN_LINES)
    fixed = len(question.options) + len(question.risk) + listed + RESERVED_LINES
    command = question.command.count("\n") + 1 if question.command else 0
    return max(MIN_LINES, rows - fixed - command)


def _about(header: str) -> str:
    return f" about {visible_line(header)}" if header else ""


def _risk(risk: Sequence[str]) -> Iterator[Line]:
    """Renders how much could go wrong, and why, before anything else."""
    if not risk:
        return
    level, *reasons = risk
    yield Line("plain" if level == "low" else "risk", f"Risk: {visible_line(level)}")
    for reason in reasons:
        yield from wrapped_lines("plain", f"  - {visible_line(reason)}")


def _things(things: Sequence[str], most: int) -> Iterator[Line]:
    shown = things[:most] if most else things
    for thing in shown:
        yield from wrapped_lines("plain", f"  - {visible_line(thing)}")
    if len(things) > len(shown):
        yield Line("risk", f"  - and {len(things) - len(shown)} more")


def is_truncated(question: Question, *, most: int | None = None) -> bool:
    """Tells whether a question shows less than everything that allowing it would do."""
    most = MAX_LINES if most is None else most
    long = len(question.things) > most or sum(1 for _ in diff_lines(question.detail)) > most
    return bool(most) and long


def answer_hint(question: Question, *, cut: bool = False) -> str:
    """Returns what can be typed, and what Enter by itself means: never approval."""
    ways = [*YES_OR_NO] if _is_yes_or_no(question) else []
    if question.options and len(question.options) > len(ways):
        ways.append(SEVERAL if question.multiple else ONE)
    if cut:
        ways.append(f"{ALL} to show all")
    if question.custom or not question.options:
        ways.append(f"{WORDS} as feedback" if is_permission(question) else WORDS)
    *before, last = ways
    listed = f"{', '.join(before)}, or {last}" if len(before) > 1 else " or ".join(ways)
    return f"{listed} ({_enter(question)}): "


def _enter(question: Question) -> str:
    if question.by != "gate":
        return "Enter: no answer"
    return "Enter: no, end the turn" if is_permission(question) else "Enter: no"


def unknown_number_error(question: Question, typed: str) -> str:
    """Returns an error if a typed line is a number that no option has; else nothing."""
    pieces = typed.split(",") if question.multiple else [typed]
    numbers = [piece.strip() for piece in pieces if _is_number(piece.strip())]
    wrong = [number for number in numbers if not _meant(question, number)]
    if not question.options or not wrong:
        return ""
    return f"{wrong[0][:9]} is not an option; enter 1 to {len(question.options)}."


def parse_answer(question: Question, typed: str) -> tuple[str, ...]:
    """Returns the labels or words that a typed line means; empty if it means none (law 9)."""
    pieces = typed.split(",") if question.multiple and question.options else [typed]
    found = [_meant(question, piece.strip()) for piece in pieces if piece.strip()]
    if all(found):
        return tuple(dict.fromkeys(found))
    free = question.custom or not question.options
    return (typed.strip(),) if free and typed.strip() else ()


def open_questions_lines(questions: Sequence[Question], command: str) -> Iterator[Line]:
    """Renders questions that were not answered, and how to answer them."""
    for question in questions:
        yield from question_lines(question)
    yield Line("plain", f"Answer: {command} 'YOUR ANSWER'")


def _detail(patch: str, most: int) -> Iterator[Line]:
    """Renders what allowing it would do; of a long text the beginning, and how much is omitted."""
    if not patch:
        return
    yield BLANK
    lines = list(diff_lines(patch))
    shown = lines[:most] if most else lines
    yield from shown
    if len(lines) > len(shown):
        yield Line("risk", f"… {counted(len(lines) - len(shown), 'more line')} not shown.")
    yield BLANK


def _is_yes_or_no(question: Question) -> bool:
    return {option.label.casefold() for option in question.options} >= set(YES_OR_NO.values())


def _is_number(piece: str) -> bool:
    return piece.isascii() and piece.isdigit()


def _meant(question: Question, piece: str) -> str:
    """Returns the label of an option by its number or label; empty if there is none."""
    labels = [option.label for option in question.options]
    if _is_number(piece):
        number = int(piece[:9])
        return labels[number - 1] if 1 <= number <= len(labels) else ""
    folded = piece.casefold()
    if _is_yes_or_no(question):
        folded = YES_OR_NO.get(folded, folded)
    return next((label for label in labels if label.casefold() == folded), "")


# Pending questions: a list, and one of them with all that it is about.


Row: TypeAlias = dict[str, Any]

MAX_TASK_CHARS = 120  # characters of a child's task
SHORT = 12  # characters of a digest in a list
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def pending_question_row(pending: PendingQuestion, now: str) -> Row:
    """Returns a question as JSON data."""
    one, asked = pending.inquiry, pending.inquiry.asked
    answered = one.answered
    return {
        "id": asked.id,
        "question": asked.id,
        "digest": asked.digest or None,
        "standing": pending.standing,
        "session": pending.session.session,
        "root": pending.root.session,
        "slug": pending.root.slug,
        "depth": pending.session.depth,
        "agent": asked.agent or pending.session.agent or None,
        "task": _task(pending) if pending.session.depth else None,
        "mode": pending.session.mode,
        "call": asked.call or None,
        "tool": asked.tool or None,
        "args": one.call.args if one.call and asked.call else None,
        "asked_at": one.at,
        "age_s": seconds_since(one.at, now),
        "expires_at": asked.expires_at or None,
        "questions": msgspec.to_builtins(asked.questions),
        "answers": msgspec.to_builtins(answered.answers) if answered else None,
        "answered_by": (answered.by or None) if answered else None,
        "answered_at": one.answered_at or None,
        "grant": (answered.grant or None) if answered else None,
    }


def pending_question_list_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders questions in aligned columns, with the session that the user talks to."""
    if not rows:
        yield Line("plain", "No pending questions")
        return
    title = ("ID", "SESSION", "DEPTH", "AGE", "DIGEST", "STANDING", "ABOUT")
    first, *rest = table_lines("plain", [title, *map(_listed, rows)])
    yield Line("heading", first.text)
    yield from rest
    yield Line("plain", "Next: assent questions show ID")


def pending_question_lines(
    pending: PendingQuestion, row: Row, *, choosing: bool = True
) -> Iterator[Line]:
    """Renders one question in full: where it comes from, and everything that allowing it would do.

    If the user has chosen already, the choices are omitted.
    """
    about = {
        "id": row["question"],
        "session": row["slug"],
        "depth": row["depth"] or None,
        "agent": row["agent"],
        "task": row["task"],
        "tool": row["tool"],
        "asked at": row["asked_at"],
        "expires at": row["expires_at"],
        "standing": row["standing"],
        "answered by": row["answered_by"],
        "saved as": row["grant"],
        "digest": row["digest"],
    }
    shown = [(name, visible_line(str(value))) for name, value in about.items() if value is not None]
    *lines, last = table_lines("plain", shown)
    yield from lines
    yield Line("digest", last.text) if row["digest"] else last
    if row["args"] is not None:
        yield BLANK
        yield Line("heading", "Tool arguments:")
        yield from untrusted_lines(msgspec.json.format(msgspec.json.encode(row["args"])).decode())
    for question in pending.inquiry.asked.questions:
        shown_one = question if choosing else msgspec.structs.replace(question, options=())
        yield from question_lines(shown_one, most=0)


def your_answer_lines(answers: Sequence[Sequence[str]], follows: str) -> Iterator[Line]:
    """Renders what the user is about to answer, and what would be remembered of it."""
    words = "; ".join(", ".join(answer) for answer in answers)
    yield BLANK
    yield from wrapped_lines("heading", f"Your answer: {visible_line(words)}")
    if follows:
        yield from wrapped_lines("risk", visible_line(follows))


def answer_given_lines(row: Row) -> Iterator[Line]:
    """Renders the result of an answer, and the next command."""
    words = "; ".join(", ".join(answer) for answer in row["answers"])
    said = f"no, with feedback: {row['words']}" if row["words"] else words
    yield from wrapped_lines("plain", f"Answered: {visible_line(said) or 'no'}")
    if row["grant"]:
        yield Line("plain", f"Saved as rule {row['grant']}")
        yield Line("plain", f"Revoke with: assent rules revoke {row['grant']}")
    for other in row["others"]:
        yield Line("plain", f"Also answered: {other}")
    if row["open"]:
        others = "1 question" if row["open"] == 1 else f"{row['open']} questions"
        yield Line("plain", f"{others} still open in this session: assent questions list")
    if row["at_work"]:
        yield Line("plain", "The session is running in another process and continues there.")
    else:
        yield Line("plain", f"Next: {row['next']}")


def _listed(row: Row) -> tuple[str, ...]:
    asked = row["questions"][0]["question"] if row["questions"] else ""
    if row["depth"]:
        asked = f"{asked} (for {row['agent']}: {row['task']})"
    return (
        str(row["question"]),
        visible_line(str(row["slug"])),
        str(row["depth"]),
        age_text(row["age_s"]),
        str(row["digest"] or "")[:SHORT],
        str(row["standing"]),
        visible_line(str(asked)),
    )


def _task(pending: PendingQuestion) -> str:
    """Returns a child's task in short."""
    child = pending.session
    return " ".join((child.title or child.goal or child.slug).split())[:MAX_TASK_CHARS]


def age_text(seconds: int) -> str:
    """Returns an age in the largest unit that fits."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    return f"{seconds // size} {unit}"


def seconds_since(then: str, now: str) -> int:
    """Returns the whole seconds between two times; at least 0."""
    passed = datetime.fromisoformat(now) - datetime.fromisoformat(then)
    return max(0, int(passed.total_seconds()))


# Notifications: which events need the user's attention, and how a terminal shows them.


NotificationMethod: TypeAlias = Literal["auto", "bell", "desktop", "off"]

AFTER_S: Final = 10.0  # a turn that took less was watched to its end
MAX_CHARS: Final = 200  # characters
NAME: Final = "Assent"
BELL: Final = "\x07"
PRESENTED: Final = "A plan is waiting for your approval."
HALTED: Final = "A run stopped and needs your decision."
# How turns end by themselves; a user ended all others, or was asked a question in them.
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


def notification_text(event: EventBody, took_s: float = 0, after_s: float = AFTER_S) -> str | None:
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
            return None  # a child's turn needs no notification
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
