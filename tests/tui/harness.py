"""A stage for the screen: a real workspace, a real engine, and a scripted model, all at hand."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from threading import Thread
from threading import enumerate as threads
from traceback import format_stack
from typing import Any, TypeVar

import msgspec
from tests.cli.harness import TRUSTING, World
from tests.cli.scripts import ALONE, QUICK, Turn
from tests.tui.widget_app import arrived
from textual.pilot import Pilot

from assent.cli.tui import LocalScreenHost
from assent.tui.app import TerminalApp
from assent.tui.host import StartOptions
from assent.tui.panels.panel import DebouncedPanel, Panel

SIZE = (100, 30)
PATIENCE = 1500  # looks at a condition before a test gives up
SOON = 30  # looks after which it takes longer than most do
UNSEEN = ("(_guarded)", "(run)")  # how threads are called whose work no word on the screen tells
UNVERIFIED = "\n[verify]\nafter_build = false\n"  # scripts end with the build
LONG_S = 600.0  # for a key to be pressed again, and for its hint: a machine may be busy
HASTE = (0.0, 0.0, 0.0)  # nobody is as fast as a test; those about haste say otherwise

Opened = TypeVar("Opened", bound=Panel[Any])
Kind = type[Opened]
Show = Callable[["Seat"], Awaitable[None]]


def whereabouts() -> str:
    """Returns where every thread is, for a failure that one of them may explain."""
    frames = sys._current_frames()
    known = [(one.name, frames[one.ident]) for one in threads() if one.ident in frames]
    return "\n".join(f"{name}:\n{''.join(format_stack(frame)[-12:])}" for name, frame in known)


class Seat:
    """A person in front of the screen: types keys, waits, and reads what is there."""

    def __init__(
        self, app: TerminalApp, pilot: "Pilot[int]", others: Collection[Thread] = ()
    ) -> None:
        self.app = app
        self.pilot = pilot
        self._others = others  # threads that are not of this screen

    async def press(self, *keys: str) -> None:
        """Presses keys as Textual names them, each once what it is meant for hears keys."""
        for key in keys:
            await arrived()
            await self.until(lambda: listens(self.app))
            await self.pilot.press(key)
            await arrived()
        await self.pilot.pause()
        await arrived()

    async def resize(self, width: int, height: int) -> None:
        """Makes the screen another size, and waits until everything is laid out for it."""
        await self.pilot.resize_terminal(width, height)
        await arrived()
        await self.until(lambda: self.app.screen.size == (width, height))
        await self.pilot.pause()
        await arrived()
        await self.until(lambda: listens(self.app))

    async def type(self, words: str) -> None:
        """Types words, letter by letter."""
        await self.press(*["space" if char == " " else char for char in words])

    async def say(self, words: str) -> None:
        """Says something as if typed at the prompt, and waits until the model rests."""
        self.app.say(words)
        await self.until(
            lambda: (
                self.app.session_controller.at_work
                or self.app.session_controller.record is not None
            )
        )
        await self.rest()

    async def until(self, holds: Callable[[], object]) -> None:
        """Waits until something holds; fails after a long while."""
        if holds():
            return
        for look in range(PATIENCE):
            await asyncio.sleep(0.01 if look < SOON else 0.03)  # looking takes time, too
            if holds():
                await self.pilot.pause(0)  # what led to it may still be under way
                if holds():
                    return
        raise AssertionError(f"it never came to hold:\n{self.text()}\n{whereabouts()}")

    async def opened(self, kind: Kind[Opened]) -> Opened:
        """Waits until a panel is on the screen and keys reach it, and returns it."""
        app = self.app
        await self.until(lambda: isinstance(app.screen, kind) and app.screen.ready_at < inf)
        await self.until(lambda: not app.tasks._words and app.quiet and listens(app))
        assert isinstance(app.screen, kind)
        return app.screen

    async def rest(self) -> None:
        """Waits until nobody works and everything that was reported is on screen."""
        app = self.app
        await self.until(
            lambda: not app.session_controller.at_work and not app.run_controller.at_work
        )
        await self.until(lambda: not self.unseen() and app.quiet)  # its last word may be new
        await self.pilot.pause()
        await arrived()

    def unseen(self) -> bool:
        """Tells whether something is at work in a thread of which the screen says nothing."""
        ours = [thread for thread in threads() if thread not in self._others]
        return bool(self.app.tasks._words) or any(t.name.endswith(UNSEEN) for t in ours)

    async def shows(self, words: str) -> None:
        """Waits until words are on the screen."""
        await self.until(lambda: words in self.text())

    def text(self) -> str:
        """Returns the letters on the screen, line by line."""
        app = self.app
        width, height = app.size
        lines = app.screen._compositor.render_strips()
        return "\n".join([line.text.rstrip() for line in lines[:height]]) if width else ""

    def svg(self) -> str:
        """Returns a picture of the screen."""
        return self.app.export_screenshot()


def listens(app: TerminalApp) -> bool:
    """Tells whether what is typed now reaches what is on top."""
    top = app.screen_stack[-1] if app.screen_stack else None
    if isinstance(top, DebouncedPanel):
        return top.listening
    if len(app.screen_stack) == 1 and app.question is not None and app.question.is_keyed:
        return app.question.listening
    return bool(getattr(top, "ready_at", 0.0) < inf)


class Stage(World):
    """A world with a screen in it; `script` says what the model will answer."""

    def __init__(self, base: Path, config: str = TRUSTING) -> None:
        super().__init__(base, config + QUICK + UNVERIFIED)
        self.env |= ALONE
        self.path = base / "script.json"

    @property
    def model(self) -> str:
        return f"scripted:{self.path}"

    def script(self, *turns: Turn, **children: list[Turn]) -> None:
        """Says what the model will answer, from the first request of a session on."""
        self.path.write_bytes(msgspec.json.encode({"turns": turns, "children": children}))

    def show(
        self,
        act: Show,
        start: StartOptions | None = None,
        size: tuple[int, int] = SIZE,
        app: type[TerminalApp] = TerminalApp,
        paces: tuple[float, float, float] = HASTE,
    ) -> Any:
        """Opens the screen, has a person act in front of it, closes it, returns its exit code."""
        start = start or StartOptions()
        if not start.model and self.path.exists():
            start = msgspec.structs.replace(start, model=self.model)
        with self.here():
            shown = app(self.host(), start)
            shown.quiet_s, shown.answer_s, shown.close_s = paces
            shown.burst_s = min(shown.burst_s, *paces)
            shown.again_s = LONG_S
            return asyncio.run(_acted(shown, act, size))

    def host(self) -> LocalScreenHost:
        return LocalScreenHost(str(self.root))

    @contextmanager
    def here(self) -> Iterator[None]:
        """Makes this world the process's own for a while."""
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update(self.env)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


async def _acted(app: TerminalApp, act: Show, size: tuple[int, int]) -> Any:
    others = set(threads())
    async with app.run_test(size=size) as pilot:
        seat = Seat(app, pilot, others)
        await seat.until(lambda: app.ready)
        await act(seat)
    app.leave()
    return app.return_value
