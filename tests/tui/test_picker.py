"""Lists to choose from: filtering, moving, previews; plans and sessions by them."""

from collections.abc import Sequence
from typing import cast

import pytest
from tests.cli.scripts import PLANS, turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed

from assent.core.llm import TextPart
from assent.core.session.event import MessageAdded
from assent.render.lines import Line
from assent.tui.commands.registry import COMMANDS
from assent.tui.fuzzy import fuzzy_matches
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.help import CommandPalette
from assent.tui.panels.panel import ConfirmPanel
from assent.tui.panels.picker import Picker, PickerRow, list_sections
from assent.tui.panels.plan_list import HistoryPanel, PlanList
from assent.tui.panels.session_list import RewindPanel, SessionList
from assent.tui.panels.setting_list import AgentList
from assent.tui.panels.text_input import TextInputPanel


class Fruit(Picker):
    """A list that needs no engine."""

    heading = "Fruit"
    previews = True

    def rows(self) -> Sequence[PickerRow]:
        return [
            PickerRow("apple", ("apple", "red"), "trees"),
            PickerRow("pear", ("pear", "green"), "trees"),
            PickerRow("melon", ("melon", "green"), "fields"),
        ]

    def preview(self, row: PickerRow) -> Sequence[Line]:
        return [Line("plain", f"All about the {row.key}")]


def names(picker: Picker) -> list[str]:
    return [row.key for row in picker._shown]


async def picked(seat: Seat, *keys: str) -> list[str | None]:
    """Opens the list of fruit, presses keys, and returns what it ended with."""
    ended: list[str | None] = []
    seat.app.open_panel(Fruit(), ended.append)
    await seat.opened(Fruit)
    await seat.press(*keys)
    await seat.until(lambda: ended)
    return ended


CHOSEN: tuple[tuple[tuple[str, ...], str | None], ...] = (
    (("enter",), "apple"),
    (("down", "enter"), "pear"),
    (("down", "down", "down", "enter"), "melon"),
    (("end", "up", "enter"), "pear"),
    (("end", "home", "enter"), "apple"),
    (("pagedown", "enter"), "melon"),
    (("g", "r", "e", "enter"), "pear"),
    (("f", "i", "e", "l", "enter"), "melon"),
    (("m", "l", "n", "enter"), "melon"),
    (("z", "backspace", "enter"), "apple"),
    (("z", "z", "ctrl+u", "down", "enter"), "pear"),
    (("escape",), None),
)  # keys, and what is chosen by them


def test_keys_move_filter_and_choose(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        for keys, found in CHOSEN:
            assert await picked(seat, *keys) == [found], keys

    stage.show(act)


@pytest.mark.parametrize(("width", "beside"), [(140, True), (80, False)])
def test_a_preview_stands_beside_the_list_where_there_is_room(
    stage: Stage, width: int, beside: bool
) -> None:
    async def act(seat: Seat) -> None:
        seat.app.open_panel(Fruit())
        await seat.opened(Fruit)
        await seat.press("down")
        await seat.until(lambda: seat.app.quiet)
        await seat.until(lambda: ("All about the pear" in seat.text()) is beside)
        for words in ("Fruit", "trees", "fields", "melon", "Esc close"):
            await seat.shows(words)

    stage.show(act, size=(width, 24))


def test_nothing_is_chosen_where_nothing_fits(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.open_panel(Fruit())
        await seat.opened(Fruit)
        await seat.press("q", "q", "enter")
        await seat.shows("No matches. Backspace widens")
        assert isinstance(seat.app.screen, Fruit)

    stage.show(act)


def test_rows_are_cut_to_their_room_and_say_so() -> None:
    rows = [PickerRow("a", ("one", "x" * 40), "group"), PickerRow("b", ("another", "y"), "group")]
    assert [(sheet.key, sheet.lines[0].text) for sheet in list_sections(rows, 20)] == [
        ("group:group", "group"),
        ("a", "one      xxxxxxxxxx…"),
        ("b", "another  y"),
    ]


@pytest.mark.parametrize(
    ("query", "ranked", "found"),
    [
        ("", False, [0, 1, 2]),
        ("plan", False, [0, 1]),
        ("plan", True, [0, 1]),
        ("me", True, [2]),
        ("pls", False, [1]),
        ("plans choose", False, [1]),
        ("zz", False, []),
        ("", True, [0, 1, 2]),
        ("pln", True, [0, 1]),
        ("mo", False, [0, 1, 2]),
        ("mo", True, [2, 0, 1]),
        ("told", True, [2]),
        ("tod", True, [2]),
        ("zz", True, []),
    ],
)
def test_a_few_letters_find_what_is_meant(query: str, ranked: bool, found: list[int]) -> None:
    texts = ["/plan plan mode on", "/plans choose among plans", "/memory what is told"]
    names = [text.split()[0] for text in texts] if ranked else []
    assert fuzzy_matches(query, texts, names, abbreviates=ranked) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("plan", [3, 2, 4, 0]),  # exact, prefix, within, description
        ("pla", [2, 3, 4, 5, 0]),
        ("explain it", [5]),
        ("zzz", []),
    ],
)
def test_a_name_that_matches_comes_before_a_description(query: str, found: list[int]) -> None:
    names = ["build", "pile on", "planner", "plan", "re-plan", "explain"]
    about = ["carries out a plan", "up", "plans", "first", "again", "explain it"]
    texts = [f"{name} {words}" for name, words in zip(names, about, strict=True)]
    assert fuzzy_matches(query, texts, names) == found


def test_a_match_in_a_name_is_first_and_groups_stay_together() -> None:
    picker = Picker()
    picker._all = (
        PickerRow("1", ("build", "carries out a plan"), "own", name="build"),
        PickerRow("2", ("review", "reads plans"), "other", name="review"),
        PickerRow("3", ("plan", "thinks"), "other", name="plan"),
        PickerRow("4", ("plan-b", "thinks again"), "own", name="plan-b"),
    )
    picker._query = "plan"
    picker._fit()
    assert names(picker) == ["3", "2", "4", "1"]


def test_the_agent_whose_name_is_typed_is_chosen(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.rest()
        seat.app.run_slash("/agent")
        await seat.opened(AgentList)
        await seat.press(*"plan")
        assert names(cast(Picker, seat.app.screen))[0] == "plan"

    stage.show(act)


@pytest.mark.parametrize(
    ("query", "first"),
    [("thm", "/theme"), ("the", "/theme"), ("mod", "/mode"), ("rnm", "/rename"), ("sts", "/status"),
     ("tokens", "/cost"), ("models", "/model")],
)  # fmt: skip
def test_a_command_is_found_by_its_name_before_what_is_said_of_others(
    query: str, first: str
) -> None:
    palette = CommandPalette(COMMANDS, ())
    palette._all = tuple(palette.rows())
    palette._query = query
    palette._fit()
    assert names(palette)[0] == first


def test_f29_plans_are_grouped_by_session_newest_first_with_state_and_time(stage: Stage) -> None:
    stage.ok("plan", "new", "first", "--session", "bread")
    stage.ok("plan", "new", "second", "--session", "tea")
    proposed(stage, greeting=b"hello\n")
    stage.ok("plan", "new", "third", "--session", "bread")

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/plans")
        picker = await seat.opened(PlanList)
        rows = [(row.group, row.cells[0].strip(), row.cells[1]) for row in picker._shown]
        assert rows[0] == ("bread", "* third", "Draft")
        assert rows[1] == ("bread", "first", "Draft")
        assert [group for group, _, _ in rows][:2] == ["bread", "bread"]
        assert ("Waiting for approval") in [state for _, _, state in rows]
        assert {row.cells[2].split()[-1] for row in picker._shown} <= {"now", "ago"}
        assert all(row.cells[3].endswith(".md") for row in picker._shown)
        for words in ("bread", "tea", "Waiting for approval"):
            await seat.shows(words)

    stage.show(act)


def test_f29_f30_choosing_a_plan_makes_it_current_and_the_model_is_told(stage: Stage) -> None:
    stage.script(turn("Hello."), turn("I see."))
    other = stage.ok("plan", "new", "other", "--session", "tea")["plan_id"]
    stage.ok("plan", "write", "-", stdin=b"# Tea\n\nBoil water.\n")

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        seat.app.run_slash("/plans")
        picker = await seat.opened(PlanList)
        await seat.type("other")
        await seat.until(lambda: names(picker) == [other])
        await seat.press("enter")
        await seat.shows("Plan other selected.")
        assert seat.app.engine.plans.find().plan_id == other
        await seat.until(
            lambda: seat.app.status_snapshot.plan and seat.app.status_snapshot.plan.name == "other"
        )
        await seat.say("Go on")
        record = seat.app.session_controller.record
        assert record is not None
        events = [each.event for each in seat.app.engine.sessions.events(record)]
        told = [
            part.text
            for event in events
            if isinstance(event, MessageAdded) and event.synthetic
            for part in event.parts
            if isinstance(part, TextPart)
        ]
        assert any("PLAN_other.md" in text for text in told)
        assert seat.app.engine.sessions.load(record.session).plan_id == other

    stage.show(act)


def test_f29_a_plan_is_reviewed_looked_back_at_and_deleted_from_the_list(stage: Stage) -> None:
    proposed(stage, greeting=b"hello\n")
    plan = stage.ok("plan", "show")

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/plans")
        picker = await seat.opened(PlanList)
        await seat.press("ctrl+t")
        await seat.opened(ApprovalPanel)
        await Reader(seat).press("escape")
        await seat.opened(PlanList)
        await seat.press("ctrl+l")
        await seat.opened(HistoryPanel)
        await seat.press("escape")
        await seat.opened(PlanList)
        await seat.press("delete")
        await seat.opened(ConfirmPanel)
        await seat.press("enter", "escape")
        await seat.opened(PlanList)
        assert names(picker) == [plan["plan_id"]]
        await seat.press("delete")
        await seat.opened(ConfirmPanel)
        await seat.press("ctrl+y")
        await seat.opened(PlanList)
        await seat.until(lambda: names(picker) == [])
        await seat.shows("Plan work deleted.")

    stage.show(act)
    assert stage.ok("plan", "list")["plans"] == []


def test_f29_ctrl_g_opens_the_editor_and_the_change_is_reviewed_anew(stage: Stage) -> None:
    proposed(stage, greeting=b"hello\n")
    before = stage.ok("plan", "show")["digest"]
    stage.env["VISUAL"] = "sh -c 'echo Changed >> \"$1\"' editor"

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/plans")
        await seat.opened(PlanList)
        await seat.press("ctrl+g")
        panel = await seat.opened(ApprovalPanel)
        await seat.until(lambda: panel.digest() not in ("", before))

    stage.show(act)


def test_f147_sessions_are_forked_renamed_deleted_and_gone_on_with(stage: Stage) -> None:
    stage.script(turn("Hello."), turn("Hello again."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        seat.app.run_slash("/sessions")
        picker = await seat.opened(SessionList)
        await seat.press("ctrl+x")
        await seat.shows("start another one with /new first")
        await seat.press("ctrl+f")
        await seat.until(lambda: len(names(picker)) == 2)
        await seat.type("say-hello-2")
        await seat.until(lambda: len(names(picker)) == 1)
        await seat.press("ctrl+e")
        await seat.opened(TextInputPanel)
        await seat.press("ctrl+a", *"Other", "enter")
        await seat.opened(SessionList)
        await seat.shows("Other")
        await seat.press("enter")
        await seat.until(lambda: seat.app.slug == "say-hello-2")
        await seat.rest()
        await seat.shows("Hello.")
        seat.app.run_slash("/sessions")
        picker = await seat.opened(SessionList)
        await seat.press("end", "delete")
        await seat.opened(ConfirmPanel)
        await seat.press("ctrl+y")
        await seat.opened(SessionList)
        await seat.until(lambda: len(names(picker)) == 1)

    stage.show(act)
    assert [row["slug"] for row in stage.ok("sessions", "list")["sessions"]] == ["say-hello-2"]


def test_f148_going_back_puts_the_words_into_the_prompt_and_names_runs_since(stage: Stage) -> None:
    stage.script(*PLANS, turn("Done."), turn("Something else."))

    async def act(seat: Seat) -> None:
        await seat.say("Greet somebody")
        reader = Reader(seat)
        await seat.opened(ApprovalPanel)
        await reader.reads()
        await reader.to_the_end()
        await reader.press("1", "y")
        await seat.until(lambda: seat.app.run_controller.report is not None)
        await seat.rest()
        seat.app.pop_screen()
        await seat.press("escape")
        await seat.press("escape")
        await seat.opened(RewindPanel)
        await seat.press("enter")
        await seat.opened(ConfirmPanel)
        await seat.shows("Files changed since then. To undo:")
        await seat.press("enter", "escape")
        await seat.opened(RewindPanel)
        assert seat.app.session_controller.record is not None
        assert seat.app.session_controller.record.messages > 0
        await seat.press("enter")
        await seat.opened(ConfirmPanel)
        await seat.press("ctrl+y")
        await seat.shows("Rewound.")
        await seat.shows("/undo ")
        assert seat.app.prompt.text == "Greet somebody"
        assert seat.app.session_controller.record is not None
        assert seat.app.session_controller.record.messages == 0

    stage.show(act)
