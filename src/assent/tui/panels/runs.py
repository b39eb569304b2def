"""The list of past runs, to choose one to undo."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual.events import Key
from textual.widget import Widget

from assent.core.errors import AssentError
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line
from assent.tui.line_view.view import LineView, Section
from assent.tui.panels.panel import Panel

if TYPE_CHECKING:
    from assent.runs.history import PastRun

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
        self._reads = 0  # of the list; only the last of them counts

    def body(self) -> list[Widget]:
        paper = LineView(pointing=True, id="runs")
        paper.can_focus = False
        return [paper]

    def on_mount(self) -> None:
        self._read(self._failed)

    def follow(self) -> None:
        """Reads the list anew in silence, and stays at the run where the person is."""
        if not self.is_over:
            self._read(lambda _: None)

    def on_key(self, event: Key) -> None:
        paper = self.query_one(LineView)
        if event.key in _STEPS:
            event.stop()
            paper.point(paper.cursor + _STEPS[event.key])
        elif event.key == "enter" and paper.position and paper.position.key in self._names:
            event.stop()
            self.dismiss(paper.position.key)

    def _read(self, failed: Callable[[AssentError], object]) -> None:
        """Reads the list in a thread; only the last that was asked for is shown."""
        past = self.terminal.engine.history
        self._reads += 1
        read = self._reads

        def kept() -> "list[PastRun]":
            return [one for one in reversed(past.all()) if not one.given_up]

        def show(rows: "list[PastRun]") -> None:
            if read == self._reads:
                self._show(rows)

        self.terminal.tasks.run("", kept, show, failed)

    def _show(self, rows: "list[PastRun]") -> None:
        self._names = [kept.unit.name for kept in rows]
        none = Section("none", (Line("plain", NONE),))
        self._lay([Section(kept.unit.name, (_row(kept),)) for kept in rows] or [none])

    def _failed(self, error: AssentError) -> None:
        self._lay([Section("failed", (Line("risk", visible_line(error.message)),))])

    def _lay(self, sheets: list[Section]) -> None:
        if self.is_attached:
            self.query_one(LineView).renew(sheets)


_STEPS: Final = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -10, "pagedown": 10}


def _row(kept: "PastRun") -> Line:
    at = visible_line(kept.at)[:16].replace("T", " ")
    undone = {"": "", "some": ", partly undone", "all": ", undone"}[kept.undone]
    outcome = f"{kept.outcome or 'unfinished'}{undone}"
    count = f"{kept.operations} operation{'' if kept.operations == 1 else 's'}"
    plan = visible_line(kept.unit.record.name)
    return Line("plain", f"{at}  {kept.how:<7}  {outcome:<20}  {count:<13}  {plan}")
