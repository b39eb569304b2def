"""Streams: the envelope of stored events, of pieces and of the result; calls in a few words."""

import msgspec

from assent.core.event import PlanRevised, Recorded
from assent.core.message import Call, Image, Result, Text
from assent.core.model import Delta
from assent.core.session_event import (
    CallEnded,
    Compacted,
    MessageAdded,
    PartSaid,
    SessionEvent,
    SessionStarted,
    StepRetried,
)
from assent.views.stream import activity_lines, result_line, stream_row

ESCAPE = bytes([27]).decode()


def row(event: SessionEvent | PlanRevised, stream: str = "session/01w/01s") -> dict[str, object]:
    return stream_row(Recorded(7, stream, 2, "then", event), "01s", "now")


def test_f124_a_stored_event_has_its_place_its_session_and_typed_parts() -> None:
    call = Call("c1", "read", {"path": "a"})
    assert row(PartSaid(call, 0.5)) == {
        "seq": 7,
        "at": "then",
        "kind": "part_said",
        "session": "01s",
        "body": {
            "part": {"kind": "call", "id": "c1", "tool": "read", "args": {"path": "a"}, "raw": ""},
            "seconds": 0.5,
        },
    }


def test_f124_a_piece_has_no_place() -> None:
    assert stream_row(Delta("text", "Hi"), "01s", "now") == {
        "seq": None,
        "at": "now",
        "kind": "delta",
        "session": "01s",
        "body": {"kind": "text", "text": "Hi"},
    }


def test_the_result_is_the_last_line() -> None:
    assert result_line({"exit": 3}, "01s", "now") == {
        "seq": None,
        "at": "now",
        "kind": "result",
        "session": "01s",
        "body": {"exit": 3},
    }


def test_the_mode_is_in_the_stream() -> None:
    body = row(SessionStarted("01s", "01w", "fix", "plan"))["body"]
    assert isinstance(body, dict)
    assert body["mode"] == "plan"


def test_what_happens_to_the_plan_belongs_to_the_session() -> None:
    assert row(PlanRevised(), "plan/01w/01p")["session"] == "01s"


def test_pictures_and_metadata_can_be_written_as_json() -> None:
    added = MessageAdded("m1", "plan", (Text("Look"), Image("image/png", b"\x89PNG")))
    body = row(added)["body"]
    assert isinstance(body, dict)
    picture = {"kind": "image", "media_type": "image/png", "content_b64": "iVBORw=="}
    assert body["parts"] == [{"kind": "text", "text": "Look"}, picture]
    ended = CallEnded("c1", "edit", Result("c1", "ok"), metadata={"seen": {"a": ("x",)}})
    assert b'"metadata":{"seen":{"a":["x"]}}' in msgspec.json.encode(row(ended))


def test_activity_is_one_harmless_line() -> None:
    bad = f"{ESCAPE}[2J\nmore"
    events: list[SessionEvent] = [
        CallEnded("c1", "read", Result("c1", "content"), title="src/a.py"),
        CallEnded("c2", "edit", Result("c2", f"{bad}\n", failed=True)),
        CallEnded("c3", bad, Result("c3", ""), title=bad),
        StepRetried(1, 2.0, "It was overloaded."),
        StepRetried(1, 0.0, "It broke off."),
        Compacted("s", 2),
        MessageAdded("m1", "plan", (Text("Hello"),)),
    ]
    assert [line.text for event in events for line in activity_lines(event)] == [
        "· read: src/a.py",
        "· edit: failed: <U+001B>[2J",
        "· <U+001B>[2J<U+000A>more: <U+001B>[2J<U+000A>more",
        "· It was overloaded. Try 2 follows in 2 s.",
        "· It broke off.",
        "· The conversation was summarised to make room.",
    ]
