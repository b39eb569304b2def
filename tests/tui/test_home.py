"""What the screen shows before a session begins, and what leaving says."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import proposed
from tests.tui.scenes import PERMITTING

from assent.core.session.record import SessionRecord
from assent.render.lines import Line, time_ago
from assent.render.rows import session_state
from assent.tui.home import (
    HINTS,
    IDLE,
    MAX_SESSIONS,
    Home,
    SessionEntry,
    home_lines,
    short_folder,
)
from assent.tui.host import StartOptions
from assent.tui.status import StatusSnapshot

STANDING = StatusSnapshot(mode="ask", model="scripted:/somewhere/model.json")


def words(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


@pytest.mark.parametrize(
    ("path", "home", "shown"),
    [
        ("/home/eva/work", "/home/eva", "~/work"),
        ("/home/eva", "/home/eva", "~"),
        ("/home/evan", "/home/eva", "/home/evan"),
        ("/srv/work", "/home/eva/", "/srv/work"),
        ("/srv/work", "", "/srv/work"),
    ],
)
def test_a_folder_below_ones_own_is_short(path: str, home: str, shown: str) -> None:
    assert short_folder(path, home) == shown


@pytest.mark.parametrize(
    ("seconds", "ago"),
    [(0, "just now"), (150, "2 min ago"), (7200, "2 h ago"), (3 * 86_400, "3 d ago")],
)
def test_times_are_relative(seconds: int, ago: str) -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert time_ago((now - timedelta(seconds=seconds)).isoformat(), now.isoformat()) == ago


def test_the_first_lines_say_name_folder_branch_mode_and_model() -> None:
    told = words(home_lines(Home("~/work", "main"), STANDING))
    assert told[:3] == ["Assent", "~/work (main)", "ask mode · model.json"]
    assert told[-3:] == list(HINTS)


def test_sessions_are_listed_with_title_and_time() -> None:
    sessions = (SessionEntry("Fix the parser", " · waiting", "2 min ago"),)
    told = words(home_lines(Home("~/work", sessions=sessions, more=4), STANDING))
    assert "2 min ago  Fix the parser · waiting" in told
    assert "4 more: /sessions" in told
    assert len(told[told.index("4 more: /sessions") + 2 :]) == 3


def test_the_screen_opens_with_the_last_sessions_and_their_titles(stage: Stage) -> None:
    stage.script(turn("Hello."), *[turn("Hello.")] * 3)
    for number in range(MAX_SESSIONS + 1):
        stage.run("-p", "--model", stage.model, f"Goal number {number}")
    stage.ok("sessions", "rename", f"goal-number-{MAX_SESSIONS}", "A better title")

    async def act(seat: Seat) -> None:
        await seat.shows("Last sessions")
        text = seat.text()
        assert "just now  A better title" in text
        assert "Goal number 1" in text
        assert "Goal number 0" not in text
        assert "1 more: /sessions" in text
        assert "plan mode · script.json" in text
        await seat.press("shift+tab")
        await seat.shows("ask mode · script.json")
        await seat.say("Go")
        await seat.rest()
        assert "Last sessions" not in seat.text()
        assert "> Go" in seat.text()

    stage.show(act)


def test_what_waits_is_said_at_home(stage: Stage) -> None:
    stage.script(*PERMITTING)

    async def asked(seat: Seat) -> None:
        seat.app.say("Ask me")
        await seat.until(lambda: seat.app.status_snapshot.waiting)

    async def act(seat: Seat) -> None:
        await seat.shows("1 question waits for your answer: /waiting")
        await seat.shows("Ask me · waiting")

    stage.show(asked, StartOptions(mode="ask"))
    stage.show(act)


def test_a_plan_that_waits_is_said_at_home(stage: Stage) -> None:
    proposed(stage, "first")

    async def one(seat: Seat) -> None:
        await seat.shows("Plan first waits for you: /waiting")

    async def none(seat: Seat) -> None:
        await seat.shows("? shows the keys")
        assert "waits for you" not in seat.text()

    stage.show(one)
    stage.ok("reject", "--note", "not now")
    stage.show(none)


@pytest.mark.parametrize(
    ("plans", "questions", "told"),
    [
        ((), 0, []),
        (("a",), 0, ["Plan a waits for you: /waiting"]),
        (("a", "b"), 0, ["2 plans wait for you: /waiting"]),
        (
            ("a",),
            2,
            ["2 questions wait for your answer: /waiting", "Plan a waits for you: /waiting"],
        ),
    ],
)
def test_what_waits_is_counted(plans: tuple[str, ...], questions: int, told: list[str]) -> None:
    asked: Any = ("question",) * questions
    standing = StatusSnapshot(mode="ask", waiting=asked)
    lines = words(home_lines(Home("~/work", plans=plans), standing))
    assert [line for line in lines if "wait" in line] == told


def test_a_session_that_is_continued_has_no_home_and_a_new_one_has(stage: Stage) -> None:
    stage.script(turn("Hello."))
    stage.run("-p", "--model", stage.model, "Say hello")

    async def act(seat: Seat) -> None:
        await seat.rest()
        assert "Last sessions" not in seat.text()
        seat.app.run_slash("/new")
        await seat.shows("Last sessions")

    stage.show(act, StartOptions(going_on=True))


def test_the_state_of_a_session_that_rests_is_not_repeated() -> None:
    assert session_state(SessionRecord("s", "w", "a", "plan", "", "", 1)) == IDLE
