"""On a small screen most of each panel is what it is about, and its keys take one line."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple

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
BARS: Final = " │▁▂▃▄▅▆▇█"  # of frames, gutters and scroll bars
KEY: Final = re.compile(r"(^|[│·] +)(1|y|Esc|Enter|Ctrl\+\w|any other key)\b")
IN_PLAY: Final = {"main", "question", "permission", "permission-edit", "permission-pattern"}
Play = Callable[[Theatre], Awaitable[None]]


class Room(NamedTuple):
    """What the rows of a screen with a panel show; a blank row within the content is neither."""

    chrome: int  # rows: title, border, rules, keys, question, margins, status line
    text: int  # rows with text that is about something
    keys: int  # rows
    more: bool  # there is more content than fits

    @property
    def is_wrong(self) -> bool:
        most = int(SMALL[1] * (1 - SHARE))
        full = self.more and self.text < SHARE * (self.text + self.chrome)
        return self.chrome > most or full or self.keys != 1


class Surveyor(Theatre):
    """Measures what would be pictured: what each row shows, and the rows of keys."""

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat, {}, SMALL)
        self.found: dict[str, Room] = {}

    async def keep(self, name: str) -> None:
        await self.seat.until(lambda: self.app.quiet and not list(self.app.workers))
        await self.seat.until(lambda: not self.seat.unseen())
        panel = self.app.screen
        if not isinstance(panel, Panel):
            return
        frame = panel.query_one("#frame")
        content: set[int] = set(range(SMALL[1] - 1)) - shown_rows(frame)
        for widget in panel.query("LineView, TextArea, #form, #context"):
            content |= shown_rows(widget)
        rows = self.seat.text().split("\n")
        others = [row for row in shown_rows(frame) - content if KEY.search(rows[row])]
        self.found[name] = Room(
            chrome=SMALL[1] - len(content),
            text=sum(1 for row in content if rows[row].strip(BARS)),
            keys=len(others),
            more=any(view.max_scroll_y > 0 for view in panel.query(LineView)),
        )


def shown_rows(widget: Widget) -> set[int]:
    """Returns the rows of the screen in which a widget shows content."""
    own = isinstance(widget, LineView | TextArea) or widget.id == "context"
    place = widget.content_region if own else widget.region
    return set(range(place.y, place.bottom)) if place.height and widget.display else set()


def measured(stage: Stage, play: Play, mode: str = "") -> dict[str, Room]:
    found: dict[str, Room] = {}

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
    wrong: dict[str, Room] = {}
    for name, (prepared, play, mode) in PLAYS.items():
        folder = tmp_path / name
        folder.mkdir()
        stage = Stage(folder)
        prepared(stage)
        found = measured(stage, play, mode)
        seen |= found.keys()
        for panel, room in found.items():
            if room.is_wrong:
                wrong[panel] = room
    assert wrong == {}
    assert seen == scenes.SHOWN.keys() - IN_PLAY
