"""Slash commands that set the mode, the model, the agent or the theme."""

from typing import TYPE_CHECKING, Final

from assent.core.errors import UsageError
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line
from assent.tui.theme.styles import THEMES

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp

PLAN: Final = {"": "plan", "on": "plan", "off": "ask"}
ON: Final = "Plan mode is on; /plan off leaves it."
YOLO: Final = "yolo"
YOLO_WARNING: Final = (
    Line("risk", "In yolo mode nobody asks you: the model edits files and runs commands at once."),
    Line("plain", "Denials of your rules still hold, and what is on record can be undone."),
    Line(
        "plain", "A command can do more than Assent records: outside this folder, on the network."
    ),
    BLANK,
    Line("plain", "Shift+Tab goes back to plan mode at any time."),
)


def plan(app: "TerminalApp", rest: str) -> None:
    """Turns plan mode on, or off."""
    if rest not in PLAN:
        raise UsageError(f"/plan is on or off, not {rest!a}.", "/plan off")
    if not PLAN[rest] == app.status_snapshot.mode == "plan":
        app.set_mode(PLAN[rest])
        return

    def on(_: object) -> None:
        app.add_note(ON)
        app.refresh_status()

    # The status line may be older than what somebody did elsewhere: only the record counts.
    app.deferred.lead("", lambda: app.session_controller.set_mode("plan"), on)


def mode(app: "TerminalApp", rest: str) -> None:
    """Changes the mode; what lets everything happen unasked is confirmed first."""
    if not rest:
        from assent.tui.panels.mode_list import ModeList

        app.open_panel(ModeList(), lambda name: mode(app, name) if name else None)
        return
    if app.session_controller.base(rest) == YOLO and app.status_snapshot.base != YOLO:
        from assent.tui.panels.confirm import ConfirmPanel

        panel = ConfirmPanel(f"Mode {visible_line(rest)}?", YOLO_WARNING, f"go on in {YOLO} mode")
        app.open_panel(panel, lambda yes: app.set_mode(rest) if yes else None)
        return
    app.set_mode(rest)


def model(app: "TerminalApp", rest: str) -> None:
    """Chooses the model of this sitting; it is opened at once, so that a wrong name shows."""
    if not rest:
        from assent.tui.panels.model_list import ModelList

        app.open_panel(ModelList(), lambda name: model(app, name) if name else None)
        return

    def chosen(_: object) -> None:
        app.add_note(f"From now on {rest} is asked.")
        app.refresh_status()

    app.tasks.run("Opening the model", lambda: app.session_controller.choose(rest), chosen)


def agent(app: "TerminalApp", rest: str) -> None:
    """Chooses the agent of this sitting."""
    if not rest:
        from assent.tui.panels.model_list import AgentList

        app.open_panel(AgentList(), lambda name: agent(app, name) if name else None)
        return

    def check() -> None:
        names = [each.name for each in app.host.agents() if each.kind != "subagent"]
        if rest not in names:
            known = ", ".join(map(visible_line, names))
            raise UsageError(f"There is no agent {rest!a}. There are: {known}.", "/agent")
        app.session_controller.agent = rest

    def chosen(_: object) -> None:
        app.add_note(f"From now on the agent is {rest}.")
        app.refresh_status()

    app.tasks.run("Looking for the agent", check, chosen)


def theme(app: "TerminalApp", rest: str) -> None:
    """Changes what the screen looks like."""
    if not rest:
        from assent.tui.panels.theme_list import ThemeList

        app.open_panel(
            ThemeList(app.theme_name), lambda name: app.set_theme(name) if name else None
        )
        return
    if rest not in THEMES:
        raise UsageError(f"There is no theme {rest!a}. There are: {', '.join(THEMES)}.", "/theme")
    app.set_theme(rest)
