"""No face shows a secret that somebody said in a session (F92)."""

import io
from contextlib import redirect_stderr

from assent.cli.output import Output
from assent.core.errors import ModelError
from assent.core.event import Recorded
from assent.core.masking import mask
from assent.core.message import Call, Result, Text
from assent.core.session import SessionRecord, fold_session
from assent.core.session_event import (
    CallEnded,
    MessageAdded,
    PartSaid,
    SessionEvent,
    SessionStarted,
)
from assent.engine.session.copies import exported
from assent.views.log import event_row, log_lines
from assent.views.sessions import markdown_lines, said_lines, session_row

KEY = "AKIA" + "Z7Q4X2M9K1B8W3LP"
MASK = mask("AWS access key")
SAID: tuple[SessionEvent, ...] = (
    SessionStarted("s1", "w1", "slug", "plan", f"use {KEY}"),
    MessageAdded("m1", "plan", (Text(f"It is {KEY}."),)),
    PartSaid(Text(f"So {KEY}.")),
    PartSaid(Call("c1", "shell", {"command": f"echo {KEY}"})),
    CallEnded("c1", "shell", Result("c1", KEY), title=KEY, metadata={"output": [KEY]}),
)
EVENTS = [Recorded(n, "session/w1/s1", n, "then", event) for n, event in enumerate(SAID, 1)]


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
    shown = "\n".join(line.text for line in said_lines(EVENTS))
    document = "\n".join(line.text for line in markdown_lines(record(), EVENTS))
    whole = str(exported(record(), EVENTS)) + str(session_row(record()))
    assert [shown.count(word) for word in (KEY, MASK)] == [0, 4]
    assert [document.count(word) for word in (KEY, MASK)] == [0, 5]
    assert [whole.count(word) for word in (KEY, MASK)] == [0, 9]


def test_f92_an_error_is_told_with_masks() -> None:
    for as_json in (False, True):
        told = io.StringIO()
        with redirect_stderr(told):
            Output(as_json=as_json).fail(ModelError(f"It echoes {KEY}.", f"try {KEY}"))
        assert [told.getvalue().count(word) for word in (KEY, MASK)] == [0, 2]
