"""Sessions for display: a list, one session's status, and its transcript."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from assent.core.event import FactRemembered, StoredEvent
from assent.core.llm import ImagePart, ReasoningPart, TextPart, ToolCall
from assent.core.session.event import (
    AttachedFile,
    BatchPlanned,
    CallEnded,
    ChildEnded,
    ChildStarted,
    Compacted,
    FilesAttached,
    MessageAdded,
    PartSaid,
    QuestionAnswered,
    QuestionAsked,
    SessionRewound,
    TurnEnded,
)
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import UserMessage
from assent.core.text.hidden_chars import visible, visible_line
from assent.core.text.secrets import redact
from assent.render.lines import (
    BLANK,
    Line,
    counted,
    local_time,
    table_lines,
    time_ago,
    untrusted_lines,
)
from assent.render.log import (
    ChildNames,
    attached,
    attachment_problems,
    batch_lines,
    collapse_repeats,
    compaction_notice,
)
from assent.render.rows import Row, redacted_row

SHORT = 12  # characters of an id in a list
_FENCE = "~~~~"


class CompactionReport(msgspec.Struct, frozen=True):
    """What a compaction made of a session: tokens before and after, and the summary, if any."""

    record: SessionRecord
    before: int
    after: int
    results: int = 0  # of tools, that were pruned
    summary: str = ""


def compaction_notices(done: CompactionReport) -> list[str]:
    """Says that a session was compacted often, if it was (F123)."""
    notice = compaction_notice(done.record.compactions) if done.summary else ""
    return [notice] if notice else []


def compacted_row(done: CompactionReport) -> Row:
    """Returns a compaction as JSON data."""
    told = {
        "compactions": done.record.compactions,
        "tokens_before": done.before,
        "tokens_after": done.after,
        "pruned": done.results,
    }
    row: Row = {**told, "summary": done.summary or None, "notices": compaction_notices(done)}
    return redacted_row(row)


def compacted_lines(row: Row) -> Iterator[Line]:
    """Renders what a compaction came to."""
    yield Line(
        "plain",
        f"Compacted: about {row['tokens_before']:,} tokens before, {row['tokens_after']:,} now.",
    )
    if row["pruned"]:
        results = "1 old tool result" if row["pruned"] == 1 else f"{row['pruned']} old tool results"
        yield Line("plain", f"Removed {results}.")


def with_children(records: Sequence[SessionRecord]) -> list[SessionRecord]:
    """Returns sessions with children after their parents, oldest first."""
    known = {record.session for record in records}
    behind: dict[str, list[SessionRecord]] = {}
    for record in reversed(records):
        behind.setdefault(record.parent, []).append(record)
    waiting = [each for each in reversed(records) if each.parent not in known]
    found: list[SessionRecord] = []
    while waiting:
        found.append(waiting.pop())
        waiting += reversed(behind.get(found[-1].session, []))
    return found


def session_list_lines(rows: Sequence[Row], now: str) -> Iterator[Line]:
    """Renders sessions in aligned columns, children indented, with how long ago each changed."""
    if not rows:
        yield Line("plain", "No sessions yet.")
        yield Line("plain", 'Next: assent -p "what should be done"')
        return
    title = ("ID", "SLUG", "MODE", "STATE", "TURNS", "UPDATED", "TITLE")
    depths = _depths(rows)
    listed = [_listed(row, depth, now) for row, depth in zip(rows, depths, strict=True)]
    first, *rest = table_lines("plain", [title, *listed])
    yield Line("heading", first.text)
    yield from rest


_LABELS: Final = {
    "slug": "name", "plan_id": "plan", "custom_mode": "custom mode", "missing_mode": "missing mode",
    "updated_at": "changed",
    "fork": "fork of",
}  # fmt: skip


_IDS: Final = frozenset({"plan_id", "parent", "fork"})


def session_lines(row: Row, way_on: str = "", *, ids: bool = True) -> Iterator[Line]:
    """Renders one session and the next command; without `ids`, as where no one types them."""
    names = (
        "title", "slug", "state", "failure", "mode", "custom_mode", "missing_mode", "agent",
        "model", "plan_id", "turns", "updated_at", "parent", "fork",
    )  # fmt: skip
    wanted = [name for name in names if ids or name not in _IDS]
    known = [name for name in wanted if row[name] not in (None, "")]
    about = {**row, "updated_at": local_time(str(row["updated_at"]))}
    rows = [(_LABELS.get(name, name), visible_line(str(about[name]))) for name in known]
    own = [("id", str(row["session"]))] if ids else []
    yield from table_lines("plain", [*rows, *own])
    way_on = way_on or f'assent -r {row["slug"]} -p "what comes next"'
    yield Line("plain", f"Next: {way_on}")


def halted_line(how: str, *, working: bool) -> Line:
    """Returns when a stop request takes effect."""
    if working:
        return Line("plain", f"The session is running; it will be {how} after the current step.")
    return Line("plain", f"The session is idle and now marked {how}.")


def rewind_point_rows(spoken: Sequence[UserMessage]) -> list[Row]:
    """Returns the user's messages that a session can be rewound to, as JSON data."""
    return [
        redacted_row({"id": one.id, "text": one.text, "at": one.at, "turn": one.turn})
        for one in spoken
    ]


def rewind_point_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders each on one line, with full ids for use in a command."""
    if not rows:
        yield Line("plain", "No earlier messages to rewind to.")
        return
    listed = [[visible_line(str(row[name])) for name in ("id", "turn", "text")] for row in rows]
    first, *rest = table_lines("plain", [("ID", "TURN", "SAID"), *listed])
    yield Line("heading", first.text)
    yield from rest


def rewound_row(spoken: UserMessage, turns: Sequence[int], runs: Sequence[str]) -> Row:
    """Returns the message that a session was rewound to, and what was done since, as JSON data."""
    words = {"rewound_to": spoken.id, "text": spoken.text}
    return redacted_row({**words, "turns_since": list(turns), "runs_since": list(runs)})


def rewound_lines(row: Row, *, would: bool = False) -> Iterator[Line]:
    """Renders what the model no longer sees, or would not, and what still exists of it."""
    removed = "Would be removed" if would else "Removed"
    yield Line("plain", f"{removed} from the model's context, with everything after it:")
    yield from untrusted_lines(str(row["text"]))
    runs = row["runs_since"]
    if row.get("files") == "restored":
        return  # the undo says which
    if not isinstance(runs, list) or not runs:
        yield Line("plain", "No files changed since.")
        return
    yield Line("plain", "Files were not rewound. To undo later runs:")
    yield from (Line("plain", f"  assent undo {run}") for run in runs)


def transcript_lines(events: Iterable[StoredEvent]) -> Iterator[Line]:
    """Renders what was said and done in a session, in order."""
    for head, text in collapse_repeats(_all_said(events)):
        yield BLANK
        yield Line("heading", visible_line(redact(head)))
        if text:
            yield from untrusted_lines(redact(text))


def markdown_lines(record: SessionRecord, events: Iterable[StoredEvent]) -> Iterator[Line]:
    """Renders a session as a document; text by others cannot look like its headings."""
    yield Line("plain", f"# {visible_line(redact(record.title or record.goal) or record.slug)}")
    yield BLANK
    yield Line("plain", f"Session `{record.session}` ({record.slug}), mode {record.mode}.")
    for head, text in collapse_repeats(_all_said(events)):
        shown = visible(redact(text)).removesuffix("\n")
        fence = _FENCE
        while fence in shown:
            fence += "~"
        body = ("", fence, *shown.split("\n"), fence) if shown else ()
        lines = ("", f"## {visible_line(redact(head))}", *body)
        yield from (Line("plain", line) for line in lines)


def memory_lines(facts: Sequence[FactRemembered]) -> Iterator[Line]:
    """Renders remembered facts, one per line."""
    if not facts:
        yield Line("plain", "No memory saved for this workspace.")
        return
    yield from table_lines(
        "plain", [(fact.fact, visible_line(redact(fact.text))) for fact in facts]
    )


def _all_said(events: Iterable[StoredEvent]) -> Iterator[tuple[str, str]]:
    kin = ChildNames()
    for recorded in events:
        yield from _said(recorded)
        yield from _of_children(recorded, kin)


def _said(recorded: StoredEvent) -> Iterator[tuple[str, str]]:
    """Yields who speaks, and what; nothing for events that users need not see."""
    match recorded.body:
        case MessageAdded(parts=parts, synthetic=about):
            texts = [p.text if isinstance(p, TextPart) else _picture(p) for p in parts]
            yield f"Assent ({about})" if about else "User", "\n\n".join(texts)
        case PartSaid(part=TextPart(text)):
            yield "Model", text
        case PartSaid(part=ReasoningPart(text)) if text:
            yield "Model (reasoning)", text
        case PartSaid(part=ToolCall(_, tool, args, raw)):
            shown = raw if args is None else msgspec.json.encode(args).decode()
            yield f"Model calls {tool}", shown
        case SessionRewound(words=words):
            yield "User rewinds to before this message", words
        case event:
            yield from _came(event)


def _came(event: object) -> Iterator[tuple[str, str]]:
    match event:
        case BatchPlanned(calls):
            if lines := [line.text for line in batch_lines(calls)]:
                yield "Planned calls", "\n".join(lines)
        case CallEnded(tool=tool, result=result):
            yield f"{tool} {'failed' if result.failed else 'returned'}", result.text
        case FilesAttached(files=files):
            if lines := [*map(_attachment, attached(files)), *attachment_problems(files)]:
                yield "Attached", "\n".join(lines)
        case QuestionAsked(questions=questions):
            yield "Question", "\n".join(each.question for each in questions)
        case QuestionAnswered(answers=answers):
            words = [", ".join(answer) for answer in answers or ()]
            yield "Answer", "\n".join(words) if answers is not None else "No answer."
        case Compacted(summary=summary):
            yield "Summary", summary
        case TurnEnded(why=why, words=words) if why != "end":
            yield f"Turn ended: {why}", words
        case _:
            pass


def _of_children(recorded: StoredEvent, kin: ChildNames) -> Iterator[tuple[str, str]]:
    """Yields which child begins or ends, and its task."""
    kin.add_event(recorded)
    match recorded.body:
        case ChildStarted(child=child, title=title, background=background):
            yield f"{kin.name(child)} starts{', in the background' if background else ''}", title
        case ChildEnded(child=child, why=why, words=words):
            yield f"{kin.name(child)} ended: {why}", words
        case _:
            pass


def _attachment(file: AttachedFile) -> str:
    """Names an attached file, with its size; an image with its type, too."""
    kind = ", ".join(image.media_type for image in file.images) or file.kind
    return f"{file.path} ({kind}, {counted(file.size, 'byte')})"


def _picture(image: ImagePart) -> str:
    return f"[image, {image.media_type}, {counted(len(image.content), 'byte')}]"


def _listed(row: Row, depth: int, now: str) -> tuple[str, ...]:
    names = ("slug", "mode", "state", "turns", "updated_at", "title")
    at = str(row["updated_at"])
    told = {**row, "mode": row["custom_mode"] or row["mode"], "updated_at": time_ago(at, now) or at}
    slug, *rest = [visible_line(str(told[name])) for name in names]
    if row["failure"]:
        rest[-1] += f" (failed: {visible_line(str(row['failure']))})"
    return (str(row["session"])[:SHORT], "  " * depth + slug, *rest)


def _depths(rows: Sequence[Row]) -> list[int]:
    """Returns how many of a session's parents are listed before it."""
    found: dict[object, int] = {}
    for row in rows:
        found[row["session"]] = found.get(row["parent"], -1) + 1
    return list(found.values())
