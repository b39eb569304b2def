"""On a small screen most of each panel is what it is about, and its keys take one line."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest
from tests.cli.scripts import turn, write
from tests.tui import test_snapshots as scenes
from tests.tui.harness import Seat, Stage
from tests.tui.scenes import CRITIC, MODEL, OFFERING, PLANNING, Theatre, prepare
from textual.widget import Widget
from textual.widgets import TextArea

from assent.tui.host import StartOptions
from assent.tui.line_view import LineView
from assent.tui.panels.panel import Panel

SMALL: Final = (80, 24)
SHARE: Final = 0.6  # of the rows
ASKS: Final = {"approval-asked"}  # the question takes what it needs
IN_PLAY: Final = {"main", "question", "permission", "permission-edit", "permission-pattern"}
Play = Callable[[Theatre], Awaitable[None]]


class Surveyor(Theatre):
    """Measures what would be pictured: how many rows are not content, and the rows of keys."""

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat, {}, SMALL)
        self.found: dict[str, tuple[int, int]] = {}

    async def keep(self, name: str) -> None:
        await self.seat.until(lambda: self.app.quiet and not list(self.app.workers))
        await self.seat.until(lambda: not self.seat.unseen())
        panel = self.app.screen
        if not isinstance(panel, Panel):
            return
        frame = panel.query_one("#frame")
        rows: set[int] = set()
        for widget in panel.query("LineView, TextArea, #form"):
            rows |= shown_rows(widget)
        taken = len(shown_rows(frame) - rows) + 1  # the status line
        self.found[name] = taken, panel.query_one("#panel-keys").region.height


def shown_rows(widget: Widget) -> set[int]:
    """Returns the rows of the screen in which a widget shows content."""
    is_text = isinstance(widget, LineView | TextArea)
    place = widget.content_region if is_text else widget.region
    return set(range(place.y, place.bottom)) if place.height and widget.display else set()


def measured(stage: Stage, play: Play, mode: str = "") -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}

    async def act(seat: Seat) -> None:
        await seat.rest()
        surveyor = Surveyor(seat)
        await play(surveyor)
        found.update(surveyor.found)

    stage.show(act, StartOptions(mode=mode, model=MODEL, theme="dark"), SMALL)
    return found


def halted(stage: Stage) -> None:
    prepare(stage)
    stage.plan("greet", "Greet politely")
    stage.write("greet.py", b'name = "world"\nprint("Good day " + name)\n')
    stage.ok("stage", "run", "--script", "echo first; echo second; exit 3")
    stage.approve()


def criticised(stage: Stage) -> None:
    scenes.with_critic(stage, CRITIC)


def rewound(stage: Stage) -> None:
    prepare(stage, turn("", write("greet.py", 'print("Good day")\n')), turn("Done."))


PLAYS: Final[dict[str, tuple[Callable[[Stage], None], Play, str]]] = {
    "plans": (lambda stage: prepare(stage, *PLANNING), scenes.plans, ""),
    "options": (lambda stage: prepare(stage, *OFFERING), scenes.offers, ""),
    "critic": (criticised, scenes.criticises, ""),
    "runs": (halted, scenes.runs, ""),
    "rewinds": (rewound, scenes.rewinds, "yolo"),
}


@pytest.mark.slow
def test_g31_most_rows_of_every_panel_show_content_and_one_the_keys(tmp_path: Path) -> None:
    seen: set[str] = set()
    wrong: dict[str, tuple[int, int]] = {}
    for name, (prepared, play, mode) in PLAYS.items():
        folder = tmp_path / name
        folder.mkdir()
        stage = Stage(folder)
        prepared(stage)
        found = measured(stage, play, mode)
        seen |= found.keys()
        for panel, (taken, keys) in found.items():
            most = int(SMALL[1] * (1 - SHARE))
            if keys != 1 or (taken > most and panel not in ASKS):
                wrong[panel] = taken, keys
    assert wrong == {}
    assert seen == scenes.SHOWN.keys() - IN_PLAY
