"""The event log as rows, in the envelope that all faces share, and as lines."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from assent.core.event import JournalWritten, StoredEvent, event_tag
from assent.core.llm import ImagePart
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.ports import LogCheck
from assent.render.lines import Line, wrapped_lines
from assent.render.rows import Row, path_fields, redacted_row

MAX_TEXT_CHARS = 500  # characters of a text in a line; --json has all of it


def event_row(recorded: StoredEvent, sessions: Mapping[str, str]) -> Row:
    """Returns an event in its envelope; `sessions` names the session of each plan by its id."""
    return {
        "seq": recorded.position,
        "at": recorded.at,
        "kind": event_tag(recorded.event),
        "session": session_of(recorded, sessions) or None,
        "body": _fields(recorded.event),
    }


def log_lines(rows: Iterable[Row]) -> Iterator[Line]:
    """Renders events in the order of the log, one a line, with what each says."""
    for row in rows:
        at, session = visible_line(str(row["at"])), visible_line(str(row["session"] or "-"))
        text = f"{row['seq']!s:>6}  {at}  {session}  {row['kind']}  {_said(row['body'])}"
        yield from wrapped_lines("plain", text.rstrip(" "))


def log_check_row(checked: LogCheck) -> Row:
    """Returns what a look through the whole log found."""
    return {
        "holds": not checked.broken,
        "events": checked.events,
        "broken": checked.broken or None,
        "anchored": checked.anchored,
        "leftovers": checked.leftovers,
        **({"warning": checked.unanchored} if checked.unanchored else {}),
        "not_proved": [*_not_proved(checked)],
    }


def log_check_lines(checked: LogCheck) -> Iterator[Line]:
    """Renders what holds, or what does not, and what nobody can know."""
    if checked.broken:
        yield Line("risk", "The log was changed by somebody else than Assent.")
        yield from wrapped_lines("risk", visible_line(checked.broken))
        yield Line("plain", "Nothing was changed now. Compare with a backup before you trust it.")
    else:
        yield from wrapped_lines("plain", _holds(checked))
    if checked.unanchored:
        yield from wrapped_lines("risk", visible_line(checked.unanchored))
    yield Line("plain", "What this does not prove:")
    for text in _not_proved(checked):
        yield from wrapped_lines("plain", f"- {text}")


def _holds(checked: LogCheck) -> str:
    """Says what was found where nothing is broken; that nothing is there is no good sign."""
    if checked.events:
        return f"All {checked.events} events are as they were written."
    if not checked.leftovers:
        return "The log is empty: there is no event to check."
    return (
        "The log is empty, and yet there is a key, kept content or the lock of a session in its "
        "folder: events may have been removed together with the mark."
    )


def _not_proved(checked: LogCheck) -> Iterator[str]:
    if checked.anchored:
        end = f"Events after event {checked.anchored} could have been cut off"
        yield f"{end}: only closing the log marks its end."
    else:
        yield (
            "There is no mark, so nobody vouches for the end of the log: events could have been "
            "cut off. Closing the log after the next event marks it."
        )
    yield (
        "Whoever has your account and the state folder can write log, hashes and mark anew, "
        "together; keep copies elsewhere if that matters."
    )
    yield "The summaries of streams that are kept for speed are not covered; the events are."


def session_of(recorded: StoredEvent, sessions: Mapping[str, str]) -> str:
    """Returns the session of an event: its own id, or the session of the plan that it is about."""
    noun, _, rest = recorded.stream.partition("/")
    name = rest.rpartition("/")[2]
    if noun == "session":
        return name
    if isinstance(recorded.event, JournalWritten):
        name = getattr(recorded.event.entry, "plan_id", "")
    return sessions.get(name, "")


def _fields(value: msgspec.Struct) -> Row:
    found: Row = {}
    stored = value.__struct_encode_fields__
    for field, attribute in zip(stored, value.__struct_fields__, strict=True):
        content = getattr(value, attribute)
        if isinstance(content, bytes):
            found.update(redacted_row(path_fields(field, content)))
        else:
            found[field] = _plain(content)
    return found


def _plain(value: object) -> object:
    """Returns a value as JSON has it, without secrets; a tagged value names its kind."""
    match value:
        case ImagePart(media_type, content):
            picture = b64encode(content).decode()
            return {"kind": "image", "media_type": media_type, "content_b64": picture}
        case msgspec.Struct():
            tag = value.__struct_config__.tag
            return {"kind": tag, **_fields(value)} if tag else _fields(value)
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {redact(str(key)): _plain(item) for key, item in value.items()}
        case bytes() | str():
            return redact(_text(value))
        case _:
            return value


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "backslashreplace")


def _said(body: object) -> str:
    """Says what a body holds: texts, lists by their length, values by their kind."""
    match body:
        case dict():
            pairs = [(key, item) for key, item in body.items() if item not in ("", [], None)]
            return " ".join([f"{key}={_brief(item)}" for key, item in pairs])
        case _:
            return ""


def _brief(value: object) -> str:
    match value:
        case list():
            return f"({len(value)})"
        case {"kind": str(kind), "text": str(text)}:
            return f"{visible_line(kind)} {_cut(text)}"
        case dict():
            return visible_line(str(value.get("kind") or value.get("id") or "…"))
        case _:
            return _cut(str(value))


def _cut(text: str) -> str:
    rest = f"… ({len(text) - MAX_TEXT_CHARS} more)" if len(text) > MAX_TEXT_CHARS else ""
    return visible_line(text[:MAX_TEXT_CHARS]) + rest
