"""The question block on a real engine: permissions, and what models ask."""

from collections.abc import Awaitable, Callable

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import LONG_S, Seat, Stage
from tests.tui.test_queued_messages import story
from textual.events import Key, Paste

from assent.core.session.event import QuestionAnswered
from assent.render.lines import GUTTER
from assent.tui.host import StartOptions
from assent.tui.key_actions import ANSWER, QUESTION_WAITING
from assent.tui.keys import TOO_QUICK
from assent.tui.line_view import LineView
from assent.tui.panels.question.block import (
    KEYS_GO_HERE,
    NO_PATTERN,
    TOO_LOW,
    InlineQuestion,
)
from assent.tui.panels.question.state import QuestionStage

Act = Callable[[Seat], Awaitable[None]]
ASK = StartOptions(mode="ask")
TOUCH = ("shell", {"command": "touch made"})


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, str]]:
    return ("edit", {"path": path, "old": old, "new": new})


async def asked(seat: Seat, words: str = "") -> InlineQuestion:
    """Says something, and waits until the question that follows can be answered."""
    if words:
        seat.app.say(words)
    await seat.until(lambda: is_asked(seat))
    block = seat.app.question
    assert block is not None
    await seat.until(lambda: seat.text() and is_asked(seat))  # what was looked at is read
    return block


def is_asked(seat: Seat) -> bool:
    """Tells whether keys go to a question."""
    block = seat.app.question
    return block is not None and block.is_open and block.is_keyed and block.listening


async def press(seat: Seat, *keys: str) -> None:
    """Presses keys, each when the question listens."""
    await seat.press(*keys)


def answers(seat: Seat) -> list[tuple[object, str]]:
    """Returns what was answered, and by whom, in the shown session."""
    record = seat.app.session_controller.record
    assert record is not None
    events = [one.event for one in seat.app.engine.sessions.events(record)]
    given = [event for event in events if isinstance(event, QuestionAnswered)]
    return [(each.answers, each.by.partition(" ")[2]) for each in given]


def test_a_permission_of_medium_risk_takes_one_key(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Make it")
        for words in ("touch made", "Risk: medium", "y once", "a session", "n no", "Make it"):
            await seat.shows(words)
        await seat.press("enter")
        await seat.press("ctrl+y")
        assert answers(seat) == []
        assert not (stage.root / "made").exists()
        await seat.press("y")
        await seat.rest()
        assert answers(seat) == [((("Yes",),), "(terminal)")]
        await seat.shows("Done.")
        assert seat.app.question is not None
        assert not seat.app.question.is_open

    stage.show(act, ASK)
    assert (stage.root / "made").exists()


def test_one_line_says_that_a_question_waits_also_after_reopening(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    def waits_once(seat: Seat) -> bool:
        shown = seat.text()
        said = (shown.lower().count(ANSWER.lower()), QUESTION_WAITING in shown)
        return said == (1, False) and "working" not in shown and "to answer" not in shown

    async def leave(seat: Seat) -> None:
        await asked(seat, "Make it")
        await seat.until(lambda: waits_once(seat))

    async def answer(seat: Seat) -> None:
        await asked(seat)
        await seat.until(lambda: waits_once(seat))
        await press(seat, "y")
        await seat.shows("Done.")
        await seat.until(lambda: ANSWER not in seat.text())

    stage.show(leave, ASK)
    stage.show(answer, StartOptions(going_on=True))


def test_f85_a_no_with_words_reaches_the_model_and_it_goes_on(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Then not."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Make it")
        await press(seat, "e")
        await seat.shows("No, because:")
        await seat.type("Use the other one")
        await seat.press("enter")
        await seat.rest()
        assert answers(seat) == [((("Use the other one",),), "(terminal)")]
        await seat.shows("Then not.")

    stage.show(act, ASK)
    assert not (stage.root / "made").exists()


def test_a_remembered_yes_shows_what_it_covers_and_enter_confirms(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Make it")
        await press(seat, "a")
        await seat.shows("in this session for shell `touch *`")
        await press(seat, "escape")
        await seat.shows("y once")
        await press(seat, "a")
        await seat.shows("/rules lists and revokes it")
        await press(seat, "a", "y")
        await seat.shows("y once")
        assert answers(seat) == []
        await press(seat, "a", "enter")
        await seat.rest()
        assert answers(seat) == [((("Yes, for this session",),), "(terminal)")]

    stage.show(act, ASK)
    assert (stage.root / "made").exists()


def test_f41_esc_pastes_and_keys_typed_ahead_answer_nothing(stage: Stage) -> None:
    stage.script(turn("", TOUCH, delay_ms=300), turn("Done."))

    async def act(seat: Seat) -> None:
        seat.app.quiet_s = LONG_S  # until then somebody is typing, however slow the machine is
        seat.app.say("Make it")
        sitting = seat.app.session_controller
        # What is sent before the step begins is said in it; behind that, it waits for the next.
        await seat.until(lambda: sitting.record is not None and "step" in story(seat))
        for key in ("y", "ctrl+y", "enter"):
            seat.app.post_message(Key(key, key if len(key) == 1 else None))
        await seat.shows("Tab answer")
        await seat.shows("queued: y")  # it was typed at the prompt, and nowhere else
        assert seat.app.prompt.text == ""
        assert sitting.queued.texts == ("y",)
        assert answers(seat) == []
        seat.app.quiet_s = 0.0
        await seat.press("f2")
        block = await asked(seat)
        block.post_message(Paste("y\n"))
        await press(seat, "escape")
        await seat.until(lambda: not block.is_keyed)
        await seat.shows("Tab answer")
        assert len(seat.app.engine.pending_questions.pending()) == 1
        assert answers(seat) == []
        seat.app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, ASK)
    assert not (stage.root / "made").exists()


def test_tab_goes_to_the_question_and_back_and_never_changes_the_mode(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        await seat.type("a draft")
        seat.app.say("Make it")
        await seat.shows("Tab answer")
        block = seat.app.question
        assert block is not None
        assert not block.is_keyed
        await seat.press("y")
        assert seat.app.prompt.text == "a drafty"
        await seat.press("tab")
        await asked(seat)
        for key, keyed in (("tab", False), ("f2", True), ("shift+tab", False), ("tab", True)):
            await seat.press(key)
            await seat.until(lambda wanted=keyed: block.is_keyed is wanted)
            assert seat.app.status_snapshot.mode == "ask"
        await asked(seat)
        await seat.press("y")
        await seat.rest()
        assert answers(seat) == [((("Yes",),), "(terminal)")]
        assert seat.app.prompt.text == "a drafty"

    stage.show(act, ASK)


@pytest.mark.parametrize("where", ["question", "later", "field", "prompt"])
def test_ctrl_c_interrupts_a_turn_that_waits_for_an_answer(stage: Stage, where: str) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Make it")
        if where == "later":
            await seat.press("escape")
        elif where == "prompt":
            await seat.press("tab")
            await seat.type("x")
            await seat.press("ctrl+c")
            assert seat.app.prompt.text == ""
        elif where == "field":
            await seat.press("e")
            await seat.type("y")
            await seat.press("ctrl+c")
            await seat.until(lambda: block.state.stage is QuestionStage.READING)
        assert seat.app.session_controller.at_work
        await seat.press("ctrl+c")
        await seat.rest()
        await seat.until(lambda: not block.is_open)
        assert answers(seat) == [(None, "")]  # it expired
        assert seat.app.return_value is None
        await seat.shows("You interrupted the turn.")
        await seat.press("ctrl+c")
        await seat.shows("Ctrl+C again to exit")
        assert seat.app.return_value is None
        await seat.press("ctrl+c")
        await seat.until(lambda: seat.app.return_value == 0)

    assert stage.show(act, ASK) == 0
    assert not (stage.root / "made").exists()


def test_esc_goes_one_step_back_from_the_keys_and_the_call(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Make it")
        for keys in (("question_mark",), ("v",), ("v", "question_mark")):
            await seat.press(*keys)
            await seat.shows("Esc back")
            for _ in keys:
                await seat.press("escape")
                assert block.is_keyed
            assert (block.state.more, block.state.raw) == (False, False)
            await seat.until(lambda: "Esc back" not in seat.text())
        await seat.press("escape")
        await seat.until(lambda: not block.is_keyed)
        assert block.is_open
        assert answers(seat) == []

    stage.show(act, ASK)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("touch made > said", "it covers several patterns"),
        ("python3 -c 'print(1)'", "it is remembered exactly"),
    ],
)
def test_no_pattern_is_offered_where_none_can_be_edited(
    stage: Stage, command: str, why: str
) -> None:
    stage.script(turn("", ("shell", {"command": command})), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Make it")
        await seat.shows("a session")
        assert "p pattern" not in seat.text()
        await seat.press("question_mark")
        await seat.shows(f"no p: {why}")
        await seat.press("escape")
        await seat.press("p")
        await seat.until(lambda: block.told == NO_PATTERN.format(why))
        assert block.state.stage is QuestionStage.READING
        await seat.press("P")
        await seat.shows("in every session of this project")
        assert answers(seat) == []
        await seat.press("escape")
        await seat.press("n")
        await seat.rest()

    stage.show(act, ASK)


def test_a_question_about_a_secret_says_each_thing_once(stage: Stage) -> None:
    stage.script(turn("", ("write", {"path": ".env", "content": "A=1\n"})), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Make it")
        shown = [line.text for one in block.query_one(LineView).sections for line in one.lines]
        assert sum("may contain secrets" in line for line in shown) == 1
        assert sum("edit to .env" in line or "write .env" in line for line in shown) == 1
        assert "Risk: high." in shown
        await seat.press("n")
        await seat.rest()

    stage.show(act, StartOptions(mode="auto-edit"))


def test_letters_that_mean_nothing_are_not_dropped_unnoticed(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Make it")
        await seat.press("g")
        await seat.until(lambda: block.told == KEYS_GO_HERE)
        await seat.shows("Tab goes to the prompt")
        await seat.press("tab")
        await seat.type("go")
        assert (seat.app.prompt.text, block.told) == ("go", "")
        assert answers(seat) == []

    stage.show(act, ASK)


def test_high_risk_takes_two_different_keys(stage: Stage) -> None:
    stage.put("made", b"old\n")
    stage.script(turn("", ("shell", {"command": "rm made"})), turn("Done."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Remove it")
        await seat.shows("high risk")
        for keys in (("y", "y", "y"), ("y", "enter"), ("y", "n"), ("y", "escape")):
            await seat.press(*keys)
            assert answers(seat) == []
            await seat.press("escape" if keys == ("y", "y", "y") else "f2")
            await asked(seat)
        await seat.press("y")
        await seat.shows("Ctrl+Y allows it once")
        await seat.press("ctrl+y")
        await seat.rest()
        assert answers(seat) == [((("Yes",),), "(terminal)")]

    stage.show(act, ASK)
    assert not (stage.root / "made").exists()


def test_the_pattern_of_an_edit_is_its_folder_and_can_be_changed(stage: Stage) -> None:
    stage.put("src/a.py", b"a = 1\n")
    stage.put("src/b.py", b"b = 1\n")
    stage.put("c.py", b"c = 1\n")
    stage.script(
        turn("", edit("src/a.py", "a = 1", "a = 2")),
        turn("", edit("src/b.py", "b = 1", "b = 2")),
        turn("", edit("c.py", "c = 1", "c = 2")),
        turn("Done."),
    )

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Change them")
        await seat.press("p")
        await seat.shows("for edit `src/**`")
        await seat.press(*["backspace"] * len("src/**"), "b", "slash", "*")
        await seat.shows("The pattern has to cover src/a.py.")
        await seat.press("enter")
        assert answers(seat) == []
        await seat.press(*["backspace"] * 3)
        await seat.type("src/*")
        await seat.shows("for edit `src/*`")
        await seat.press("enter")
        await asked(seat)
        assert block.shown is not None
        assert "c.py" in block.shown.inquiry.asked.questions[0].question
        await seat.press("n")
        await seat.rest()
        assert answers(seat) == [
            ((("Yes, for this session",),), "(terminal)"),
            ((("No",),), "(terminal)"),
        ]
        (grant,) = seat.app.engine.grants.all()
        assert [each.pattern for each in grant.patterns] == ["src/*"]

    stage.show(act, ASK)
    assert (stage.root / "src/b.py").read_text() == "b = 2\n"
    assert (stage.root / "c.py").read_text() == "c = 1\n"


def test_a_refused_pattern_is_told_once_and_only_as_long_as_it_is_refused(stage: Stage) -> None:
    stage.put("src/a.py", b"a = 1\n")
    stage.script(turn("", edit("src/a.py", "a = 1", "a = 2")), turn("Done."))

    def refusals(seat: Seat) -> int:
        return seat.text().count("has to cover src/a.py")

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Change it")
        await seat.press("p")
        await seat.press(*["backspace"] * len("src/**"), "b", "enter")
        await seat.until(lambda: refusals(seat) == 1)
        assert block.told == ""
        await seat.press("backspace")
        await seat.type("src/*")
        await seat.shows("for edit `src/*`")
        await seat.until(lambda: refusals(seat) == 0)
        assert answers(seat) == []

    stage.show(act, ASK)


def test_what_is_told_of_a_pattern_goes_with_the_next_change(stage: Stage) -> None:
    stage.put("src/a.py", b"a = 1\n")
    stage.script(turn("", edit("src/a.py", "a = 1", "a = 2")), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Change it")
        await seat.press("p")
        seat.app.answer_s = LONG_S  # any Enter is too soon
        block.asks()
        await seat.until(lambda: block.pace.seen)
        await seat.pilot.press("enter")
        await seat.until(lambda: block.told == TOO_QUICK)
        await seat.pilot.press("backspace")
        await seat.until(lambda: block.told == "")
        assert answers(seat) == []

    stage.show(act, ASK)


def test_a_question_without_a_header_is_shown_once(stage: Stage) -> None:
    stage.script(
        turn("", ("question", {"questions": [{"question": "Which colour?"}]})), turn("Ok.")
    )

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Choose")
        shown = [line.text for one in block.query_one(LineView).sections for line in one.lines]
        assert [line for line in shown if "Which colour" in line] == [f"{GUTTER}Which colour?"]
        await seat.press("e")
        await seat.type("red")
        await seat.press("enter")
        await seat.shows("Ok.")
        await seat.rest()
        assert seat.text().count("Which colour") == 1

    stage.show(act, ASK)


def test_f129_a_model_asks_in_parts_and_gets_labels_words_and_none(stage: Stage) -> None:
    questions = [
        {"header": "Colour", "question": "Which colour?",
         "options": [{"label": "red", "description": "warm"}, {"label": "blue"}]},
        {"header": "Name", "question": "Which name?"},
        {"header": "Extra", "question": "Anything else?"},
    ]  # fmt: skip
    stage.script(turn("", ("question", {"questions": questions})), turn("Thanks."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Ask me")
        await seat.shows("part 1 of 3")
        await seat.shows("1 ( ) red: warm")
        await press(seat, "enter")
        await seat.shows("Choose an option first")
        await press(seat, "down", "down")
        await seat.shows("▸ 2 (•) blue")
        await press(seat, "enter")
        await seat.shows("part 2 of 3")
        await press(seat, "e")
        await seat.shows("Your answer:")
        await seat.type("Ada")
        await seat.press("enter")
        await seat.shows("part 3 of 3")
        await press(seat, "n")
        await seat.rest()
        assert answers(seat) == [((("blue",), ("Ada",), ()), "(terminal)")]

    stage.show(act)


@pytest.mark.parametrize("number", [9, 10, 20])
def test_f129_twenty_options_are_all_read_and_each_can_be_reached(
    stage: Stage, number: int
) -> None:
    options = [{"label": f"Option {n}", "description": "d" * 60} for n in range(1, 21)]
    question = {"question": "Which one?", "options": options}
    stage.script(turn("", ("question", {"questions": [question]})), turn("Thanks."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Ask me")
        await press(seat, "9", *["down"] * (number - 9))
        await seat.shows(f"(•) Option {number}")
        if number != 20:
            await press(seat, "enter")
            await seat.shows("There is more below")
            await press(seat, "end")
        await press(seat, "enter")
        await seat.rest()
        assert answers(seat) == [(((f"Option {number}",),), "(terminal)")]

    stage.show(act, size=(80, 24))


WORDS = "extraordinarily comprehensive internationalisation considerations notwithstanding"


def test_f129_what_does_not_fit_is_scrolled_and_what_is_hidden_cannot_be_answered(
    stage: Stage,
) -> None:
    options = [
        {"label": f"Option {n}", "description": f"{WORDS} {WORDS[:40]}"} for n in range(1, 6)
    ]
    question = {"question": "Which one?", "options": options}
    stage.script(turn("", ("question", {"questions": [question]})), turn("Thanks."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Ask me")
        await press(seat, "1", "enter")
        await seat.shows("There is more below")
        await press(seat, "end", "5")
        await seat.shows("5 (•) Option 5")
        await seat.resize(120, 40)
        await seat.until(lambda: "1 ( ) Option 1" in seat.text())
        await seat.shows("5 (•) Option 5")
        block.query_one("#ask-text").styles.min_height = 50
        await seat.pilot.pause()
        await press(seat, "enter")
        assert answers(seat) == []
        assert block.told == TOO_LOW
        seat.app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, size=(60, 20))


def test_a_long_diff_is_read_to_its_end_before_a_yes(stage: Stage) -> None:
    text = "".join(f"line {n}\n" for n in range(40))
    stage.script(turn("", ("write", {"path": "long.txt", "content": text})), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Write it")
        await seat.press("y")
        await seat.shows("There is more below")
        await seat.press("a")
        await seat.shows("There is more below")
        assert answers(seat) == []
        for size in ((46, 14), (40, 12), (80, 24)):
            await seat.resize(*size)
            await asked(seat)
            await seat.press("y")
            assert answers(seat) == []
        await seat.press("end")
        await seat.until(lambda: block.state.read)
        await seat.press("y")
        await seat.rest()
        assert len(answers(seat)) == 1

    stage.show(act, ASK, size=(80, 24))
    assert (stage.root / "long.txt").read_text() == text
