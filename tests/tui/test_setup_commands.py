"""`/config` and `/login`: settings and keys from the screen, by the code of the command line."""

import json
import stat
import tomllib
from contextlib import closing

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from textual.events import Paste

from assent.cli.tui import DemoScreenHost
from assent.core.errors import Refused
from assent.tui.commands.setup import COUNTS
from assent.tui.panels.key_input import EMPTY, KeyInputPanel
from assent.tui.panels.setting_list import ConfigList, ProviderList

KEY = "sk-a-key-typed-on-the-screen-0123456789"
NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


def test_a_setting_is_found_changed_and_counts_at_once(stage: Stage) -> None:
    stage.config.write_text(f"# mine\n{stage.config.read_text('utf-8')}", encoding="utf-8")
    stage.put(".opencode/assent.toml", b"[plan]\nexport = 'OURS.md'\n")

    async def act(seat: Seat) -> None:
        await seat.shows("F9 or /demo")  # comes by itself, below what is there
        assert not seat.app.host.verifies
        seat.app.run_slash("/config")
        await seat.opened(ConfigList)
        await seat.type("plan.export")
        await seat.until(lambda: "OURS.md" in seat.text() and "project" in seat.text())
        await seat.press("ctrl+u")
        await seat.type("verify.after_build")
        await seat.press("enter")
        await seat.until(lambda: seat.app.prompt.text == "/config set verify.after_build false")
        await seat.press(*["backspace"] * len("false"))
        await seat.type("true")
        await seat.press("enter")
        await seat.shows(COUNTS[:40])
        await seat.until(lambda: seat.app.host.verifies)
        seat.app.run_slash("/config get verify.after_build")
        await seat.rest()
        await seat.type("/config set mode ask")
        await seat.press("enter")
        await seat.until(lambda: seat.app.status_snapshot.mode == "ask")
        seat.app.run_slash("/config unset mode")
        await seat.until(lambda: seat.app.status_snapshot.mode == "plan")

    stage.show(act)
    text = stage.config.read_text("utf-8")
    assert text.startswith("# mine\n")
    assert tomllib.loads(text)["verify"]["after_build"] is True
    assert "mode" not in tomllib.loads(text)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/config set mode maybe", "Nothing was changed."),
        ("/config set nope 1", "nope"),
        ("/config set mode", "Name the setting, and for set its value."),
        ("/config plan.nope", "There is no setting plan.nope."),
        ("/config mode ask", "/config takes no argument"),
    ],
)
def test_what_cannot_be_set_says_why_and_changes_nothing(
    stage: Stage, line: str, told: str
) -> None:
    before = stage.config.read_bytes()

    async def act(seat: Seat) -> None:
        await seat.shows("F9 or /demo")  # comes by itself, below what is there
        seat.app.run_slash(line)
        await seat.shows(told)
        assert COUNTS[:40] not in seat.text()

    stage.show(act)
    assert stage.config.read_bytes() == before


def test_a_key_is_stored_and_used_and_stands_nowhere_else(stage: Stage) -> None:
    stage.env |= NO_KEYRING
    told: list[str] = []

    async def act(seat: Seat) -> None:
        await seat.shows("No model available yet.")
        seat.app.run_slash("/login")
        await seat.opened(ProviderList)
        await seat.type("openai")
        await seat.press("enter")
        await seat.opened(KeyInputPanel)
        await seat.type(KEY[:5])
        await seat.shows("5 characters entered.")
        seat.app.post_message(Paste(f"{KEY[5:]}\n"))
        await seat.shows(f"{len(KEY)} characters entered.")
        told.append(seat.text() + seat.svg())
        await seat.press("enter")
        await seat.shows("Key for openai stored in the credentials file")
        await seat.until(lambda: seat.app.status_snapshot.model.startswith("openai/"))
        await seat.press("up")
        told.append(seat.text() + seat.app.prompt.text + "".join(seat.app.prompt.history.entries))
        seat.app.add_note(f"It says {KEY} somewhere.")

    stage.show(act, size=(100, 40))
    credentials = stage.config.with_name("credentials")
    assert json.loads(credentials.read_text("utf-8"))["keys"] == {"openai": KEY}
    assert stat.S_IMODE(credentials.stat().st_mode) == 0o600
    assert all(KEY not in text and KEY[5:] not in text for text in told)
    others = [path for path in stage.base.rglob("*") if path.is_file() and path != credentials]
    assert [path for path in others if KEY.encode() in path.read_bytes()] == []


def test_a_key_pasted_right_after_the_command_is_no_text_of_the_prompt(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.shows("F9 or /demo")  # comes by itself, below what is there
        seat.app.run_slash("/login openai")
        seat.app.post_message(Paste(KEY))  # before the panel was in sight
        await seat.opened(KeyInputPanel)
        assert (seat.app.prompt.text, KEY in seat.text()) == ("", False)
        await seat.press("enter")  # nothing was entered: nothing is stored
        await seat.shows(EMPTY)
        await seat.press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)

    stage.show(act)
    assert not stage.config.with_name("credentials").exists()


def test_an_unknown_provider_and_a_key_on_the_line_are_refused(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/login opnai")
        await seat.shows("Did you mean openai?")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        seat.app.run_slash(f"/login openai {KEY}")
        await seat.shows("/login takes a provider alone")
        assert len(seat.app.screen_stack) == 1

    stage.show(act)


def test_no_key_is_stored_in_a_project(stage: Stage) -> None:
    inside = stage.root / "settings" / "assent"
    inside.mkdir(parents=True)
    stage.env["XDG_CONFIG_HOME"] = str(inside.parent)
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/login openai")
        await seat.shows("Nothing was stored.")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)

    stage.show(act)
    assert list(inside.iterdir()) == []


def test_the_demo_stores_no_key(stage: Stage) -> None:
    with stage.here(), closing(DemoScreenHost()) as host, pytest.raises(Refused):
        host.login("openai", KEY)
