"""A panel that shows what is another by now: it builds and decides nothing, and loses no words."""

from collections.abc import Awaitable, Callable

import pytest
from tests.cli.scripts import PRESENT, turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed
from textual.widgets import TextArea

from assent.core.plan.record import PlanState
from assent.tui.host import StartOptions
from assent.tui.panels.approval.review import CHANGED
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.feedback import FeedbackPanel

Act = Callable[[Reader], Awaitable[None]]
SCOPED = "---\nscope:\n  files: [hello.txt]\n---\n# Greet\n\n- [ ] write hello.txt\n"


def read_by(act: Act) -> Callable[[Seat], Awaitable[None]]:
    async def sit(seat: Seat) -> None:
        await act(Reader(seat))

    return sit


def elsewhere(stage: Stage) -> str:
    """Has somebody else make the plan another one; they decide nothing about it."""
    stage.write("third.txt", b"third\n")
    return str(stage.ok("propose")["digest"])


def test_f46_only_the_approved_plan_that_was_shown_is_built(stage: Stage) -> None:
    before = proposed(stage)["digest"]
    stage.ok("approve", "--digest", before)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("1")
        await reader.seat.shows(before)
        after = elsewhere(stage)
        await reader.press("y")
        await reader.seat.rest()

        def told() -> str:
            return "".join(line.strip("│ ") for line in reader.seat.text().split("\n"))

        await reader.seat.until(lambda: all(x in told() for x in (before, after, "/review")))
        assert (reader.record.state, reader.record.runs) == (PlanState.AWAITING_APPROVAL, ())

    stage.show(read_by(act))
    assert not (stage.root / "third.txt").exists()


def test_f46_only_the_text_that_was_shown_is_handed_to_a_model(stage: Stage) -> None:
    stage.script(
        turn("A plan.", ("write_plan", {"text": SCOPED})), turn("Here.", PRESENT), turn("Done.")
    )

    async def act(reader: Reader) -> None:
        await reader.seat.say("Greet")
        await reader.reads()
        stage.ok("approve", "--digest", reader.record.digest)
        await reader.closed()  # by itself, because the plan was approved elsewhere
        await reader.open()
        await reader.to_the_end()
        await reader.press("1")
        path = stage.root / reader.record.path.decode()
        path.write_text(f"{SCOPED}- [ ] more\n", encoding="utf-8")
        stage.ok("propose")
        await reader.press("y")
        await reader.closed()
        await reader.seat.shows("The plan changed")
        assert (reader.record.state, reader.record.runs) == (PlanState.AWAITING_APPROVAL, ())

    stage.show(read_by(act), StartOptions(mode="plan"))


def test_f39_feedback_to_a_plan_that_is_another_by_now_is_not_sent_and_not_lost(
    stage: Stage,
) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("2")
        await reader.seat.opened(FeedbackPanel)
        await reader.seat.type("less")
        after = elsewhere(stage)
        await reader.seat.press("enter")
        await reader.seat.until(lambda: not reader.app.is_open(FeedbackPanel))
        await reader.reads()
        await reader.seat.shows(CHANGED)
        await reader.seat.shows(after[:12])
        assert (reader.record.digest, reader.panel.standing.approved) == (after, False)
        await reader.press("2")
        panel = await reader.seat.opened(FeedbackPanel)
        assert panel.query_one("#notes", TextArea).text == "less"
        await reader.seat.press("escape")
        await reader.reads()
        await reader.press("escape")
        await reader.closed()
        assert reader.app.prompt.text == "less"

    stage.show(read_by(act))


@pytest.mark.parametrize("keys", [("3", "ctrl+y"), ("t", "ctrl+y"), ("b", "ctrl+y")])
def test_f46_no_key_decides_about_a_plan_that_is_another_by_now(
    stage: Stage, keys: tuple[str, str]
) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press(keys[0])
        after = elsewhere(stage)
        before = reader.record
        await reader.press(keys[1])
        await reader.seat.shows(CHANGED)
        assert (reader.at(), reader.panel.digest()) == (At.READING, after)
        assert reader.record == before

    stage.show(read_by(act))


@pytest.mark.parametrize("keys", [("3", "ctrl+y"), ("t", "ctrl+y")])
def test_f46_a_draft_whose_text_is_another_by_now_is_shown_again(
    stage: Stage, keys: tuple[str, str]
) -> None:
    path = stage.root / stage.plan("work")["path"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press(keys[0])
        path.write_text("# Another\n", encoding="utf-8")
        await reader.press(keys[1])
        await reader.seat.shows(CHANGED)
        await reader.seat.shows("# Another")
        assert (reader.record.state, reader.record.digest) == (PlanState.DRAFTING, "")

    stage.show(read_by(act))
