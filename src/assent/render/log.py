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
    """Renders events in log order, one per line, with their contents."""
    for row in rows:
        at, session = visible_line(str(row["at"])), visible_line(str(row["session"] or "-"))
        text = f"{row['seq']!s:>6}  {at}  {session}  {row['kind']}  {_said(row['body'])}"
        yield from wrapped_lines("plain", text.rstrip(" "))


def log_check_row(checked: LogCheck) -> Row:
    """Returns the result of checking the whole log."""
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
    """Renders which checks passed or failed, and what cannot be checked."""
    if checked.broken:
        yield Line("risk", "The log was modified outside Assent.")
        yield from wrapped_lines("risk", visible_line(checked.broken))
        yield Line(
            "plain",
            "This check changed nothing. Compare the log with a backup before you trust it.",
        )
    else:
        yield from wrapped_lines("plain", _holds(checked))
    if checked.unanchored:
        yield from wrapped_lines("risk", visible_line(checked.unanchored))
    yield Line("plain", "Not proven by this check:")
    for text in _not_proved(checked):
        yield from wrapped_lines("plain", f"- {text}")


def _holds(checked: LogCheck) -> str:
    """Returns the result where nothing is broken; an empty log is not a good sign."""
    if checked.events:
        return f"Log intact. Events verified: {checked.events}."
    if not checked.leftovers:
        return "The log is empty; no events to check."
    return (
        "The log is empty, but its folder contains a key, stored content or a session lock. "
        "Events may have been removed together with the end mark."
    )


def _not_proved(checked: LogCheck) -> Iterator[str]:
    if checked.anchored:
        end = f"Events after event {checked.anchored} may have been removed"
        yield f"{end}; the end is marked only when the log is closed."
    else:
        yield (
            "The log has no end mark, so events at its end may have been removed. The mark is "
            "written when the log is closed after the next event."
        )
    yield (
        "Anyone with access to your account and the state folder can rewrite the log, hashes and "
        "end mark together. Keep copies elsewhere if that matters."
    )
    yield "Cached stream summaries are not checked, only events."


def session_of(recorded: StoredEvent, sessions: Mapping[str, str]) -> str:
    """Returns the session of an event: its own id, or the session of its plan."""
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
    """Returns a value as JSON data, without secrets; a tagged value names its kind."""
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
    """Describes an event's body: texts, lists by their length, values by their kind."""
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
