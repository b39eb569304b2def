"""No face shows a secret that somebody said in a session (F92)."""

import io
from contextlib import redirect_stderr

import pytest

from assent.agent.sessions import exported_session
from assent.cli.output import CliOutput
from assent.core.errors import ModelError
from assent.core.event import StoredEvent
from assent.core.llm import TextPart, ToolCall, ToolResult
from assent.core.session.event import (
    CallEnded,
    MessageAdded,
    PartSaid,
    Question,
    SessionEvent,
    SessionStarted,
)
from assent.core.session.record import SessionRecord, fold_session
from assent.core.text.secrets import redaction_text
from assent.render.log import event_row, log_lines
from assent.render.questions import question_lines
from assent.render.rows import KEEP_BACK, MAX_HELD, StreamRedactor, redacted_row, session_row
from assent.render.sessions import markdown_lines, transcript_lines

KEY = "AKIA" + "Z7Q4X2M9K1B8W3LP"
MASK = redaction_text("AWS access key")
SAID: tuple[SessionEvent, ...] = (
    SessionStarted("s1", "w1", "slug", "plan", f"use {KEY}"),
    MessageAdded("m1", "plan", (TextPart(f"It is {KEY}."),)),
    PartSaid(TextPart(f"So {KEY}.")),
    PartSaid(ToolCall("c1", "shell", {"command": f"echo {KEY}"})),
    CallEnded("c1", "shell", ToolResult("c1", KEY), title=KEY, metadata={"output": [KEY]}),
)
EVENTS = [StoredEvent(n, "session/w1/s1", n, "then", event) for n, event in enumerate(SAID, 1)]


def record() -> SessionRecord:
    found = None
    for recorded in EVENTS:
        found = fold_session(found, recorded.event, recorded.seq, recorded.at)
    assert found is not None
    return found


def test_f92_the_log_and_the_stream_show_masks_in_every_field() -> None:
    rows = [event_row(recorded, {}) for recorded in EVENTS]
    lines = [line.text for line in log_lines(rows)]
    assert [str(rows).count(word) for word in (KEY, MASK)] == [0, 7]
    assert KEY not in "\n".join(lines)


def test_f92_a_session_is_shown_and_exported_with_masks() -> None:
    shown = "\n".join(line.text for line in transcript_lines(EVENTS))
    document = "\n".join(line.text for line in markdown_lines(record(), EVENTS))
    whole = str(exported_session(record(), EVENTS)) + str(session_row(record()))
    assert [shown.count(word) for word in (KEY, MASK)] == [0, 4]
    assert [document.count(word) for word in (KEY, MASK)] == [0, 5]
    assert [whole.count(word) for word in (KEY, MASK)] == [0, 9]


def test_f92_an_error_is_told_with_masks() -> None:
    for as_json in (False, True):
        told = io.StringIO()
        with redirect_stderr(told):
            CliOutput(as_json=as_json).fail(ModelError(f"It echoes {KEY}.", f"try {KEY}"))
        assert [told.getvalue().count(word) for word in (KEY, MASK)] == [0, 2]


PEM = "-----BEGIN PRIVATE KEY-----\n" + ("A" * 64 + "\n") * 9 + "-----END PRIVATE KEY-----\n"
TOLD = f"First.\nIt is {KEY}, see?\n{PEM}And {'so ' * 200}on to {KEY} at last."


def test_f92_values_of_any_shape_are_masked_all_through() -> None:
    question = Question("h", f"Is it {KEY}?")
    assert redacted_row({"a": [KEY, 1, None], KEY: (question, b"x")}) == {
        "a": [MASK, 1, None],
        MASK: (Question("h", f"Is it {MASK}?"), b"x"),
    }


@pytest.mark.parametrize("size", [1, 2, 7, 33, 150, 10_000])
def test_f92_what_is_said_in_pieces_shows_no_secret_however_it_is_cut(size: int) -> None:
    speech = StreamRedactor()
    pieces = [TOLD[at : at + size] for at in range(0, len(TOLD), size)]
    shown = [*map(speech.take, pieces), speech.rest()]
    said = "".join(shown)
    assert said == (
        f"First.\nIt is {MASK}, see?\n{redaction_text('private key')}\n"
        f"And {'so ' * 200}on to {MASK} at last."
    )
    assert speech.rest() == ""


def test_f92_a_line_is_shown_when_it_is_whole_and_a_long_one_in_pieces() -> None:
    speech = StreamRedactor()
    assert [speech.take(each) for each in ("a b", "c\nd", "e")] == ["", "a bc\n", ""]
    long = "word " * ((MAX_HELD + KEEP_BACK) // 5)
    assert speech.take(long).startswith("de")
    assert len(speech.rest()) in range(KEEP_BACK, KEEP_BACK + 10)


def test_f92_the_question_itself_is_exact() -> None:
    lines = question_lines(Question("Permission", f"May it run echo {KEY}?", by="gate"))
    assert KEY in "\n".join(line.text for line in lines)
