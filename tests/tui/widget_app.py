"""A small app around one widget, and what is on its screen: for tests of widgets by themselves."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App, ComposeResult
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from assent.tui.theme import begin_with_theme

PATIENCE = 3000  # looks at a condition before a test gives up
ROUNDS = 60  # of the loop: more than any message needs from hand to hand
UNDRAWN = (
    "_layout_required", "_scroll_required", "_repaint_required", "_recompose_required",
    "_dirty_widgets", "_callbacks",
)  # fmt: skip
CALM = 5  # rounds in a row in which nobody has anything to do
Act = Callable[["Sight"], Awaitable[None]]


async def arrived() -> None:
    """Lets what is under way arrive: counted in rounds, which a busy machine cannot shorten."""
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


async def drawn(app: App[Any]) -> None:
    """Waits until every message is handled and what it changed is on the screen.

    Textual's own wait takes a process that gets no time from the machine for one with nothing
    to do. This one looks at the queues; a handler that waits for something else ends it.
    """
    calm = 0
    for _ in range(PATIENCE):
        await asyncio.sleep(0.001 if app._resize_timer else 0)  # a new size waits for a moment
        calm = calm + 1 if _is_calm(app) else 0
        if calm == CALM:
            return


_paint = Screen._compositor_refresh


def painted_later(screen: Screen[Any]) -> None:
    """Leaves what is to be painted to `drawn`, which paints it once everything is handled.

    Every change of the layout would paint at once, several times for a key, and nobody looks.
    """
    if screen.app.screen is not screen or not screen.app.is_headless:
        _paint(screen)
        return
    screen._dirty_widgets.clear()
    screen.app._update_mouse_over(screen)


def _is_calm(app: App[Any]) -> bool:
    """Tells whether nobody has messages to handle or anything to draw; then draws it."""
    screen = app.screen_stack[-1] if app.screen_stack else None
    pumps = [] if screen is None else [*screen.walk_children(with_self=True)]
    if app._resize_timer or not all(map(_waits, (app, *pumps))):
        return False
    if screen and any(getattr(screen, name) for name in UNDRAWN):
        screen._on_timer_update()
        return False
    if screen and screen._compositor._dirty_regions:
        _paint(screen)
        return False
    return True


def _waits(pump: MessagePump) -> bool:
    """Tells whether one that handles messages waits for the next, or is gone."""
    queue = pump._message_queue
    return pump._closed or (queue.empty() and bool(queue.ready_event._waiters))


class Sight(App[int]):
    """Shows one widget, and keeps the messages that came out of it."""

    def __init__(self, widget: Widget, theme: str = "dark") -> None:
        super().__init__()
        self.widget = widget
        self.heard: list[Message] = []
        self.pilot: Pilot[int]
        self.burst_s = 0.0  # nobody types as fast as a test
        begin_with_theme(self, theme)

    def compose(self) -> ComposeResult:
        yield self.widget

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await arrived()
        await self.until(lambda: getattr(self.focused, "_held_enter", None) is None)  # a held Enter
        await self.pause()

    async def pause(self) -> None:
        """Waits until what was asked for is drawn."""
        await self.pilot.pause()
        await arrived()

    async def spell(self, words: str) -> None:
        await self.press(*["space" if char == " " else char for char in words])

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        await self.until(lambda: self.screen.size == (width, height))
        await self.pause()

    async def until(self, holds: Callable[[], object]) -> None:
        for _ in range(PATIENCE):
            if holds():
                return
            await self.pilot.pause(0.01)
        raise AssertionError("it never came to hold:\n" + self.text())

    def lines(self) -> list[str]:
        """Returns the letters on the screen, line by line, without ends of scroll bars."""
        strips = self.screen._compositor.render_strips()
        return [strip.text.rstrip(" ▁▂▃▄▅▆▇") for strip in strips]

    def text(self) -> str:
        return "\n".join(self.lines())

    def of(self, kind: type[Message]) -> list[Message]:
        """Returns the messages of a kind, each once, however many heard it."""
        found = {id(message): message for message in self.heard if isinstance(message, kind)}
        return list(found.values())


def shown(widget: Widget, act: Act, size: tuple[int, int] = (40, 10), theme: str = "dark") -> Sight:
    """Shows a widget, has somebody act in front of it, and returns what was there."""
    sight = Sight(widget, theme)

    async def run() -> None:
        async with sight.run_test(size=size, message_hook=sight.heard.append) as pilot:
            sight.pilot = pilot
            await sight.pause()
            await act(sight)

    asyncio.run(run())
    return sight
