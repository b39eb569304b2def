"""The first start without any model: what was found, the next steps, and a screen that works."""

from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed

from assent.render.onboarding import LocalModelServer, SetupFindings, onboarding_lines
from assent.tui.panels.run import RunPanel


def test_without_any_key_the_screen_says_what_was_found_and_offers_the_demo(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.shows("No model available yet.")
        for words in (
            "No API key found in the environment.",
            "ANTHROPIC_API_KEY",
            "no answer",
            "export ANTHROPIC_API_KEY=",
            "F9 or /demo",
        ):
            await seat.shows(words)
        steps = ("/login", "assent login", "export ANTHROPIC_API_KEY", "ollama serve")
        places = [seat.text().index(words) for words in steps]
        assert places == sorted(places)  # what takes least comes first

    stage.show(act, size=(100, 40))


def test_without_a_model_words_are_refused_in_words_and_stay_in_the_history(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.shows("F9 or /demo")
        await seat.type("Do it")
        await seat.press("enter")
        await seat.shows("No model available: no API key is set")
        await seat.rest()
        await seat.press("up")
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
        await seat.shows("API keys found: OPENAI_API_KEY")
        await seat.shows("nobody")
        assert "sk-very" not in seat.text()

    stage.show(act, size=(100, 40))


def test_what_was_found_is_told_by_signs_and_words() -> None:
    servers = (
        LocalModelServer("ollama", "http://127.0.0.1:11434/v1", 1),
        LocalModelServer("lmstudio", "http://127.0.0.1:1234/v1"),
    )
    found = SetupFindings((), ("A_KEY",), servers)
    told = [line.text for line in onboarding_lines(found)]
    assert "ollama    http://127.0.0.1:11434/v1  running, 1 model" in told
    assert "lmstudio  http://127.0.0.1:1234/v1   no answer" in told
