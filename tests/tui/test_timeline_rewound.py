"""The feed after a person's no, after going back, and while somebody waits for them."""

import msgspec
import pytest
from tests.tui.test_timeline import stored

from assent.core.event import Event
from assent.core.llm import TextPart, ToolCall, ToolResult
from assent.core.session.event import (
    BatchPlanned,
    CallEnded,
    MessageAdded,
    PartSaid,
    PlannedCall,
    Question,
    QuestionAnswered,
    QuestionAsked,
    QuestionOption,
    SessionRewound,
    StepStarted,
)
from assent.tui.conversation.blocks import (
    AssistantMessageBlock,
    Block,
    NoteBlock,
    RemovedBlock,
    ToolCallBlock,
    UserMessageBlock,
)
from assent.tui.conversation.timeline import Timeline, timeline_blocks

STEP = StepStarted(1, "plan", "m", "plan")
PERMISSION = Question(
    "Permission", "May it run?", (QuestionOption("Yes"), QuestionOption("No")), by="gate"
)


def blocks(*events: Event) -> list[Block]:
    return timeline_blocks("s", stored(*events))


def calls(*events: Event) -> list[ToolCallBlock]:
    return [block for block in blocks(*events) if isinstance(block, ToolCallBlock)]


def asked(answers: tuple[tuple[str, ...], ...], *, failed: bool) -> tuple[Event, ...]:
    return (
        STEP,
        PartSaid(ToolCall("c1", "bash", {"command": "touch a"})),
        QuestionAsked("q1", "c1", (PERMISSION,)),
        QuestionAnswered("q1", answers, "ada"),
        CallEnded("c1", "bash", ToolResult("c1", "what came", failed), "bash touch a", 1.5),
    )


def test_a_persons_no_is_declined_and_no_failure() -> None:
    (call,) = calls(*asked((("No",),), failed=True))
    assert (call.state, call.about) == ("declined", "touch a")


def test_a_declined_call_keeps_what_it_was_about() -> None:
    *before, ended = asked((("No",),), failed=True)
    assert isinstance(ended, CallEnded)
    wanted = msgspec.structs.replace(ended, title="edit a, read a")  # all that it needed
    (call,) = calls(*before, wanted)
    assert call.about == "touch a"


def test_a_call_that_failed_after_a_yes_failed_and_waiting_was_no_work() -> None:
    (call,) = calls(*asked((("Yes",),), failed=True))
    assert (call.state, call.seconds) == ("error", 0.5)


def test_the_name_of_a_tool_is_said_once_and_an_answer_is_no_json() -> None:
    planned = PlannedCall("c1", "question", ("question question",), "run")
    (pending,) = calls(STEP, PartSaid(ToolCall("c1", "question", {})), BatchPlanned((planned,)))
    assert (pending.tool, pending.about) == ("question", "")
    done = CallEnded("c1", "question", ToolResult("c1", '[["Two"]]'), "question")
    (call,) = calls(STEP, PartSaid(ToolCall("c1", "question", {})), done)
    assert (call.state, call.about, call.brief, call.lines) == ("completed", "", "", 1)


def test_what_the_model_no_longer_knows_is_folded_into_a_note_in_its_place() -> None:
    feed = Timeline("s")
    feed.add_events(
        stored(
            MessageAdded("m1", "plan", (TextPart("First"),)),
            PartSaid(TextPart("Yes.")),
            MessageAdded("m2", "plan", (TextPart("Second"),)),
            PartSaid(TextPart("No.")),
            SessionRewound("m2", "Second", 1),
            MessageAdded("m3", "plan", (TextPart("Third"),)),
        )
    )
    words = "Rewound. The model no longer sees this message and what followed: Second"
    assert list(feed.blocks.values()) == [
        UserMessageBlock("s:1", "First", 0, "m1"),
        AssistantMessageBlock("s:2", "Yes."),
        NoteBlock("s:3", "rewound", words, 3),
        RemovedBlock("s:4"),
        UserMessageBlock("s:5", "Third", 0, "m3"),
    ]
    assert feed.full("s:3") == "> Second\n\nNo."


def test_going_back_to_what_is_not_shown_is_a_note_of_its_own() -> None:
    (note,) = blocks(SessionRewound("m9", "Long ago", 0))
    assert isinstance(note, NoteBlock)
    assert (note.kind, note.lines) == ("rewound", 0)


@pytest.mark.parametrize(
    "text",
    [
        "The user rejected the plan. User's message:\n\nDownload nothing\nat all",
        "The person rejected the plan. Their words:\n\nDownload nothing\nat all",  # as before
        "The plan was rejected. User's message:\n\nDownload nothing\nTheir words:\n\nall",
        "The plan was rejected. Their words:\n\nDownload nothing\nUser's message:\n\nall",
    ],
)
def test_a_no_is_told_with_the_persons_own_words(text: str) -> None:
    (note,) = blocks(MessageAdded("m1", "plan", (TextPart(text),), synthetic="rejected"))
    assert isinstance(note, NoteBlock)
    assert note.words == "Feedback sent: Download nothing"
