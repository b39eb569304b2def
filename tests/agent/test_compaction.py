"""A session that outgrows its model is summarised, and goes on with what holds now."""

from collections.abc import Iterator

import pytest
from tests.support.model import PRICES, Spoken, drive, driver, fails, says

from assent.agent.loop.context import (
    IMAGE_TOKENS,
    MAX_RESULT_CHARS,
    OMITTED,
    TOOLS_TOKENS,
    TokenMeter,
    context_window,
    estimated_tokens,
    kept_messages,
    prunable_results,
    transcript_text,
)
from assent.agent.loop.loop import CONTEXT_FULL, KEPT_STAGED, LARGER_MODEL_COMMAND
from assent.agent.prompt import prompt_text
from assent.core.errors import ContextOverflow, ModelError
from assent.core.hook import ADDED_BY_HOOK
from assent.core.llm import (
    ChatMessage,
    ImagePart,
    MessagePart,
    PartCompleted,
    ReasoningPart,
    RequestRetried,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from assent.core.session.event import (
    Compacted,
    CompactionRejected,
    MessageAdded,
    ResultsPruned,
    StepRetried,
    StepStarted,
    TurnEnded,
)
from assent.core.session.transcript import PRUNED, SUMMARY
from assent.ports import OpenedModel
from assent.testing.memory_turn import MemoryTurn

SMALL = 8_000  # tokens that the model of these tests can read
SOME = "word " * 200  # 250 tokens
LONG = "word " * 5_000  # 6,250 tokens
SUM = ChatMessage("user", (TextPart(SUMMARY + "It went well."),))


def said(text: str, role: str = "user") -> ChatMessage:
    return ChatMessage(role, (TextPart(text),))  # type: ignore[arg-type]


def results(*texts: str) -> ChatMessage:
    return ChatMessage("user", tuple(ToolResult(f"c{n}", text) for n, text in enumerate(texts)))


def calls() -> ChatMessage:
    return ChatMessage("assistant", (ToolCall("c0", "read", {"path": "a"}),))


def grown(text: str = LONG) -> MemoryTurn:
    """A turn whose session has become long."""
    turn = MemoryTurn("Build it", tools={"read": lambda args: "found"})
    drive(driver(Spoken(says(text))), turn)
    turn.begin("Now the rest")
    turn.reminds = "Mode: plan."
    return turn


def test_f114_tokens_are_estimated_by_characters() -> None:
    message = ChatMessage(
        "user", (TextPart("x" * 40), ImagePart("image/png", b""), ToolResult("c", "y" * 8))
    )
    assert estimated_tokens(message) == 10 + IMAGE_TOKENS + 2
    gauge = TokenMeter()
    assert gauge.estimate(("s" * 400,), (message,)) == TOOLS_TOKENS + 100 + 12 + IMAGE_TOKENS


def test_f114_the_providers_number_is_preferred_and_only_what_is_new_is_estimated() -> None:
    gauge, messages = TokenMeter(), [said("x" * 400)]
    gauge.estimate(("s" * 400,), messages)
    gauge.update(TokenUsage(5_000, 100), sent=1)
    messages += [said("y" * 4_000, "assistant"), said("z" * 40)]
    assert gauge.estimate(("s" * 400,), messages) == 5_100 + 10
    gauge.update(TokenUsage(), sent=3)  # nothing was counted
    assert gauge.estimate((), [*messages, said("z" * 40)]) == 5_100 + 20


def test_the_gauge_looks_at_each_message_once() -> None:
    class Watched(tuple[MessagePart, ...]):
        looks = 0

        def __iter__(self) -> Iterator[MessagePart]:
            Watched.looks += 1
            return super().__iter__()

    gauge, messages = TokenMeter(), list[ChatMessage]()
    for _ in range(50):
        messages.append(ChatMessage("user", Watched([TextPart("x")])))
        gauge.estimate((), messages)
    assert Watched.looks == 50


@pytest.mark.parametrize(
    ("context", "output", "room"),
    [(0, 0, 96_000), (200_000, 64_000, 168_000), (200_000, 8_000, 192_000), (8_000, 0, 6_000)],
)
def test_a_window_leaves_room_for_the_answer(context: int, output: int, room: int) -> None:
    assert context_window(OpenedModel(Spoken(), "x", context, output)) == room


HISTORY = (said("a" * 400), calls(), results("r" * 400), said("b" * 40, "assistant"), said("c"))


@pytest.mark.parametrize(
    ("most", "stay"), [(0, 1), (10, 2), (110, 2), (112, 2), (113, 4), (999, 5)]
)
def test_a_result_never_stays_without_its_call(most: int, stay: int) -> None:
    assert kept_messages(HISTORY, most) == stay


def test_the_summary_is_made_from_short_words_and_begins_with_the_earlier_one() -> None:
    history = (
        SUM,
        said("Build it"),
        ChatMessage("assistant", (ReasoningPart("Hm."), ToolCall("c0", "read", {"path": "a"}))),
        ChatMessage(
            "user",
            (
                ToolResult("c0", "x" * (MAX_RESULT_CHARS + 7), failed=True),
                ImagePart("image/png", b""),
            ),
        ),
    )
    text = transcript_text(history, 10_000)
    assert text == (
        f"# User or tool\n{SUMMARY}It went well.\n\n"
        "# User or tool\nBuild it\n\n"
        "# Agent\n[calls read with {'path': 'a'}]\n\n"
        f"# User or tool\n[failed] {'x' * MAX_RESULT_CHARS} (and 7 more)\n[image]\n"
    )
    short = transcript_text(history, 200)
    assert short.startswith(f"# User or tool\n{SUMMARY}It went well.\n\n{OMITTED}")
    assert len(short) == 200 + len(OMITTED)


def test_a_session_that_fits_is_left_alone() -> None:
    turn, model = grown("Short."), Spoken(says("Fine."))
    drive(driver(model, context=SMALL), turn)
    assert [prompt.kind for prompt in model.asked] == ["main"]


def test_f33_what_holds_now_is_said_anew_after_a_summary() -> None:
    turn = grown()
    model = Spoken(says("It began.", usage=TokenUsage(9, 2)), says("Done."))
    drive(driver(model, context=SMALL, prices=PRICES), turn)
    asked, main = model.asked
    assert (asked.kind, asked.system, asked.tools) == ("compact", (prompt_text("compact"),), ())
    compacted = Compacted("It began.", 1, TokenUsage(9, 2), 13.0)
    place = turn.events.index(compacted)
    reminder = turn.events[place + 1]
    assert isinstance(reminder, MessageAdded)
    assert (reminder.synthetic, reminder.agent) == ("reminder", "plan")
    assert isinstance(turn.events[place + 2], StepStarted)
    assert main.messages == (
        ChatMessage("user", (TextPart(SUMMARY + "It began."),)),
        said("Now the rest"),
        said("Mode: plan."),
    )
    assert main.turn == 2  # a summary is no step


def test_a_retry_voids_half_a_summary() -> None:
    turn = grown()
    model = Spoken(
        [PartCompleted(TextPart("Half")), RequestRetried(1, 2.0, "Busy."), *says("Whole.")],
        says("Done."),
    )
    drive(driver(model, context=SMALL), turn)
    assert [event.summary for event in turn.events if isinstance(event, Compacted)] == ["Whole."]
    assert StepRetried(1, 2.0, "Busy.") in turn.events


def test_an_earlier_summary_is_merged_into_the_next() -> None:
    turn = grown()
    drive(driver(Spoken(says("First."), says(LONG)), context=SMALL), turn)
    turn.begin("Once more")
    model = Spoken(says("Second."), says("Done."))
    drive(driver(model, context=SMALL), turn)
    told = model.asked[0].messages[0].parts[0].text  # type: ignore[union-attr]
    assert told.startswith(f"# User or tool\n{SUMMARY}First.")
    assert model.asked[1].messages[0] == ChatMessage("user", (TextPart(SUMMARY + "Second."),))


def test_f114_the_providers_count_decides_when() -> None:
    turn = MemoryTurn(tools={"read": lambda args: SOME})
    model = Spoken(
        says("Look.", ToolCall("c1", "read", {}), usage=TokenUsage(7_000, 10)),
        says("Sum."),
        says("Done."),
    )
    drive(driver(model, context=SMALL), turn)
    assert [prompt.kind for prompt in model.asked] == ["main", "compact", "main"]


def test_an_overflow_makes_room_and_asks_again_in_the_same_step() -> None:
    turn = grown(SOME)
    model = Spoken([ContextOverflow("Too long.")], says("Sum."), says("Done."))
    drive(driver(model), turn)
    assert [(prompt.kind, prompt.turn) for prompt in model.asked] == [
        ("main", 2),
        ("compact", 0),
        ("main", 2),
    ]
    assert turn.events[-1] == TurnEnded("end")


def test_an_overflow_that_stays_is_told_after_three_attempts() -> None:
    turn = grown(SOME * 2)
    turn.reminds = SOME
    over = [ContextOverflow("Too long.")]
    model = Spoken(over, says("Sum."), over, says("Sum."), over)
    error = fails(driver(model, context=SMALL), turn)
    assert (type(error), error.message) == (ContextOverflow, f"Too long. {CONTEXT_FULL}")
    assert [prompt.kind for prompt in model.asked] == ["main", "compact"] * 2 + ["main"]
    assert turn.events[-1] == TurnEnded("failed", "Too long.")


def test_an_overflow_with_nothing_to_summarise_is_told_at_once() -> None:
    turn = grown("Short.")
    error = fails(driver(Spoken([ContextOverflow("Too long.")])), turn)
    assert (error.message, error.next) == (f"Too long. {CONTEXT_FULL}", LARGER_MODEL_COMMAND)


def test_where_a_summary_does_not_help_it_is_not_made_in_every_step() -> None:
    turn = grown()
    turn.reminds = "word " * 2_900  # what holds now nearly fills the window by itself
    steps = [says(ToolCall(f"c{n}", "read", {})) for n in range(5)]
    model = Spoken(says("Sum."), says("Sum."), says("Sum."), *steps, says("Done."))
    drive(driver(model, context=SMALL), turn)
    assert [prompt.kind for prompt in model.asked] == ["compact"] * 3 + ["main"] * 6


def test_f120_a_summary_that_is_no_shorter_is_rejected_and_the_third_ends_the_turn() -> None:
    turn = grown()
    used = TokenUsage(100, 50)
    model = Spoken(*[says(f"{n} {LONG}", usage=used) for n in range(3)], says("Never said."))
    error = fails(driver(model, context=SMALL, prices=PRICES), turn)
    assert [prompt.kind for prompt in model.asked] == ["compact"] * 3
    assert type(error) is ContextOverflow
    assert "3 summaries were not shorter" in error.message
    assert error.next == LARGER_MODEL_COMMAND
    rejected = [each for each in turn.events if isinstance(each, CompactionRejected)]
    assert [(each.usage, each.cost, each.after > each.before) for each in rejected] == [
        (used, 200.0, True)
    ] * 3
    assert not any(isinstance(each, Compacted) for each in turn.events)
    assert isinstance(end := turn.events[-1], TurnEnded)
    assert end.why == "failed"
    assert turn.record.usage == TokenUsage(300, 150)  # what was thrown away was paid all the same
    assert turn.messages[1].parts == (TextPart(LONG),)  # nothing is lost
    # The second request says that the first summary was too long.
    assert ["too long" in " ".join(each.system) for each in model.asked] == [False, True, True]


def test_f120_a_shorter_summary_counts_after_a_rejected_one() -> None:
    turn = grown()
    model = Spoken(says(LONG * 2), says("Sum."), says("Done."))
    drive(driver(model, context=SMALL), turn)
    assert [prompt.kind for prompt in model.asked] == ["compact", "compact", "main"]
    assert [each.summary for each in turn.events if isinstance(each, Compacted)] == ["Sum."]


def test_f120_what_stays_too_long_for_a_known_window_is_an_error() -> None:
    turn = grown(LONG * 3)
    turn.reminds = LONG  # what holds now fills the window by itself
    model = Spoken(*[says("Sum.")] * 3, says("Never said."))
    error = fails(driver(model, context=SMALL), turn)
    assert {prompt.kind for prompt in model.asked} == {"compact"}
    assert len(model.asked) <= 3
    assert "After compaction the conversation still has about" in error.message
    assert error.next == LARGER_MODEL_COMMAND


BIG = "x" * 80_000  # 20,000 tokens


def worked(*sizes: int) -> MemoryTurn:
    """A turn with one tool result of each size, in tokens; the model answered all of them."""
    turn = MemoryTurn("Look", tools={"read": lambda args: "x" * (4 * args["size"])})
    steps = [says(ToolCall(f"c{n}", "read", {"size": size})) for n, size in enumerate(sizes)]
    drive(driver(Spoken(*steps, says("Seen."))), turn)
    return turn


@pytest.mark.parametrize(
    ("sizes", "pruned"),
    [
        ((20_000, 20_000), None),  # all of it is protected
        ((19_999, 20_000, 20_000), None),  # too little to gain
        ((20_000, 20_000, 20_000), (1, 20_000)),
        ((10, 20_000, 15_000, 20_000, 20_000), (2, 35_000)),  # a short one is left alone
        ((5_000, 50_000), (2, 55_000)),  # more than is protected, but answered
        ((25_000, 50_000), (2, 75_000)),
    ],
)
def test_f121_the_newest_tool_results_are_protected(
    sizes: tuple[int, ...], pruned: tuple[int, int] | None
) -> None:
    found = prunable_results(worked(*sizes).messages)
    assert (found and (found.results, found.tokens)) == pruned


def test_f121_what_the_model_has_not_answered_is_never_pruned() -> None:
    messages = (said("Look"), calls(), results(BIG, BIG, BIG, BIG))
    assert prunable_results(messages) is None
    assert prunable_results((*messages, said("Seen.", "assistant"))) is not None


def test_f121_old_results_go_first_and_that_may_be_enough() -> None:
    turn = worked(30_000, 30_000, 30_000)
    turn.begin("Now the rest")
    model = Spoken(says("Done."))
    drive(driver(model, context=110_000), turn)
    assert [prompt.kind for prompt in model.asked] == ["main"]
    pruned = next(each for each in turn.events if isinstance(each, ResultsPruned))
    assert (pruned.results, pruned.tokens) == (2, 60_000)
    texts = [p.text for m in turn.messages for p in m.parts if isinstance(p, ToolResult)]
    assert texts == [PRUNED, PRUNED, "x" * 120_000]
    assert not any(isinstance(each, Compacted) for each in turn.events)


def test_f121_where_it_is_not_enough_a_summary_follows() -> None:
    turn = worked(30_000, 30_000, 30_000)
    turn.begin("Now the rest")
    model = Spoken(says("Sum."), says("Done."))
    drive(driver(model, context=40_000), turn)
    assert [prompt.kind for prompt in model.asked] == ["compact", "main"]
    kinds = [type(each) for each in turn.events]
    assert kinds.index(ResultsPruned) < kinds.index(Compacted)
    assert PRUNED in model.asked[0].messages[0].parts[0].text  # type: ignore[union-attr]


def test_f134_hooks_add_to_the_instructions_or_keep_a_session_from_being_compacted() -> None:
    turn = grown()
    turn.added = "Keep every ticket number."
    model = Spoken(says("Sum."), says("Done."))
    drive(driver(model, context=SMALL), turn)
    assert model.asked[0].system[1] == f"{ADDED_BY_HOOK}Keep every ticket number."
    turn = grown()
    turn.objection = "not now"
    model = Spoken(says("Done."))
    drive(driver(model, context=SMALL), turn)
    assert [prompt.kind for prompt in model.asked] == ["main"]
    turn.begin("More")
    error = fails(driver(Spoken([ContextOverflow("Too long.")]), context=SMALL), turn)
    assert error.message == f"Too long. {CONTEXT_FULL}"


def test_a_summary_that_overflows_itself_is_made_of_less() -> None:
    turn = grown(LONG * 2)
    over = [ContextOverflow("Too long.")]
    model = Spoken(over, over, says("Sum."), says("Done."))
    drive(driver(model, context=SMALL), turn)
    lengths = [len(p.messages[0].parts[0].text) for p in model.asked[:3]]  # type: ignore[union-attr]
    assert lengths[0] > 1.9 * lengths[1] > 3.8 * lengths[2] - 200
    assert turn.events[-1] == TurnEnded("end")


def test_a_summary_that_never_comes_is_an_error() -> None:
    turn = grown()
    error = fails(driver(Spoken(says("  ")), context=SMALL), turn)
    assert error.message == f"test/model returned no summary of the session. {KEPT_STAGED}"
    assert isinstance(error, ModelError)


def test_one_huge_message_is_summarised_too_and_nothing_loops() -> None:
    turn = MemoryTurn(LONG * 2)
    model = Spoken(says("Sum."), says("Done."))
    drive(driver(model, context=SMALL), turn)
    assert [prompt.kind for prompt in model.asked] == ["compact", "main"]
    assert model.asked[1].messages == (ChatMessage("user", (TextPart(SUMMARY + "Sum."),)),)
