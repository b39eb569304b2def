"""The history panel: the revisions of a plan's text, and the diff between two of them."""

from functools import partial
from typing import Final

from textual.events import Key
from textual.widget import Widget

from assent.core.errors import AssentError
from assent.core.plan.record import PlanRecord, TextRevision
from assent.core.text.hidden_chars import visible_line
from assent.render.diff import diff_lines, text_diff
from assent.render.lines import BLANK, Line
from assent.tui.line_view.view import LinePosition, LineView, Section
from assent.tui.panels.panel import Panel

SHORT: Final = 12
LIST: Final = "list"
SAME: Final = "These two are the same, byte for byte."
NOT_SHOWN: Final = "Not shown as text, because it is binary or too large."
NO_TEXT: Final = "The plan has no text yet."


class HistoryPanel(Panel[None]):
    """Shows two lists: revisions, of which two are compared, and their difference."""

    DEFAULT_CSS = """
    HistoryPanel #revisions { height: auto; max-height: 30%; margin: 1 0; }
    HistoryPanel #difference { height: 1fr; border-top: solid $primary; }
    """
    AUTO_FOCUS = None
    keys = "↑↓ revision · space compare with this one · PgUp PgDn scroll · Esc close"

    def __init__(self, record: PlanRecord) -> None:
        super().__init__()
        self.heading = f"Revisions of plan {visible_line(record.name)}"
        self._revisions = record.revisions
        self.with_ = max(len(record.revisions) - 2, 0)  # which the chosen one is compared with

    def body(self) -> list[Widget]:
        revisions = LineView(pointing=True, id="revisions")
        difference = LineView(id="difference")
        revisions.can_focus = difference.can_focus = False
        return [revisions, difference]

    def on_mount(self) -> None:
        self.query_one("#revisions").styles.height = max(len(self._revisions), 1)
        self._list()
        paper = self.query_one("#revisions", LineView)
        self.call_after_refresh(paper.point, len(self._revisions) - 1)
        self.call_after_refresh(self._compare)

    def on_key(self, event: Key) -> None:
        if event.key == "escape":
            return
        event.stop()
        paper = self.query_one("#revisions", LineView)
        match event.key:
            case "up" | "k" | "down" | "j":
                paper.point(paper.cursor + (1 if event.key in ("down", "j") else -1))
                self._compare()
            case "space":
                self.with_ = self._chosen()
                self._list()
                self._compare()
            case "pageup" | "pagedown":
                difference = self.query_one("#difference", LineView)
                step = max(difference.size.height - 1, 1)
                way = step if event.key == "pagedown" else -step
                difference.scroll_relative(y=way, animate=False, force=True)
            case _:
                pass

    def _list(self) -> None:
        lines = [self._row(n, each) for n, each in enumerate(self._revisions)]
        sheet = Section(LIST, tuple(lines) or (Line("plain", NO_TEXT),))
        self.query_one("#revisions", LineView).put(sheet)

    def _row(self, index: int, revision: TextRevision) -> Line:
        sign = "*" if index == self.with_ else " "
        at = visible_line(revision.at)[:19].replace("T", " ")
        return Line("plain", f"{sign} {revision.n:>4}  {at}  {revision.content_hash[:SHORT]}")

    def _chosen(self) -> int:
        spot = self.query_one("#revisions", LineView).position or LinePosition(LIST, 0)
        return spot.line

    def _compare(self) -> None:
        """Reads both texts in a thread and shows how they differ."""
        if not self._revisions:
            return
        one, other = sorted((self.with_, self._chosen()))
        pair = self._revisions[one], self._revisions[other]
        plans = self.terminal.engine.plans

        def compared() -> list[Line]:
            try:
                was, now = (plans.text(each.content_hash) for each in pair)
            except AssentError as error:
                return [Line("risk", visible_line(error.message))]
            names = [f"revision {each.n}" for each in pair]
            return _difference(text_diff(was, now, names[0], names[1]))

        self.terminal.tasks.run("", compared, partial(self._show, pair))

    def _show(self, pair: tuple[TextRevision, TextRevision], lines: list[Line]) -> None:
        if not self.is_attached:
            return
        head = Line("heading", f"From revision {pair[0].n} to revision {pair[1].n}")
        difference = self.query_one("#difference", LineView)
        difference.show([Section("difference", (head, *lines, BLANK))])


def _difference(diff: str | None) -> list[Line]:
    if diff is None:
        return [Line("plain", NOT_SHOWN)]
    return diff_lines(diff) if diff else [Line("plain", SAME)]
