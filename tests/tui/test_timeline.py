"""The feed by tables: events and pieces in, blocks out, wherever a stream is cut."""

from typing import Any

import msgspec
import pytest

from assent.core.event import Event, StoredEvent
from assent.core.llm import (
    ReasoningPart,
    StopReason,
    StreamDelta,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from assent.core.permission.rule import PermissionPattern
from assent.core.plan.operation import FileState, WriteFile
from assent.core.session.event import (
    BatchPlanned,
    CallEnded,
    CallStarted,
    ChildEnded,
    ChildStarted,
    Compacted,
    MessageAdded,
    ModeChanged,
    PartSaid,
    PlannedCall,
    Question,
    QuestionAnswered,
    QuestionAsked,
    StepEnded,
    StepRetried,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from assent.core.session.question import PROJECT, SESSION, UNCONFINED, permission_options
from assent.core.session.transcript import CALL_EDITS
from assent.core.text.secrets import redaction_text
from assent.render.log import missing_sandbox_text
from assent.tui.conversation.blocks import (
    AssistantMessageBlock,
    Block,
    ChildSessionBlock,
    NoteBlock,
    QuestionBlock,
    ReasoningBlock,
    RemovedBlock,
    ToolCallBlock,
    TurnEndBlock,
    UserMessageBlock,
)
from assent.tui.conversation.timeline import Timeline, timeline_blocks

AT = "2026-01-01T00:00:{:02d}.000Z"
STEP = StepStarted(1, "plan", "m", "plan")
RUN = MessageAdded("m1", "plan", (TextPart("It was applied."),), synthetic="run")
VERIFY = MessageAdded("m2", "plan", (TextPart("Look at it."),), synthetic="verify")
CALL = PartSaid(ToolCall("c1", "read", {"path": "a.py"}))
QUESTION = Question("Colour", "Which colour?")
KEY = "AKIA" + "Z7Q4X2M9K1B8W3LP"
MASK = redaction_text("AWS access key")


def stored(*events: Event, session: str = "s", first: int = 1) -> list[StoredEvent]:
    """Events of a session as the store keeps them, a second apart."""
    return [
        StoredEvent(seq, f"session/w/{session}", seq, AT.format(seq), event)
        for seq, event in enumerate(events, first)
    ]


def ended(text: str = "one\ntwo", *, failed: bool = False, **more: Any) -> CallEnded:
    return CallEnded("c1", "read", ToolResult("c1", text, failed), seconds=0.5, **more)


TABLE: dict[str, tuple[tuple[Event, ...], list[Block]]] = {
    "the person's words": (
        (MessageAdded("m1", "plan", (TextPart("Do it"),)),),
        [UserMessageBlock("s:1", "Do it", 0, "m1")],
    ),
    "text": ((STEP, PartSaid(TextPart("Hello"))), [AssistantMessageBlock("s:1", "Hello")]),
    "a secret": ((STEP, PartSaid(TextPart(KEY))), [AssistantMessageBlock("s:1", MASK)]),
    "reasoning with its time": (
        (STEP, PartSaid(ReasoningPart("Hm.\nWell."), 2.5)),
        [ReasoningBlock("s:1", "Hm.", 2, 2.5)],
    ),
    "a pending call": ((STEP, CALL), [ToolCallBlock("s:1", "read", about="a.py")]),
    "a call that is judged": (
        (STEP, CALL, BatchPlanned((PlannedCall("c1", "read", ("read a.py",), "run"),))),
        [ToolCallBlock("s:1", "read", about="a.py", verdict="run")],
    ),
    "a call without an argument says what it touches": (
        (
            STEP,
            PartSaid(ToolCall("c1", "present_plan", {})),
            BatchPlanned((PlannedCall("c1", "present_plan", ("plan_exit plan",), "run"),)),
        ),
        [ToolCallBlock("s:1", "present_plan", about="plan", verdict="run")],
    ),
    "a running call": (
        (STEP, CALL, CallStarted("c1", "read")),
        [ToolCallBlock("s:1", "read", "running", "a.py")],
    ),
    "a completed call": (
        (STEP, CALL, CallStarted("c1", "read"), ended(title="a.py, 2 lines", verdict="run")),
        [ToolCallBlock("s:1", "read", "completed", "a.py, 2 lines", "one", 2, 0.5, "run")],
    ),
    "a failed call": (
        (STEP, CALL, CallStarted("c1", "read"), ended("It is not there.", failed=True)),
        [ToolCallBlock("s:1", "read", "error", "a.py", "It is not there.", 1, 0.5)],
    ),
    "a retry takes back what was said": (
        (STEP, PartSaid(TextPart("Half")), CALL, StepRetried(1, 2.0, "It is overloaded.")),
        [
            RemovedBlock("s:1"),
            RemovedBlock("s:2"),
            NoteBlock("s:3", "retry", "It is overloaded. Retrying in 2 s (attempt 2)."),
        ],
    ),
    "a mode": ((ModeChanged("ask", "So."),), [NoteBlock("s:1", "mode", "Mode ask: So.")]),
    "a mode of one's own": (
        (ModeChanged("plan", custom="careful"),),
        [NoteBlock("s:1", "mode", "Mode careful (plan)")],
    ),
    "a summary": (
        (Compacted("All of it.", 2),),
        [NoteBlock("s:1", "compacted", "Conversation summarized to free up context.", 1)],
    ),
    "what the model is told": (
        (RUN,),
        [NoteBlock("s:1", "sent", "Run result sent", 1)],
    ),
    "what the model is told one after the other": (
        (RUN, TurnStarted(1), RUN, VERIFY),
        [NoteBlock("s:1", "sent", "Run result sent (2 times) · Verification request sent", 8)],
    ),
    "what the model is told before and after something else": (
        (RUN, ModeChanged("ask"), VERIFY),
        [
            NoteBlock("s:1", "sent", "Run result sent", 1),
            NoteBlock("s:2", "mode", "Mode ask"),
            NoteBlock("s:3", "sent", "Verification request sent", 1),
        ],
    ),
    "reminders are not shown": (
        (MessageAdded("m1", "plan", (TextPart("You plan."),), synthetic="reminder"),),
        [],
    ),
    "an open question": (
        (QuestionAsked("q1", "c1", (QUESTION,)),),
        [QuestionBlock("s:1", "q1", (QUESTION,))],
    ),
    "an answer": (
        (QuestionAsked("q1", "c1", (QUESTION,)), QuestionAnswered("q1", (("Red",),), "ada")),
        [QuestionBlock("s:1", "q1", (QUESTION,), "answered", (("Red",),), "ada")],
    ),
    "nobody's answer": (
        (QuestionAsked("q1", "c1", (QUESTION,)), QuestionAnswered("q1", None)),
        [QuestionBlock("s:1", "q1", (QUESTION,), "unanswered")],
    ),
    "a child": (
        (ChildStarted("c1", "kid", "explore", "Look around"),),
        [ChildSessionBlock("s:1", "kid", "explore 1", "Look around")],
    ),
    "a child at rest": (
        (
            ChildStarted("c1", "kid", "explore", "Look", background=True),
            ChildEnded("kid", "end", "Seen."),
        ),
        [ChildSessionBlock("s:1", "kid", "explore 1", "Look", True, (), "end", "Seen.")],
    ),
    "the end of a turn with all that its steps took": (
        (
            TurnStarted(1),
            STEP,
            StepEnded(StopReason.CALLS, TokenUsage(10, 1, 5, 0, 2), 0.25),
            STEP,
            StepEnded(StopReason.END, TokenUsage(20, 2), 0.5),
            TurnEnded("presented"),
        ),
        [TurnEndBlock("s:1", "presented", "", 5.0, TokenUsage(30, 3, 5, 0, 2), 0.75)],
    ),
    "one unknown price makes the sum unknown": (
        (TurnStarted(1), STEP, StepEnded(StopReason.END, TokenUsage(1, 1), None), TurnEnded("end")),
        [TurnEndBlock("s:1", "end", "", 3.0, TokenUsage(1, 1), None)],
    ),
    "an answer that was cut off": (
        (STEP, StepEnded(StopReason.LENGTH)),
        [
            NoteBlock(
                "s:1",
                "halted",
                "Answer cut off: the model's output limit was reached.",
            )
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_f124_every_typed_part_becomes_its_block(case: str) -> None:
    events, blocks = TABLE[case]
    assert timeline_blocks("s", stored(*events)) == blocks


@pytest.mark.parametrize("case", TABLE)
def test_where_a_stream_is_cut_makes_no_difference(case: str) -> None:
    events, blocks = TABLE[case]
    recorded = stored(*events)
    for at in range(len(recorded) + 1):
        feed = Timeline("s")
        feed.add_events(recorded[:at])
        feed.add_events(
            recorded
        )  # what was heard before is heard again, as after a look at the log
        assert list(feed.blocks.values()) == blocks
        assert feed.seq == len(recorded)


def test_notes_on_messages_that_are_folded_unfold_to_each_message() -> None:
    feed = Timeline("s")
    feed.add_events(stored(RUN))
    assert feed.full("s:1") == "It was applied."
    changed = feed.add_events(stored(VERIFY, first=2))
    assert [block.key for block in changed] == ["s:1"]
    told = ["Run result sent:", "It was applied.", "", "Verification request sent:", "Look at it."]
    assert feed.full("s:1").split("\n") == told


def test_what_is_said_between_two_messages_to_the_model_keeps_them_apart() -> None:
    feed = Timeline("s")
    feed.add_events([*stored(RUN, STEP), StreamDelta("text", "Half")])
    feed.add_events(stored(VERIFY, PartSaid(TextPart("All of it.")), first=3))
    assert list(feed.blocks) == ["s:1", "s:2", "s:3"]


def test_what_helps_where_no_sandbox_works_is_said_once_a_turn() -> None:
    lacking = {"lacks": "scratch_copy", "help": "sudo apt install bubblewrap"}
    other = ended(failed=True, metadata={"lacks": "sandbox"})
    events = [STEP, CALL, ended(failed=True, metadata=lacking), CALL, ended(failed=True)]
    again = [STEP, CALL, ended(failed=True, metadata=lacking)]
    feed = Timeline("s")
    feed.add_events(stored(TurnStarted(1), *events, *again, other, *again, TurnStarted(2), *again))
    told = [block.words for block in feed.blocks.values() if isinstance(block, NoteBlock)]
    install, doctor = missing_sandbox_text(lacking), missing_sandbox_text(other.metadata)
    assert install.endswith("sudo apt install bubblewrap")
    assert doctor.endswith("assent doctor")
    assert told == [install, doctor, install]


def test_f125_a_call_is_pending_then_running_then_settled() -> None:
    feed = Timeline("s")
    states = []
    for one in stored(STEP, CALL, CallStarted("c1", "read"), ended()):
        states += [
            block.state for block in feed.add_events([one]) if isinstance(block, ToolCallBlock)
        ]
    assert states == ["pending", "running", "completed"]


def test_a_call_that_waited_goes_on_in_the_next_turn_where_it_stood() -> None:
    before = [TurnStarted(1), STEP, CALL, CallStarted("c1", "read"), TurnEnded("waiting")]
    feed = Timeline("s")
    feed.add_events(stored(*before, TurnStarted(2), CallStarted("c1", "read"), ended()))
    calls = [block for block in feed.blocks.values() if isinstance(block, ToolCallBlock)]
    assert [(call.key, call.state) for call in calls] == [("s:1", "completed")]


def test_f124_pieces_grow_into_the_part_that_they_make_up() -> None:
    feed = Timeline("s")
    feed.add_events(stored(STEP))
    assert feed.add_events([StreamDelta("reasoning", "I think ")]) == [
        ReasoningBlock("s:1", "I think", 1, live=True)
    ]
    shown = feed.add_events(
        [StreamDelta("text", "Hello "), StreamDelta("text", "wor"), StreamDelta("text", "ld, ")]
    )
    assert shown == [AssistantMessageBlock("s:2", "Hello world, ", live=True)]
    done = stored(
        PartSaid(ReasoningPart("I think so."), 1.0),
        PartSaid(TextPart("Hello world, all.")),
        first=2,
    )
    assert feed.add_events(done) == [
        ReasoningBlock("s:1", "I think so.", 1, 1.0),
        AssistantMessageBlock("s:2", "Hello world, all."),
    ]


def test_a_word_is_shown_once_it_is_whole_and_a_secret_never() -> None:
    feed = Timeline("s")
    shown = [
        feed.add_events([StreamDelta("text", piece)])[-1]
        for piece in ("The key ", KEY[:9], KEY[9:], " is")
    ]
    assert [block.text for block in shown if isinstance(block, AssistantMessageBlock)] == [
        "The key ",
        "The key ",
        "The key ",
        f"The key {MASK} ",
    ]


def test_f124_a_retry_voids_pieces_and_what_comes_next_is_new() -> None:
    feed = Timeline("s")
    feed.add_events([*stored(STEP), StreamDelta("text", "Half of it ")])
    feed.add_events(stored(StepRetried(1, 0, "It was cut off."), first=2))
    feed.add_events([StreamDelta("text", "All of it. ")])
    assert list(feed.blocks.values()) == [
        RemovedBlock("s:1"),
        NoteBlock("s:2", "retry", "It was cut off."),
        AssistantMessageBlock("s:3", "All of it. ", live=True),
    ]


def test_what_was_said_before_a_turn_broke_off_stays() -> None:
    feed = Timeline("s")
    feed.add_events([*stored(TurnStarted(1), STEP), StreamDelta("text", "Half of")])
    blocks = feed.add_events(stored(TurnEnded("interrupted", "You did."), first=3))
    assert blocks == [
        AssistantMessageBlock("s:1", "Half of\n"),
        TurnEndBlock("s:2", "interrupted", "You did.", 2.0),
    ]


def test_events_that_come_out_of_order_are_all_heard() -> None:
    one, two, three = stored(ModeChanged("ask"), ModeChanged("plan"), ModeChanged("ask"))
    feed = Timeline("s")
    feed.add_events([one, three])
    assert feed.seq == 1
    feed.add_events([two, three])
    assert feed.seq == 3
    assert len(feed.blocks) == 3


def test_what_a_command_prints_is_in_its_call_until_its_result_is() -> None:
    feed = Timeline("s")
    feed.add_events(
        [*stored(STEP, CALL, CallStarted("c1", "read")), StreamDelta("output", "1\n2\n")]
    )
    assert feed.blocks["s:1"] == ToolCallBlock("s:1", "read", "running", "a.py", "1\n2", 2)
    assert feed.full("s:1") == "1\n2\n"
    feed.add_events(stored(ended("all"), first=4))
    assert feed.full("s:1") == "all"


def test_a_command_that_is_folded_shows_its_last_lines_and_all_others_their_first() -> None:
    text = "one\n\x1b[31mtwo\nthree\n\nfour\n[Exit code 1.]"
    for tool, brief in (("shell", "three\nfour\n[Exit code 1.]"), ("read", "one")):
        feed = Timeline("s")
        feed.add_events(stored(CallEnded("c1", tool, ToolResult("c1", text))))
        block = feed.blocks["s:1"]
        assert isinstance(block, ToolCallBlock)
        assert (block.brief, block.lines) == (brief, 6)


def test_a_call_knows_what_it_changed_in_files_unless_it_failed() -> None:
    op = WriteFile(b"a.py", None, FileState("0" * 64, 3, 0o644))
    asked: list[object] = []
    feed = Timeline("s", lambda edits: f"{asked.append(edits)}")
    known: dict[str, Any] = {CALL_EDITS: [msgspec.to_builtins(op)]}
    later: dict[str, Any] = {CALL_EDITS: [{"type": "later"}]}
    found = [(False, known), (True, known), (False, later)]
    for at, (fails, metadata) in enumerate(found, 1):
        result = ToolResult(f"c{at}", "Done.", fails)
        feed.add_events(stored(CallEnded(f"c{at}", "edit", result, metadata=metadata), first=at))
    blocks = [one for one in feed.blocks.values() if isinstance(one, ToolCallBlock)]
    assert [one.edits for one in blocks] == [(op,), (), ()]
    for block in blocks:
        feed.patch(block)
    assert asked == [(op,)]


@pytest.mark.parametrize(
    ("label", "by", "allowed"),
    [
        ("Yes", "ada (terminal)", "allowed"),
        (SESSION, "ada (terminal)", "allowed in this session"),
        (PROJECT, "ada (web)", "allowed in this project (ada (web))"),
        (UNCONFINED, "ada (terminal)", "allowed without the sandbox"),
        ("No", "ada (terminal)", ""),
        ("Yes, maybe", "ada (terminal)", ""),
    ],
)
def test_a_call_says_how_the_user_allowed_it(label: str, by: str, allowed: str) -> None:
    options = permission_options((PermissionPattern("bash", "make"),), command=True)
    asked = Question("Permission", "May it run?", options, by="gate")
    feed = Timeline("s")
    feed.add_events(
        stored(STEP, CALL, CallStarted("c1", "read"), QuestionAsked("q", "c1", (asked,)))
    )
    feed.add_events(stored(QuestionAnswered("q", ((label,),), by), first=5))
    block = feed.blocks["s:1"]
    assert isinstance(block, ToolCallBlock)
    assert (block.allowed, block.waits) == (allowed, False)


@pytest.mark.parametrize("tool", ["read", "shell"])
def test_an_error_is_shown_whole_and_a_result_in_short(tool: str) -> None:
    text = "The file that was named there cannot be read, because " + "it is not there, " * 9
    feed = Timeline("s")
    feed.add_events(stored(CallEnded("c1", tool, ToolResult("c1", text, failed=True))))
    feed.add_events(stored(CallEnded("c2", tool, ToolResult("c2", text)), first=2))
    feed.add_events(stored(CallEnded("c3", tool, ToolResult("c3", "x" * 999, True)), first=3))
    error, result, endless = feed.blocks.values()
    assert isinstance(error, ToolCallBlock)
    assert isinstance(result, ToolCallBlock)
    assert isinstance(endless, ToolCallBlock)
    assert (error.brief, len(result.brief), len(endless.brief)) == (text.strip(), 72, 400)


def test_what_a_child_does_stands_in_its_block_and_its_questions_for_themselves() -> None:
    feed = Timeline("s")
    feed.add_events(stored(ChildStarted("c1", "kid", "explore", "Look")))
    feed.add_events(
        stored(
            PartSaid(TextPart("I look.")),
            ended(title="a.py"),
            ended("No.", failed=True),
            QuestionAsked("q", "c2", (QUESTION,)),
            session="kid",
        )
    )
    assert list(feed.blocks.values()) == [
        ChildSessionBlock(
            "s:1", "kid", "explore 1", "Look", False, ("read: a.py", "read failed: No.")
        ),
        QuestionBlock("s:2", "q", (QUESTION,), child="explore 1"),
    ]
    assert feed.seq == 1


def test_a_folded_result_names_no_digest_and_no_id() -> None:
    feed = Timeline("s")
    result = f"Plan ready (digest {'0' * 64}). Staged. Id 953718a. You cannot approve it."
    feed.add_events(stored(STEP, CALL, CallStarted("c1", "read"), ended(result)))
    block = feed.blocks["s:1"]
    assert isinstance(block, ToolCallBlock)
    assert block.brief == "Plan ready. Staged. You cannot approve it."
    assert feed.full("s:1") == result
