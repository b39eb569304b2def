"""A skill on the screen: loading one can be asked about, and is shown like any call."""

from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.test_question import asked, press

from assent.tui.host import StartOptions

LOAD = ("skill", {"name": "tidy"})
ASKS = '\n[permission]\nskill = "ask"\n'
TEXT = "---\nname: tidy\ndescription: Knows how to tidy\n---\n\nSort the imports.\n"


def test_f137_a_rule_asks_before_a_skill_is_loaded(stage: Stage) -> None:
    folder = stage.config.parent / "skills" / "tidy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT, encoding="utf-8")
    (folder / "SKILL.md").chmod(0o644)
    stage.config.write_text(stage.config.read_text("utf-8") + ASKS, encoding="utf-8")
    stage.script(turn("", LOAD), turn("Tidied."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Tidy up")
        await seat.shows("Allow loading the skill tidy?")
        await press(seat, "end", "y", "enter", "ctrl+y")
        await seat.shows("Tidied.")
        await seat.rest()
        await seat.shows("skill tidy")
        record = seat.app.session_controller.record
        assert record is not None
        messages = seat.app.engine.sessions.transcript(record).messages
        assert "Sort the imports." in str(messages)

    stage.show(act, StartOptions(mode="ask"))
