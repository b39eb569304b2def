"""Every key of the table, pressed in front of the screen: a key without a test fails here."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from tests.cli.scripts import PLAN_TEXT, turn, write
from tests.tui.harness import Seat, Stage

from assent.tui.app import TerminalApp
from assent.tui.host import ScreenHost, StartOptions
from assent.tui.key_actions import KEY_ACTIONS
from assent.tui.keys import KEYS
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.prompt.input import PromptInput

LINES = "".join(f"{number}\n" for number in range(200))


class Staying(TerminalApp):
    """A screen that only writes down what it would run, and that it would end."""

    def __init__(self, host: ScreenHost, start: StartOptions | None = None) -> None:
        super().__init__(host, start)
        self.ran: list[str] = []
        self.left = 0

    def run_slash(self, text: str, typed: str | None = None) -> None:
        self.ran.append(text)

    def exit(self, *result: object, **more: object) -> None:
        self.left += 1


Act = Callable[[Seat, str], Awaitable[None]]


def ran(seat: Seat) -> list[str]:
    assert isinstance(seat.app, Staying)
    return seat.app.ran


def left(seat: Seat) -> int:
    assert isinstance(seat.app, Staying)
    return seat.app.left


def scrolled(seat: Seat) -> float:
    return seat.app.conversation.scroll_offset.y


async def says(seat: Seat, key: str) -> None:
    await seat.type("Again")
    await seat.press(key)
    await seat.rest()
    await seat.shows("> Again")


async def breaks(seat: Seat, key: str) -> None:
    await seat.type("a")
    await seat.press(key, "b")
    assert seat.app.prompt.text == "a\nb"


async def recalls(seat: Seat, key: str) -> None:
    await seat.type("new")
    await seat.press("ctrl+home", "up")
    await seat.until(lambda: seat.app.prompt.text not in ("", "new"))
    await seat.press("down")
    await seat.until(lambda: seat.app.prompt.text == "new")


async def searches(seat: Seat, key: str) -> None:
    await seat.press(key)
    await seat.type("Greet the")
    await seat.until(lambda: seat.app.prompt.completions)
    await seat.press("enter")
    await seat.until(lambda: seat.app.prompt.text == "Greet the world")


async def pastes_image(seat: Seat, key: str) -> None:
    seat.app.host.environment["PATH"] = ""
    await seat.type("see")
    await seat.press(key)
    await seat.shows("An image is taken from the clipboard by wl-paste")
    assert seat.app.prompt.text == "see"


async def completes(seat: Seat, key: str, typed: str, whole: str) -> None:
    await seat.press(key)
    await seat.type(typed)
    await seat.until(lambda: whole in [choice.text for choice in seat.app.prompt.completions])
    await seat.press("tab")
    await seat.until(lambda: whole in seat.app.prompt.text)


async def shells(seat: Seat, key: str) -> None:
    await seat.press(key)
    await seat.type("echo one")
    await seat.press("enter")
    await seat.shows("│ one")
    await seat.until(lambda: not seat.app.at_work)


async def runs(seat: Seat, key: str, command: str) -> None:
    await seat.press(key)
    assert ran(seat)[-1:] == [command]


async def cycles(seat: Seat, key: str) -> None:
    await seat.press(key)
    await seat.until(lambda: seat.app.status_snapshot.mode == "ask")


async def steps_back(seat: Seat, key: str) -> None:
    await seat.press(key)
    await seat.shows("Esc again to rewind")


async def clears(seat: Seat, key: str) -> None:
    await seat.type("x")
    await seat.press(key)
    assert (seat.app.prompt.text, left(seat)) == ("", 0)
    await seat.press(key)
    assert left(seat) == 0
    await seat.press(key)
    assert left(seat) == 1


async def leaves(seat: Seat, key: str) -> None:
    await seat.type("x")
    await seat.press(key)
    assert left(seat) == 0
    await seat.press("backspace", key)
    assert left(seat) == 1


async def turns_side(seat: Seat, key: str) -> None:
    await seat.press(key)
    await seat.until(lambda: "[1 Plan]" not in seat.text())


async def visits_side(seat: Seat, key: str) -> None:
    await seat.shows("[1 Plan]")
    await seat.press(key, "2")
    await seat.shows("[2 Operations")
    await seat.press(key)
    await seat.until(lambda: any(isinstance(at, PromptInput) for at in path(seat)))


def path(seat: Seat) -> list[object]:
    """Returns what has the keys, and everything that it is in."""
    return list(seat.app.focused.ancestors_with_self) if seat.app.focused else []


async def reviews(seat: Seat, key: str) -> None:
    await seat.press(key)
    await seat.until(lambda: isinstance(seat.app.screen, ApprovalPanel))
    await seat.shows("Plan greet_the_world")


async def folds(seat: Seat, key: str) -> None:
    await seat.press(key)
    await seat.until(lambda: scrolled(seat) > 100)


async def pages(seat: Seat, key: str, there: Callable[[float, float], bool]) -> None:
    await folds(seat, "ctrl+o")
    seat.app.conversation.scroll_to(y=60, animate=False)
    await seat.until(lambda: scrolled(seat) == 60)
    await seat.press(key)
    end = seat.app.conversation.max_scroll_y
    await seat.until(lambda: there(scrolled(seat), end))


ACTS: dict[str, Act] = {
    "enter": says,
    "ctrl+j": breaks,
    "up,down": recalls,
    "ctrl+r": searches,
    "ctrl+v": pastes_image,
    "at": partial(completes, typed="lon", whole="long.txt"),
    "slash": partial(completes, typed="hist", whole="/history"),
    "exclamation_mark": shells,
    "question_mark": partial(runs, command="/help"),
    "shift+tab": cycles,
    "escape": steps_back,
    "ctrl+c": clears,
    "ctrl+d": leaves,
    "ctrl+b": turns_side,
    "tab": visits_side,
    "ctrl+t": reviews,
    "ctrl+g": partial(runs, command="/edit"),
    "ctrl+z": partial(runs, command="/undo"),
    "f2": partial(runs, command="/questions"),
    "f9": partial(runs, command="/demo"),
    "ctrl+p": partial(runs, command="/palette"),
    "ctrl+o": folds,
    "f3": partial(runs, command="/transcript"),
    "pageup": partial(pages, there=lambda at, end: 20 < at < 60),
    "pagedown": partial(pages, there=lambda at, end: 60 < at < 100),
    "ctrl+home": partial(pages, there=lambda at, end: at == 0),
    "ctrl+end": partial(pages, there=lambda at, end: at == end),
}


def test_every_key_of_the_table_has_a_test_and_every_habit_a_key() -> None:
    assert ACTS.keys() == {row.keys for row in KEYS}
    assert KEY_ACTIONS.keys() == {row.action for row in KEYS if row.action}


@pytest.mark.parametrize("key", ACTS)
def test_the_key(stage: Stage, key: str) -> None:
    stage.put("long.txt", LINES.encode())
    stage.script(
        turn("", ("read", {"path": "long.txt"}), ("write_plan", {"text": PLAN_TEXT})),
        turn("Done.", write("hello.txt", "hello\n")),
        turn("Now."),
        turn("Then."),
    )

    async def act(seat: Seat) -> None:
        await seat.say("Greet the world")
        await ACTS[key](seat, key)

    stage.show(act, size=(120, 30), app=Staying)
