"""Ordinary typing, bursts and keys for what is gone: none of it decides anything.

Times of keys are set, not waited for; a key that comes after a silence says so by its time."""

from collections.abc import Awaitable, Callable, Iterable
from math import inf

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed
from tests.tui.test_question import answers, asked, is_asked
from tests.tui.test_run import approved, built
from textual.events import Key

from assent.core.plan.record import PlanState
from assent.tui.host import StartOptions
from assent.tui.keys import ANSWER_CANCELLED, ANSWER_S, CLOSE_S, DEBOUNCE_S, TOO_QUICK
from assent.tui.panels.approval.state import ASKING
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.panel import ConfirmPanel, DebouncedPanel
from assent.tui.panels.question.block import InlineQuestion
from assent.tui.panels.question.state import QuestionStage
from assent.tui.panels.run import RunPanel
from assent.tui.panels.undo import UndoPanel

PACES = (DEBOUNCE_S, ANSWER_S, CLOSE_S)
PATIENT = (DEBOUNCE_S, 4.0, CLOSE_S)  # an answer waits until a test has taken it back
HUMAN_S = 0.12  # from one key to the next
SLOW_S = 0.33  # of somebody who looks for each
PAUSE_S = 5.0  # after which a key is no part of what was typed before
ASK = StartOptions(mode="ask")
TOUCH = ("shell", {"command": "touch made"})
SENTENCES = (
    "go on with it as you like, thank you", "yes please", "yes", "you decide", "y", "ok",
    "only if it is needed, not by default", "3x faster would be nice", "1y is long", "3D please",
    "please build it", "stop", "no", "no, not in this session", "go on then", "that is a pity",
    "try once more, as I say", "by the way, try the other one", "accept what they say", "undo",
    "resume, by and by", "put it back", "1", "s1y", "1 yes", "2 years ago", "use the sandbox, u",
    "so it would be best to do so", "why not run all of them", "x marks the spot, bye",
)  # fmt: skip
# Those with letters in them that decide something somewhere; where it is all about those.
SHARP = (
    "go on with it as you like, thank you", "yes", "3x faster would be nice", "1y is long",
    "try once more, as I say", "by the way, try the other one", "accept what they say", "s1y",
    "use the sandbox, u", "1 yes",
)  # fmt: skip
NAMED = {" ": "space", ",": "comma", "\n": "enter"}
CHARS = {"space": " ", "comma": ","}


def spelled(words: str) -> list[str]:
    return [NAMED.get(char, char) for char in words]


async def at_pace(seat: Seat, keys: Iterable[str], gap: float = HUMAN_S, pause: float = 0) -> None:
    """Has keys come one after the other, each so long after the one before."""
    panel = seat.app.screen
    if isinstance(panel, DebouncedPanel):
        await seat.until(lambda: panel.listening or seat.app.screen is not panel)
    block = seat.app.question
    if block is not None and block.is_keyed:
        await seat.until(lambda: block.listening or not block.is_keyed)
    at = max(seat.app.typed_at, Key("a", "a").time) + (pause or gap)
    for key in keys:
        event = Key(key, CHARS.get(key, key if len(key) == 1 else None))
        event.time = at
        seat.app.post_message(event)
        at += gap
    await seat.pilot.pause()
    await seat.pilot.pause()


async def slowly(seat: Seat, *keys: str) -> None:
    """Has keys come with a long pause before each."""
    for key in keys:
        await at_pace(seat, [key], pause=PAUSE_S)


def test_there_are_thirty_sentences() -> None:
    assert len({*SENTENCES}) == 30
    assert {*SHARP} < {*SENTENCES}


Way = Callable[[Reader], Awaitable[None]]


async def opened(reader: Reader) -> None:
    """They type on as if no panel had opened."""


async def silent(reader: Reader) -> None:
    """They read to the end, and then begin to type."""
    await slowly(reader.seat, "end", "home", "end")
    await reader.seat.until(lambda: reader.panel.standing.read)


async def questioned(reader: Reader) -> None:
    await silent(reader)
    await slowly(reader.seat, "1")
    assert reader.at() is At.CHOOSING


async def exiting(reader: Reader) -> None:
    await silent(reader)
    await slowly(reader.seat, "3")
    assert reader.at() is At.EXITING


@pytest.mark.parametrize("way", [opened, silent, questioned, exiting])
def test_f41_no_sentence_decides_anything_in_any_panel(stage: Stage, way: Way) -> None:
    digest = proposed(stage)["digest"]

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        panel = reader.panel
        for words in SENTENCES if way is silent else SHARP:
            await way(reader)
            pause = 0 if way is opened else PAUSE_S
            await at_pace(seat, spelled(f"{words}\n"), pause=pause)
            await uncovered(seat, panel)
            assert panel.standing.stage in (At.READING, *ASKING), words
        record = reader.record
        assert (record.digest, record.state) == (digest, PlanState.AWAITING_APPROVAL)
        assert reader.approvals == []

    stage.show(act, paces=PACES)
    assert not (stage.root / "long.txt").exists()


async def uncovered(seat: Seat, panel: DebouncedPanel[str]) -> None:
    """Closes what opened over a panel, and has what may still be open there taken back."""
    while seat.app.screen is not panel:
        assert panel in seat.app.screen_stack, "it is still there"
        seat.app.pop_screen()
        await seat.pilot.pause()
    await seat.until(lambda: panel.listening)
    assert not panel.pace.has_pending


@pytest.mark.parametrize("asks", ["", "1"])
def test_f41_no_sentence_takes_a_run_back(stage: Stage, asks: str) -> None:
    stage.ok("approve", "--digest", proposed(stage)["digest"], "--build")

    async def act(seat: Seat) -> None:
        panel = UndoPanel()
        seat.app.open_panel(panel)
        await seat.opened(UndoPanel)
        for words in SHARP:
            await seat.until(lambda: panel.listening and panel.standing.stage is At.READING)
            await slowly(seat, "end", "home", "end", *asks)
            await at_pace(seat, spelled(f"{words}\n"), pause=PAUSE_S)
            await uncovered(seat, panel)
        assert not seat.app.run_controller.at_work

    stage.show(act, paces=PACES)
    assert (stage.root / "long.txt").exists()


@pytest.mark.parametrize("command", ["touch made", "rm -r kept"])
@pytest.mark.parametrize("chosen", [(), ("u",), ("a",), ("y",)])
def test_f41_no_sentence_answers_a_permission(
    stage: Stage, chosen: tuple[str, ...], command: str
) -> None:
    stage.put("kept/file", b"kept")
    if command == "touch made" and chosen == ("y",):
        command = "rm kept/file"  # of what is of small risk, this key alone is the answer
    stage.script(turn("", ("shell", {"command": command})), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Do it")
        for words in SHARP if chosen else SENTENCES:
            await slowly(seat, *chosen)
            await at_pace(seat, spelled(f"{words}\n"), pause=PAUSE_S)
            assert not block.pace.has_pending, words
            await reading(seat, block)
        assert len(seat.app.engine.pending_questions.pending()) == 1
        assert answers(seat) == []
        seat.app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, ASK, paces=PACES)
    assert not (stage.root / "made").exists()
    assert (stage.root / "kept/file").exists()


async def reading(seat: Seat, block: InlineQuestion) -> None:
    """Closes what words may have opened in a question: a field for a pattern, a confirmation."""
    await seat.until(lambda: is_asked(seat))
    if block.state.stage is not QuestionStage.READING:
        await slowly(seat, "escape")
    await seat.until(lambda: is_asked(seat) and block.state.stage is QuestionStage.READING)


@pytest.mark.parametrize("gap", [0.001, 0.02, 0.033, 0.1])
def test_f41_a_held_key_and_a_paste_as_keys_answer_nothing(stage: Stage, gap: float) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Make it")
        for key in ("y", "n", "a", "enter", "ctrl+y"):
            await at_pace(seat, [key] * 20, gap=gap, pause=PAUSE_S)
            assert not block.pace.has_pending, key
            await reading(seat, block)
        await at_pace(seat, spelled("e not this one\n"), gap=0.001, pause=PAUSE_S)
        await reading(seat, block)
        assert answers(seat) == []
        seat.app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, ASK, paces=PACES)
    assert not (stage.root / "made").exists()


def test_f41_keys_typed_as_the_question_appears_are_no_answer(stage: Stage) -> None:
    """Each key begins the silence anew, so that whoever types on is not heard."""
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Make it")
        at = seat.app.typed_at
        await seat.until(lambda: block.ready_at < inf)
        at = max(at, block.ready_at)
        for _ in range(12):
            at += DEBOUNCE_S - 0.1
            event = Key("y", "y")
            event.time = at
            seat.app.post_message(event)
        await seat.pilot.pause()
        assert not block.pace.has_pending
        assert answers(seat) == []
        await slowly(seat, "y")
        await seat.rest()
        assert answers(seat) == [((("Yes",),), "(terminal)")]

    stage.show(act, ASK, paces=PACES)


@pytest.mark.parametrize("asks", ["", "1", "2", "3"])
def test_f41_no_sentence_takes_a_way_on(stage: Stage, asks: str) -> None:
    plan = approved(stage, "exit 3")

    async def act(seat: Seat) -> None:
        await built(seat, plan)
        panel = seat.app.screen
        assert isinstance(panel, RunPanel)
        for words in SHARP if asks else SENTENCES:
            await slowly(seat, *asks)
            await at_pace(seat, spelled(f"{words}\n"), pause=PAUSE_S)
            assert not panel.pace.has_pending, words
            assert seat.app.screen is panel, words
            await seat.shows("Build: needs your decision")

    stage.show(act, paces=PACES)
    assert (stage.root / "a.txt").exists()


def test_f3_no_sentence_confirms_yolo(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        for words in SHARP:
            seat.app.run_slash("/mode yolo")
            await seat.until(lambda: isinstance(seat.app.screen, ConfirmPanel))
            panel = seat.app.screen
            assert isinstance(panel, ConfirmPanel)
            await at_pace(seat, spelled(f"{words}\n"), pause=PAUSE_S)
            assert seat.app.screen is panel, words
            assert not panel.pace.has_pending, words
            await slowly(seat, "escape")
            assert seat.app.status_snapshot.mode == "plan"

    stage.show(act, paces=PACES)


def test_f41_what_is_typed_slowly_takes_no_way_on_and_raises_no_mode(stage: Stage) -> None:
    """So slowly that no pace tells it from an answer."""
    plan = approved(stage, "exit 3")

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/mode yolo")
        await seat.until(lambda: isinstance(seat.app.screen, ConfirmPanel))
        await at_pace(seat, spelled("by the way\n"), gap=SLOW_S, pause=PAUSE_S)
        panel = seat.app.screen
        assert isinstance(panel, ConfirmPanel)
        assert not panel.pace.has_pending
        await slowly(seat, "escape")
        await built(seat, plan)
        halted = seat.app.screen
        assert isinstance(halted, RunPanel)
        for words in ("sorry, try again", "go by train", "say", "by\n"):
            await at_pace(seat, spelled(words), gap=SLOW_S, pause=PAUSE_S)
            assert not halted.pace.has_pending, words
            await seat.shows("Build: needs your decision")
        assert seat.app.status_snapshot.mode == "plan"

    stage.show(act, paces=PACES)
    assert (stage.root / "a.txt").exists()


def test_ctrl_c_takes_back_what_is_asked_and_an_answer_that_waits(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await silent(reader)
        await slowly(seat, "1", "y")
        assert reader.panel.pace.has_pending
        await at_pace(seat, ["ctrl+c"])
        await seat.shows(ANSWER_CANCELLED)
        assert (reader.at(), reader.panel.pace.has_pending) == (At.READING, False)
        await slowly(seat, "1", "ctrl+c", "y")
        assert (reader.at(), reader.panel.pace.has_pending) == (At.READING, False)
        assert (reader.record.digest, reader.approvals) == (digest, [])
        await slowly(seat, "ctrl+c")
        await seat.shows("Ctrl+C again to exit")
        await slowly(seat, "escape")
        seat.app.run_slash("/mode yolo")
        await seat.until(lambda: isinstance(seat.app.screen, ConfirmPanel))
        await slowly(seat, "ctrl+y")
        await at_pace(seat, ["ctrl+c"])
        await seat.shows(ANSWER_CANCELLED)
        await slowly(seat, "ctrl+c")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        assert seat.app.status_snapshot.mode == "plan"

    stage.show(act, paces=PATIENT)


def test_ctrl_c_takes_a_permission_back(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Make it")
        for keys in (("y",), ("u", "ctrl+y"), ("u",), ("a",), ("a", "enter"), ("n",)):
            await slowly(seat, *keys)
            await at_pace(seat, ["ctrl+c"])
            await seat.shows(ANSWER_CANCELLED)
            assert not block.pace.has_pending
            await slowly(seat, "ctrl+y")
            assert block.state.stage is QuestionStage.READING
        assert (len(seat.app.engine.pending_questions.pending()), answers(seat)) == (1, [])
        seat.app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, ASK, paces=PATIENT)
    assert not (stage.root / "made").exists()


def test_f41_a_burst_takes_the_question_back_and_the_rest_of_it_asks_nothing(stage: Stage) -> None:
    proposed(stage)

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await silent(reader)
        for _ in range(2):  # one second apart, and more
            await at_pace(seat, ["1", "y"] * 200, gap=0.001, pause=PAUSE_S)
            await seat.shows(TOO_QUICK)
            assert reader.at() is At.READING
        await at_pace(seat, ["1"] * 30, gap=0.03, pause=PAUSE_S)
        assert reader.at() is At.READING, "a key that is held down asks, and then takes it back"
        await slowly(seat, "1", "o")
        await reader.closed()
        assert [yes[1] for yes in reader.approvals] == ["terminal"]

    stage.show(act, paces=PACES)


def test_a_question_does_not_open_over_what_is_typed_and_opens_once_nothing_is(
    stage: Stage,
) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        await seat.type("go on with it as ")
        seat.app.say("Make it")
        await seat.shows("Tab answer")
        await seat.type("you")
        assert len(seat.app.screen_stack) == 1
        assert seat.app.prompt.text == "go on with it as you"
        seat.app.prompt.clear()
        await asked(seat)
        assert answers(seat) == []
        seat.app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, ASK)


def test_what_was_meant_for_a_panel_that_closed_is_said_to_nobody(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Then not."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Make it")
        await slowly(seat, "n")
        await seat.rest()
        assert answers(seat) == [((("No",),), "(terminal)")]
        await at_pace(seat, ["n", "enter", "n", "enter"])
        assert seat.app.prompt.text == ""
        await at_pace(seat, ["w", "e"], pause=PAUSE_S)
        assert seat.app.prompt.text == "we"

    stage.show(act, ASK, paces=PACES)


def test_no_sandbox_takes_a_confirmation_of_its_own(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        block = await asked(seat, "Make it")
        await slowly(seat, "u")
        await seat.shows("Without the sandbox it can change anything you can.")
        await seat.shows("touch made")
        await slowly(seat, "n")
        assert block.state.stage is QuestionStage.READING
        assert answers(seat) == []
        await slowly(seat, "u", "ctrl+y")
        await seat.rest()
        assert answers(seat) == [((("Yes, without the sandbox",),), "(terminal)")]

    stage.show(act, ASK, paces=PACES)


def test_what_is_pasted_as_keys_says_nothing_runs_nothing_and_raises_no_mode(
    stage: Stage,
) -> None:
    """A terminal that does not mark pastes, and a paste with the mark of its end in it."""
    lines = "some notes\n!touch made\n/mode ask\nmore\n"

    async def act(seat: Seat) -> None:
        app = seat.app
        await at_pace(seat, spelled(lines), gap=0.001, pause=PAUSE_S)
        await seat.until(lambda: app.prompt.text == lines)
        assert (app.status_snapshot.mode, app.shell_controller.at_work) == ("plan", False)
        await at_pace(seat, ["enter"], pause=PAUSE_S)
        await seat.shows("No model available: no API key is set")
        await seat.until(lambda: app.prompt.text == lines)  # it was not sent
        await at_pace(seat, ["ctrl+c"], pause=PAUSE_S)
        await seat.until(lambda: app.prompt.text == "")
        await at_pace(seat, spelled("/mode ask"), pause=PAUSE_S)
        await at_pace(seat, ["enter"], pause=PAUSE_S)
        await seat.until(lambda: app.status_snapshot.mode == "ask")

    stage.show(act, paces=PACES)
    assert not (stage.root / "made").exists()


@pytest.mark.parametrize("words", ["Say hello", "a"])
def test_text_that_arrives_at_once_is_sent_by_the_enter_behind_it(stage: Stage, words: str) -> None:
    """As a text expander or a remote keyboard sends it."""
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await at_pace(seat, [*spelled(words), "enter"], gap=0.001, pause=PAUSE_S)
        await seat.shows("Hello.")
        assert seat.app.prompt.text == ""
        assert f"> {words}" in seat.text()

    stage.show(act, paces=PACES)
