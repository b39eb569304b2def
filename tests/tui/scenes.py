"""Scenes: what is on the screen from fixed words and files, one after the other."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.cli.scripts import MODEL, PRESENT, Turn, turn, write
from tests.tui.harness import Seat, Stage, listens
from tests.tui.svg_snapshot import picture, still
from tests.tui.test_question import is_asked
from tests.tui.widget_app import arrived

from assent.tui.app import TerminalApp
from assent.tui.host import StartOptions
from assent.tui.panels.panel import Panel

PLAN = """# Greet politely

## Goal

Say good day to whoever starts the program, and to nobody else.

## Changes

- greet.py says it
- notes.txt remembers why
"""
ASKED = {
    "questions": [
        {
            "question": "Which greeting is right for people who have never been here before?",
            "header": "Greeting",
            "options": [
                {"label": "Hello", "description": "short, and everybody knows it"},
                {"label": "Good day", "description": "polite"},
            ],
        }
    ]
}
TODOS = [
    {"content": "Look at greet.py", "status": "completed"},
    {"content": "Write the plan", "status": "in_progress"},
    {"content": "Ask for a yes", "status": "pending"},
]
PLANNING = (
    turn(
        "I look at what is there first.",
        ("read", {"path": "greet.py"}),
        ("todo", {"todos": TODOS}),
        reasoning="It is a small program.\nThe greeting is in one place.",
    ),
    turn(
        "",
        ("write_plan", {"text": PLAN}),
        ("edit", {"path": "greet.py", "old": "Hi", "new": "Good day"}),
        write("notes.txt", "Politeness costs nothing.\n"),
        ("delete", {"path": "old.txt"}),
        ("shell", {"command": "python3 greet.py > greeting.txt", "stage": True}),
    ),
    turn("The plan is ready: it changes one line and keeps a note of it.", PRESENT),
)
OFFERING = (
    turn(
        "There are two ways.",
        ("write_plan", {"text": PLAN, "option": "In place"}),
        ("edit", {"path": "greet.py", "old": "Hi", "new": "Good day"}),
        write("notes.txt", "Politeness costs nothing.\n"),
        ("write_plan", {"text": "# Greet from a file\n\nRead it.\n", "option": "From a file"}),
        ("edit", {"path": "greet.py", "old": '"Hi', "new": 'open("hi").read() + "'}),
        write("hi", "Good day\n"),
        write("notes.txt", "Politeness costs nothing.\n"),
    ),
    turn("Choose one.", ("present_plan", {"options": ["In place", "From a file"]})),
)
CRITIC = (
    turn(
        """[
        {"on": "plan", "line": 5, "severity": "high", "text": "Nothing says who nobody else is."},
        {"on": 1, "line": 6, "severity": "low", "text": "The old greeting stays in the tests."},
        {"on": 1, "line": 6, "text": ""},
        {"on": 3, "text": "old.txt is not in the text of the plan."}
        ]"""
    ),
)
ASKING = (turn("One thing first.", ("question", ASKED)), turn("Good day it is."))
PERMITTING = (turn("", ("shell", {"command": "touch made && rm -rf build"})), turn("Made."))

Opened = dict[str, tuple[str, str]]  # by name: the panel that was open, and its picture


class Theatre:
    """Plays scenes in front of a person, and keeps a picture of each."""

    def __init__(self, seat: Seat, pictures: Opened, size: tuple[int, int]) -> None:
        self.seat = seat
        self.app: TerminalApp = seat.app
        self._pictures = pictures
        self._size = f"{size[0]}x{size[1]}"

    async def keep(self, name: str) -> None:
        """Keeps a picture of what is on the screen now."""
        await self.seat.until(lambda: self.app.quiet and not list(self.app.workers))
        await self.seat.until(lambda: not self.seat.unseen())  # a list may still be loaded
        await arrived()
        await self.seat.until(lambda: self._focused())
        still(self.app)
        await self.seat.pilot.pause()
        await arrived()
        kind = type(self.app.screen).__name__
        still(self.app)  # a tick that was under way may have come since
        self._pictures[f"{name}-{self._size}"] = (kind, picture(self.app))

    async def open(self, name: str, panel: Panel[Any] | str, *keys: str) -> None:
        """Opens a panel, or what a command opens, keeps a picture of it, and closes it."""
        if isinstance(panel, str):
            self.app.run_slash(panel)
        else:
            self.app.open_panel(panel)
        await self.opened()
        await self.press(*keys)
        await self.keep(name)
        await self.close()

    async def opened(self) -> None:
        """Waits until a panel is open and can be read."""
        await self.seat.until(lambda: len(self.app.screen_stack) > 1)
        await self.ready()

    async def asked(self) -> None:
        """Waits until keys go to a question."""
        await self.seat.until(lambda: is_asked(self.seat))
        await self.ready()

    async def at(self, kind: type[Panel[Any]]) -> None:
        """Waits until a panel of a kind is on top and can be read."""
        await self.seat.until(lambda: isinstance(self.app.screen, kind))
        await self.ready()

    def _focused(self) -> bool:
        """Tells whether what keys go to looks like it; what is written in always gets them."""
        focused = self.app.screen.focused
        written_in = any(area.display for area in self.app.screen.query("TextArea, Input"))
        return focused.has_focus if focused is not None else not written_in

    async def ready(self) -> None:
        await self.seat.until(lambda: listens(self.app))
        await self.seat.until(lambda: self.app.quiet)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.ready()
            await self.seat.press(key)

    async def close(self) -> None:
        """Closes everything that is open."""
        while len(self.app.screen_stack) > 1:
            self.app.pop_screen()
            await self.seat.pilot.pause()


Play = Callable[[Theatre], Awaitable[None]]


def played(
    stage: Stage, play: Play, size: tuple[int, int], mode: str = "", theme: str = "dark"
) -> Opened:
    """Plays scenes on a stage, and returns their pictures."""
    pictures: Opened = {}

    async def act(seat: Seat) -> None:
        await seat.rest()
        await play(Theatre(seat, pictures, size))

    stage.show(act, StartOptions(mode=mode, model=MODEL, theme=theme), size)
    return pictures


def prepare(stage: Stage, *turns: Turn) -> None:
    """Puts the same small project onto a stage, with a model that says this."""
    stage.env["HOME"] = str(stage.base)  # the folder is shown, and must be called the same anywhere
    stage.put("greet.py", b'name = "world"\nprint("Hi " + name)\n')
    stage.put("old.txt", b"nobody needs this\n")
    stage.path = stage.root / "script.json"
    stage.script(*turns)
