"""Theme, sidebar and model are as the user last had them; a damaged file is no obstacle."""

from pathlib import Path

import msgspec
import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage

from assent.app.screen_choices import write_choices
from assent.config.screen_choices import ScreenChoices, read_choices


def test_theme_and_sidebar_are_remembered(stage: Stage) -> None:
    async def choose(seat: Seat) -> None:
        seat.app.run_slash("/theme light")
        await seat.press("ctrl+b")
        await seat.until(lambda: not seat.app.side_wanted)
        await seat.rest()

    async def again(seat: Seat) -> None:
        assert (seat.app.theme_name, seat.app.side_wanted) == ("light", False)
        assert not seat.app.screen_stack[0].has_class("side")

    stage.show(choose, size=(120, 30))
    stage.show(again, size=(120, 30))
    with stage.here():
        assert read_choices() == ScreenChoices("light", sidebar=False)


def test_no_color_counts_more_than_a_theme_of_another_screen(stage: Stage) -> None:
    with stage.here():
        write_choices(ScreenChoices("light"))
    stage.env["NO_COLOR"] = "1"

    async def act(seat: Seat) -> None:
        assert seat.app.theme_name == "plain"

    stage.show(act)


def test_a_model_is_remembered_until_the_configuration_names_another(stage: Stage) -> None:
    other = stage.base / "other.json"
    other.write_bytes(msgspec.json.encode({"turns": [turn("I am the other.")]}))
    first = stage.base / "first.json"
    first.write_bytes(msgspec.json.encode({"turns": [turn("I am the first.")]}))
    settings = stage.config.read_text("utf-8")
    stage.config.write_text(f'model = "scripted:{first}"\n{settings}', encoding="utf-8")

    async def choose(seat: Seat) -> None:
        await seat.rest()
        seat.app.run_slash(f"/model scripted:{other}")
        await seat.shows("Model set to")
        await seat.rest()

    async def again(seat: Seat) -> None:
        await seat.rest()
        await seat.say("Who are you?")
        await seat.shows("I am the other.")

    async def changed(seat: Seat) -> None:
        await seat.rest()
        await seat.say("Who are you?")
        await seat.shows("I am the third.")

    stage.show(choose)
    stage.show(again)
    third = stage.base / "third.json"
    third.write_bytes(msgspec.json.encode({"turns": [turn("I am the third.")]}))
    stage.config.write_text(f'model = "scripted:{third}"\n{settings}', encoding="utf-8")
    stage.show(changed)


@pytest.mark.parametrize("content", [b"", b"{", b'{"theme": 3}', b"x" * 20_000])
def test_what_cannot_be_read_is_as_if_nothing_was_chosen(stage: Stage, content: bytes) -> None:
    with stage.here():
        write_choices(ScreenChoices("light"))
        file = Path(stage.env["XDG_STATE_HOME"]) / "assent" / "screen.json"
        assert file.stat().st_mode & 0o777 == 0o600
        file.write_bytes(content)
        assert read_choices() == ScreenChoices()
