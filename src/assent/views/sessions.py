"""Sessions as people read them: a list, one session's standing, and all that was said."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from assent.core.event import FactRemembered, Recorded
from assent.core.message import Call, Image, Reasoning, Text
from assent.core.session import SessionRecord
from assent.core.session_event import (
    CallEnded,
    Compacted,
    MessageAdded,
    PartSaid,
    QuestionAnswered,
    QuestionAsked,
    TurnEnded,
)
from assent.views.lines import BLANK, Line, foreign, table
from assent.views.rows import Row
from assent.views.visible import visible, visible_line

SHORT = 12  # characters of an id in a list
_FENCE = "~~~~"


def session_row(record: SessionRecord) -> Row:
    """Returns a session as JSON shows it."""
    return {
        "session": record.session,
        "slug": record.slug,
        "title": record.title or record.goal,
        "mode": record.mode,
        "agent": record.agent or None,
        "model": record.model or None,
        "plan_id": record.plan_id or None,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "messages": record.messages,
        "turns": record.turns,
        "steps": record.steps,
        "todos": msgspec.to_builtins(record.todos),
        "usage": msgspec.to_builtins(record.usage),
        "cost": record.cost,
        "parent": record.parent or None,
        "fork": record.fork or None,
    }


def session_list_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders sessions in aligned columns."""
    if not rows:
        yield Line("plain", "There are no sessions.")
        yield Line("plain", 'Next: assent -p "what should be done"')
        return
    title = ("ID", "SLUG", "MODE", "TURNS", "UPDATED", "TITLE")
    first, *rest = table("plain", [title, *map(_listed, rows)])
    yield Line("heading", first.text)
    yield from rest


def session_lines(row: Row) -> Iterator[Line]:
    """Renders one session and what to type next."""
    names = ("title", "slug", "mode", "agent", "model", "plan_id", "turns", "updated_at", "fork")
    rows = [(name, visible_line(str(row[name]))) for name in names if row[name] not in (None, "")]
    yield from table("plain", [*rows, ("id", str(row["session"]))])
    yield Line("plain", f'Next: assent -r {row["slug"]} -p "what comes next"')


def said_lines(events: Iterable[Recorded]) -> Iterator[Line]:
    """Renders what was said and done in a session, in order."""
    for recorded in events:
        for head, text in _said(recorded):
            yield BLANK
            yield Line("heading", visible_line(head))
            if text:
                yield from foreign(text)


def markdown_lines(record: SessionRecord, events: Iterable[Recorded]) -> Iterator[Line]:
    """Renders a session as a document. What others said cannot pass for its headings."""
    yield Line("plain", f"# {visible_line(record.title or record.goal or record.slug)}")
    yield BLANK
    yield Line("plain", f"Session `{record.session}` ({record.slug}), mode {record.mode}.")
    for recorded in events:
        for head, text in _said(recorded):
            shown = visible(text).removesuffix("\n")
            fence = _FENCE
            while fence in shown:
                fence += "~"
            body = ("", fence, *shown.split("\n"), fence) if shown else ()
            lines = ("", f"## {visible_line(head)}", *body)
            yield from (Line("plain", line) for line in lines)


def fact_lines(facts: Sequence[FactRemembered]) -> Iterator[Line]:
    """Renders remembered facts, one a line."""
    if not facts:
        yield Line("plain", "Nothing is remembered about this workspace.")
        return
    yield from table("plain", [(fact.fact, visible_line(fact.text)) for fact in facts])


def _said(recorded: Recorded) -> Iterator[tuple[str, str]]:
    """Returns who speaks, and what; nothing for events that say nothing to a person."""
    match recorded.event:
        case MessageAdded(parts=parts, synthetic=about):
            texts = [p.text if isinstance(p, Text) else _picture(p) for p in parts]
            yield f"Assent ({about})" if about else "Person", "\n\n".join(texts)
        case PartSaid(part=Text(text)):
            yield "Model", text
        case PartSaid(part=Reasoning(text)) if text:
            yield "Model (reasoning)", text
        case PartSaid(part=Call(_, tool, args, raw)):
            shown = raw if args is None else msgspec.json.encode(args).decode()
            yield f"Model calls {tool}", shown
        case event:
            yield from _came(event)


def _came(event: object) -> Iterator[tuple[str, str]]:
    match event:
        case CallEnded(tool=tool, result=result):
            yield f"{tool} {'failed' if result.failed else 'answers'}", result.text
        case QuestionAsked(questions=questions):
            yield "Question", "\n".join(each.question for each in questions)
        case QuestionAnswered(answers=answers):
            words = [", ".join(answer) for answer in answers or ()]
            yield "Answer", "\n".join(words) if answers is not None else "Nobody answered."
        case Compacted(summary=summary):
            yield "Summary", summary
        case TurnEnded(why=why, words=words) if why != "end":
            yield f"The turn ended: {why}", words
        case _:
            pass


def _picture(image: Image) -> str:
    return f"[a picture, {image.media_type}, {len(image.content)} bytes]"


def _listed(row: Row) -> tuple[str, ...]:
    names = ("slug", "mode", "turns", "updated_at", "title")
    return (str(row["session"])[:SHORT], *[visible_line(str(row[name])) for name in names])
