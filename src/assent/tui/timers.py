"""Calls after a delay that never get lost."""

from asyncio import TimerHandle, get_running_loop
from collections.abc import Callable

from textual.message_pump import MessagePump


def call_after(pump: MessagePump, delay: float, callback: Callable[[], object]) -> TimerHandle:
    """Has an app, a panel or a widget call something after a delay in seconds; it can be cancelled.

    Textual's `set_timer` never calls if the delay is over before its task reads the clock again:
    with a short delay or on a busy machine, the screen would wait forever for what was to come.
    """

    def due() -> None:
        if pump.is_running:
            pump.call_next(callback)

    return get_running_loop().call_later(delay, due)
