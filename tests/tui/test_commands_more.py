"""Slash commands with care: yolo, words of one's own, editors, doctors, and what rings."""

from math import inf
from pathlib import Path

import pytest
from tests.cli.harness import TRUSTING
from tests.cli.scripts import PLANS, turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed
from tests.tui.test_question import asked
from textual.events import AppBlur, AppFocus

from assent.tui.app import TerminalApp
from assent.tui.commands.registry import COMMANDS
from assent.tui.host import ScreenHost, StartOptions
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.decision import DecisionPanel
from assent.tui.panels.help import CommandPalette
from assent.tui.panels.panel import ConfirmPanel, LinesPanel
from assent.tui.panels.setting_list import AgentList, ModelList, ThemeList
from assent.tui.panels.waiting_list import WaitingList

ASKS = (
    "question",
    {
        "questions": [
            {"header": "Colour", "question": "Which colour?", "options": [{"label": "Red"}]}
        ]
    },
)


def rests(seat: Seat) -> bool:
    """Tells whether no panel is open, or one that has something to show."""
    panel = seat.app.screen
    loading = isinstance(panel, DecisionPanel) and panel.standing.stage is At.LOADING
    return seat.app.quiet and getattr(panel, "ready_at", 0.0) < inf and not loading


def mode(seat: Seat) -> str:
    return seat.text().splitlines()[-1].split()[0]


async def typed(seat: Seat, line: str) -> None:
    """Types a command and sends it, whatever is offered for it."""
    await seat.type(line)
    await seat.press("escape", "enter")


@pytest.mark.parametrize("name", ["yolo", "wild"])
def test_f3_yolo_takes_words_and_a_key_that_is_not_enter(tmp_path: Path, name: str) -> None:
    stage = Stage(tmp_path, TRUSTING + '\n[modes.wild]\nbase = "yolo"\n')

    async def act(seat: Seat) -> None:
        await typed(seat, f"/mode {name}")
        await seat.opened(ConfirmPanel)
        await seat.shows("without asking you")
        await seat.press("enter", "space", "n", "y")
        assert isinstance(seat.app.screen, ConfirmPanel)
        await seat.press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        await seat.rest()
        assert mode(seat) == "plan"
        await typed(seat, f"/mode {name}")
        await seat.opened(ConfirmPanel)
        await seat.press("ctrl+y")
        await seat.until(lambda: mode(seat) == name)
        await seat.press("shift+tab")
        await seat.until(lambda: mode(seat) == "plan")

    stage.show(act)


IMPOSSIBLE = (
    ("/moed plan", "Unknown command /moed. Did you mean /mode?"),
    ("/zzzzzz", "Unknown command /zzzzzz."),
    ("/mode wilder", "Mode 'wilder' not found."),
    ("/plan maybe", "/plan takes on or off"),
    ("/rename", "Enter a title for the session."),
    ("/rename A title", "No session is open. Send a message"),
    ("/rewind", "No messages yet; nothing to rewind to."),
    ("/compact", "No session is open. Send a message"),
    ("/export", "No session is open. Send a message"),
    ("/remember", "Say what to remember."),
    ("/theme neon", "Theme 'neon' not found."),
    ("/theme drak", "Theme 'drak' not found. Did you mean dark?"),
    ("/agent nobody", "Agent 'nobody' not found."),
    ("/agent biuld", "Agent 'biuld' not found. Did you mean build?"),
    ("/agent biuld", "next: /agent"),
    ("/model nobody/nothing", "nobody/nothing is not a known model."),
    ("/resume nowhere", "Session 'nowhere' not found."),
    ("/history nothing", "Plan 'nothing' not found."),
    ("/build nothing", "Plan 'nothing' not found."),
    ("/rules 'x", "Cannot parse this line"),
    ("/diff 3", "No session is open, so there are no turns"),
)  # what is typed, and what it is answered with


def test_what_cannot_be_done_is_said_in_words(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        for line, said in IMPOSSIBLE:
            seat.app.run_slash("/clear")
            await seat.until(lambda said=said: seat.app.quiet and said not in seat.text())
            await typed(seat, line)
            await seat.shows(said)
            assert seat.app.messages.mishaps == [], line

    stage.show(act, size=(110, 40))


def test_commands_of_ones_own_are_offered_and_said(stage: Stage) -> None:
    own = stage.config.parent / "commands" / "greet.md"
    own.parent.mkdir()
    own.write_text("---\ndescription: Greets\n---\nGreet $ARGUMENTS politely.\n", encoding="utf-8")
    stage.script(turn("Good evening."))

    async def act(seat: Seat) -> None:
        await seat.until(lambda: seat.app.own_commands)
        await seat.type("/gre")
        await seat.shows("Greets")
        await seat.press("tab")
        await seat.type("the baker")
        await seat.press("enter")
        await seat.shows("Good evening.")
        await seat.shows("> Greet the baker politely.")

    stage.show(act)


def test_the_palette_finds_by_letters_and_runs_or_fills_the_prompt(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.press("ctrl+p")
        await seat.opened(CommandPalette)
        await seat.type("theme")
        await seat.press("enter")
        await seat.opened(ThemeList)
        await seat.press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        await seat.press("ctrl+p")
        await seat.opened(CommandPalette)
        await seat.type("remember")
        await seat.press("enter")
        await seat.until(lambda: seat.app.prompt.text == "/remember ")

    stage.show(act)


def test_themes_are_seen_at_once_and_escape_brings_the_old_one_back(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.run_slash("/theme")
        await seat.opened(ThemeList)
        await seat.press("down")
        assert seat.app.theme_name == "light"
        await seat.press("escape")
        await seat.until(lambda: seat.app.theme_name == "dark")
        seat.app.run_slash("/theme")
        await seat.opened(ThemeList)
        await seat.type("plain")
        await seat.press("enter")
        await seat.until(lambda: seat.app.theme_name == "plain")

    stage.show(act)


def test_f95_f150_whatever_waits_is_listed_and_decided_from_the_list(stage: Stage) -> None:
    stage.script(turn("", ASKS), turn("Red it is."))
    proposed(stage, greeting=b"hello\n")

    async def act(seat: Seat) -> None:
        await asked(seat, "Paint it")
        await seat.press("escape")
        await typed(seat, "/waiting")
        picker = await seat.opened(WaitingList)
        assert [row.cells[0] for row in picker._shown] == ["plan", "question"]
        await seat.press("enter")
        await seat.opened(ApprovalPanel)
        await Reader(seat).press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        await typed(seat, "/waiting")
        await seat.opened(WaitingList)
        await seat.press("down", "enter")
        await asked(seat)
        await seat.shows("Which colour?")
        await seat.press("1", "enter")
        await seat.shows("Red it is.")

    stage.show(act)


def test_f95_questions_come_back_after_a_restart(stage: Stage) -> None:
    stage.script(turn("", ASKS), turn("Red it is."))

    async def first(seat: Seat) -> None:
        await asked(seat, "Paint it")
        await seat.press("escape")

    async def again(seat: Seat) -> None:
        await asked(seat)
        await seat.press("escape")
        await seat.shows("Tab answer")
        await typed(seat, "/questions")
        await asked(seat)
        await seat.shows("Which colour?")

    stage.show(first)
    stage.show(again, StartOptions(going_on=True))


def test_the_doctor_works_in_a_thread_and_says_so(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.run_slash("/doctor")
        await seat.shows("Checking the safeguards")
        await seat.until(lambda: seat.app.quiet)
        await seat.opened(LinesPanel)
        await seat.shows("held")
        assert seat.app.messages.mishaps == []

    stage.show(act, size=(120, 60))


def test_a_session_is_exported_by_the_command_line_and_nothing_is_replaced(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        seat.app.run_slash("/export told.md")
        await seat.shows("Wrote told.md")
        seat.app.run_slash("/export told.md")
        await seat.shows("written.")  # of "Nothing was written.", wherever the path ends

    stage.show(act)
    assert "Hello." in (stage.root / "told.md").read_text(encoding="utf-8")


def test_edit_opens_the_plan_of_the_session_and_it_is_a_new_plan_then(stage: Stage) -> None:
    stage.script(*PLANS)
    stage.env["VISUAL"] = "sh -c 'echo Changed >> \"$1\"' editor"

    async def act(seat: Seat) -> None:
        await seat.say("Greet somebody")
        panel = await seat.opened(ApprovalPanel)
        before = panel.digest()
        await Reader(seat).press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        await seat.press("ctrl+g")
        panel = await seat.opened(ApprovalPanel)
        await seat.until(lambda: panel.digest() not in ("", before))

    stage.show(act)


def test_clear_empties_the_screen_and_the_session_goes_on(stage: Stage) -> None:
    stage.script(turn("Hello."), turn("Again."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        slug = seat.app.slug
        await typed(seat, "/clear")
        await seat.until(lambda: "Hello." not in seat.text())
        await seat.press("ctrl+o")
        await seat.say("And again")
        await seat.shows("Again.")
        assert "Hello." not in seat.text()
        assert seat.app.slug == slug

    stage.show(act)


def test_exit_leaves(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await typed(seat, "/exit")
        await seat.until(lambda: seat.app.return_value == 0)

    assert stage.show(act) == 0


def test_a_model_is_chosen_and_asked_from_then_on(stage: Stage) -> None:
    stage.script(turn("First."), turn("Second."))
    other = stage.base / "other.json"
    other.write_bytes(stage.path.read_bytes().replace(b"Second", b"Another"))

    async def act(seat: Seat) -> None:
        await seat.say("Begin")
        seat.app.run_slash(f"/model scripted:{other}")
        await seat.shows("Model set to")
        await seat.say("Go on")
        await seat.shows("Another.")
        await seat.until(lambda: "other.json" in seat.text().splitlines()[-1])

    stage.show(act)


def test_models_are_listed_with_the_reason_why_they_can_be_used(stage: Stage) -> None:
    stage.env["OPENAI_API_KEY"] = "sk-0123456789abcdef0123456789"

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/model")
        picker = await seat.opened(ModelList)
        assert {row.group for row in picker._shown} == {"openai: OPENAI_API_KEY is set"}
        assert any("default" in row.cells for row in picker._shown)
        await seat.shows("OPENAI_API_KEY is set")

    stage.show(act)


def test_an_agent_is_chosen_from_the_list(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.run_slash("/agent")
        await seat.opened(AgentList)
        await seat.type("build")
        await seat.press("enter")
        await seat.shows("Agent set to build.")
        await seat.until(lambda: seat.app.status_snapshot.agent == "build")

    stage.show(act)


def test_every_command_has_words_in_a_folder_where_nothing_was_done_yet(stage: Stage) -> None:
    elsewhere = {"/demo", "/exit", "/doctor"}

    async def act(seat: Seat) -> None:
        for one in COMMANDS:
            if one.name not in elsewhere:
                seat.app.run_slash(one.name)
                await seat.until(lambda: seat.app.quiet and not seat.app.at_work)
                await seat.until(lambda: rests(seat))  # some close by themselves, with a word
                if len(seat.app.screen_stack) > 1:
                    await Reader(seat).press("escape")
                await seat.until(lambda: len(seat.app.screen_stack) == 1)
        assert seat.app.messages.mishaps == []

    stage.show(act)


class Ringing(TerminalApp):
    """A screen that only writes down what it would ring with."""

    def __init__(self, host: ScreenHost, start: StartOptions | None = None) -> None:
        super().__init__(host, start)
        self.rung: list[str] = []

    def ring(self, words: str) -> None:
        self.rung.append(words)


@pytest.mark.parametrize(
    ("config", "looks", "rung"),
    [
        ("", True, []),
        ("", False, ["A plan is waiting for your approval."]),
        ("\n[notify]\nafter_s = 0\n", True, ["A plan is waiting for your approval."]),
    ],
)
def test_f150_it_rings_only_where_nobody_looks_or_it_took_long(
    tmp_path: Path, config: str, looks: bool, rung: list[str]
) -> None:
    stage = Stage(tmp_path, TRUSTING + config)
    stage.script(*PLANS)

    async def act(seat: Seat) -> None:
        seat.app.post_message(AppFocus() if looks else AppBlur())
        await seat.until(lambda: seat.app.app_focus is looks)
        await seat.say("Greet somebody")
        await seat.opened(ApprovalPanel)
        assert isinstance(seat.app, Ringing)
        assert seat.app.rung == rung

    stage.show(act, app=Ringing)


def test_the_signal_is_what_the_settings_want(stage: Stage) -> None:
    stage.config.write_text('[notify]\nway = "bell"\n', encoding="utf-8")
    with stage.here():
        assert stage.host().signal("It is done") == "\x07"
    stage.config.write_text('[notify]\nway = "off"\n', encoding="utf-8")
    with stage.here():
        assert stage.host().signal("It is done") == ""
