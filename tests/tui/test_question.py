"""The question panel on a real engine: permissions, and what models ask."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import LONG_S, Seat, Stage
from textual.events import Key, Paste

from assent.core.session.event import QuestionAnswered
from assent.tui.host import StartOptions
from assent.tui.panels.question.panel import QuestionPanel

Act = Callable[[Seat], Awaitable[None]]
ASK = StartOptions(mode="ask")
TOUCH = ("shell", {"command": "touch made"})


async def asked(seat: Seat, words: str = "") -> QuestionPanel:
    """Says something, and waits until the question that follows can be answered."""
    if words:
        seat.app.say(words)
    await seat.until(lambda: isinstance(seat.app.screen, QuestionPanel))
    panel = seat.app.screen
    assert isinstance(panel, QuestionPanel)
    await seat.until(lambda: panel.listening)
    return panel


async def press(seat: Seat, *keys: str) -> None:
    """Presses keys, each when the panel listens."""
    for key in keys:
        panel = seat.app.screen
        if isinstance(panel, QuestionPanel):
            await seat.until(partial(getattr, panel, "listening"))
        await seat.press(key)


def answers(seat: Seat) -> list[tuple[object, str]]:
    """Returns what was answered, and by whom, in the shown session."""
    record = seat.app.session_controller.record
    assert record is not None
    events = [one.event for one in seat.app.engine.sessions.events(record)]
    given = [event for event in events if isinstance(event, QuestionAnswered)]
    return [(each.answers, each.by.partition(" ")[2]) for each in given]


def test_a_permission_shows_everything_and_a_yes_takes_two_keys(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Make it")
        for words in ("touch made", "Risk", "y ( ) Yes: once", "n ( ) No", "Ctrl+Y send yes"):
            await seat.shows(words)
        await press(seat, "end", "y")
        await seat.shows("y (•) Yes")
        await press(seat, "enter")
        await seat.shows("Press Ctrl+Y to send yes")
        assert not (stage.root / "made").exists()
        await press(seat, "ctrl+y")
        await seat.rest()
        assert answers(seat) == [((("Yes",),), "(terminal)")]
        await seat.shows("Done.")

    stage.show(act, ASK)
    assert (stage.root / "made").exists()


def test_f85_a_no_with_words_reaches_the_model_and_it_goes_on(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Then not."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Make it")
        await press(seat, "w")
        await seat.shows("Your answer")
        await seat.type("Use the other one")
        await seat.press("ctrl+s")
        await seat.until(lambda: isinstance(seat.app.screen, QuestionPanel))
        await seat.shows("Use the other one")
        await press(seat, "end", "enter")
        await seat.rest()
        assert answers(seat) == [((("Use the other one",),), "(terminal)")]
        await seat.shows("Then not.")

    stage.show(act, ASK)
    assert not (stage.root / "made").exists()


def test_a_remembered_yes_says_what_it_covers_and_asks_again(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Make it")
        await press(seat, "end", "s", "ctrl+y")
        await seat.shows("From now on")
        await press(seat, "escape")
        await seat.shows("s ( ) Yes, for this session")
        await press(seat, "end", "s", "ctrl+y")
        await seat.shows("assent rules revoke")
        await press(seat, "y", "ctrl+y")
        await seat.rest()
        assert answers(seat) == [((("Yes, for this session",),), "(terminal)")]

    stage.show(act, ASK)
    assert (stage.root / "made").exists()


def test_f41_esc_pastes_and_keys_typed_ahead_answer_nothing(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        seat.app.quiet_s = LONG_S  # until then somebody is typing, however slow the machine is
        seat.app.say("Make it")
        for key in ("y", "ctrl+y", "enter"):
            seat.app.post_message(Key(key, key if len(key) == 1 else None))
        await seat.shows("F2 open question")
        assert seat.app.prompt.text == "y", "it was typed at the prompt, and nowhere else"
        seat.app.quiet_s = 0.0
        await seat.press("f2")
        panel = await asked(seat)
        panel.post_message(Paste("y\n"))
        await press(seat, "y", "escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        assert len(seat.app.engine.pending_questions.pending()) == 1
        assert answers(seat) == []
        seat.app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, ASK)
    assert not (stage.root / "made").exists()


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
        await press(seat, "2", "enter")
        await seat.shows("part 2 of 3")
        await press(seat, "w")
        await seat.shows("Your answer")
        await seat.type("Ada")
        await seat.press("ctrl+s")
        await seat.until(lambda: isinstance(seat.app.screen, QuestionPanel))
        await press(seat, "enter")
        await seat.shows("part 3 of 3")
        await press(seat, "d", "enter")
        await seat.rest()
        assert answers(seat) == [((("blue",), ("Ada",), ()), "(terminal)")]

    stage.show(act)


@pytest.mark.parametrize(
    ("key", "label"), [("9", "Option 9"), ("a", "Option 10"), ("o", "Option 20")]
)
def test_f129_twenty_options_are_all_read_and_each_has_a_key(
    stage: Stage, key: str, label: str
) -> None:
    options = [{"label": f"Option {n}", "description": "d" * 60} for n in range(1, 21)]
    question = {"question": "Which one?", "options": options}
    stage.script(turn("", ("question", {"questions": [question]})), turn("Thanks."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Ask me")
        await press(seat, key, "enter")
        await seat.shows("Read to the end first")
        await press(seat, "end")
        await seat.shows(f"o ({'•' if key == 'o' else ' '}) Option 20")
        await press(seat, "enter")
        await seat.rest()
        assert answers(seat) == [(((label,),), answers(seat)[0][1])]

    stage.show(act, size=(80, 24))


WORDS = "extraordinarily comprehensive internationalisation considerations notwithstanding"


def test_f129_no_choice_is_cut_off_and_one_that_is_cannot_be_answered(stage: Stage) -> None:
    options = [
        {"label": f"Option {n}", "description": f"{WORDS} {WORDS[:40]}"} for n in range(1, 6)
    ]
    question = {"question": "Which one?", "options": options}
    stage.script(turn("", ("question", {"questions": [question]})), turn("Thanks."))

    async def act(seat: Seat) -> None:
        panel = await asked(seat, "Ask me")
        await seat.shows("choices at the end.")
        await press(seat, "5", "enter")
        await seat.shows("Read to the end first")
        await press(seat, "end")
        await seat.shows("d ( ) no answer")
        await seat.resize(120, 40)
        await seat.until(lambda: "1 ( ) Option 1" in seat.text())
        await seat.shows("5 (•) Option 5")
        panel.query_one("#choices").styles.max_height = 3
        await seat.pilot.pause()
        await press(seat, "enter")
        await seat.shows("The choices do not fit")
        assert answers(seat) == []
        seat.app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, size=(80, 24))


def test_a_permission_keeps_its_choices_when_the_screen_shrinks(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        panel = await asked(seat, "Make it")
        await press(seat, "end", "y")
        await seat.resize(46, 14)
        await seat.shows("y (•) Yes")
        await press(seat, "ctrl+y")
        await seat.shows("Read to the end first")
        assert answers(seat) == []
        await press(seat, "end")
        await seat.shows("w ( ) no, and why")
        for size in ((40, 12), (46, 14), (80, 24)):
            await seat.resize(*size)
            await seat.until(lambda: panel.listening)
            await seat.shows("y (•) Yes: once")
        await press(seat, "ctrl+y")
        await seat.rest()
        assert len(answers(seat)) == 1

    stage.show(act, ASK, size=(80, 24))
