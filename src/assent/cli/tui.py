"""`assent` without a goal: opens the terminal UI, and restores the terminal when it ends."""

import gc
import os
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from assent.cli.goal.options import Goal
from assent.cli.tui_options import check_tui_options
from assent.core.errors import AssentError, UsageError

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp
    from assent.tui.host import ScreenHost, StartOptions

FAILED: Final = "The screen failed. Your session is kept, and nothing else is affected."
STOPPING: Final = "Stopping the run…"
HALTED: Final = "The run halted, and waits for your decision: assent recover"
GC_THRESHOLDS: Final = (
    5000,
    20,
    50,
)  # a screen lives long, and may not stop to look for garbage often


def wants_screen(goal: Goal) -> bool:
    """Tells whether a line without words asks for the screen, wherever it is typed."""
    plain = Goal(
        folder=goal.folder, plan=goal.plan, going_on=goal.going_on, resume=goal.resume,
        model=goal.model, agent=goal.agent, mode=goal.mode,
    )  # fmt: skip
    return goal == plain


def screen(goal: Goal) -> int:
    """Opens the screen for a folder, and returns the exit code once it is closed."""
    from assent.cli.tui_host import LocalScreenHost
    from assent.tui.host import StartOptions

    if goal.folder and not os.path.isdir(goal.folder):
        raise UsageError(f"{goal.folder} is no folder.")
    check_tui_options(goal)
    start = StartOptions(
        mode=goal.mode, model=goal.model, agent=goal.agent, plan=goal.plan,
        resume=goal.resume, going_on=goal.going_on,
    )  # fmt: skip
    host = LocalScreenHost(goal.folder)
    app = _shown(host, start)
    while app.wants_demo and not app.messages.mishaps:
        show_demo(host)
        app = _shown(host, StartOptions(resume=app.slug))
    code = _farewell(app.slug, app.messages.mishaps, failed=bool(app.return_code))
    return app.return_value or code


def show_demo(host: "ScreenHost") -> int:
    """Opens the screen on the demo's place, which is gone when the screen is closed."""
    from assent.app.demo import GOAL, WELCOME
    from assent.tui.host import StartOptions

    with closing(host.demo()) as place:
        app = _shown(place, StartOptions(draft=GOAL, told=WELCOME))
    return _farewell("", app.messages.mishaps, failed=bool(app.return_code))


def _shown(host: "ScreenHost", start: "StartOptions") -> "TerminalApp":
    """Shows the screen until the person leaves it."""
    from assent.tui.app import TerminalApp

    app = TerminalApp(host, start)
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        app.run()
    finally:
        if app.run_controller.at_work:
            _say(STOPPING)
        app.leave()
    if app.dispatcher.unopened is not None:
        raise app.dispatcher.unopened
    if app.run_controller.halted:
        _say(HALTED)
    return app


def _say(words: str) -> None:
    """Tells something on the terminal as it was before, if it is still there."""
    with suppress(OSError):
        print(words, file=sys.stderr, flush=True)


def _farewell(slug: str, mishaps: list[str], *, failed: bool) -> int:
    """Tells, on the terminal as it was before, how to go on and what went wrong."""
    for mishap in mishaps:
        sys.stderr.write(mishap)
    if failed:
        raise AssentError(FAILED, f"assent -r {slug}" if slug else "assent")
    if slug:
        print(f"Go on with: assent -r {slug}")
    return 1 if mishaps else 0
