"""The first start without any model: what was found, the next steps, and a screen that works."""

from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed

from assent.render.onboarding import (
    DEMO,
    NO_KEY,
    NO_MODEL_YET,
    USABLE,
    LocalModelServer,
    SetupFindings,
    onboarding_lines,
)
from assent.tui.home import HINTS, MAX_SESSIONS
from assent.tui.host import StartOptions
from assent.tui.panels.run import RunPanel


def test_without_any_key_the_screen_says_what_was_found_and_offers_the_demo(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.shows("No model available yet.")
        for words in (
            NO_KEY,
            "No answer from",
            "export ANTHROPIC_API_KEY=",
            "F9 or /demo",
        ):
            await seat.shows(words)
        steps = ("/login", "assent login", "export ANTHROPIC_API_KEY", "ollama serve")
        places = [seat.text().index(words) for words in steps]
        assert places == sorted(places)  # what takes least comes first

    stage.show(act, size=(100, 40))


def test_without_a_model_a_message_is_refused_in_words_and_comes_back(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.shows("F9 or /demo")
        await seat.type("Do it")
        await seat.press("enter")
        await seat.shows("No model available: no API key is set")
        await seat.rest()
        assert seat.app.prompt.text == "Do it"  # and once more, if it is refused again
        await seat.press("enter")
        await seat.until(lambda: seat.text().count("No model available: no API") == 2)
        await seat.rest()
        assert seat.app.prompt.text == "Do it"
        assert seat.app.messages.mishaps == []

    stage.show(act, size=(100, 40))


def test_without_a_model_a_plan_is_reviewed_approved_and_built(stage: Stage) -> None:
    proposed(stage, greeting=b"hello\n")

    async def act(seat: Seat) -> None:
        await seat.shows("F9 or /demo")
        reader = Reader(seat)
        await reader.open()
        await reader.to_the_end()
        await reader.press("1", "y")
        await seat.until(lambda: isinstance(seat.app.screen, RunPanel))
        await seat.rest()

    stage.show(act, size=(100, 40))
    assert stage.files()[b"greeting.txt"][2] == b"hello\n"


def test_a_key_that_is_set_is_told_by_its_name_and_never_by_its_value(stage: Stage) -> None:
    stage.config.write_text('model = "nobody/nothing"\n', encoding="utf-8")
    stage.env["OPENAI_API_KEY"] = "sk-very-secret-0123456789abcdef"

    async def act(seat: Seat) -> None:
        await seat.shows("API key found: OPENAI_API_KEY")
        await seat.shows("nobody")
        assert "sk-very" not in seat.text()

    stage.show(act, size=(100, 40))


def test_what_was_found_is_told_by_names_and_words() -> None:
    servers = (
        LocalModelServer("ollama", 1),
        LocalModelServer("lmstudio"),
        LocalModelServer("llamacpp"),
    )
    told = [line.text for line in onboarding_lines(SetupFindings((), servers))]
    assert told[1] == (
        f"{NO_KEY} ollama is running with 1 model. No answer from lmstudio, llamacpp."
    )


def test_without_a_model_all_of_the_first_screen_fits_in_80_columns_and_24_rows(
    stage: Stage,
) -> None:
    proposed(stage, greeting=b"hello\n")
    stage.script(turn("Hello."), *[turn("Hello.")] * 3)
    for number in range(MAX_SESSIONS + 1):
        stage.run("-p", "--model", stage.model, f"Goal number {number}")
    stage.path.unlink()

    async def act(seat: Seat) -> None:
        await seat.shows(DEMO)
        await seat.shows("more: /sessions")
        await seat.rest()
        text = seat.text()
        shown = ("Assent", "plan mode", NO_MODEL_YET, DEMO, USABLE, "Plan", "Last sessions")
        rows = [row.strip() for row in text.splitlines()]
        places = [
            next(at for at, row in enumerate(rows) if row.startswith(words))
            for words in (*shown, HINTS[-1])
        ]
        assert places == sorted(places)
        assert "↪" not in text

    stage.show(act, size=(80, 24))


def test_below_what_a_command_said_it_is_told_without_a_model_too(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.shows(USABLE)
        assert HINTS[-1] not in seat.text()

    stage.show(act, StartOptions(told=("Told by a command.",)), size=(80, 24))


def test_a_key_that_is_stored_takes_away_that_there_is_no_model(stage: Stage) -> None:
    stage.script(turn("Hello."))
    stage.path.rename(stage.base / "model.json")

    async def act(seat: Seat) -> None:
        await seat.shows(NO_MODEL_YET)
        stage.config.write_text(f'model = "scripted:{stage.base}/model.json"\n', encoding="utf-8")
        seat.app.reload_settings()
        await seat.shows("plan mode · model.json")
        assert NO_MODEL_YET not in seat.text()

    stage.show(act)
