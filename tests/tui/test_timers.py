"""Calls after a delay come, however short the delay is and however busy the machine."""

import asyncio

import pytest
from tests.tui.widget_app import Sight, shown
from textual.widgets import Static

from assent.tui.timers import call_after


@pytest.mark.parametrize("delay", [0.0, 1e-9, 1e-6, 0.01])
def test_it_is_called_however_short_the_delay_is(delay: float) -> None:
    called: list[float] = []

    async def act(sight: Sight) -> None:
        call_after(sight.widget, delay, lambda: called.append(delay))
        await sight.until(lambda: called)

    shown(Static("here"), act)
    assert called == [delay]


def test_it_can_be_cancelled_and_a_widget_that_is_gone_is_not_called() -> None:
    called: list[str] = []

    async def act(sight: Sight) -> None:
        call_after(sight.widget, 0.0, lambda: called.append("cancelled")).cancel()
        call_after(sight.widget, 0.01, lambda: called.append("gone"))
        await sight.widget.remove()
        await asyncio.sleep(0.05)

    shown(Static("here"), act)
    assert called == []
