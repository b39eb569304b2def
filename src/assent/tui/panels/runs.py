"""Runs: a list of everything that was run here, from which one is chosen to be taken back."""

from typing import TYPE_CHECKING, Final, cast

from textual.events import Key
from textual.widget import Widget

from assent.core.errors import AssentError
from assent.tui.panels.panel import Panel
from assent.tui.paper import Paper, Sheet
from assent.views.lines import Line
from assent.views.visible import visible_line

if TYPE_CHECKING:
    from assent.engine.run.past import Kept
    from assent.tui.app import TerminalApp

NONE: Final = "Nothing was run here."


class RunsPanel(Panel[str]):
    """Ends with the name of a run or a turn, or with None."""

    DEFAULT_CSS = """
    RunsPanel #runs { height: 1fr; margin: 1 0; }
    """
    AUTO_FOCUS = None
    heading = "What was run here, newest first"
    keys = "↑↓ choose · Enter show what takes it back · Esc close"

    def __init__(self) -> None:
        super().__init__()
        self._names: list[str] = []

    def body(self) -> list[Widget]:
        paper = Paper(pointing=True, id="runs")
        paper.can_focus = False
        return [paper]

    def on_mount(self) -> None:
        engine = cast("TerminalApp", self.app).engine

        def run() -> None:
            try:
                found = [kept for kept in reversed(engine.past.all()) if not kept.given_up]
                lines = [_row(kept) for kept in found]
            except AssentError as error:
                found, lines = [], [Line("risk", visible_line(error.message))]
            self.app.call_from_thread(self._show, found, lines)

        self.run_worker(run, thread=True)

    def on_key(self, event: Key) -> None:
        paper = self.query_one(Paper)
        if event.key in _STEPS:
            event.stop()
            paper.point(paper.cursor + _STEPS[event.key])
        elif event.key == "enter" and paper.spot and paper.spot.line < len(self._names):
            event.stop()
            self.dismiss(self._names[paper.spot.line])

    def _show(self, found: "list[Kept]", lines: list[Line]) -> None:
        self._names = [kept.unit.name for kept in found]
        if self.is_attached:
            shown = tuple(lines) or (Line("plain", NONE),)
            self.query_one(Paper).show([Sheet("runs", shown)])


_STEPS: Final = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -10, "pagedown": 10}


def _row(kept: "Kept") -> Line:
    at = visible_line(kept.at)[:16].replace("T", " ")
    undone = {"": "", "some": ", partly undone", "all": ", undone"}[kept.undone]
    outcome = f"{kept.outcome or 'unfinished'}{undone}"
    count = f"{kept.operations} operation{'' if kept.operations == 1 else 's'}"
    plan = visible_line(kept.unit.record.name)
    return Line("plain", f"{at}  {kept.how:<7}  {outcome:<20}  {count:<13}  {plan}")
