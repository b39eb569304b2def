"""Pending questions: a list, and one of them with all that it is about."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from assent.core.session.question import PendingQuestion
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines, untrusted_lines, wrapped_lines
from assent.render.questions import question_lines

Row: TypeAlias = dict[str, Any]

MAX_TASK_CHARS = 120  # characters of a child's task
SHORT = 12  # characters of a digest in a list
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def pending_question_row(pending: PendingQuestion, now: str) -> Row:
    """Returns a question as JSON shows it."""
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
    """Renders questions in aligned columns, with the session that a person talks to."""
    if not rows:
        yield Line("plain", "No question is open.")
        return
    title = ("ID", "SESSION", "DEPTH", "AGE", "DIGEST", "STANDING", "ABOUT")
    first, *rest = table_lines("plain", [title, *map(_listed, rows)])
    yield Line("heading", first.text)
    yield from rest
    yield Line("plain", "Next: assent questions show ID")


def pending_question_lines(
    pending: PendingQuestion, row: Row, *, choosing: bool = True
) -> Iterator[Line]:
    """Renders one question in full: where it comes from, and everything that a yes would do.

    Where the person has chosen already, the choices are left out.
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
        "remembered as": row["grant"],
        "digest": row["digest"],
    }
    shown = [(name, visible_line(str(value))) for name, value in about.items() if value is not None]
    *lines, last = table_lines("plain", shown)
    yield from lines
    yield Line("digest", last.text) if row["digest"] else last
    if row["args"] is not None:
        yield BLANK
        yield Line("heading", "The model called it with:")
        yield from untrusted_lines(msgspec.json.format(msgspec.json.encode(row["args"])).decode())
    for question in pending.inquiry.asked.questions:
        shown_one = question if choosing else msgspec.structs.replace(question, options=())
        yield from question_lines(shown_one, most=0)


def your_answer_lines(answers: Sequence[Sequence[str]], follows: str) -> Iterator[Line]:
    """Renders what the person is about to answer, and what would be remembered of it."""
    words = "; ".join(", ".join(answer) for answer in answers)
    yield BLANK
    yield from wrapped_lines("heading", f"Your answer: {visible_line(words)}")
    if follows:
        yield from wrapped_lines("risk", visible_line(follows))


def answer_given_lines(row: Row) -> Iterator[Line]:
    """Renders what an answer brought about, and what to type next."""
    words = "; ".join(", ".join(answer) for answer in row["answers"])
    said = f"no, with your words: {row['words']}" if row["words"] else words
    yield from wrapped_lines("plain", f"Answered: {visible_line(said) or 'no'}")
    if row["grant"]:
        yield Line("plain", f"Remembered as {row['grant']}")
        yield Line("plain", f"To take it back: assent rules revoke {row['grant']}")
    for other in row["others"]:
        yield Line("plain", f"Answered along with it: {other}")
    if row["open"]:
        others = "1 question is" if row["open"] == 1 else f"{row['open']} questions are"
        yield Line("plain", f"Of this session {others} still open: assent questions list")
    if row["at_work"]:
        yield Line("plain", "The session is at work in another process, and goes on there.")
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
    """Returns what a child was told to do, in few words."""
    child = pending.session
    return " ".join((child.title or child.goal or child.slug).split())[:MAX_TASK_CHARS]


def age_text(seconds: int) -> str:
    """Returns how long something waits, in the largest unit that fits."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    return f"{seconds // size} {unit}"


def seconds_since(then: str, now: str) -> int:
    """Returns how many whole seconds lie between two times; never fewer than none."""
    passed = datetime.fromisoformat(now) - datetime.fromisoformat(then)
    return max(0, int(passed.total_seconds()))
