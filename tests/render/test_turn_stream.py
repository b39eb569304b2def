"""Streams: the envelope of stored events, of pieces and of the result; calls in a few words."""

import msgspec

from assent.core.event import PlanRevised, StoredEvent
from assent.core.llm import ImagePart, StreamDelta, TextPart, ToolCall, ToolResult
from assent.core.session.event import (
    BatchPlanned,
    CallEnded,
    ChildEnded,
    ChildStarted,
    Compacted,
    MessageAdded,
    PartSaid,
    PlannedCall,
    SessionEvent,
    SessionStarted,
    StepRetried,
)
from assent.render.log import (
    ChildNames,
    activity_lines,
    batch_row,
    child_lines,
    stream_result_row,
    stream_row,
)

ESCAPE = bytes([27]).decode()


def row(event: SessionEvent | PlanRevised, stream: str = "session/01w/01s") -> dict[str, object]:
    return stream_row(StoredEvent(7, stream, 2, "then", event), "01s", "now")


def test_f124_a_stored_event_has_its_place_its_session_and_typed_parts() -> None:
    call = ToolCall("c1", "read", {"path": "a"})
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
    assert stream_row(StreamDelta("text", "Hi"), "01s", "now") == {
        "seq": None,
        "at": "now",
        "kind": "delta",
        "session": "01s",
        "body": {"kind": "text", "text": "Hi"},
    }


def test_the_result_is_the_last_line() -> None:
    assert stream_result_row({"exit": 3}, "01s", "now") == {
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
    added = MessageAdded("m1", "plan", (TextPart("Look"), ImagePart("image/png", b"\x89PNG")))
    body = row(added)["body"]
    assert isinstance(body, dict)
    picture = {"kind": "image", "media_type": "image/png", "content_b64": "iVBORw=="}
    assert body["parts"] == [{"kind": "text", "text": "Look"}, picture]
    ended = CallEnded("c1", "edit", ToolResult("c1", "ok"), metadata={"seen": {"a": ("x",)}})
    assert b'"metadata":{"seen":{"a":["x"]}}' in msgspec.json.encode(row(ended))


def test_activity_is_one_harmless_line() -> None:
    bad = f"{ESCAPE}[2J\nmore"
    events: list[SessionEvent] = [
        CallEnded("c1", "read", ToolResult("c1", "content"), title="src/a.py"),
        CallEnded("c2", "edit", ToolResult("c2", f"{bad}\n", failed=True)),
        CallEnded("c3", bad, ToolResult("c3", ""), title=bad),
        StepRetried(1, 2.0, "It was overloaded."),
        StepRetried(1, 0.0, "It broke off."),
        Compacted("s", 2),
        MessageAdded("m1", "plan", (TextPart("Hello"),)),
    ]
    assert [line.text for event in events for line in activity_lines(event)] == [
        "· read: src/a.py",
        "· edit: failed: <U+001B>[2J",
        "· <U+001B>[2J<U+000A>more: <U+001B>[2J<U+000A>more",
        "· It was overloaded. Retrying in 2 s (attempt 2).",
        "· It broke off.",
        "· Conversation summarized to free up context.",
    ]


KEY = "AKIA" + "Z7Q4X2M9K1B8W3LP"
LOOK = PlannedCall("c1", "read", ("read a",), "run")
SWEEP = PlannedCall("c2", "delete", ("edit a",), "run", "medium", ("It changes a.",))
PUSH = PlannedCall("c3", "shell", (f"bash x {KEY}",), "ask", "high", (f"It sends {KEY}.",))
NO = PlannedCall("c4", "write", ("edit ../x",), "deny", "low", ("It is outside.",))
MANY = PlannedCall("c5", "patch", ("edit a", "edit b", "edit c", "edit d", "edit e"), "run", "low")


def planned_texts(*calls: PlannedCall) -> list[str]:
    return [line.text for line in activity_lines(BatchPlanned(calls))]


def test_f90_what_is_about_to_happen_is_told_unless_it_is_one_look() -> None:
    assert planned_texts(LOOK) == []
    assert planned_texts(SWEEP) == ["  delete (run, medium risk): edit a"]
    assert planned_texts(NO) == [
        "  write (deny, low risk): edit ../x",
        "    refused: It is outside.",
    ]
    assert planned_texts(LOOK, MANY) == [
        "· 2 calls:",
        "  read (run, low risk): read a",
        "  patch (run, low risk): edit a, edit b, edit c, edit d and 1 more",
    ]


def test_f90_high_risk_has_its_reasons_and_no_secrets() -> None:
    first, second = planned_texts(PUSH)
    assert first.startswith("  shell (ask, high risk): bash x [")
    assert second.startswith("    high risk: It sends [")
    assert KEY not in first + second
    [shown] = batch_row(BatchPlanned((PUSH,)))
    assert KEY not in str(shown)
    assert [*shown] == ["call", "tool", "touches", "verdict", "risk", "reasons"]


def test_f90_a_name_that_is_no_text_can_still_be_written_as_json() -> None:
    odd = PlannedCall("c1", "read", ("read \udcff",), "run", "high", ("\udcff is odd.",))
    assert b"udcff is odd" in msgspec.json.encode(batch_row(BatchPlanned((odd,))))


def test_every_line_of_a_child_says_whose_it_is() -> None:
    kin = ChildNames("01s", 1)
    heard: list[tuple[SessionEvent, str]] = [
        (ChildStarted("c1", "01a", "explore", "Find a"), "01s"),
        (ChildStarted("c2", "01b", "general", "Mend b", background=True), "01s"),
        (CallEnded("c1", "read", ToolResult("c1", "content"), title="greet.py"), "01a"),
        (BatchPlanned((LOOK, SWEEP)), "01b"),
        (ChildEnded("01b", "limit", "Stopped."), "01s"),
        (ChildEnded("01x", "end"), "01s"),
    ]
    texts: list[str] = []
    for event, session in heard:
        recorded = StoredEvent(1, f"session/01w/{session}", 1, "now", event)
        kin.add_event(recorded)
        own = session == "01s"
        lines = activity_lines(event, kin) if own else child_lines(recorded, kin)
        texts += [line.text for line in lines]
    assert texts == [
        "· explore 2 starts: Find a",
        "· general 3 starts, in the background: Mend b",
        "  explore 2 · read: greet.py",
        "  general 3 · 2 calls:",
        "  general 3   read (run, low risk): read a",
        "  general 3   delete (run, medium risk): edit a",
        "· general 3 ended (limit): Stopped.",
        "· a child ended (end)",
    ]
