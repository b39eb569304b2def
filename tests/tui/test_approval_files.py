"""A plan's file on the screen: the person's own editor, what others wrote, and revisions."""

import re
from collections.abc import Awaitable, Callable

import pytest
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed
from tests.tui.test_accidental_keys import PACES, at_pace, slowly, spelled

from assent.core.plan.record import PlanState
from assent.tui.line_view import LineView
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.plan_list import HistoryPanel

Act = Callable[[Reader], Awaitable[None]]
SLOW_S = 0.33  # from one key to the next: too slow for any of them to take another back


def read_by(act: Act) -> Callable[[Seat], Awaitable[None]]:
    async def sit(seat: Seat) -> None:
        await act(Reader(seat))

    return sit


def test_f2_the_editor_opens_and_what_was_written_is_a_new_plan(stage: Stage) -> None:
    stage.env["VISUAL"] = """sh -c 'echo "- one more" >> "$0"'"""
    before = proposed(stage)["digest"]
    stage.ok("approve", "--digest", before)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        assert reader.panel.standing.approved
        await reader.press("e")
        assert reader.panel.digest() == before, "a letter opens no editor"
        await reader.press("ctrl+g")
        await reader.seat.until(lambda: reader.panel.digest() != before)
        await reader.reads()
        assert not reader.panel.standing.approved, "the yes was to another digest"
        assert not reader.panel.standing.read
        assert reader.panel.digest() == reader.record.digest
        await reader.seat.shows("this is a new plan and needs approval")
        await reader.to_the_end()
        await reader.press("1", "o")
        await reader.closed()
        assert reader.approvals[-1][0] == reader.record.digest

    stage.show(read_by(act))


def test_an_editor_that_changes_nothing_leaves_the_plan(stage: Stage) -> None:
    stage.env["VISUAL"] = "true"
    digest = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("ctrl+g")
        await reader.reads()
        assert reader.panel.digest() == reader.record.digest == digest

    stage.show(read_by(act))


@pytest.mark.parametrize("editor", ["false", "'", "/no/such/editor"])
def test_an_editor_that_fails_is_said(stage: Stage, editor: str) -> None:
    stage.env["VISUAL"] = editor
    digest = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("ctrl+g")
        await reader.reads()
        assert reader.panel.told
        assert reader.panel.digest() == reader.record.digest == digest

    stage.show(read_by(act))


def test_a_file_that_somebody_else_wrote_stands_in_the_way_until_it_is_taken_in(
    stage: Stage,
) -> None:
    before = proposed(stage)
    path = stage.root / before["path"]
    path.write_text("# Other\n", encoding="utf-8")

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.seat.shows("changed since the plan was proposed")
        await reader.to_the_end()
        await reader.press("1")
        await reader.seat.shows("t proposes it as a new plan")
        assert reader.at() is At.READING
        await reader.press("t", "enter")
        assert reader.panel.digest() == before["digest"]
        await reader.press("t", "ctrl+y")
        await reader.seat.until(lambda: reader.panel.digest() != before["digest"])
        await reader.reads()
        texts = {sheet.key: sheet.lines[1].text for sheet in reader.panel.line_view.sections}
        assert texts["text"] == "│ # Other"
        assert reader.approvals == []

    stage.show(read_by(act))


def test_without_a_plan_that_is_said_and_no_key_does_anything(stage: Stage) -> None:
    async def act(reader: Reader) -> None:
        reader.app.open_panel(ApprovalPanel(""))
        await reader.seat.shows("No current plan.")
        await reader.seat.until(lambda: reader.panel.listening)
        await reader.press(
            "1", "2", "3", "ctrl+y", "s", "space", "w", "c", "p", "h", "end", "m", "n"
        )
        assert reader.at() is At.LOADING
        await reader.press("escape")
        await reader.closed()

    stage.show(read_by(act))


def test_a_draft_is_read_and_proposed(stage: Stage) -> None:
    stage.plan("work", "Do the work")
    stage.write("a.txt", b"a\n")

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.seat.shows("no digest (draft)")
        await reader.press("1")
        await reader.seat.shows("t proposes it")
        await reader.press("2")
        await reader.seat.shows("describe the changes at the prompt")
        await reader.press("t")
        await reader.seat.shows("Propose the plan from its current file?")
        await reader.press("y")
        assert (reader.at(), reader.panel.digest()) == (At.READING, "")
        await reader.press("t", "ctrl+y")
        await reader.seat.until(lambda: bool(reader.panel.digest()))
        await reader.reads()
        assert reader.record.state is PlanState.AWAITING_APPROVAL

    stage.show(read_by(act))


def test_f41_no_sentence_proposes_a_draft_or_makes_it_fit_however_slowly_it_is_typed(
    stage: Stage,
) -> None:
    stage.plan("work", "Do the work")
    stage.write("a.txt", b"a\n")

    async def act(reader: Reader) -> None:
        await reader.open()
        await slowly(reader.seat, "home")
        for words in ("by", "soapy", "go by boat"):
            for key in spelled(f"{words}\n"):
                await at_pace(reader.seat, [key], gap=SLOW_S)
            await reader.reads()
            assert reader.record.digest == "", words

    stage.show(read_by(act), paces=PACES)


def test_files_that_changed_since_are_named_and_the_plan_is_made_to_fit(stage: Stage) -> None:
    lines = [f"{n}\n" for n in range(20)]
    file = stage.root / "short.txt"
    file.write_text("".join(lines), encoding="utf-8")
    before = proposed(stage, short="".join([*lines[:-1], "end\n"]).encode())["digest"]
    file.write_text("".join(["start\n", *lines[1:]]), encoding="utf-8")

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.seat.shows("Files changed since the plan was proposed")
        await reader.to_the_end()
        await reader.press("1")
        await reader.seat.shows("b rebases the plan")
        await reader.press("b")
        await reader.seat.shows("Rebase the plan onto the current files?")
        await reader.press("ctrl+y")
        await reader.seat.until(lambda: reader.panel.digest() not in ("", before))
        await reader.reads()
        assert reader.panel.standing.awaited
        assert reader.approvals == []

    stage.show(read_by(act))


def test_f20_revisions_are_listed_with_their_times_and_any_two_compared(stage: Stage) -> None:
    stage.plan("work")
    for words in ("first", "second", "third"):
        stage.ok("plan", "write", "-", stdin=f"# Plan\n\n{words}\n".encode())
    stage.ok("propose")

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("h")
        await reader.seat.until(lambda: isinstance(reader.app.screen, HistoryPanel))
        await reader.seat.shows("From revision 3 to revision 4")
        await reader.seat.shows("+third")
        await reader.seat.shows("-second")
        listed = reader.app.screen.query_one("#revisions", LineView).sections[0].lines
        assert len(listed) == len(reader.record.revisions) == 4
        for number, line in enumerate(listed, 1):
            assert re.fullmatch(rf"[* ] +{number} +(just now|\d+ min ago)", line.text), line
        await reader.seat.press("up", "up", "space", "down", "down")
        await reader.seat.shows("From revision 2 to revision 4")
        await reader.seat.shows("-first")
        await reader.seat.press("escape")
        await reader.reads()

    stage.show(read_by(act))
