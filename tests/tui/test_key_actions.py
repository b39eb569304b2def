"""The keys of the screen: what each does, and what it never does."""

from functools import partial

import pytest
from tests.cli.scripts import turn, write
from tests.tui.harness import Seat, Stage

from assent.core.permission.mode import CustomMode
from assent.tui.app import TerminalApp
from assent.tui.host import ScreenHost, StartOptions
from assent.tui.key_actions import next_mode
from assent.tui.keys import KEYS

CUSTOM = '\n[modes.docs]\nbase = "plan"\n[modes.wild]\nbase = "yolo"\n'


class Listening(TerminalApp):
    """A screen that only writes down which slash commands it would run."""

    def __init__(self, host: ScreenHost, start: StartOptions | None = None) -> None:
        super().__init__(host, start)
        self.ran: list[str] = []

    def run_slash(self, text: str) -> None:
        self.ran.append(text)


def ran(seat: Seat) -> list[str]:
    assert isinstance(seat.app, Listening)
    return seat.app.ran


def in_mode(seat: Seat, mode: str) -> bool:
    return status(seat).startswith(f" {mode} ")


def status(seat: Seat) -> str:
    return seat.text().splitlines()[-1]


def test_f2_shift_tab_cycles_the_modes_and_never_reaches_yolo(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seen = [status(seat).split()[0]]
        for _ in range(3):
            await seat.press("shift+tab")
            await seat.until(lambda: not status(seat).startswith(f" {seen[-1]} "))
            seen.append(status(seat).split()[0])
        assert seen == ["plan", "ask", "auto-edit", "plan"]

    stage.show(act)


def test_f2_f4_the_mode_of_a_session_is_stored_and_seen_at_once(stage: Stage) -> None:
    stage.script(turn("Hello."), turn("Again."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        await seat.press("shift+tab")
        await seat.until(lambda: status(seat).startswith(" ask "))
        await seat.shows("· Mode ask")

    stage.show(act)
    assert stage.ok("sessions", "list")["sessions"][0]["mode"] == "ask"


MODES = {
    "docs": CustomMode("docs", "plan"),
    "careful": CustomMode("careful", "auto-edit"),
    "wild": CustomMode("wild", "yolo"),
}


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("plan", "docs"),
        ("docs", "ask"),
        ("ask", "auto-edit"),
        ("auto-edit", "careful"),
        ("careful", "plan"),
        ("yolo", "plan"),
        ("wild", "plan"),
        ("gone", "plan"),
    ],
)
def test_f2_modes_of_ones_own_stand_beside_their_base(now: str, then: str) -> None:
    assert next_mode(now, MODES) == then


def test_f3_slash_commands_change_the_mode(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        for typed, mode in (
            ("/plan off", "ask"),
            ("/mode auto-edit", "auto-edit"),
            ("/plan", "plan"),
        ):
            await seat.type(typed)
            await seat.press("escape", "enter")
            await seat.until(partial(in_mode, seat, mode))
        await seat.type("/mode wilder")
        await seat.press("escape", "enter")
        await seat.shows("Mode 'wilder' not found.")

    stage.show(act)


def test_f4_the_mode_is_seen_at_80_columns_beside_everything_else(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        await seat.until(lambda: "script.json" in status(seat) and "cost " in status(seat))
        told = status(seat)
        assert told.startswith(" plan │ ")
        for words in ("plan", "script.json", "no plan", "tok" if "tok" in told else "out", "cost "):
            assert words in told

    stage.show(act, size=(80, 24))


def test_f5_the_screen_starts_in_plan_mode_and_what_a_writer_does_is_staged(stage: Stage) -> None:
    stage.script(turn("", write("a.txt", "a\n")), turn("Staged."))

    async def act(seat: Seat) -> None:
        assert status(seat).startswith(" plan ")
        await seat.say("Write it")
        await seat.shows("✓ write a.txt · +1 · new file · staged")

    stage.show(act)
    assert stage.files() == {}


@pytest.mark.parametrize("way", ["a flag", "the settings"])
def test_f5_flag_and_settings_decide_the_mode_of_a_new_session(stage: Stage, way: str) -> None:
    if way == "the settings":
        stage.config.write_text('mode = "ask"\n', encoding="utf-8")

    async def act(seat: Seat) -> None:
        await seat.until(lambda: status(seat).startswith(" ask "))

    stage.show(act, StartOptions(mode="ask" if way == "a flag" else ""))


def test_escape_interrupts_the_turn_and_what_was_said_is_kept(stage: Stage) -> None:
    stage.script(turn("I begin.", delay_ms=0), turn("Never.", delay_ms=600_000))

    async def act(seat: Seat) -> None:
        await seat.say("First")
        seat.app.say("Second")
        await seat.until(lambda: seat.app.session_controller.at_work)
        await seat.shows("The model is working")
        await seat.press("escape")
        await seat.rest()
        await seat.shows("You interrupted the turn.")
        await seat.until(lambda: "working" not in status(seat))

    stage.show(act)


def test_escape_twice_goes_back_and_once_only_says_so(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        await seat.press("escape")
        await seat.shows("Esc again to rewind")
        assert ran(seat) == []
        await seat.press("escape")
        assert ran(seat) == ["/rewind"]

    stage.show(act, app=Listening)


def test_ctrl_c_clears_what_is_typed_and_only_then_twice_leaves(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.type("half a")
        await seat.press("ctrl+c")
        assert seat.app.prompt.text == ""
        assert "Ctrl+C again to exit" not in seat.text()
        await seat.press("ctrl+c")
        assert seat.app.return_value is None
        await seat.shows("Ctrl+C again to exit")
        await seat.press("ctrl+c")
        await seat.until(lambda: seat.app.return_value == 0)

    assert stage.show(act) == 0


def test_ctrl_d_leaves_only_where_nothing_is_typed(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.type("x")
        await seat.press("ctrl+d")
        assert seat.app.return_value is None
        await seat.press("backspace", "ctrl+d")
        await seat.until(lambda: seat.app.return_value == 0)

    assert stage.show(act) == 0


def test_a_question_mark_in_an_empty_prompt_asks_for_help(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.press("question_mark")
        assert ran(seat) == ["/help"]
        await seat.type("why")
        await seat.press("question_mark")
        assert seat.app.prompt.text == "why?"

    stage.show(act, app=Listening)


@pytest.mark.parametrize(("width", "beside"), [(120, True), (80, False)])
def test_ctrl_b_shows_and_hides_the_side_area(stage: Stage, width: int, beside: bool) -> None:
    async def act(seat: Seat) -> None:
        def seen() -> bool:
            return "No plan yet." in seat.text()

        await seat.until(lambda: seen() is beside)
        await seat.press("ctrl+b")
        await seat.until(lambda: seen() is not beside)
        await seat.press("ctrl+b")
        await seat.until(lambda: seen() is beside)

    stage.show(act, size=(width, 24))


def test_ctrl_o_unfolds_reasoning_and_results_and_folds_them_again(stage: Stage) -> None:
    stage.put("a.txt", b"".join(b"line %d\n" % n for n in range(1, 6)))
    stage.script(turn("", ("read", {"path": "a.txt"}), reasoning="First.\nThen."), turn("Read."))

    async def act(seat: Seat) -> None:
        await seat.say("Read it")
        await seat.shows("~ thought: First. (2 lines, Ctrl+O)")
        assert "Then." not in seat.text()
        assert "line 5" not in seat.text()
        await seat.press("ctrl+o")
        await seat.shows("│ Then.")
        await seat.shows("line 5")
        await seat.press("ctrl+o")
        await seat.until(lambda: "line 5" not in seat.text())

    stage.show(act)


def test_every_key_of_the_table_is_told_and_bound_once() -> None:
    bound = [key for row in KEYS for key in row.keys.split(",") if row.action]
    assert len(bound) == len(set(bound))
    assert all(row.what and row.shown for row in KEYS)


def test_the_side_area_over_the_prompt_has_the_keys_and_escape_closes_it(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.press("ctrl+b")
        await seat.shows("[1 Plan]")
        await seat.until(lambda: "LineView" in repr(seat.app.focused))
        await seat.press("4")
        await seat.shows("[4 Context")
        await seat.press("escape")
        await seat.until(lambda: "Context" not in seat.text())
        await seat.type("again")
        assert seat.app.prompt.text == "again"

    stage.show(act, size=(80, 24))


def seen_focus(seat: Seat) -> str:
    """Returns which part of the screen has the keys."""
    return str(seat.app.focused.id if seat.app.focused else None)


@pytest.mark.parametrize("width", [80, 105])
def test_a_prompt_under_the_side_area_never_gets_keys(stage: Stage, width: int) -> None:
    async def act(seat: Seat) -> None:
        async def covered() -> None:
            await seat.press("ctrl+b")
            await seat.until(lambda: seen_focus(seat) == "side-plan")

        await seat.type("draft")
        await covered()
        assert "draft" not in seat.text()
        seat.app.prompt.focus_text()
        await seat.pilot.click(offset=(1, 22))
        await seat.type("q 34")
        await seat.press("enter")
        assert seen_focus(seat) == "side-context"
        await seat.press("1", "tab")
        await seat.until(lambda: seen_focus(seat) == "prompt-text")
        await seat.shows("> draft")
        await covered()
        await seat.press("ctrl+c")
        await seat.until(lambda: seen_focus(seat) == "prompt-text")
        await covered()
        await seat.resize(width - 1, 24)
        await seat.until(lambda: seen_focus(seat) == "prompt-text")
        await seat.type("ed")
        await seat.shows("> drafted")
        assert seat.app.prompt.text == "drafted"

    stage.show(act, size=(width, 24))
