"""Two terminals on one workspace: what is decided in one is seen in the other at once."""

from collections.abc import Callable

import pytest
from tests.tui.reading import Reader, proposed
from tests.tui.stage import Seat, Stage

from assent.tui.acts import decided_words
from assent.tui.panels.approval import ApprovalPanel
from assent.tui.panels.feedback import FeedbackPanel
from assent.tui.panels.plan_list import PlanList
from assent.tui.panels.waiting_list import WaitingList

Elsewhere = Callable[[Stage, str], None]


def elsewhere(stage: Stage, *line: str) -> None:
    """Does something about the plan in another process."""
    answer = stage.process(*line, "--plan", "work")
    assert answer.code == 0, answer


def approve(stage: Stage, digest: str) -> None:
    elsewhere(stage, "approve", "--digest", digest)


def reject(stage: Stage, digest: str) -> None:
    elsewhere(stage, "reject", "--note", "Not so")


def build(stage: Stage, digest: str) -> None:
    elsewhere(stage, "approve", "--digest", digest, "--build")


def discard(stage: Stage, digest: str) -> None:
    elsewhere(stage, "plan", "delete")


def who(stage: Stage) -> str:
    """Who approves in another terminal of this machine, as the record names them."""
    events = stage.ok("log")["events"]
    return str(next(one for one in events if one["kind"] == "plan_created")["body"]["user"])


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (approve, "plan work was approved by {} (digest): /build."),
        (reject, "plan work was rejected by {}, and is a draft again."),
        (build, "plan work was built by run "),
        (discard, "plan work was discarded by {}."),
    ],
)
def test_an_open_review_closes_and_says_who_decided(
    stage: Stage, act: Elsewhere, words: str
) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        act(stage, digest)
        await seat.until(lambda: not seat.app.is_open(ApprovalPanel))
        await seat.rest()
        told = " ".join(seat.text().split())
        assert f"In another terminal, {words.format(who(stage))}" in told
        if act is build:
            assert f"approved by {who(stage)} (digest)." in told

    stage.show(sit, size=(200, 50))


def test_words_that_are_being_written_are_kept_when_the_plan_is_decided_elsewhere(
    stage: Stage,
) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await reader.press("2")
        form = await seat.opened(FeedbackPanel)
        await seat.type("litres")
        approve(stage, digest)
        await seat.until(lambda: reader.app.screen_stack[1].is_over)  # type: ignore[attr-defined]
        assert seat.app.screen is form
        await seat.press("escape")
        await seat.until(lambda: not seat.app.is_open(ApprovalPanel))
        assert seat.app.prompt.text == "litres"

    stage.show(sit)


def test_nothing_closes_because_of_what_this_screen_reads_itself(stage: Stage) -> None:
    proposed(stage)

    async def sit(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        stage.process("plan", "new", "other", "--goal", "Something else")
        stage.process("plan", "use", "work")
        stamp = seat.app.engine.stamp()
        await seat.until(lambda: seat.app.lookout._stamp == stamp)
        await seat.rest()
        assert isinstance(seat.app.screen, ApprovalPanel)

    stage.show(sit)


def test_status_line_and_side_area_follow_also_after_another_plan_was_chosen(stage: Stage) -> None:
    stage.script({"text": "Well."})
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        await seat.say("Look around")
        record = seat.app.engine.plans.find("work")
        seat.app.plan_chosen(record, None)
        await seat.until(lambda: "awaits you" in status(seat))
        await seat.until(lambda: "AWAITING_APPROVAL, not approved" in seat.text())
        approve(stage, digest)
        await seat.until(lambda: "approved" in status(seat))
        await seat.until(lambda: "AWAITING_APPROVAL, approved" in seat.text())
        elsewhere(stage, "build")
        await seat.until(lambda: "COMPLETED" in seat.text())
        assert "approved" not in status(seat)

    stage.show(sit, size=(200, 50))


def test_a_plan_that_is_chosen_before_anything_was_said_is_followed(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        seat.app.plan_chosen(seat.app.engine.plans.find("work"), None)
        await seat.until(lambda: "AWAITING_APPROVAL, not approved" in seat.text())
        approve(stage, digest)
        await seat.until(lambda: "AWAITING_APPROVAL, approved" in seat.text())
        await seat.until(lambda: "approved" in status(seat))

    stage.show(sit, size=(200, 50))


@pytest.mark.parametrize(("command", "kind"), [("/plans", PlanList), ("/waiting", WaitingList)])
def test_open_lists_follow(stage: Stage, command: str, kind: type[PlanList | WaitingList]) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        seat.app.run_slash(command)
        panel = await seat.opened(kind)
        before = panel._all
        assert before
        approve(stage, digest)
        await seat.until(lambda: panel._all != before)
        elsewhere(stage, "build")
        if kind is WaitingList:
            await seat.until(lambda: not panel._all)
        else:
            await seat.until(lambda: panel._all[0].cells[1] == "completed")

    stage.show(sit)


def test_while_nothing_is_recorded_nobody_looks(stage: Stage) -> None:
    proposed(stage)

    async def sit(seat: Seat) -> None:
        await seat.rest()
        lookout = seat.app.lookout
        await seat.until(lambda: lookout._stamp == seat.app.engine.stamp())
        await seat.rest()
        looked = lookout._looked
        for _ in range(50):
            lookout.watch()
        assert (lookout.looking, lookout._looked) == (False, looked)

    stage.show(sit)


def test_what_decides_nothing_says_nothing(stage: Stage) -> None:
    proposed(stage)
    with stage.here():
        engine = stage.host().engine()
        record = engine.plans.find()
        assert decided_words(record, ()) == ""
        events = [one.event for one in engine.log()]
        assert decided_words(record, events) == ""
        engine.close()


def status(seat: Seat) -> str:
    return seat.text().split("\n")[-1]
