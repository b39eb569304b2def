"""Every key of the panels that decide: pressed here, or named with the test that presses it."""

from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed

from assent.core.run.journal import LiveCommandOutput
from assent.tui.line_view import LineView
from assent.tui.panels import panel as debounced
from assent.tui.panels import run
from assent.tui.panels.approval import state
from assent.tui.panels.approval.review import OPERATION, RISKS
from assent.tui.panels.approval.state import MOVING, PLAN_ACTIONS
from assent.tui.panels.feedback import FeedbackPanel
from assent.tui.panels.help import HelpPanel
from assent.tui.panels.panel import Panel
from assent.tui.panels.plan_list import HistoryPanel
from assent.tui.panels.text_input import TextInputPanel
from assent.tui.run_controller import RunProgressView

HERE = Path(__file__).parent
FROM = 12  # the row from which a key moves

Where = Callable[[int, int], int]
# The row that a key leads to, where so many there are, and so many are in sight.
MOVED: dict[str, Where] = {
    "up": lambda rows, seen: FROM - 1,
    "k": lambda rows, seen: FROM - 1,
    "down": lambda rows, seen: FROM + 1,
    "j": lambda rows, seen: FROM + 1,
    "pageup": lambda rows, seen: max(FROM - seen + 1, 0),
    "pagedown": lambda rows, seen: FROM + seen - 1,
    "home": lambda rows, seen: 0,
    "end": lambda rows, seen: rows - 1,
}
DOWN = ("down", "j", "pagedown", "end")
LED = {"right_square_bracket": OPERATION, "left_square_bracket": OPERATION, "r": RISKS}
OPENED: dict[str, type[Panel[Any]]] = {
    "h": HistoryPanel,
    "2": FeedbackPanel,
    "c": TextInputPanel,
    "m": TextInputPanel,
    "question_mark": HelpPanel,
}
EDITING = "test_f2_the_editor_opens_and_what_was_written_is_a_new_plan"
HALTING = "test_a_halt_offers_three_ways_and_each_takes_two_keys"
FINDING = "test_g22_findings_are_kept_and_dismissed_by_keys_and_only_kept_ones_are_sent"
ELSEWHERE = {
    "d": "test_g30_a_wide_review_is_side_by_side_until_it_is_switched_and_that_is_remembered",
    "f": FINDING,
    "plus": FINDING,
    "minus": FINDING,
    "ctrl+g": EDITING,
    "t": "test_a_draft_is_read_and_proposed",
    "v": "test_a_rendered_text_is_one_key_away_and_decides_nothing",
    "b": "test_files_that_changed_since_are_named_and_the_plan_is_made_to_fit",
}
OTHERS = {
    "ASK": "test_f38_1_and_y_approve_and_build",
    "SKIP": "test_f41_a_skip_says_what_was_not_shown_and_asks_once",
    "EXIT": "test_f40_3_and_ctrl_y_end_planning_and_nothing_is_written",
    "MARK": "test_g10_a_marked_operation_is_left_out_of_the_plan_that_is_read_and_approved",
    "WITHOUT": "test_g10_marks_are_taken_back_and_the_whole_plan_is_read_again",
    "ONE": "test_one_operation_is_taken_back_and_the_rest_stays",
    "OPTION": "test_g22_options_are_compared_first_and_a_key_shows_the_next",
    "YES": "test_f38_1_and_y_approve_and_build",
    "ONLY": "test_f38_1_and_o_approve_and_nothing_is_built",
    "CONFIRM_KEY": "test_a_draft_is_read_and_proposed",
    "NOTED": "test_g11_a_note_travels_with_the_yes",
}
RUN = {
    "1": HALTING,
    "2": HALTING,
    "3": HALTING,
    run.STOP: "test_a_command_can_be_stopped_and_the_run_halts_in_good_order",
}


def test_every_key_is_pressed_somewhere() -> None:
    pressed = {*MOVED, *LED, *OPENED, "slash", "escape", *ELSEWHERE}
    assert pressed == {*MOVING, *PLAN_ACTIONS}
    assert debounced.MOVES.keys() == MOVED.keys()
    assert {*run.RECOVER_KEYS, run.STOP} == RUN.keys()
    one_key = {name for name, value in vars(state).items() if _is_key(name, value)}
    assert one_key == OTHERS.keys()
    tests = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    named = {*ELSEWHERE.values(), *OTHERS.values(), *RUN.values()}
    assert [name for name in named if f"def {name}(" not in tests] == []


def _is_key(name: str, value: object) -> bool:
    """Tells a key from a sentence, which has blanks."""
    return name.isupper() and isinstance(value, str) and " " not in value


def test_keys_of_the_approval_panel(stage: Stage) -> None:
    proposed(stage)

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        for key, where in MOVED.items():
            await moves(reader, key, where)
        for key, sheet in LED.items():
            reader.panel.line_view.point(reader.panel.line_view.rows - 1)
            await reader.press(key) if key != "right_square_bracket" else await first(reader, key)
            spot = reader.panel.line_view.position
            assert spot is not None
            assert spot.key.startswith(sheet), (key, spot)
        for key, kind in OPENED.items():
            await reader.press("home", "right_square_bracket", key)
            await seat.until(partial(is_on_top, seat, kind))
            await seat.press("escape")
            await reader.reads()
        await reader.press("slash")
        assert reader.panel.line_view.searching
        await seat.press("escape")
        await reader.press("escape")
        await reader.closed()

    stage.show(act)


def is_on_top(seat: Seat, kind: type[Panel[Any]]) -> bool:
    return isinstance(seat.app.screen, kind)


async def moves(reader: Reader, key: str, where: Where) -> None:
    """Presses a key in the middle of the paper, and looks where it leads."""
    paper = reader.panel.line_view
    paper.point(FROM)
    await reader.seat.pilot.pause()
    await reader.press(key)
    assert paper.cursor == where(paper.rows, paper.height), key


async def first(reader: Reader, key: str) -> None:
    """Goes to the first operation, from the beginning."""
    await reader.press("home", key)


def test_keys_of_a_run_view_scroll_and_decide_nothing(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        watched = seat.app.run_controller.watched = RunProgressView("build")
        for number in range(100):
            watched.take(LiveCommandOutput(0, b"%d\n" % number))
        seat.app.show_run()
        await seat.shows("│ 99")
        await seat.until(lambda: getattr(seat.app.screen, "ready_at", inf) < inf)
        paper = seat.app.screen.query_one("#all", LineView)
        for key in MOVED:
            paper.scroll_to(y=40, animate=False)
            await seat.until(lambda: paper.scroll_offset.y == 40)
            await seat.press(key)
            await seat.until(lambda: paper.scroll_offset.y != 40)
            assert (paper.scroll_offset.y > 40) is (key in DOWN), key
        assert not seat.app.run_controller.at_work

    stage.show(act)
