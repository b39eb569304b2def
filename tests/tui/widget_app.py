"""A small app around one widget, and what is on its screen: for tests of widgets by themselves."""

import asyncio
from collections.abc import Awaitable, Callable

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from assent.tui.theme import begin_with_theme

PATIENCE = 3000  # looks at a condition before a test gives up
ROUNDS = 60  # of the loop: more than any message needs from hand to hand
Act = Callable[["Sight"], Awaitable[None]]


async def arrived() -> None:
    """Lets what is under way arrive: counted in rounds, which a busy machine cannot shorten."""
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


class Sight(App[int]):
    """Shows one widget, and keeps the messages that came out of it."""

    def __init__(self, widget: Widget, theme: str = "dark") -> None:
        super().__init__()
        self.widget = widget
        self.heard: list[Message] = []
        self.pilot: Pilot[int]
        begin_with_theme(self, theme)

    def compose(self) -> ComposeResult:
        yield self.widget

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await arrived()
        await self.until(lambda: getattr(self.focused, "_sending", None) is None)  # a held Enter
        await self.pause()

    async def pause(self) -> None:
        """Waits until what was asked for is drawn."""
        await self.pilot.pause()
        await arrived()

    async def spell(self, words: str) -> None:
        await self.press(*["space" if char == " " else char for char in words])

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
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
